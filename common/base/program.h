// What the running program says of itself: in results, and to find the programs beside it.
#ifndef BLINK_COMMON_BASE_PROGRAM_H_
#define BLINK_COMMON_BASE_PROGRAM_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace blink {

// "0.1.0"
std::string ProgramVersion();

// The commit that the program was built from: 40 hexadecimal digits, and "-dirty" where files were changed since.
// "unknown" when the build could not tell, and in tests.
std::string ProgramCommit();

// "blink 0.1.0 (commit 87d350f...)", for --version.
std::string VersionText(const std::string& program);

// The command line of this process, with the program as it was called.
std::vector<std::string> ProgramArguments();

// The folder that the running program lies in, whatever name it was called by. Programs start those beside them from
// there. Returns INTERNAL where the system does not tell.
absl::StatusOr<std::string> ProgramFolder();

}  // namespace blink

#endif  // BLINK_COMMON_BASE_PROGRAM_H_
