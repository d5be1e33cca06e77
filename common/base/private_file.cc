#include "common/base/private_file.h"

#include <sys/stat.h>

#include <mutex>
#include <set>

#include "common/base/logging.h"

namespace blink {

void WarnOfOpenKey(const std::string& path) {
  static std::mutex mutex;
  static std::set<std::string> told;
  struct stat info;
  const bool is_open = ::stat(path.c_str(), &info) == 0 && (info.st_mode & (S_IROTH | S_IWOTH)) != 0;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!is_open) told.erase(path);
  if (!is_open || !told.insert(path).second) return;
  spdlog::warn(
      "the private key {} may be {} by every user of this machine (mode {:04o}): run chmod 600 on it, and make a new "
      "key if somebody else may have seen it",
      path, (info.st_mode & S_IWOTH) != 0 ? "replaced" : "read", info.st_mode & 07777);
}

}  // namespace blink
