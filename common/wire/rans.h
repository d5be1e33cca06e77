// Range asymmetric numeral systems (rANS, Duda 2013) with a static table: an entropy coder that is a bijection.
//
// States are 64-bit integers in [2^31, 2^63); what overflows goes to a shared stream of 32-bit words. With L = 2^31 a
// multiple of every table's total, each step of the decoder is undone by exactly one step of the encoder. So for a
// known number of symbols exactly one byte string is accepted: the one that starts with states in the interval, ends
// with all states at L, and leaves no word over. That is what makes an encoding canonical without encoding again.
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
  // `frequencies` are made to sum up to 2^log2_total by changing that of `absorber`, which must be able to take it.
  FrequencyTable(std::vector<uint32_t> frequencies, int log2_total, uint32_t absorber);

  int log2_total() const { return log2_total_; }
  uint32_t size() const { return static_cast<uint32_t>(frequencies_.size()); }
  uint32_t frequency(uint32_t symbol) const { return frequencies_[symbol]; }
  uint32_t start(uint32_t symbol) const { return starts_[symbol]; }
  // Symbol of each of the 2^log2_total slots.
  std::unique_ptr<uint8_t[]> Slots() const;

 private:
  int log2_total_;
  std::vector<uint32_t> frequencies_;
  std::vector<uint32_t> starts_;
};

// Division by a frequency as a multiplication, after Granlund and Montgomery (1994). For every x with 1 <= x < 2^63,
//   Step(x) = floor(x / f) * total + x mod f + start,   1 <= f < total = 2^log2_total <= 2^16.
//
// Proof. Let f >= 2, s = ceil(log2 f), m = ceil(2^(63+s) / f) = (2^(63+s) + e) / f with 0 <= e < f. As 2^(s-1) < f, m <
// 2^64. x m / 2^(63+s) = x / f + x e / (f 2^(63+s)), and x e < 2^63 f <= 2^(63+s): the excess is below 1 / f, so that
// the floor is that of x / f, whose fraction is at most 1 - 1 / f. And floor(x m / 2^(63+s)) is the high word of x m,
// shifted by s - 1. With q = floor(x / f), q total + x mod f + start = x + start + q (total - f). f = 1: m = 2^64 - 1
// gives q = x - 1, one too few for every x >= 1, for which the bias makes up: (x - 1)(total - 1) + total - 1.
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

// Appends the coded symbols: kLanes states of 8 bytes, then words of 4 bytes, little endian. Symbol i belongs to state
// i % kLanes. Nothing is appended for no symbols.
template <int kLanes>
void RansEncode(const FrequencyTable& table, absl::Span<const uint8_t> symbols, std::string& out);
// The same bytes, as the formula reads: the twin in tests, and the way for few symbols.
template <int kLanes>
void RansEncodeByDivision(const FrequencyTable& table, absl::Span<const uint8_t> symbols, std::string& out);

// Reads symbols in the order in which they were given to RansEncode. Whatever the bytes, Next() returns some symbol;
// once the words have run out, ok() is false.
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
  // Next() for each of `symbols`; to be called once, first. The states are kept apart, so that their steps overlap.
  void Fill(absl::Span<uint8_t> symbols);
  // Whether everything was used up and the states are back where an encoder starts: the coding was the only one
  // possible.
  bool Finished() const;

 private:
  struct Entry {
    uint32_t frequency;
    uint32_t start;
  };
  uint32_t NextWord();
  // Takes a symbol off a state, which may then lack a word.
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
