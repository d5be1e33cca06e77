#include "tools/program/helper_program.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "common/base/exit_code.h"

namespace blink {

int BecomeHelper(const std::string& name, char** argv) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    std::fprintf(stderr, "blink: cannot find the folder of this program, in which %s lies: %s\n", name.c_str(),
                 error.message().c_str());
    return static_cast<int>(ExitCode::kInternal);
  }
  const std::string path = self.parent_path() / name;
  ::execv(path.c_str(), argv);
  std::fprintf(stderr, "blink: cannot start %s: %s. It is built and installed with blink, where LibTorch is\n",
               path.c_str(), std::strerror(errno));
  return static_cast<int>(ExitCode::kBadInput);
}

}  // namespace blink
