#include "aggregator_server/main/data_folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
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

absl::Status CheckStoreIsThere(const std::string& data_folder, bool accept_loss) {
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

absl::Status CheckResultsAreThere(const std::string& data_folder, ReportStore& store, bool accept_loss) {
  size_t results = 0, missing = 0;
  BLINK_ASSIGN_OR_RETURN(const std::vector<v1::Round> rounds, store.ListRounds());
  for (const v1::Round& round : rounds) {
    std::error_code error;
    if (round.state() != v1::ROUND_STATE_READY) continue;
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
