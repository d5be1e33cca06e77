#include "aggregator_server/store/sealed_report.h"

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr size_t kHeadBytes = 1 + 8;

std::string ReportContext(const std::string& round_id, uint64_t node, const Digest& digest) {
  return absl::StrCat("blink report 1|", round_id, "|", node, "|", DigestToHex(digest));
}

}  // namespace

absl::StatusOr<CodedReport> SealReport(const SecretKey& key, const std::string& round_id, uint64_t node,
                                       const CodedReport& report) {
  std::string bytes;
  bytes.reserve(kHeadBytes + report.coded_bits.size());
  bytes.push_back(report.noisy_degree.has_value() ? 1 : 0);
  auto degree = static_cast<uint64_t>(report.noisy_degree.value_or(0));
  for (int i = 0; i < 8; ++i, degree >>= 8) bytes.push_back(static_cast<char>(degree & 0xff));
  bytes.append(report.coded_bits);
  CodedReport sealed;
  sealed.digest = report.digest;
  BLINK_ASSIGN_OR_RETURN(sealed.coded_bits, Seal(key, ReportContext(round_id, node, report.digest), bytes));
  return sealed;
}

absl::StatusOr<CodedReport> UnsealReport(const SecretKey& key, const std::string& round_id, uint64_t node,
                                         const CodedReport& sealed) {
  const absl::StatusOr<std::string> bytes =
      Unseal(key, ReportContext(round_id, node, sealed.digest), sealed.coded_bits);
  if (!bytes.ok() || bytes->size() < kHeadBytes) {
    return absl::DataLossError(absl::StrCat("the report of node ", node, " in round ", round_id,
                                            " was changed in the store, or is of another round or node: bring the "
                                            "store back from a backup"));
  }
  CodedReport report;
  report.digest = sealed.digest;
  if ((*bytes)[0] != 0) {
    uint64_t degree = 0;
    for (int i = 8; i >= 1; --i) degree = degree << 8 | static_cast<uint8_t>((*bytes)[i]);
    report.noisy_degree = static_cast<int64_t>(degree);
  }
  report.coded_bits = bytes->substr(kHeadBytes);
  return report;
}

}  // namespace blink
