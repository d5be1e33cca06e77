// Range asymmetric numeral systems (rANS, Duda 2013) with a static table: an entropy coder that is a bijection.
//
// A state is a 64-bit integer in [2^31, 2^63). Its overflow goes to a stream of 32-bit words that all states share.
//
// The encoding of a sequence is canonical, and a decoder can check that without encoding again. The reason: L = 2^31 is
// a multiple of every table's total, so exactly one step of the encoder undoes each step of the decoder. For a known
// number of symbols exactly one byte string is accepted. It starts with states in the interval, ends with all states at
// L, and leaves no word over.
#ifndef BLINK_COMMON_WIRE_RANS_H_
#define BLINK_COMMON_WIRE_RANS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace blink::wire_internal {

inline constexpr uint64_t kStateMin = uint64_t{1} << 31;

// Frequencies of symbols 0 .. size-1, each at least 1, with sum 2^log2_total.
class FrequencyTable {
 public:
  // Changes the frequency of the symbol `absorber` so that the sum becomes 2^log2_total. It must stay at least 1.
  FrequencyTable(std::vector<uint32_t> frequencies, int log2_total, uint32_t absorber);

  int log2_total() const { return log2_total_; }
  uint32_t size() const { return static_cast<uint32_t>(frequencies_.size()); }
  uint32_t frequency(uint32_t symbol) const { return frequencies_[symbol]; }
  uint32_t start(uint32_t symbol) const { return starts_[symbol]; }
  // The symbol of each of the 2^log2_total slots.
  std::unique_ptr<uint8_t[]> Slots() const;

 private:
  int log2_total_;
  std::vector<uint32_t> frequencies_;
  std::vector<uint32_t> starts_;
};

// Division by a frequency f as a multiplication, after Granlund and Montgomery (1994). For 1 <= x < 2^63,
//
//   Step(x) = floor(x / f) * total + x mod f + start,   with 1 <= f < total = 2^log2_total <= 2^16.
//
// Proof for f >= 2:
//   Let s = ceil(log2 f) and m = ceil(2^(63+s) / f) = (2^(63+s) + e) / f, with 0 <= e < f.
//   m < 2^64, since 2^(s-1) < f.
//   x m / 2^(63+s) = x / f + x e / (f 2^(63+s)), and x e < 2^63 f <= 2^(63+s). So the excess over x / f is below 1 / f.
//   The fraction of x / f is at most 1 - 1 / f. So floor(x m / 2^(63+s)) = floor(x / f) =: q.
//   floor(x m / 2^(63+s)) is the high word of x m, shifted right by s - 1.
//   And q total + x mod f + start = x + start + q (total - f).
// For f = 1:
//   m = 2^64 - 1 gives x - 1 instead of q = x, for every x >= 1. The bias total - 1 makes up for it:
//   (x - 1) (total - 1) + total - 1 = x (total - 1).
class Reciprocal {
 public:
  Reciprocal() = default;
  Reciprocal(uint32_t frequency, int log2_total);
  uint64_t Step(uint64_t x, uint32_t start) const {
    const uint64_t quotient = static_cast<uint64_t>((static_cast<unsigned __int128>(x) * multiplier_) >> 64) >> shift_;
    return x + start + bias_ + quotient * complement_;
  }
  uint32_t frequency() const { return frequency_; }  // 0: none yet

 private:
  uint64_t multiplier_ = 0;
  uint32_t frequency_ = 0;
  uint32_t complement_ = 0;  // total - f
  uint32_t bias_ = 0;
  uint32_t shift_ = 0;
};

// Appends the coded symbols: kLanes states of 8 bytes, then words of 4 bytes, all little endian. Symbol i belongs to
// state i % kLanes. Without symbols nothing is appended.
template <int kLanes>
void RansEncode(const FrequencyTable& table, absl::Span<const uint8_t> symbols, std::string& out);
// Appends the same bytes, computed by division as the formula reads. Used for few symbols, and by tests as the twin of
// RansEncode.
template <int kLanes>
void RansEncodeByDivision(const FrequencyTable& table, absl::Span<const uint8_t> symbols, std::string& out);

// Reads symbols in the order in which RansEncode got them. Next() returns some symbol whatever the bytes are. Once the
// words have run out, ok() is false.
template <int kLanes, int kLog2Total>
class RansDecoder {
 public:
  // A table of total 2^kLog2Total.
  RansDecoder(const FrequencyTable& table, absl::string_view coded);

  bool ok() const { return ok_; }
  uint32_t Next() {
    const uint32_t symbol = Step(states_[lane_]);
    lane_ = (lane_ + 1) % kLanes;
    return symbol;
  }
  // Does what Next() does, for all of `symbols`. Call it once, before any Next(). It handles the states separately, so
  // that the processor works on several at once.
  void Fill(absl::Span<uint8_t> symbols);
  // Whether all words were used and all states are back where an encoder starts. If so, the encoding was the canonical
  // one.
  bool Finished() const;

 private:
  struct Entry {
    uint32_t frequency;
    uint32_t start;
  };
  uint32_t NextWord();
  // Takes a symbol off a state. The state may then need another word.
  uint32_t Undo(uint64_t& x) const {
    const uint32_t slot = static_cast<uint32_t>(x) & ((1u << kLog2Total) - 1);
    const uint32_t symbol = slots_[slot];
    x = entries_[symbol].frequency * (x >> kLog2Total) + slot - entries_[symbol].start;
    return symbol;
  }
  uint32_t Step(uint64_t& x) {
    const uint32_t symbol = Undo(x);
    if (x < kStateMin) x = (x << 32) | NextWord();
    return symbol;
  }

  std::array<uint64_t, kLanes> states_{};
  int lane_ = 0;
  bool ok_ = true;
  std::unique_ptr<uint8_t[]> slots_;
  std::vector<Entry> entries_;
  absl::string_view words_;
};

}  // namespace blink::wire_internal

#endif  // BLINK_COMMON_WIRE_RANS_H_
