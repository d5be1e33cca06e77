#include "common/wire/report_codec.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/wire/bit_coding.h"
#include "common/wire/group_degrees_codec.h"

namespace blink {
namespace {

using wire_internal::ChooseCoding;
using wire_internal::Coding;

// Base 128, low digits first, no superfluous digit.
void AppendVarint(uint32_t value, std::string& out) {
  for (; value >= 128; value >>= 7) out.push_back(static_cast<char>(value | 128));
  out.push_back(static_cast<char>(value));
}

absl::StatusOr<uint32_t> TakeVarint(absl::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift <= 28 && !bytes.empty(); shift += 7) {
    const uint8_t digit = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{digit & 127u} << shift;
    if (digit >= 128) continue;
    if ((digit == 0 && shift > 0) || value > UINT32_MAX) break;
    return static_cast<uint32_t>(value);
  }
  return absl::InvalidArgumentError("coded bits: the number of ones is malformed");
}

absl::StatusOr<BitRow> DecodeBody(Coding coding, absl::string_view body, uint32_t n, uint32_t k) {
  switch (coding) {
    case Coding::kPacked:
      return wire_internal::DecodePacked(body, n);
    case Coding::kPatterns:
      return wire_internal::DecodePatterns(body, n, k);
    case Coding::kGapsOfOnes:
      return wire_internal::DecodeGaps(body, n, k);
    case Coding::kGapsOfZeros: {
      BLINK_ASSIGN_OR_RETURN(BitRow zeros, wire_internal::DecodeGaps(body, n, n - k));
      return wire_internal::Complement(std::move(zeros));
    }
  }
  return absl::InvalidArgumentError("coded bits: unknown coding");
}

}  // namespace

std::string EncodeBits(const BitRow& bits) {
  const uint32_t n = bits.size(), k = bits.Count();
  const Coding coding = ChooseCoding(n, k);
  std::string out;
  out.push_back(static_cast<char>(coding));
  AppendVarint(k, out);
  switch (coding) {
    case Coding::kPacked:
      wire_internal::EncodePacked(bits, out);
      break;
    case Coding::kPatterns:
      wire_internal::EncodePatterns(bits, k, out);
      break;
    case Coding::kGapsOfOnes:
      wire_internal::EncodeGaps(bits, k, out);
      break;
    case Coding::kGapsOfZeros:
      wire_internal::EncodeGaps(wire_internal::Complement(bits), n - k, out);
      break;
  }
  return out;
}

absl::StatusOr<BitRow> DecodeBits(absl::string_view coded, uint32_t node_count) {
  if (node_count < 1 || node_count > kNodesMax) {
    return absl::InvalidArgumentError(absl::StrCat("node_count is ", node_count, ", but must be 1 .. ", kNodesMax));
  }
  if (coded.empty()) return absl::InvalidArgumentError("coded bits: empty");
  const uint8_t tag = static_cast<uint8_t>(coded.front());
  coded.remove_prefix(1);
  BLINK_ASSIGN_OR_RETURN(const uint32_t k, TakeVarint(coded));
  if (k > node_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("coded bits: ", k, " ones announced for a row of ", node_count, " bits"));
  }
  const Coding coding = ChooseCoding(node_count, k);
  if (tag != static_cast<uint8_t>(coding)) {
    return absl::InvalidArgumentError(
        absl::StrCat("coded bits: coding ", tag, " where only coding ", static_cast<uint8_t>(coding), " is valid"));
  }
  BLINK_ASSIGN_OR_RETURN(BitRow bits, DecodeBody(coding, coded, node_count, k));
  if (bits.Count() != k) return absl::InvalidArgumentError("coded bits: another number of ones than announced");
  return bits;
}

CodedReport EncodeReport(const PrivacyParameters& parameters, const PrivateReport& report) {
  CodedReport coded;
  if (parameters.sends_bits()) coded.coded_bits = EncodeBits(report.bits);
  if (parameters.sends_group_degrees()) coded.coded_bits = EncodeGroupDegrees(report.group_degrees);
  coded.noisy_degree = report.noisy_degree;
  coded.digest = ReportDigest(parameters, coded.noisy_degree, coded.coded_bits);
  return coded;
}

Digest ReportDigest(const PrivacyParameters& parameters, const std::optional<int64_t>& noisy_degree,
                    absl::string_view coded_bits) {
  Sha256 sha;
  sha.Update("blink report 1\n");
  sha.UpdateUint64(static_cast<uint32_t>(parameters.mechanism()));
  sha.UpdateUint64(parameters.epsilon_micro());
  sha.UpdateUint64(parameters.degree_share_ppm());
  sha.UpdateUint64(parameters.node_count());
  if (parameters.sends_group_degrees()) {
    sha.UpdateUint64(parameters.question().count).Update(DigestToBytes(parameters.question().map_sha256));
  }
  sha.UpdateUint64(noisy_degree.has_value() ? 1 : 0);
  sha.UpdateUint64(static_cast<uint64_t>(noisy_degree.value_or(0)));
  sha.UpdateUint64(coded_bits.size());
  sha.Update(coded_bits);
  return sha.Finish();
}

absl::StatusOr<PrivateReport> DecodeReport(const PrivacyParameters& parameters, NodeIndex self,
                                           const CodedReport& coded) {
  if (self >= parameters.node_count()) {
    return absl::InvalidArgumentError(absl::StrCat("node ", self, " is not below ", parameters.node_count()));
  }
  if (coded.noisy_degree.has_value() != parameters.sends_degree()) {
    return absl::InvalidArgumentError(parameters.sends_degree() ? "the noisy degree is missing"
                                                                : "a noisy degree came, but the degree share is 0");
  }
  const bool sends_bytes = parameters.sends_bits() || parameters.sends_group_degrees();
  if (coded.coded_bits.empty() == sends_bytes) {
    return absl::InvalidArgumentError(sends_bytes ? "the coded bits are missing"
                                                  : "coded bits came, but the degree share is 1");
  }
  if (ReportDigest(parameters, coded.noisy_degree, coded.coded_bits) != coded.digest) {
    return absl::InvalidArgumentError("the digest does not match the report's content");
  }
  PrivateReport report;
  report.noisy_degree = coded.noisy_degree;
  if (parameters.sends_group_degrees()) {
    BLINK_ASSIGN_OR_RETURN(report.group_degrees, DecodeGroupDegrees(coded.coded_bits, parameters.question().count));
  }
  if (parameters.sends_bits()) {
    BLINK_ASSIGN_OR_RETURN(report.bits, DecodeBits(coded.coded_bits, parameters.row_bits(self)));
    if (parameters.mechanism() == Mechanism::kBothEnds && report.bits.Test(self)) {
      return absl::InvalidArgumentError("the bit of the node itself is 1; it must be 0");
    }
  }
  return report;
}

double EntropyBytes(uint32_t node_count, uint32_t ones) {
  const double others = node_count - 1.0;
  const double nats = std::lgamma(others + 1) - std::lgamma(ones + 1.0) - std::lgamma(others - ones + 1);
  return nats / std::log(2.0) / 8;
}

}  // namespace blink
