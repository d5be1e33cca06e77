// A report's bits as bytes, near their entropy, in exactly one valid encoding.
#ifndef BLINK_COMMON_WIRE_REPORT_CODEC_H_
#define BLINK_COMMON_WIRE_REPORT_CODEC_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/digest.h"
#include "common/privacy/bit_row.h"
#include "common/privacy/parameters.h"
#include "common/privacy/private_report.h"

namespace blink {

// Chooses the cheapest of the codings documented in docs/PROTOCOL.md; deterministic.
std::string EncodeBits(const BitRow& bits);

// INVALID_ARGUMENT unless `coded` is what EncodeBits gives for some row of `node_count` bits. Time O(node_count +
// size), memory O(node_count), whatever the bytes.
absl::StatusOr<BitRow> DecodeBits(absl::string_view coded, uint32_t node_count);

// A report as it is stored and sent. The digest is SHA-256 over the content (mechanism, parameters, n, noisy degree,
// coded bits), not over the round or the node.
struct CodedReport {
  std::string coded_bits;               // empty exactly when s = 1
  std::optional<int64_t> noisy_degree;  // absent exactly when s = 0
  Digest digest{};
};

CodedReport EncodeReport(const PrivacyParameters& parameters, const PrivateReport& report);
Digest ReportDigest(const PrivacyParameters& parameters, const std::optional<int64_t>& noisy_degree,
                    absl::string_view coded_bits);

// Checks everything: presence of the parts, the digest, the coding, the bit of the node itself (0).
// INVALID_ARGUMENT naming what is wrong.
absl::StatusOr<PrivateReport> DecodeReport(const PrivacyParameters& parameters, NodeIndex self,
                                           const CodedReport& coded);

// log2 C(n-1, k) / 8 bytes: the entropy of a report with k ones, by lgamma.
double EntropyBytes(uint32_t node_count, uint32_t ones);

}  // namespace blink

#endif  // BLINK_COMMON_WIRE_REPORT_CODEC_H_
