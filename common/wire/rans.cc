#include "common/wire/rans.h"

#include <cassert>
#include <cstring>
#include <numeric>

#include "common/wire/bytes.h"

namespace blink::wire_internal {

FrequencyTable::FrequencyTable(std::vector<uint32_t> frequencies, int log2_total, uint32_t absorber)
    : log2_total_(log2_total), frequencies_(std::move(frequencies)), starts_(frequencies_.size()) {
  const uint32_t sum = std::accumulate(frequencies_.begin(), frequencies_.end(), uint32_t{0});
  frequencies_[absorber] += (uint32_t{1} << log2_total) - sum;  // modulo 2^32, so also downwards
  assert(frequencies_[absorber] >= 1 && frequencies_[absorber] <= (uint32_t{1} << log2_total));
  std::exclusive_scan(frequencies_.begin(), frequencies_.end(), starts_.begin(), uint32_t{0});
}

std::vector<uint8_t> FrequencyTable::Slots() const {
  std::vector<uint8_t> slots(size_t{1} << log2_total_);
  for (uint32_t symbol = 0; symbol < size(); ++symbol) {
    std::memset(slots.data() + starts_[symbol], static_cast<int>(symbol), frequencies_[symbol]);
  }
  return slots;
}

template <int kLanes>
void RansEncode(const FrequencyTable& table, absl::Span<const uint8_t> symbols, std::string& out) {
  if (symbols.empty()) return;
  std::array<uint64_t, kLanes> states;
  states.fill(kStateMin);
  std::vector<uint32_t> words;  // in the order of emission: the decoder reads them from the last
  words.reserve(symbols.size() / 4 + 16);
  const int shift = table.log2_total();
  for (size_t i = symbols.size(); i-- > 0;) {
    uint64_t& x = states[i % kLanes];
    const uint64_t frequency = table.frequency(symbols[i]);
    if (x >= ((kStateMin >> shift) << 32) * frequency) {
      words.push_back(static_cast<uint32_t>(x));
      x >>= 32;
    }
    x = ((x / frequency) << shift) + x % frequency + table.start(symbols[i]);
  }
  for (const uint64_t state : states) AppendLittleEndian(state, 8, out);
  for (size_t w = words.size(); w-- > 0;) AppendLittleEndian(words[w], 4, out);
}

template <int kLanes>
RansDecoder<kLanes>::RansDecoder(const FrequencyTable& table, absl::string_view coded)
    : mask_((uint32_t{1} << table.log2_total()) - 1), log2_total_(table.log2_total()), slots_(table.Slots()) {
  entries_.reserve(table.size());
  for (uint32_t symbol = 0; symbol < table.size(); ++symbol) {
    entries_.push_back({table.frequency(symbol), table.start(symbol)});
  }
  if (coded.size() < 8 * kLanes) {
    states_.fill(kStateMin);
    ok_ = false;
    return;
  }
  for (uint64_t& state : states_) {
    state = LoadLittleEndian(coded.substr(0, 8));
    coded.remove_prefix(8);
    if (state < kStateMin || state >> 63 != 0) ok_ = false;
  }
  words_ = coded;
}

template <int kLanes>
uint32_t RansDecoder<kLanes>::NextWord() {
  if (words_.size() < 4) {
    ok_ = false;
    return 0;
  }
  const uint32_t word = static_cast<uint32_t>(LoadLittleEndian(words_.substr(0, 4)));
  words_.remove_prefix(4);
  return word;
}

template <int kLanes>
bool RansDecoder<kLanes>::Finished() const {
  for (const uint64_t state : states_) {
    if (state != kStateMin) return false;
  }
  return ok_ && words_.empty();
}

template <int kLanes>
void RansDecoder<kLanes>::Fill(absl::Span<uint8_t> symbols) {
  std::array<uint64_t, kLanes> states = states_;
  size_t i = 0;
  for (; i + kLanes <= symbols.size(); i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) symbols[i + lane] = static_cast<uint8_t>(Step(states[lane]));
  }
  states_ = states;
  for (; i < symbols.size(); ++i) symbols[i] = static_cast<uint8_t>(Next());
}

template void RansEncode<1>(const FrequencyTable&, absl::Span<const uint8_t>, std::string&);
template void RansEncode<2>(const FrequencyTable&, absl::Span<const uint8_t>, std::string&);
template class RansDecoder<1>;
template class RansDecoder<2>;

}  // namespace blink::wire_internal
