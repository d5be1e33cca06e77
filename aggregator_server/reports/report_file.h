// A round's folder: round.json (the Round message as JSON), reports.blr (its reports, coded as they were received) and,
// of Mechanism::kGroupDegrees, groups (those that it asked about, as common/wire/groups_codec.h says).
// Written once, when a round is sealed. Read by the worker, and by `blink simulate --reports`.
//
// reports.blr, little endian, in ascending order of nodes:
//
//   "BLINKR01"
//   for each report  node (u64), presence of the degree (u8: 0 or 1), degree (i64: 0 where there is none), length of
//                    the coded bits (u32), coded bits, digest (32)
//   end              2^64-1 (u64), number of reports (u64), SHA-256 of everything before
//
// Of an encrypted round "BLINKR02", and then a whole file as above in pieces (sealed_pieces.h), encrypted with the key
// of the round. The functions below take this key. Without it they refuse such a file (FAILED_PRECONDITION), and with
// it any other one (DATA_LOSS).
#ifndef BLINK_AGGREGATOR_SERVER_REPORTS_REPORT_FILE_H_
#define BLINK_AGGREGATOR_SERVER_REPORTS_REPORT_FILE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator_server/reports/report_set.h"
#include "blink/v1/operator.pb.h"
#include "common/base/sealed.h"
#include "common/privacy/node_groups.h"
#include "common/wire/report_codec.h"

namespace blink {

class ReportFileWriter {
 public:
  // Writes to `<path>.tmp`; Finish makes the file durable and renames it.
  static absl::StatusOr<std::unique_ptr<ReportFileWriter>> Create(const std::string& path);
  static absl::StatusOr<std::unique_ptr<ReportFileWriter>> CreateEncrypted(const std::string& path,
                                                                           const SecretKey& key,
                                                                           const std::string& round_id);
  ~ReportFileWriter();
  absl::Status Add(uint64_t node, const CodedReport& report);  // ascending nodes
  absl::Status Finish();

 private:
  struct State;
  static absl::StatusOr<std::unique_ptr<ReportFileWriter>> Begin(const std::string& path, std::unique_ptr<State> state);
  explicit ReportFileWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The round of a folder, without its reports. Errors as ReadRoundFolder.
absl::StatusOr<v1::Round> ReadRound(const std::string& folder);

// The noisy degrees of a folder's reports, in the order of their nodes. It skips the bits, so the digests are not
// checked. NOT_FOUND: there is no reports.blr. DATA_LOSS: the file is truncated, or not as described above.
absl::StatusOr<std::vector<int64_t>> ReadNoisyDegrees(const std::string& folder, const SecretKey* key = nullptr);

struct RoundFolder {
  v1::Round round;
  ReportSet reports;
  double coded_bytes_mean = 0;  // per report, header fields excluded
  std::vector<uint32_t> ones;   // [reports] ones of each report, in the order of nodes
};
struct ReadingOptions {
  const SecretKey* key = nullptr;     // of an encrypted round
  std::optional<RowStorage> storage;  // how the rows are kept; none: as it fits
  // The rows of an encrypted round stay in memory whatever this says: they must not lie on a disk as they are.
  RowPlace place;
  int threads = 0;  // 0: all cores
  std::function<void(double fraction)> progress;
};
// Decodes and checks every report, and completes their set. NOT_FOUND: a file is missing. FAILED_PRECONDITION:
// reports.blr has another format. DATA_LOSS: the file is damaged, truncated or not as described above, round.json has
// no round id, or the parameters or the number of reports are not those of round.json. RESOURCE_EXHAUSTED: the memory,
// or the folder for the rows, is too small. Memory for the rows is taken only after the first report has proved that
// the round has n nodes.
absl::StatusOr<RoundFolder> ReadRoundFolder(const std::string& folder, const ReadingOptions& options = {});

// The same of a round of Mechanism::kGroupDegrees, which ReadRoundFolder refuses.
struct GroupAnswers {
  v1::Round round;
  PrivacyParameters parameters;
  NodeGroups asked;
  BitRow reported;             // [n]
  uint32_t reports = 0;        // their number
  std::vector<float> degrees;  // [n, groups] noisy; zeros of a node that has not reported
  double coded_bytes_mean = 0;
};
// As ReadRoundFolder. Also DATA_LOSS where the groups are not those of round.json. FAILED_PRECONDITION: the round is of
// another mechanism.
absl::StatusOr<GroupAnswers> ReadGroupAnswers(const std::string& folder, const SecretKey* key = nullptr);
absl::Status WriteGroups(const std::string& coded, const std::string& folder);

absl::Status WriteRoundJson(const v1::Round& round, const std::string& folder);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_REPORTS_REPORT_FILE_H_
