// Files and folders that are made once and never replaced.
#ifndef BLINK_TOOLS_NEW_FOLDER_H_
#define BLINK_TOOLS_NEW_FOLDER_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/cli/interrupt.h"

namespace blink {

// Creates the file `path`, and never replaces one. Does not sync it, since a fleet has thousands of files:
// Staging::Publish syncs them all.
absl::Status WriteNew(const std::string& path, absl::string_view content, mode_t mode = 0600);

// Creates the folder `path` with mode 0700, unless it is there already. Its parent must exist.
absl::Status MakeFolder(const std::string& path);

// Returns INVALID_ARGUMENT unless nothing has the name `path`, or an empty folder has it that another one can replace.
absl::Status CheckIsNewFolder(const std::string& path);

// Makes the folder `from` and all that is in it durable, and gives it the name `to`. When this returns OK, it has that
// name on the disk.
absl::Status RenameDurably(const std::string& from, const std::string& to);

// A folder that appears under its name only when it is complete. SIGHUP, SIGINT and SIGTERM remove what there is of it
// before they end the program, so make it before all other threads (Interrupt).
//
//   BLINK_ASSIGN_OR_RETURN(Staging staging, Staging::Create(out));
//   ... WriteNew(staging.path() + "/file", ...) ...
//   return staging.Publish();  // without this the folder is removed
class Staging {
 public:
  // Errors are those of CheckIsNewFolder.
  static absl::StatusOr<Staging> Create(const std::string& out);
  Staging(Staging&& other) noexcept;
  ~Staging();

  const std::string& path() const { return path_; }
  // Gives the folder its name. When this returns OK, the folder and all its files are on the disk.
  absl::Status Publish();

 private:
  Staging(std::string target, std::string path);

  std::string target_;
  std::string path_;
  std::string parent_, kept_;  // of the target, and the nearest folder above that was there before
  std::unique_ptr<Interrupt> interrupt_;
};

}  // namespace blink

#endif  // BLINK_TOOLS_NEW_FOLDER_H_
