// Files and folders that are made once and never replaced.
#ifndef BLINK_TOOLS_NEW_FOLDER_H_
#define BLINK_TOOLS_NEW_FOLDER_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace blink {

// Creates `path`; never replaces a file. Not synced one by one: a fleet has thousands of files, and Staging::Publish
// ends it.
absl::Status WriteNew(const std::string& path, absl::string_view content, mode_t mode = 0600);

// With mode 0700, unless it is there already. Its parent must be.
absl::Status MakeFolder(const std::string& path);

// A folder that appears under its name only when it is complete.
//
//   BLINK_ASSIGN_OR_RETURN(Staging staging, Staging::Create(out));
//   ... WriteNew(staging.path() + "/file", ...) ...
//   return staging.Publish();  // without it the folder is removed
class Staging {
 public:
  // INVALID_ARGUMENT when `out` exists.
  static absl::StatusOr<Staging> Create(const std::string& out);
  Staging(Staging&& other) noexcept;
  ~Staging();

  const std::string& path() const { return path_; }
  // On the disk when it returns OK, every file in it included.
  absl::Status Publish();

 private:
  Staging(std::string target, std::string path);

  std::string target_;
  std::string path_;
};

}  // namespace blink

#endif  // BLINK_TOOLS_NEW_FOLDER_H_
