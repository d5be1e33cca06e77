#include "common/graph/zip_archive.h"

#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"
#include "common/graph/input.h"

namespace blink {
namespace {

constexpr uint64_t kDeflateRatioMax = 1032;  // what deflate can expand at most
constexpr zip_int64_t kMembersListedMax = 64;
// libzip's own default is 9. On the column numbers of sparse matrices that takes 50 times as long as 3, and saves a
// fifth.
constexpr zip_uint32_t kLevel = 3;
constexpr char kRemedy[] =
    ", as files do that are made to fill the memory; if you trust its source, write it with numpy.savez instead of "
    "savez_compressed";

struct ZipFileClose {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

absl::StatusOr<std::string> ReadMember(zip_t* archive, const std::string& path, const std::string& member) {
  zip_stat_t info;
  zip_stat_init(&info);
  const std::string name = absl::StrCat(path, " (", member, ")");
  if (zip_stat(archive, member.c_str(), 0, &info) != 0 || !(info.valid & ZIP_STAT_SIZE) ||
      !(info.valid & ZIP_STAT_COMP_SIZE)) {
    return MalformedArray(path, absl::StrCat("the archive has no member ", member));
  }
  if (info.size > kFeatureFileBytesMax || info.size / kDeflateRatioMax > info.comp_size + 64) {
    return MalformedArray(
        name, absl::StrCat("claims ", info.size, " bytes, which ", info.comp_size, " compressed bytes cannot hold"));
  }
  if (GrowsImplausibly(info.comp_size, info.size)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " grows from ", info.comp_size, " to ", info.size, " bytes", kRemedy));
  }
  std::unique_ptr<zip_file_t, ZipFileClose> file(zip_fopen(archive, member.c_str(), 0));
  if (file == nullptr) return MalformedArray(name, zip_strerror(archive));
  std::string content;
  content.reserve(info.size);  // a string that grows takes up to twice that
  std::vector<char> buffer(1 << 20);
  while (true) {
    const zip_int64_t got = zip_fread(file.get(), buffer.data(), buffer.size());
    if (got < 0) return MalformedArray(name, absl::StrCat("is damaged (", zip_file_strerror(file.get()), ")"));
    if (got == 0) break;
    if (content.size() + got > info.size) return MalformedArray(name, "is longer than the archive says");
    content.append(buffer.data(), got);
  }
  if (content.size() != info.size) return MalformedArray(name, "is shorter than the archive says");
  return content;
}

}  // namespace

void NpzArchive::Discard::operator()(zip* archive) const { zip_discard(archive); }

NpzArchive::NpzArchive(zip* archive, uint64_t bytes, const std::string& name)
    : archive_(archive), name_(name), bytes_(bytes) {
  for (zip_int64_t k = 0; k < zip_get_num_entries(archive, 0) && k < kMembersListedMax; ++k) {
    if (const char* member = zip_get_name(archive, k, 0); member != nullptr) members_.emplace_back(member);
  }
}

absl::StatusOr<NpzArchive> NpzArchive::Open(absl::string_view bytes, const std::string& name) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  zip_t* archive = source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error);
  zip_error_fini(&error);
  if (archive == nullptr) {
    if (source != nullptr) zip_source_free(source);
    return MalformedArray(name, "is not a readable zip archive");
  }
  return NpzArchive(archive, bytes.size(), name);
}

bool NpzArchive::Has(absl::string_view array) const {
  return std::find(members_.begin(), members_.end(), absl::StrCat(array, ".npy")) != members_.end();
}

absl::StatusOr<absl::string_view> NpzArchive::Content(const std::string& array) {
  const auto known = contents_.find(array);
  if (known != contents_.end()) return known->second;
  BLINK_ASSIGN_OR_RETURN(std::string content, ReadMember(archive_.get(), name_, array + ".npy"));
  unpacked_bytes_ += content.size();
  // Members that grow little each, and members that share their compressed bytes.
  if (GrowsImplausibly(bytes_, unpacked_bytes_)) {
    return absl::InvalidArgumentError(absl::StrCat(name_, " (", array, ".npy): with this array, ", bytes_,
                                                   " bytes have grown to ", unpacked_bytes_, kRemedy));
  }
  return contents_.emplace(array, std::move(content)).first->second;
}

void NpzArchive::Forget(const std::string& array) { contents_.erase(array); }

absl::StatusOr<NpyArray> NpzArchive::Get(const std::string& array) {
  BLINK_ASSIGN_OR_RETURN(const absl::string_view content, Content(array));
  return ParseNpy(content, absl::StrCat(name_, " (", array, ".npy)"));
}

absl::StatusOr<NpyArray> NpzArchive::GetAny(const std::string& array) {
  BLINK_ASSIGN_OR_RETURN(const absl::string_view content, Content(array));
  return ParseNpyOfAnyKind(content, absl::StrCat(name_, " (", array, ".npy)"));
}

absl::Status WriteZip(const std::vector<std::pair<std::string, std::string>>& members, bool compressed,
                      const std::string& path) {
  const std::string temporary = absl::StrCat(path, ".tmp");
  int error = 0;
  struct Discarded {
    void operator()(zip_t* archive) const { zip_discard(archive); }
  };
  std::unique_ptr<zip_t, Discarded> archive(zip_open(temporary.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error));
  if (archive == nullptr) return FileError(errno, "create", temporary);
  const auto failed = [&] {
    return absl::InternalError(absl::StrCat("cannot write ", temporary, ": ", zip_strerror(archive.get())));
  };
  for (const auto& [name, bytes] : members) {
    zip_source_t* source = zip_source_buffer(archive.get(), bytes.data(), bytes.size(), 0);
    if (source == nullptr) return failed();
    const zip_int64_t index = zip_file_add(archive.get(), name.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      return failed();
    }
    const zip_int32_t method = compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE;
    if (zip_set_file_compression(archive.get(), index, method, compressed ? kLevel : 0) != 0) return failed();
    zip_file_set_mtime(archive.get(), index, 315532800, 0);  // 1980-01-01: the same data give the same file
  }
  if (zip_close(archive.get()) != 0) {
    zip_error_t* why = zip_get_error(archive.get());
    if (zip_error_system_type(why) == ZIP_ET_SYS) return FileError(zip_error_code_system(why), "write", temporary);
    return failed();
  }
  archive.release();
  const absl::StatusOr<std::string> bytes = ReadFile(temporary, kFeatureFileBytesMax);
  std::remove(temporary.c_str());
  BLINK_RETURN_IF_ERROR(bytes.status());
  return WriteFileAtomically(path, *bytes);
}

}  // namespace blink
