#include "tools/simulate/checkpoint.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "aggregator_server/train/checkpoint.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr char kHeader[] = "blink simulate --checkpoint 1\n";
constexpr uint64_t kHeaderBytesMax = 4096;

absl::Status Refuse(const std::string& folder, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("--checkpoint ", folder, why));
}

absl::Status CheckOwner(const std::string& folder, const std::string& header) {
  std::error_code error;
  if (std::filesystem::is_empty(folder, error) && !error) return absl::OkStatus();
  if (error) return FileError(error.value(), "read the folder", folder);
  const absl::StatusOr<std::string> text = ReadFile(folder + "/simulation", kHeaderBytesMax);
  if (!text.ok() || !absl::StartsWith(*text, kHeader)) {
    return Refuse(folder,
                  " holds something else than the state of a simulation: name a folder that is absent or empty");
  }
  if (*text == header) return absl::OkStatus();
  return Refuse(folder,
                " is of another simulation (data set, reports, seed or training differ): name another folder, or "
                "remove this one to "
                "begin anew");
}

absl::Status CheckStates(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".checkpoint") continue;
    if (const absl::Status good = CheckCheckpointFile(at->path().string()); !good.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(good.message(), "; remove it, and that training begins anew"));
    }
  }
  return error ? FileError(error.value(), "read the folder", folder) : absl::OkStatus();
}

}  // namespace

absl::Status ClaimSimulationCheckpoints(const std::string& folder, const Digest& run) {
  const std::string header = absl::StrCat(kHeader, DigestToHex(run), "\n");
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(folder, error);
  if (std::filesystem::exists(there)) {
    if (!std::filesystem::is_directory(there)) {
      return Refuse(
          folder, " is not a folder, and is left as it is: name a folder that is absent, empty or of this simulation");
    }
    BLINK_RETURN_IF_ERROR(CheckOwner(folder, header));
    BLINK_RETURN_IF_ERROR(CheckStates(folder));
  }
  BLINK_RETURN_IF_ERROR(MakeDirectories(folder));
  if (::chmod(folder.c_str(), 0700) != 0) return FileError(errno, "keep others out of", folder);
  return WriteFileAtomically(folder + "/simulation", header);  // shows as well that files can be written there
}

}  // namespace blink
