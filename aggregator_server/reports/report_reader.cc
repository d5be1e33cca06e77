#include "aggregator_server/reports/report_reader.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"

namespace blink {

absl::StatusOr<ReportReader> ReportReader::Open(const std::string& path, const SecretKey* key,
                                                const std::string& round_id) {
  // Of anything else than a regular file the open could wait for ever, and the end never come.
  BLINK_RETURN_IF_ERROR(CheckRegularFile(path));
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return FileError(errno, "open", path);
  ReportReader reader(file, path);
  std::array<char, kEncryptedFile.size()> begin{};
  const size_t got = std::fread(begin.data(), 1, begin.size(), file);
  const bool is_encrypted = absl::string_view(begin.data(), got) == kEncryptedFile;
  if (is_encrypted && key == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        path,
        " is encrypted, and only the worker that its aggregator starts gets the key: blink round retry analyses a "
        "failed or cancelled round again"));
  }
  if (!is_encrypted && key != nullptr) {
    return absl::DataLossError(absl::StrCat(path, " is not encrypted, although its round is: ", kWriteAnew));
  }
  if (is_encrypted) {
    reader.pieces_.emplace(*key, round_id);
  } else {
    std::rewind(file);
  }
  return reader;
}

absl::Status ReportReader::IsTruncated() const {
  return absl::DataLossError(absl::StrCat(path_, " is truncated: ", kWriteAnew));
}

absl::Status ReportReader::ReadPieces(size_t bytes, std::string& out) {
  out.clear();
  while (out.size() < bytes) {
    if (taken_ == piece_.size()) {
      absl::StatusOr<std::string> next = pieces_->ReadNext(file_.get());
      if (absl::IsOutOfRange(next.status())) {
        return std::ferror(file_.get()) ? FileError(errno, "read", path_) : IsTruncated();
      }
      if (!next.ok()) {
        return absl::DataLossError(absl::StrCat(path_, " is damaged: ", next.status().message(), "; ", kWriteAnew));
      }
      piece_ = *std::move(next);
      taken_ = 0;
    }
    const size_t more = std::min(bytes - out.size(), piece_.size() - taken_);
    out.append(piece_, taken_, more);
    taken_ += more;
  }
  return absl::OkStatus();
}

absl::Status ReportReader::Read(size_t bytes, std::string& out) {
  if (pieces_.has_value()) {
    BLINK_RETURN_IF_ERROR(ReadPieces(bytes, out));
  } else {
    out.resize(bytes);
    if (bytes > 0 && std::fread(out.data(), 1, bytes, file_.get()) != bytes) {
      return std::ferror(file_.get()) ? FileError(errno, "read", path_) : IsTruncated();
    }
  }
  if (hash_ != nullptr) hash_->Update(out);
  return absl::OkStatus();
}

absl::Status ReportReader::Skip(size_t bytes) {
  std::string skipped;
  // A seek empties the buffer of the file, so short reports are read.
  if (pieces_.has_value() || bytes < 4096) return Read(bytes, skipped);
  return ::fseeko(file_.get(), static_cast<off_t>(bytes), SEEK_CUR) == 0 ? absl::OkStatus()
                                                                         : FileError(errno, "read", path_);
}

bool ReportReader::AtEnd() {
  const bool has_all_pieces = !pieces_.has_value() || (pieces_->has_ended() && taken_ == piece_.size());
  return has_all_pieces && std::fgetc(file_.get()) == EOF;
}

}  // namespace blink
