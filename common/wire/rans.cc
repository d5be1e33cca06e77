#include "common/wire/rans.h"

#include <bit>
#include <cassert>
#include <cstring>
#include <memory>
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

std::unique_ptr<uint8_t[]> FrequencyTable::Slots() const {
  // Whole strides: what is written beyond a symbol's last slot, the next symbols overwrite.
  constexpr size_t kStride = 32;
  const size_t total = size_t{1} << log2_total_;
  std::unique_ptr<uint8_t[]> slots(new uint8_t[total + kStride]);  // not initialised
  for (uint32_t symbol = 0; symbol < size(); ++symbol) {
    uint8_t* slot = slots.get() + starts_[symbol];
    uint8_t* const end = slot + frequencies_[symbol];
    for (; slot < end; slot += kStride) std::memset(slot, static_cast<int>(symbol), kStride);
  }
  return slots;
}

Reciprocal::Reciprocal(uint32_t frequency, int log2_total)
    : frequency_(frequency), complement_((uint32_t{1} << log2_total) - frequency) {
  if (frequency == 1) {
    multiplier_ = ~uint64_t{0};
    bias_ = complement_;
    return;
  }
  const int log2_frequency = std::bit_width(frequency - 1);  // rounded up
  const unsigned __int128 power = static_cast<unsigned __int128>(1) << (63 + log2_frequency);
  multiplier_ = static_cast<uint64_t>((power + frequency - 1) / frequency);
  shift_ = static_cast<uint32_t>(log2_frequency - 1);
}

namespace {

// What an encoder needs of a symbol.
struct EncoderEntry {
  Reciprocal reciprocal;
  uint32_t start = 0;
  uint64_t limit = 0;  // a state from here on gives a word away first, or it would leave the interval
};

uint64_t Limit(const FrequencyTable& table, uint32_t symbol) {
  return ((kStateMin >> table.log2_total()) << 32) * table.frequency(symbol);
}

std::vector<EncoderEntry> EncoderEntries(const FrequencyTable& table) {
  std::array<Reciprocal, 256> known;  // many symbols have the same frequency
  std::vector<EncoderEntry> entries(table.size());
  for (uint32_t symbol = 0; symbol < table.size(); ++symbol) {
    const uint32_t frequency = table.frequency(symbol);
    Reciprocal& reciprocal = known[(frequency * 2654435769u) >> 24];
    if (reciprocal.frequency() != frequency) reciprocal = Reciprocal(frequency, table.log2_total());
    entries[symbol] = {reciprocal, table.start(symbol), Limit(table, symbol)};
  }
  return entries;
}

// Words in the order of emission, from the end to the front: the decoder reads them forwards. A step emits at most one.
class WordStack {
 public:
  explicit WordStack(size_t steps) : words_(new uint32_t[steps + 1]), end_(words_.get() + steps + 1), next_(end_) {}
  // Takes the low half of `x` if `taken`.
  void Push(uint64_t& x, bool taken) {
    next_[-1] = static_cast<uint32_t>(x);
    next_ -= taken;
    x >>= taken ? 32 : 0;
  }
  void AppendTo(std::string& out) const {
    out.append(reinterpret_cast<const char*>(next_), static_cast<size_t>(end_ - next_) * sizeof(uint32_t));
  }

 private:
  const std::unique_ptr<uint32_t[]> words_;  // not initialised: hardly a third is ever touched
  uint32_t* const end_;
  uint32_t* next_;
};

// Runs `step(state, symbol)` from the last symbol to the first, each on its lane.
template <int kLanes, typename Step>
void EncodeWith(absl::Span<const uint8_t> symbols, std::string& out, Step step) {
  WordStack words(symbols.size());
  std::array<uint64_t, kLanes> states;
  states.fill(kStateMin);
  size_t i = symbols.size();
  for (; i % kLanes != 0; --i) step(states[(i - 1) % kLanes], symbols[i - 1], words);
  for (; i != 0; i -= kLanes) {
    for (int lane = kLanes; lane-- > 0;) step(states[lane], symbols[i - kLanes + lane], words);
  }
  for (const uint64_t state : states) AppendLittleEndian(state, 8, out);
  words.AppendTo(out);
}

}  // namespace

template <int kLanes>
void RansEncodeByDivision(const FrequencyTable& table, absl::Span<const uint8_t> symbols, std::string& out) {
  if (symbols.empty()) return;
  EncodeWith<kLanes>(symbols, out, [&table](uint64_t& x, uint8_t symbol, WordStack& words) {
    words.Push(x, x >= Limit(table, symbol));
    const uint64_t frequency = table.frequency(symbol);
    x = ((x / frequency) << table.log2_total()) + x % frequency + table.start(symbol);
  });
}

template <int kLanes>
void RansEncode(const FrequencyTable& table, absl::Span<const uint8_t> symbols, std::string& out) {
  // So few divisions cost less than the reciprocals would.
  if (symbols.size() < 2 * table.size()) return RansEncodeByDivision<kLanes>(table, symbols, out);
  const std::vector<EncoderEntry> entries = EncoderEntries(table);
  EncodeWith<kLanes>(symbols, out, [&entries](uint64_t& x, uint8_t symbol, WordStack& words) {
    const EncoderEntry& entry = entries[symbol];
    words.Push(x, x >= entry.limit);
    x = entry.reciprocal.Step(x, entry.start);
  });
}

template <int kLanes, int kLog2Total>
RansDecoder<kLanes, kLog2Total>::RansDecoder(const FrequencyTable& table, absl::string_view coded)
    : slots_(table.Slots()) {
  assert(table.log2_total() == kLog2Total);
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

template <int kLanes, int kLog2Total>
uint32_t RansDecoder<kLanes, kLog2Total>::NextWord() {
  if (words_.size() < 4) {
    ok_ = false;
    return 0;
  }
  const uint32_t word = static_cast<uint32_t>(LoadLittleEndian(words_.substr(0, 4)));
  words_.remove_prefix(4);
  return word;
}

template <int kLanes, int kLog2Total>
bool RansDecoder<kLanes, kLog2Total>::Finished() const {
  for (const uint64_t state : states_) {
    if (state != kStateMin) return false;
  }
  return ok_ && words_.empty();
}

template <int kLanes, int kLog2Total>
void RansDecoder<kLanes, kLog2Total>::Fill(absl::Span<uint8_t> symbols) {
  // Local copies: a store to `symbols` may be one to any member, for all the compiler knows.
  std::array<uint64_t, kLanes> states = states_;
  const uint8_t* const slots = slots_.get();
  const Entry* const entries = entries_.data();
  const char* word = words_.data();
  const char* const end = word + words_.size();
  uint8_t* symbol = symbols.data();
  uint8_t* const symbols_end = symbol + symbols.size();
  // As long as there is a word for every lane, whether it is needed or not.
  for (; symbols_end - symbol >= kLanes && end - word >= 4 * kLanes; symbol += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint64_t x = states[lane];
      const uint32_t slot = static_cast<uint32_t>(x) & ((1u << kLog2Total) - 1);
      symbol[lane] = slots[slot];
      const Entry entry = entries[slots[slot]];
      const uint64_t rest = slot - entry.start;
      const uint64_t undone = entry.frequency * (x >> kLog2Total) + rest;
      uint32_t next;
      std::memcpy(&next, word, 4);
      const uint64_t refilled = undone << 32 | next;
      const uint64_t lacks = undone < kStateMin;
      states[lane] = undone ^ ((undone ^ refilled) & (0 - lacks));
      word += 4 * lacks;
    }
  }
  states_ = states;
  words_.remove_prefix(static_cast<size_t>(word - words_.data()));
  for (; symbol < symbols_end; ++symbol) *symbol = static_cast<uint8_t>(Next());
}

template void RansEncodeByDivision<1>(const FrequencyTable&, absl::Span<const uint8_t>, std::string&);
template void RansEncodeByDivision<4>(const FrequencyTable&, absl::Span<const uint8_t>, std::string&);
template void RansEncode<1>(const FrequencyTable&, absl::Span<const uint8_t>, std::string&);
template void RansEncode<4>(const FrequencyTable&, absl::Span<const uint8_t>, std::string&);
template class RansDecoder<1, 14>;
template class RansDecoder<4, 15>;

}  // namespace blink::wire_internal
