#include "common/base/program.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

// Of the generated source that programs alone link, so that a commit relinks them and nothing else.
extern "C" __attribute__((weak)) const char* BlinkCommit();

namespace blink {

std::string ProgramVersion() { return BLINK_VERSION; }

std::string ProgramCommit() { return BlinkCommit != nullptr ? BlinkCommit() : "unknown"; }

std::string VersionText(const std::string& program) {
  return absl::StrCat(program, " ", ProgramVersion(), " (commit ", ProgramCommit(), ")");
}

std::vector<std::string> ProgramArguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

absl::StatusOr<std::string> ProgramFolder() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return self.parent_path().string();
  return absl::InternalError(absl::StrCat("cannot find the folder of this program: /proc/self/exe: ", error.message()));
}

}  // namespace blink
