#include "tools/program/helper_program.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/exit_code.h"
#include "common/base/program.h"

namespace blink {

int BecomeHelper(const std::string& name, char** argv) {
  const absl::StatusOr<std::string> folder = ProgramFolder();
  if (!folder.ok()) {
    std::fprintf(stderr, "blink: %s\n", std::string(folder.status().message()).c_str());
    return static_cast<int>(ExitCode::kInternal);
  }
  const std::string path = *folder + "/" + name;
  ::execv(path.c_str(), argv);
  std::fprintf(stderr, "blink: cannot start %s: %s. It is built and installed with blink, where LibTorch is\n",
               path.c_str(), std::strerror(errno));
  return static_cast<int>(ExitCode::kBadInput);
}

}  // namespace blink
