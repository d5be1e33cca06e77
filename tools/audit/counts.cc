#include "tools/audit/counts.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace blink {
namespace {

void AddTo(std::vector<uint64_t>& sum, const std::vector<uint64_t>& more) {
  sum.resize(std::max(sum.size(), more.size()));
  for (size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

}  // namespace

void LaneCounter::Add(absl::Span<const uint64_t> row) {
  std::copy(row.begin(), row.end(), carry_.begin());
  uint64_t* const carry = carry_.data();
  for (size_t plane = 0; plane < kPlanes; ++plane) {
    uint64_t* const digits = planes_.data() + plane * words_;
    uint64_t any = 0;
    for (size_t w = 0; w < words_; ++w) {
      const uint64_t both = digits[w] & carry[w];
      digits[w] ^= carry[w];
      carry[w] = both;
      any |= both;
    }
    if (any == 0) break;
  }
  if (++pending_ == (1u << kPlanes) - 1) Empty();
}

void LaneCounter::Empty() {
  for (size_t plane = 0; plane < kPlanes; ++plane) {
    for (size_t w = 0; w < words_; ++w) {
      uint64_t& digits = planes_[plane * words_ + w];
      for (; digits != 0; digits &= digits - 1) counts_[64 * w + std::countr_zero(digits)] += uint64_t{1} << plane;
    }
  }
  pending_ = 0;
}

const std::vector<uint64_t>& LaneCounter::Counts() {
  Empty();
  return counts_;
}

void ListCounts::Merge(const ListCounts& other) {
  reports += other.reports;
  malformed += other.malformed;
  non_integer_degrees += other.non_integer_degrees;
  AddTo(flips, other.flips);
  AddTo(adjacent, other.adjacent);
  AddTo(lanes, other.lanes);
  AddTo(flip_totals, other.flip_totals);
  for (size_t d = 1; d <= kReportDistanceMax; ++d) {
    for (int half = 0; half < 2; ++half) {
      distant[d].pairs[half] += other.distant[d].pairs[half];
      distant[d].flips[half] += other.distant[d].flips[half];
      distant[d].equal_noise[half] += other.distant[d].equal_noise[half];
      distant[d].shared_gaps[half] += other.distant[d].shared_gaps[half];
    }
  }
  for (int half = 0; half < 2; ++half) AddTo(successive[half], other.successive[half]);
  for (int c = 0; c < kNoiseClasses; ++c) {
    class_reports[c] += other.class_reports[c];
    AddTo(class_flips[c], other.class_flips[c]);
  }
  for (int bit = 0; bit < 2; ++bit) AddTo(degree_cells[bit], other.degree_cells[bit]);
}

ReportCounter::ReportCounter(const AuditedList& list, NodeIndex self, NodeIndex target, bool has_bits, bool has_degree,
                             DegreeCells cells, double large_noise, GapRuns gap_runs, double flip_probability)
    : list_(list),
      self_(self),
      target_(target),
      has_bits_(has_bits),
      has_degree_(has_degree),
      cells_(cells),
      large_noise_(large_noise),
      words_(list.row.words().size()),
      flips_(words_),
      scratch_(words_),
      shared_gaps_(gap_runs, list.row.size(), flip_probability),
      flip_counter_(words_),
      adjacent_counter_(words_),
      lane_counter_(words_),
      successive_counters_(2, LaneCounter(words_)),
      class_counters_(kNoiseClasses, LaneCounter(words_)) {
  for (auto& of_bit : counts_.degree_cells) of_bit.resize(cells_.size());
  if (has_bits_) counts_.flip_totals.resize(list_.row.size());
}

bool ReportCounter::IsWellFormed(const BitRow& bits) const {
  if (!has_bits_) return bits.empty();
  const uint32_t n = list_.row.size();
  return bits.size() == n && !bits.Test(self_) && (n % 64 == 0 || bits.words().back() >> (n % 64) == 0);
}

void ReportCounter::CountPairs() {
  for (size_t w = 0; w + 1 < words_; ++w) scratch_[w] = flips_[w] & (flips_[w] >> 1 | flips_[w + 1] << 63);
  scratch_[words_ - 1] = flips_[words_ - 1] & flips_[words_ - 1] >> 1;
  adjacent_counter_.Add(scratch_);
  for (size_t w = 0; w + 1 < words_; ++w) scratch_[w] = flips_[w] & flips_[w + 1];
  scratch_[words_ - 1] = 0;
  lane_counter_.Add(scratch_);
}

void ReportCounter::CountWithEarlier(double noise) {
  const uint32_t shared_gaps = has_bits_ ? shared_gaps_.Add(flips_) : 0;
  for (uint64_t d = 1; d <= std::min<uint64_t>(compared_, kReportDistanceMax); ++d) {
    const uint64_t first = compared_ - d;
    const size_t half = first / d % 2, place = first % kReportDistanceMax;
    DistantPairs& pairs = counts_.distant[d];
    ++pairs.pairs[half];
    if (has_degree_ && noise == earlier_noise_[place]) ++pairs.equal_noise[half];
    pairs.shared_gaps[half] += (shared_gaps >> d) & 1;
    if (!has_bits_) continue;
    const std::vector<uint64_t>& earlier = earlier_flips_[place];
    uint64_t both = 0;
    for (size_t w = 0; w < words_; ++w) both += std::popcount(flips_[w] & earlier[w]);
    pairs.flips[half] += both;
    if (d > 1) continue;
    for (size_t w = 0; w < words_; ++w) scratch_[w] = flips_[w] & earlier[w];
    successive_counters_[half].Add(scratch_);
  }
  const size_t place = compared_++ % kReportDistanceMax;
  if (has_bits_) earlier_flips_[place] = flips_;
  earlier_noise_[place] = noise;
}

void ReportCounter::Add(const BitRow& bits, double degree) {
  ++counts_.reports;
  if (!IsWellFormed(bits)) {
    ++counts_.malformed;
    return;
  }
  if (has_bits_) {
    for (size_t w = 0; w < words_; ++w) flips_[w] = bits.words()[w] ^ list_.row.words()[w];
    flip_counter_.Add(flips_);
    CountPairs();
    uint64_t total = 0;
    for (const uint64_t word : flips_) total += std::popcount(word);
    ++counts_.flip_totals[total];
  }
  const double noise = has_degree_ ? degree - static_cast<double>(list_.degree()) : 0;
  CountWithEarlier(noise);
  const int bit = has_bits_ && bits.Test(target_);
  if (!has_degree_) {
    ++counts_.degree_cells[bit][0];
    return;
  }
  if (!(std::floor(degree) == degree)) ++counts_.non_integer_degrees;
  ++counts_.degree_cells[bit][cells_.Of(degree - static_cast<double>(list_.degree_origin))];
  const std::array<bool, kNoiseClasses> in_class = {noise > 0, noise<0, std::abs(noise)> large_noise_,
                                                    std::fmod(noise, 2) != 0};
  for (int c = 0; c < kNoiseClasses; ++c) {
    if (!in_class[c]) continue;
    ++counts_.class_reports[c];
    if (has_bits_) class_counters_[c].Add(flips_);
  }
}

ListCounts ReportCounter::Finish() {
  const auto of_bits = [this](LaneCounter& counter) {
    std::vector<uint64_t> counts = counter.Counts();
    counts.resize(list_.row.size());
    return counts;
  };
  counts_.flips = of_bits(flip_counter_);
  counts_.adjacent = of_bits(adjacent_counter_);
  counts_.lanes = of_bits(lane_counter_);
  for (int half = 0; half < 2; ++half) counts_.successive[half] = of_bits(successive_counters_[half]);
  for (int c = 0; c < kNoiseClasses; ++c) counts_.class_flips[c] = of_bits(class_counters_[c]);
  return counts_;
}

namespace {

// The places of the ones of row `row`.
void ListOnes(absl::Span<const uint64_t> rows, size_t words, size_t row, std::vector<uint32_t>& ones) {
  ones.clear();
  for (size_t w = 0; w < words; ++w) {
    for (uint64_t word = rows[row * words + w]; word != 0; word &= word - 1) {
      ones.push_back(static_cast<uint32_t>(64 * w + std::countr_zero(word)));
    }
  }
}

}  // namespace

void CountAllPairs(absl::Span<const uint64_t> rows, size_t words, std::vector<uint32_t>& counts) {
  std::vector<uint32_t> ones;
  for (size_t row = 0; row < rows.size() / words; ++row) {
    ListOnes(rows, words, row, ones);
    for (size_t a = 0; a < ones.size(); ++a) {
      uint32_t* const with = counts.data() + 64 * words * ones[a];
      for (size_t b = a + 1; b < ones.size(); ++b) ++with[ones[b]];
    }
  }
}

uint64_t CountCrossPairs(absl::Span<const uint64_t> rows, size_t words, std::vector<uint32_t>& counts) {
  const uint64_t pairs = rows.size() / words / 2;
  std::vector<uint32_t> first, second;
  for (size_t pair = 0; pair < pairs; ++pair) {
    ListOnes(rows, words, 2 * pair, first);
    ListOnes(rows, words, 2 * pair + 1, second);
    for (const uint32_t i : first) {
      uint32_t* const with = counts.data() + 64 * words * i;
      for (const uint32_t j : second) ++with[j];
    }
  }
  return pairs;
}

}  // namespace blink
