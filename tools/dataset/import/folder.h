// The files of a folder, with what each of them looks like.
#ifndef BLINK_TOOLS_DATASET_IMPORT_FOLDER_H_
#define BLINK_TOOLS_DATASET_IMPORT_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/graph/file_format.h"

namespace blink {

inline constexpr uint64_t kImportedBytesMax = uint64_t{16} << 30;  // of one file, unpacked

struct FolderFile {
  std::string name;  // below the folder: "raw/edge.csv.gz"
  FileKind kind = FileKind::kOther;
  std::vector<std::string> header;  // of a text: the fields of the first line, in lower case
};

class Folder {
 public:
  // Looks at the files of the folder, and of folders in it named raw and split. Returns INVALID_ARGUMENT when there are
  // more than 1,000, or when one of them cannot be read.
  static absl::StatusOr<Folder> Open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<FolderFile>& files() const { return files_; }  // by their names
  std::string PathOf(const FolderFile& file) const { return path_ + "/" + file.name; }
  // The file that is called so, plain or with ".gz", at the top or in raw/. nullptr without one.
  const FolderFile* Find(absl::string_view name) const;
  // The only file whose name ends so. nullptr without one. Returns INVALID_ARGUMENT when there are several.
  absl::StatusOr<const FolderFile*> FindByEnd(absl::string_view end) const;
  // The content, unpacked.
  absl::StatusOr<std::string> Read(const FolderFile& file) const;

 private:
  std::string path_;
  std::vector<FolderFile> files_;
};

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_IMPORT_FOLDER_H_
