// A report's bits as bytes: near their entropy, and with exactly one valid encoding.
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

// Encodes bits with the coding that ChooseCoding (bit_coding.h) names for them. The same bits always give the same
// bytes.
std::string EncodeBits(const BitRow& bits);

// Returns INVALID_ARGUMENT unless `coded` is what EncodeBits gives for some row of `node_count` bits. Takes time of
// O(node_count + size of coded) and memory of O(node_count), whatever the bytes are.
absl::StatusOr<BitRow> DecodeBits(absl::string_view coded, uint32_t node_count);

// A report as it is stored and sent. The digest is the SHA-256 of its content: mechanism, parameters, n, noisy degree
// and coded bits. It does not cover the round or the node.
struct CodedReport {
  // Empty exactly when s = 1. Of Mechanism::kGroupDegrees the coded numbers of group_degrees_codec.h.
  std::string coded_bits;
  std::optional<int64_t> noisy_degree;  // absent exactly when s = 0
  Digest digest{};
};

CodedReport EncodeReport(const PrivacyParameters& parameters, const PrivateReport& report);
Digest ReportDigest(const PrivacyParameters& parameters, const std::optional<int64_t>& noisy_degree,
                    absl::string_view coded_bits);

// Checks everything: that the parts are there, the digest, the coding of as many bits as a report of `self` has, and
// that the node's own bit is 0 where it has one. Returns INVALID_ARGUMENT that names what is wrong.
absl::StatusOr<PrivateReport> DecodeReport(const PrivacyParameters& parameters, NodeIndex self,
                                           const CodedReport& coded);

// The most that EncodeBits needs for a row of so many bits: they are never coded longer than packed, but for a small
// head. DecodeReport also limits the numbers of Mechanism::kGroupDegrees (kGroupDegreeBytesMax each).
inline constexpr uint32_t CodedBytesMax(uint32_t row_bits) { return row_bits / 8 + 1024; }

// The entropy of a row with k ones about N = n - 1 pairs: log2 C(n-1, k) / 8 bytes, computed with lgamma.
double EntropyBytes(uint32_t node_count, uint32_t ones);

}  // namespace blink

#endif  // BLINK_COMMON_WIRE_REPORT_CODEC_H_
