// Codes the distances between ones. A gap g is the number of zeros before a one, written as g = s * 2^b + low. The low
// b bits are sent as they are. The symbol s is entropy-coded with a geometric distribution, which gaps have when ones
// lie at random with density q = k / n. 2^b lies between 1/16 and 1/8 of the mean gap. Within a block of 2^b gaps the
// distribution is almost flat, so this loses less than 0.001 bit for each gap.
#include <algorithm>
#include <bit>
#include <vector>

#include "absl/status/status.h"
#include "common/wire/bit_coding.h"
#include "common/wire/bytes.h"
#include "common/wire/rans.h"

namespace blink::wire_internal {
namespace {

constexpr int kGapLog2Total = 14;
constexpr uint32_t kEscape = 127;  // 127 blocks without a one; the gap goes on
constexpr int kGapLanes = 1;

// floor(log2(n / k)) - 3, and 2 <= b <= 20 for the densities that come here (n / k >= 32, n <= 10^7).
int LowBits(uint32_t n, uint32_t k) { return std::bit_width(n / k) - 1 - 3; }

// Integers only: both ends must agree on every bit of it.
FrequencyTable GapTable(uint32_t n, uint32_t k, int low_bits) {
  uint64_t none = (uint64_t{1} << 32) - (uint64_t{k} << 32) / n;  // probability of no one in a block, units of 2^-32
  for (int i = 0; i < low_bits; ++i) none = (none * none) >> 32;
  std::vector<uint32_t> frequencies(kEscape + 1);
  uint64_t tail = uint64_t{1} << 32;  // probability of a symbol >= s
  for (uint32_t s = 0; s <= kEscape; ++s) {
    const uint64_t next = (tail * none) >> 32;
    const uint64_t probability = s == kEscape ? tail : tail - next;
    const uint64_t rounded = (probability + (uint64_t{1} << (31 - kGapLog2Total))) >> (32 - kGapLog2Total);
    frequencies[s] = static_cast<uint32_t>(std::max<uint64_t>(rounded, 1));
    tail = next;
  }
  return FrequencyTable(std::move(frequencies), kGapLog2Total, /*absorber=*/0);
}

// Fields of `width` <= 24 bits, least significant bit first, padded with zeros to a byte.
class BitWriter {
 public:
  explicit BitWriter(std::string& out) : out_(out) {}
  void Append(uint32_t value, int width) {
    pending_ |= uint64_t{value} << size_;
    size_ += width;
    while (size_ >= 8) Flush();
  }
  void Finish() {
    if (size_ > 0) Flush();
  }

 private:
  void Flush() {
    out_.push_back(static_cast<char>(pending_));
    pending_ >>= 8;
    size_ = std::max(size_ - 8, 0);
  }
  std::string& out_;
  uint64_t pending_ = 0;
  int size_ = 0;
};

// The caller guarantees that `bytes` is long enough.
class BitReader {
 public:
  explicit BitReader(absl::string_view bytes) : bytes_(bytes) {}
  uint32_t Next(int width) {
    while (size_ < width) {
      pending_ |= uint64_t{static_cast<uint8_t>(bytes_[next_++])} << size_;
      size_ += 8;
    }
    const uint32_t value = static_cast<uint32_t>(pending_ & ((uint64_t{1} << width) - 1));
    pending_ >>= width;
    size_ -= width;
    return value;
  }
  bool PaddingIsZero() const { return pending_ == 0; }

 private:
  absl::string_view bytes_;
  size_t next_ = 0;
  uint64_t pending_ = 0;
  int size_ = 0;
};

absl::Status Malformed() { return absl::InvalidArgumentError("coded bits: not an encoding of a row of this length"); }

}  // namespace

void EncodeGaps(const BitRow& bits, uint32_t k, std::string& out) {
  if (k == 0) return;
  const int low_bits = LowBits(bits.size(), k);
  std::vector<uint8_t> symbols;
  symbols.reserve(k + bits.size() / (kEscape << low_bits));
  BitWriter low(out);
  uint32_t next = 0;  // the first position not yet spoken for
  bits.ForEachOne([&](uint32_t position) {
    const uint32_t gap = position - next;
    next = position + 1;
    uint32_t blocks = gap >> low_bits;
    for (; blocks >= kEscape; blocks -= kEscape) symbols.push_back(kEscape);
    symbols.push_back(static_cast<uint8_t>(blocks));
    low.Append(gap & ((uint32_t{1} << low_bits) - 1), low_bits);
  });
  low.Finish();
  RansEncode<kGapLanes>(GapTable(bits.size(), k, low_bits), symbols, out);
}

absl::StatusOr<BitRow> DecodeGaps(absl::string_view body, uint32_t n, uint32_t k) {
  BitRow bits(n);
  if (k == 0) {
    if (!body.empty()) return Malformed();
    return bits;
  }
  const int low_bits = LowBits(n, k);
  const size_t low_bytes = (uint64_t{k} * low_bits + 7) / 8;
  if (body.size() < low_bytes) return Malformed();
  BitReader low(body.substr(0, low_bytes));
  RansDecoder<kGapLanes, kGapLog2Total> decoder(GapTable(n, k, low_bits), body.substr(low_bytes));
  uint64_t position = 0;
  for (uint32_t i = 0; i < k; ++i) {
    uint32_t symbol;
    while ((symbol = decoder.Next()) == kEscape) {
      position += uint64_t{kEscape} << low_bits;
      if (position >= n) return Malformed();  // also what bounds the time
    }
    position += (uint64_t{symbol} << low_bits) + low.Next(low_bits);
    if (position >= n) return Malformed();
    bits.Set(static_cast<uint32_t>(position));
    ++position;
  }
  if (!decoder.Finished() || !low.PaddingIsZero()) return Malformed();
  return bits;
}

}  // namespace blink::wire_internal
