// The bytes of reports.blr, as report_file.h describes them, decrypted where they are encrypted.
#ifndef BLINK_AGGREGATOR_SERVER_REPORTS_REPORT_READER_H_
#define BLINK_AGGREGATOR_SERVER_REPORTS_REPORT_READER_H_

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator_server/reports/sealed_pieces.h"
#include "common/base/digest.h"
#include "common/base/sealed.h"

namespace blink {

inline constexpr char kWriteAnew[] =
    "fetch the round's folder again, or on the aggregator remove the file and restart: it is written anew";

// Reads exactly what is asked, and hashes it on the way: the file may hold gigabytes, so it is never in memory at once.
class ReportReader {
 public:
  // `key` of the round `round_id`; nullptr: it is not encrypted. FAILED_PRECONDITION: it is. DATA_LOSS: it is not,
  // although there is a key.
  static absl::StatusOr<ReportReader> Open(const std::string& path, const SecretKey* key, const std::string& round_id);

  // DATA_LOSS when the file ends earlier, or was changed since it was encrypted.
  absl::Status Read(size_t bytes, std::string& out);
  absl::Status Skip(size_t bytes);  // of a file that is not hashed
  void StopHashing() { hash_.reset(); }
  Digest Finish() { return hash_->Finish(); }
  bool AtEnd();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  ReportReader(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}
  absl::Status ReadPieces(size_t bytes, std::string& out);
  absl::Status IsTruncated() const;

  std::unique_ptr<std::FILE, Close> file_;
  std::string path_;
  std::unique_ptr<Sha256> hash_ = std::make_unique<Sha256>();
  std::optional<PieceReader> pieces_;
  std::string piece_;  // the one that is being read
  size_t taken_ = 0;   // of its bytes
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_REPORTS_REPORT_READER_H_
