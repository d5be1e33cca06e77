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
  std::vector<uint8_t> Slots() const;

 private:
  int log2_total_;
  std::vector<uint32_t> frequencies_;
  std::vector<uint32_t> starts_;
};

// Appends the coded symbols: kLanes states of 8 bytes, then words of 4 bytes, little endian. Symbol i belongs to state
// i % kLanes. Nothing is appended for no symbols.
template <int kLanes>
void RansEncode(const FrequencyTable& table, absl::Span<const uint8_t> symbols, std::string& out);

// Reads symbols in the order in which they were given to RansEncode. Whatever the bytes, Next() returns some symbol;
// once the words have run out, ok() is false.
template <int kLanes>
class RansDecoder {
 public:
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
    uint64_t frequency;
    uint32_t start;
  };
  uint32_t NextWord();
  uint32_t Step(uint64_t& x) {
    const uint32_t slot = static_cast<uint32_t>(x) & mask_;
    const uint32_t symbol = slots_[slot];
    x = entries_[symbol].frequency * (x >> log2_total_) + slot - entries_[symbol].start;
    if (x < kStateMin) x = (x << 32) | NextWord();
    return symbol;
  }

  std::array<uint64_t, kLanes> states_{};
  int lane_ = 0;
  bool ok_ = true;
  uint32_t mask_;
  int log2_total_;
  std::vector<uint8_t> slots_;
  std::vector<Entry> entries_;
  absl::string_view words_;
};

}  // namespace blink::wire_internal

#endif  // BLINK_COMMON_WIRE_RANS_H_
