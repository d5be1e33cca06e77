#include "tools/dataset/import/folder.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"
#include "common/graph/input.h"
#include "common/graph/table_fields.h"
#include "tools/dataset/import/imported_graph.h"

namespace blink {
namespace {

constexpr size_t kFilesMax = 1000;

std::vector<std::string> HeaderOf(absl::string_view bytes) {
  absl::ConsumePrefix(&bytes, "\xEF\xBB\xBF");
  const absl::string_view line = absl::StripSuffix(bytes.substr(0, bytes.find('\n')), "\r");
  const char separator = absl::StrContains(line, '\t') ? '\t' : ',';
  FieldSplitter splitter;
  std::vector<absl::string_view> fields;
  std::vector<std::string> header;
  if (splitter.Split(line, separator, &fields) != nullptr) return header;
  for (const absl::string_view field : fields)
    header.push_back(absl::AsciiStrToLower(absl::StripAsciiWhitespace(field)));
  return header;
}

// By its name, since it has no content to tell.
bool IsTable(absl::string_view name) {
  absl::ConsumeSuffix(&name, ".gz");
  return absl::EndsWith(name, ".csv") || absl::EndsWith(name, ".json") || absl::EndsWith(name, ".tsv") ||
         absl::EndsWith(name, ".txt");
}

}  // namespace

absl::StatusOr<Folder> Folder::Open(const std::string& path) {
  Folder folder;
  folder.path_ = path;
  namespace fs = std::filesystem;
  std::error_code error;
  fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied, error);
  if (error) return FileError(error.value(), "open", path);
  for (const fs::recursive_directory_iterator end; entry != end; entry.increment(error)) {
    if (error) return FileError(error.value(), "read", path);
    const std::string name = entry->path().lexically_relative(path).string();
    if (entry->is_directory(error)) {
      const bool below_split = absl::StartsWith(name, "split/") && entry.depth() == 1;
      if (name != "raw" && name != "split" && !below_split) entry.disable_recursion_pending();
      continue;
    }
    if (!entry->is_regular_file(error)) continue;
    if (folder.files_.size() >= kFilesMax)
      return WrongFile(path, absl::StrCat("holds more than ", kFilesMax, " files: give the folder of one data set"));
    BLINK_ASSIGN_OR_RETURN(const std::unique_ptr<Input> input, Input::Open(entry->path().string()));
    // A file that is damaged or empty could be the one with the features, which nobody would miss.
    const absl::StatusOr<absl::string_view> first = input->Peek();
    if (!first.ok()) {
      return absl::Status(first.status().code(),
                          absl::StrCat(first.status().message(), "; or move it out of the folder"));
    }
    if (first->empty() && IsTable(name))
      return WrongFile(entry->path().string(), "is empty: fetch it again, or move it out of the folder");
    FolderFile file{name, KindOf(*first), {}};
    if (file.kind == FileKind::kText) file.header = HeaderOf(*first);
    folder.files_.push_back(std::move(file));
  }
  std::sort(folder.files_.begin(), folder.files_.end(),
            [](const FolderFile& x, const FolderFile& y) { return x.name < y.name; });
  return folder;
}

const FolderFile* Folder::Find(absl::string_view name) const {
  for (const char* place : {"", "raw/"}) {
    for (const char* end : {"", ".gz"}) {
      const std::string wanted = absl::StrCat(place, name, end);
      const auto found = std::find_if(files_.begin(), files_.end(), [&](const auto& f) { return f.name == wanted; });
      if (found != files_.end()) return &*found;
    }
  }
  return nullptr;
}

absl::StatusOr<const FolderFile*> Folder::FindByEnd(absl::string_view end) const {
  const FolderFile* found = nullptr;
  for (const FolderFile& file : files_) {
    if (!absl::EndsWith(file.name, end) && !absl::EndsWith(file.name, absl::StrCat(end, ".gz"))) continue;
    if (found != nullptr) {
      return WrongFile(path_, absl::StrCat("holds several data sets (", found->name, ", ", file.name,
                                           "): give a folder with the files of one"));
    }
    found = &file;
  }
  return found;
}

absl::StatusOr<std::string> Folder::Read(const FolderFile& file) const {
  BLINK_ASSIGN_OR_RETURN(const std::unique_ptr<Input> input, Input::Open(PathOf(file)));
  return input->ReadAll(kImportedBytesMax);
}

}  // namespace blink
