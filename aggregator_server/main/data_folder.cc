#include "aggregator_server/main/data_folder.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/durable_file.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/wire/round.h"

namespace blink {
namespace {

namespace fs = std::filesystem;

template <typename IsWanted>
std::vector<std::string> NamesIn(const std::string& folder, const IsWanted& is_wanted) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (is_wanted(at->path())) names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Of rounds that were sealed: round.json is the last of their files to be written.
std::vector<std::string> RoundsWithAFolder(const std::string& data_folder) {
  return NamesIn(data_folder + "/rounds", [](const fs::path& path) {
    std::error_code error;
    return ValidateRoundId(path.filename().string()).ok() && fs::exists(path / "round.json", error);
  });
}

// "": the store knows of it.
std::string WhatIsLost(ReportStore& store, const std::string& round_id) {
  const absl::StatusOr<v1::Round> round = store.GetRound(round_id);
  if (absl::IsNotFound(round.status())) return "the store does not know it";
  return round.ok() && round->state() == v1::ROUND_STATE_OPEN ? "it was sealed, and is open in the store" : "";
}

absl::Status MoveAside(const std::string& data_folder, const std::string& round_id) {
  const std::string from = absl::StrCat(data_folder, "/rounds/", round_id);
  const std::string to = absl::StrCat(data_folder, "/lost-rounds/", round_id);
  BLINK_RETURN_IF_ERROR(MakeDirectories(data_folder + "/lost-rounds"));
  std::error_code error;
  fs::rename(from, to, error);
  return error ? FileError(error.value(), absl::StrCat("move to ", to), from) : absl::OkStatus();
}

}  // namespace

bool WasUsedBefore(const std::string& data_folder) {
  const auto is_roster = [](const fs::path& path) { return path.extension() == ".json"; };
  return !NamesIn(data_folder + "/rosters", is_roster).empty() || !RoundsWithAFolder(data_folder).empty();
}

absl::Status CheckRoundsCanBeWritten(const std::string& data_folder) {
  const std::string rounds = data_folder + "/rounds";
  std::error_code error;
  if (!fs::exists(rounds, error) && !error) return absl::OkStatus();
  if (!fs::is_directory(rounds, error)) return absl::FailedPreconditionError(absl::StrCat(rounds, " is no folder"));
  return ::access(rounds.c_str(), R_OK | W_OK | X_OK) == 0 ? absl::OkStatus() : FileError(errno, "write to", rounds);
}

absl::Status CheckStoreIsThere(const std::string& data_folder, bool accept_loss) {
  std::error_code unreadable;
  const fs::directory_iterator files(data_folder + "/store", unreadable);
  if (unreadable && unreadable != std::errc::no_such_file_or_directory) {
    return FileError(unreadable.value(), "list", data_folder + "/store");
  }
  const auto is_of_a_store = [](const fs::path& path) {
    return path.filename() == "CURRENT" || path.extension() == ".sst" || path.extension() == ".log";
  };
  if (!NamesIn(data_folder + "/store", is_of_a_store).empty() || !WasUsedBefore(data_folder)) return absl::OkStatus();
  const std::string lost =
      absl::StrCat(data_folder, "/store has no store, although this data folder was used before (it has ",
                   RoundsWithAFolder(data_folder).size(), " rounds and its rosters)");
  if (!accept_loss) {
    return absl::DataLossError(absl::StrCat(lost,
                                            ": is a volume not mounted? Bring the store back. Only to begin without "
                                            "its rounds and reports, start once with --accept-data-loss"));
  }
  spdlog::warn("beginning with an empty store, as --accept-data-loss says: {}", lost);
  return absl::OkStatus();
}

absl::Status CheckNoStoreIsThere(const std::string& data_folder) {
  std::error_code error;
  if (!fs::exists(data_folder + "/store/CURRENT", error)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(data_folder,
                   "/store has rounds and reports, and --store names a database, which lacks them: end its "
                   "rounds with the store rocksdb, and begin with another data folder"));
}

namespace {

// The name of the folder DATA/rounds, wherever it is mounted. Whoever comes first gives it.
absl::StatusOr<std::string> NameOfRounds(const std::string& data_folder) {
  constexpr size_t kNameBytes = 32;
  const std::string path = data_folder + "/rounds/folder-name";
  BLINK_RETURN_IF_ERROR(MakeDirectories(data_folder + "/rounds"));
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd >= 0) {
    ::close(fd);
    std::string bytes(kNameBytes / 2, '\0');
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      return absl::UnavailableError("the system gave no random bytes for the name of a folder");
    }
    BLINK_RETURN_IF_ERROR(WriteFileAtomically(path, absl::BytesToHexString(bytes), 0644));
  }
  for (int tries = 0;; ++tries) {  // another aggregator may be about to write it
    BLINK_ASSIGN_OR_RETURN(const std::string name, ReadFile(path, kNameBytes));
    if (name.size() == kNameBytes) return name;
    if (tries == 50) return absl::DataLossError(absl::StrCat(path, " is cut: remove it, and start again"));
    absl::SleepFor(absl::Milliseconds(100));
  }
}

}  // namespace

absl::Status CheckRoundsAreShared(const std::string& data_folder, ReportStore& store, bool accept_loss) {
  BLINK_ASSIGN_OR_RETURN(const std::string name, NameOfRounds(data_folder));
  BLINK_ASSIGN_OR_RETURN(const std::string known, store.GetOrSetNote("rounds_folder", name));
  if (name == known) return absl::OkStatus();
  const std::string differs = absl::StrCat(
      data_folder, "/rounds is not the folder that the other aggregators of this database use, or used before");
  if (!accept_loss) {
    return absl::FailedPreconditionError(
        absl::StrCat(differs,
                     ": mount the same volume there on all of them. Only if that volume is lost, start once "
                     "with --accept-data-loss, which takes this folder instead"));
  }
  spdlog::warn("going on with this folder, as --accept-data-loss says: {}", differs);
  return WriteFileAtomically(data_folder + "/rounds/folder-name", known, 0644);
}

absl::Status CheckResultsAreThere(const std::string& data_folder, ReportStore& store, bool accept_loss) {
  size_t results = 0, missing = 0;
  BLINK_ASSIGN_OR_RETURN(const std::vector<v1::Round> rounds, store.ListRounds());
  for (const v1::Round& round : rounds) {
    std::error_code error;
    if (round.state() != v1::ROUND_STATE_READY || round.result_deleted()) continue;
    ++results;
    missing += !fs::exists(absl::StrCat(data_folder, "/rounds/", round.round_id()), error) && !error;
  }
  if (missing == 0) return absl::OkStatus();
  if (missing < results || accept_loss) {
    spdlog::warn("{}/rounds lacks {} of {} results; the reports of these rounds are written again from the store",
                 data_folder, missing, results);
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      data_folder, "/rounds has none of the ", results,
      " results that the store knows of: is a volume not mounted? Bring the rounds back. Only to go on without their "
      "results, start once with --accept-data-loss: their reports are written again from the store"));
}

absl::Status CheckRoundFolders(const std::string& data_folder, ReportStore& store, bool accept_loss) {
  for (const std::string& round_id : RoundsWithAFolder(data_folder)) {
    const std::string lost = WhatIsLost(store, round_id);
    if (lost.empty()) continue;
    if (!accept_loss) {
      return absl::DataLossError(
          absl::StrCat("the store is older than ", data_folder, "/rounds/", round_id, ": ", lost,
                       ". Bring the store and the rounds back from the same backup. Only to go on with this store, "
                       "start once with --accept-data-loss, which moves such folders to ",
                       data_folder, "/lost-rounds"));
    }
    spdlog::warn("round {}: {}; its folder is moved to {}/lost-rounds", round_id, lost, data_folder);
    BLINK_RETURN_IF_ERROR(MoveAside(data_folder, round_id));
  }
  return absl::OkStatus();
}

}  // namespace blink
