#include "aggregator_server/backup/backup.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "aggregator_server/backup/file_copy.h"
#include "common/base/digest.h"
#include "common/base/durable_file.h"
#include "common/base/program.h"
#include "common/base/status_macros.h"
#include "common/base/time_text.h"
#include "nlohmann/json.hpp"

namespace blink {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr uint64_t kManifestBytesMax = 1 << 30;
constexpr char kStoreFile[] = "store/CURRENT";  // without it there is no store

struct ListedFile {
  std::string path;  // below data/
  FileContent content;
};

struct Manifest {
  absl::Time made;
  std::vector<ListedFile> files;

  std::string ToJson() const {
    Json list = Json::array();
    for (const ListedFile& file : files) {
      list.push_back(
          {{"path", file.path}, {"bytes", file.content.bytes}, {"sha256", DigestToHex(file.content.digest)}});
    }
    const Json json = {{"format", kFormat},
                       {"program", {{"version", ProgramVersion()}, {"commit", ProgramCommit()}}},
                       {"made", IsoTimeText(made)},
                       {"files", std::move(list)}};
    return json.dump(1) + "\n";
  }
};

BackupSummary Summarize(const Manifest& manifest, const std::string& text) {
  BackupSummary summary{.made = manifest.made, .digest = DigestToHex(Sha256Of(text))};
  std::set<std::string> rounds;
  for (const ListedFile& file : manifest.files) {
    ++summary.files;
    summary.bytes += file.content.bytes;
    const std::vector<std::string> parts = absl::StrSplit(file.path, '/');
    if (parts.size() > 2 && parts[0] == "rounds") rounds.insert(parts[1]);
  }
  summary.rounds = rounds.size();
  return summary;
}

// A path of a backup leads nowhere but into it.
bool IsInside(const std::string& path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  return std::none_of(parts.begin(), parts.end(), [](absl::string_view part) {
    return part.empty() || part == "." || part == ".." || absl::StrContains(part, '\0');
  });
}

absl::StatusOr<Manifest> ReadManifest(const std::string& folder, std::string& text) {
  const std::string path = folder + "/backup.json";
  absl::StatusOr<std::string> read = ReadFile(path, kManifestBytesMax);
  if (absl::IsNotFound(read.status())) {
    return Reworded(read.status(), absl::StrCat(read.status().message(), ": is ", folder, " a whole backup?"));
  }
  BLINK_RETURN_IF_ERROR(read.status());
  text = *std::move(read);
  const auto damaged = [&](absl::string_view why) { return absl::DataLossError(absl::StrCat(path, ": ", why)); };
  try {
    const Json json = Json::parse(text);
    const int format = json.at("format").get<int>();
    if (format > kFormat) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": format ", format, " is newer than this program, which reads ", kFormat));
    }
    Manifest manifest;
    std::string why;
    if (!absl::ParseTime(kIsoTimeFormat, json.at("made").get<std::string>(), &manifest.made, &why)) return damaged(why);
    for (const Json& item : json.at("files")) {
      ListedFile file{.path = item.at("path").get<std::string>()};
      file.content.bytes = item.at("bytes").get<uint64_t>();
      BLINK_ASSIGN_OR_RETURN(file.content.digest,
                             DigestFromBytes(absl::HexStringToBytes(item.at("sha256").get<std::string>())));
      if (!IsInside(file.path)) return damaged(absl::StrCat("the path ", file.path, " leads out of the backup"));
      manifest.files.push_back(std::move(file));
    }
    return manifest;
  } catch (const Json::exception& error) {
    return damaged(absl::StrCat("it is no list of a backup: ", error.what()));
  }
}

// The regular files below `folder`, as paths relative to `base`, sorted.
absl::StatusOr<std::vector<std::string>> ListFiles(const std::string& folder, const std::string& base) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (at->is_regular_file(gone)) files.push_back(fs::relative(at->path(), base, gone).string());
  }
  if (error && error != std::errc::no_such_file_or_directory) return FileError(error.value(), "list", folder);
  std::sort(files.begin(), files.end());
  return files;
}

// What a worker has in hand is neither a result nor a report.
bool IsWorkInHand(const std::string& path) {
  const std::vector<std::string> parts = absl::StrSplit(path, '/');
  return std::any_of(parts.begin(), parts.end(), [](const std::string& part) {
    return part == "result.tmp" || part == "result.checkpoint" || absl::StartsWith(part, ".") ||
           absl::EndsWith(part, ".tmp");
  });
}

// A folder under a name of its own until it is whole.
class PartialFolder {
 public:
  // ABORTED: another process is making the same folder.
  static absl::StatusOr<std::unique_ptr<PartialFolder>> Make(const std::string& folder) {
    fs::path place(folder);
    if (!place.has_filename()) place = place.parent_path();  // a slash at the end
    std::unique_ptr<PartialFolder> partial(new PartialFolder(place.string()));
    const std::string path = partial->path();
    BLINK_RETURN_IF_ERROR(MakeDirectories(path));
    partial->fd_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (partial->fd_ < 0) return FileError(errno, "open", path);
    BLINK_RETURN_IF_ERROR(LockDescriptor(partial->fd_, path));
    std::error_code error;
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
      std::error_code ignored;
      fs::remove_all(at->path(), ignored);
    }
    return partial;
  }
  ~PartialFolder() {
    if (fd_ >= 0) ::close(fd_);
  }
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;
  std::string path() const { return place_ + ".partial"; }
  absl::Status MakeFolderOf(const std::string& file) {
    const std::string folder = fs::path(file).parent_path().string();
    if (!folders_.insert(folder).second) return absl::OkStatus();
    return MakeDirectories(folder);
  }
  absl::Status Finish() {
    for (const std::string& folder : folders_) BLINK_RETURN_IF_ERROR(SyncDirectory(folder));
    std::error_code error;
    fs::rename(path(), place_, error);
    if (error) return FileError(error.value(), "rename to its name", path());
    const std::string parent = fs::path(place_).parent_path().string();
    return SyncDirectory(parent.empty() ? "." : parent);
  }

 private:
  explicit PartialFolder(std::string place) : place_(std::move(place)) {}
  const std::string place_;
  int fd_ = -1;  // locked
  std::set<std::string> folders_;
};

absl::Status RequireAbsent(const std::string& folder) {
  std::error_code error;
  if (fs::symlink_status(folder, error).type() == fs::file_type::not_found) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(folder, " exists already: name a folder that does not"));
}

// What is made must not lie in what is copied.
absl::Status RequireOutside(const std::string& made, const std::string& copied) {
  std::error_code error;
  const fs::path inner = fs::weakly_canonical(made, error), outer = fs::weakly_canonical(copied, error);
  if (error) return FileError(error.value(), "find", made);
  const auto [rest, unused] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  if (rest != outer.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(made, " lies in ", copied, ", which is copied: name a place outside"));
}

struct Copy {
  std::string from;
  std::string path;          // below data/
  bool may_be_gone = false;  // a result is exchanged for a newer one in one step
};

bool HasStore(const auto& files) {
  return std::any_of(files.begin(), files.end(), [](const auto& file) { return file.path == kStoreFile; });
}

absl::StatusOr<std::vector<Copy>> ListCopies(const BackupSource& source) {
  std::vector<Copy> copies;
  const auto add = [&](const std::string& folder, const std::string& as, bool may_be_gone) -> absl::Status {
    BLINK_ASSIGN_OR_RETURN(const std::vector<std::string> files, ListFiles(folder, folder));
    for (const std::string& file : files) {
      if (IsWorkInHand(file)) continue;
      copies.push_back({absl::StrCat(folder, "/", file), absl::StrCat(as, "/", file), may_be_gone});
    }
    return absl::OkStatus();
  };
  BLINK_RETURN_IF_ERROR(add(source.store_snapshot, "store", false));
  if (!HasStore(copies)) {
    return absl::InternalError(absl::StrCat("the snapshot ", source.store_snapshot, " is gone: make the backup again"));
  }
  for (const std::string& id : source.round_ids) {
    BLINK_RETURN_IF_ERROR(add(absl::StrCat(source.data_folder, "/rounds/", id), absl::StrCat("rounds/", id), true));
  }
  BLINK_RETURN_IF_ERROR(add(source.data_folder + "/rosters", "rosters", false));
  for (const char* name : {"audit.log", "revoked.crl.pem"}) {
    std::error_code error;
    if (fs::exists(absl::StrCat(source.data_folder, "/", name), error)) {
      copies.push_back({absl::StrCat(source.data_folder, "/", name), name, false});
    }
  }
  return copies;
}

// A folder of a backup that is a link would lead out of it.
absl::Status CheckHasNoLink(const std::string& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder + "/data", error), end; !error && at != end; at.increment(error)) {
    if (at->is_symlink(error)) return absl::DataLossError(absl::StrCat(at->path().string(), " is a link"));
  }
  return error ? FileError(error.value(), "list", folder + "/data") : absl::OkStatus();
}

absl::Status CheckAllAreListed(const Manifest& manifest, const std::string& folder) {
  if (!HasStore(manifest.files)) return absl::DataLossError(absl::StrCat("the backup ", folder, " has no store"));
  BLINK_RETURN_IF_ERROR(CheckHasNoLink(folder));
  std::set<std::string> listed;
  for (const ListedFile& file : manifest.files) listed.insert(file.path);
  BLINK_ASSIGN_OR_RETURN(const std::vector<std::string> files, ListFiles(folder + "/data", folder + "/data"));
  for (const std::string& file : files) {
    if (listed.count(file) == 0) {
      return absl::DataLossError(absl::StrCat(folder, "/data/", file, " does not belong to the backup"));
    }
  }
  return absl::OkStatus();
}

// Reads each file of a backup, and copies it to `target`/path where `target` is not empty.
absl::Status ReadAll(const Manifest& manifest, const std::string& folder, PartialFolder* target,
                     const BackupProgress& progress) {
  uint64_t done = 0;
  for (const ListedFile& file : manifest.files) {
    const std::string from = absl::StrCat(folder, "/data/", file.path);
    const std::string to = target == nullptr ? "" : absl::StrCat(target->path(), "/", file.path);
    if (target != nullptr) BLINK_RETURN_IF_ERROR(target->MakeFolderOf(to));
    const absl::StatusOr<FileContent> content = CopyDurably(from, to);
    if (absl::IsNotFound(content.status())) return absl::DataLossError(absl::StrCat("the backup lacks ", from));
    BLINK_RETURN_IF_ERROR(content.status());
    if (content->bytes != file.content.bytes || content->digest != file.content.digest) {
      return absl::DataLossError(absl::StrCat("the backup is damaged: ", from, " is not what was copied"));
    }
    if (progress) progress(++done, manifest.files.size());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BackupSummary> MakeBackup(const BackupSource& source, const std::string& folder, absl::Time now,
                                         const BackupProgress& progress) {
  BLINK_RETURN_IF_ERROR(RequireAbsent(folder));
  BLINK_RETURN_IF_ERROR(RequireOutside(folder, source.data_folder));
  BLINK_ASSIGN_OR_RETURN(const std::unique_ptr<PartialFolder> partial, PartialFolder::Make(folder));
  BLINK_ASSIGN_OR_RETURN(const std::vector<Copy> copies, ListCopies(source));
  Manifest manifest{.made = now};
  uint64_t done = 0;
  for (const Copy& copy : copies) {
    const std::string to = absl::StrCat(partial->path(), "/data/", copy.path);
    BLINK_RETURN_IF_ERROR(partial->MakeFolderOf(to));
    const absl::StatusOr<FileContent> content = CopyDurably(copy.from, to);
    if (progress) progress(++done, copies.size());
    if (copy.may_be_gone && absl::IsNotFound(content.status())) continue;
    BLINK_RETURN_IF_ERROR(content.status());
    manifest.files.push_back({copy.path, *content});
  }
  const std::string text = manifest.ToJson();
  BLINK_RETURN_IF_ERROR(WriteFileAtomically(partial->path() + "/backup.json", text));
  BLINK_RETURN_IF_ERROR(partial->Finish());
  return Summarize(manifest, text);
}

absl::StatusOr<BackupSummary> VerifyBackup(const std::string& folder, const BackupProgress& progress) {
  std::string text;
  BLINK_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(folder, text));
  BLINK_RETURN_IF_ERROR(CheckAllAreListed(manifest, folder));
  BLINK_RETURN_IF_ERROR(ReadAll(manifest, folder, nullptr, progress));
  return Summarize(manifest, text);
}

absl::StatusOr<BackupSummary> RestoreBackup(const std::string& folder, const std::string& data_folder,
                                            const BackupProgress& progress) {
  std::string text;
  BLINK_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(folder, text));
  BLINK_RETURN_IF_ERROR(CheckAllAreListed(manifest, folder));
  std::error_code error;
  if (fs::is_symlink(data_folder, error)) {
    return absl::InvalidArgumentError(absl::StrCat(data_folder, " is a link: name the folder that it leads to"));
  }
  if (fs::exists(data_folder, error) && (!fs::is_directory(data_folder, error) || !fs::is_empty(data_folder, error))) {
    return absl::FailedPreconditionError(
        absl::StrCat(data_folder,
                     " is not empty: restore into a folder that does not exist, and move it to its place "
                     "when the aggregator has stopped"));
  }
  BLINK_RETURN_IF_ERROR(RequireOutside(data_folder, folder));
  BLINK_ASSIGN_OR_RETURN(const std::unique_ptr<PartialFolder> partial, PartialFolder::Make(data_folder));
  BLINK_RETURN_IF_ERROR(ReadAll(manifest, folder, partial.get(), progress));
  BLINK_RETURN_IF_ERROR(partial->Finish());  // takes the place of a folder that is empty
  return Summarize(manifest, text);
}

}  // namespace blink
