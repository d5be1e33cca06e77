// The report codec. Whatever is accepted is what the encoder gives for the decoded row, byte for byte; whatever the
// encoder gives is accepted.
//
// Input: kind (u8), n (u32), self (u32), then
//   kind 0   coded bits as they are
//   kind 1   a row of n bits, which is encoded and decoded
//   kind 2   position (u16), value (u8) and a row: its encoding with one byte changed, which random bytes never hit
//   kind 3   share (u32), degree (i64), presence and mechanism (u8: bits 0 and 1) and coded bits: a report, with the
//            digest that fits. Bit 2: of group degrees, where the share says how many groups; and the same bytes as
//            groups of n nodes
#include <algorithm>
#include <cstring>

#include "common/wire/groups_codec.h"
#include "common/wire/report_codec.h"
#include "tests/fuzz/fuzzing.h"

namespace blink {
namespace {

// Mostly small, since small rows reach every branch; now and then the largest that exists.
uint32_t NodeCount(uint32_t raw) {
  if (raw >> 24 == 0xFF) return raw % 10'000'000 + 1;
  return (raw >> 24 & 1 ? raw % 40'000 : raw % 1'200) + 1;
}

void CheckDecode(absl::string_view coded, uint32_t n) {
  const absl::StatusOr<BitRow> bits = DecodeBits(coded, n);
  if (!bits.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(bits.status()));
    return;
  }
  FUZZ_CHECK(bits->size() == n);
  FUZZ_CHECK(EncodeBits(*bits) == coded);
}

BitRow Row(absl::string_view bytes, uint32_t n) {
  BitRow bits(n);
  const absl::Span<uint64_t> words = bits.mutable_words();
  std::memcpy(words.data(), bytes.data(), std::min(bytes.size(), words.size() * 8));
  bits.ClearTail();
  return bits;
}

void CheckGroups(absl::string_view coded, uint32_t n, uint32_t count) {
  const absl::StatusOr<NodeGroups> groups = DecodeGroups(coded, n, count);
  if (!groups.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(groups.status()));
    return;
  }
  FUZZ_CHECK(groups->IsPartitionOf(n));
  FUZZ_CHECK(EncodeGroups(*groups) == coded);
}

void CheckReport(fuzzing::Input input, uint32_t n, uint32_t self) {
  const uint32_t share_ppm = input.Get<uint32_t>() % 1'000'001;
  CodedReport coded;
  const auto degree = input.Get<int64_t>();
  const auto flags = input.Get<uint8_t>();
  const uint32_t groups = share_ppm % std::min(n, kGroupsMax) + 1;
  if (flags & 4) CheckGroups(input.rest(), n, groups);
  const auto parameters = flags & 4 ? PrivacyParameters::CreateForGroups(1'000'000, n, {groups, {}})
                                    : PrivacyParameters::Create(1'000'000, share_ppm, n,
                                                                flags & 2 ? Mechanism::kOneEnd : Mechanism::kBothEnds);
  if (!parameters.ok()) return;
  if (flags & 1) coded.noisy_degree = degree;
  coded.coded_bits = std::string(input.rest());
  coded.digest = ReportDigest(*parameters, coded.noisy_degree, coded.coded_bits);
  const absl::StatusOr<PrivateReport> report = DecodeReport(*parameters, self, coded);
  if (!report.ok()) return;
  if (parameters->sends_bits()) {
    FUZZ_CHECK(report->bits.size() == parameters->row_bits(self));
    FUZZ_CHECK(parameters->mechanism() == Mechanism::kOneEnd || !report->bits.Test(self));
  }
  FUZZ_CHECK(report->group_degrees.size() == parameters->question().count);
  const CodedReport again = EncodeReport(*parameters, *report);
  FUZZ_CHECK(again.coded_bits == coded.coded_bits && again.noisy_degree == coded.noisy_degree);
  FUZZ_CHECK(again.digest == coded.digest);
  coded.digest[self % 32] ^= 1;
  FUZZ_CHECK(!DecodeReport(*parameters, self, coded).ok());
}

}  // namespace
}  // namespace blink

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace blink;
  fuzzing::Input input(data, size);
  const auto kind = input.Get<uint8_t>();
  const uint32_t n = NodeCount(input.Get<uint32_t>());
  const auto self = input.Get<uint32_t>();
  if (kind % 4 == 0) {
    CheckDecode(input.rest(), n);
  } else if (kind % 4 == 1) {
    const BitRow bits = Row(input.rest(), n);
    const std::string coded = EncodeBits(bits);
    const absl::StatusOr<BitRow> decoded = DecodeBits(coded, n);
    FUZZ_CHECK(decoded.ok() && *decoded == bits);
  } else if (kind % 4 == 2) {
    const auto position = input.Get<uint16_t>();
    const auto value = input.Get<uint8_t>();
    std::string coded = EncodeBits(Row(input.rest(), n));
    coded[position % coded.size()] = static_cast<char>(value);
    CheckDecode(coded, n);
  } else {
    CheckReport(input, n, self % (n + 1));
  }
  return 0;
}
