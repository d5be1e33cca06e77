#include "tools/audit/shared_gaps.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tools/audit/statistics.h"

namespace blink {
namespace {

constexpr double kRareFlipsBelow = 1.0 / 64;
constexpr double kProbabilityMax = 1e-3;  // of a run that two honest reports have in common
constexpr size_t kSlotsMin = 1 << 10, kSlotsMax = 1 << 20;

}  // namespace

GapRuns GapRuns::For(uint32_t n, double flip_probability) {
  const double p = flip_probability;
  if (p <= 0 || p >= kRareFlipsBelow) return {};
  const double begins = (1 + (n - 1.0) * p) / (1 - p), equal = p / (2 - p);
  GapRuns runs{.length = 1, .probability_max = begins * begins * equal};
  while (runs.probability_max > kProbabilityMax) {
    ++runs.length;
    runs.probability_max *= equal;
  }
  return runs;
}

std::optional<uint64_t> NoticedStream(const GapRuns& runs, uint64_t pairs, double alpha, uint32_t n,
                                      double flip_probability) {
  if (runs.length == 0) return std::nullopt;
  uint64_t critical = 0;  // the least count that is a violation
  while (critical <= pairs && BinomialAtLeast(critical, pairs, runs.probability_max) >= alpha)
    critical += 1 + critical / 256;
  std::optional<uint64_t> noticed;
  for (uint64_t flips = 0; critical <= pairs; ++flips) {
    // The first report has to have a run behind so many flips. The second then has it from its beginning on.
    const double shared = BinomialAtLeast(flips + runs.length, n - 1, flip_probability);
    if (BinomialAtLeast(critical, pairs, shared) < 0.99) break;
    noticed = flips;
  }
  return noticed;
}

SharedGaps::SharedGaps(GapRuns runs, uint32_t n, double flip_probability) : length_(runs.length) {
  if (length_ == 0) return;
  const double remembered = 4.0 * kReportDistanceMax * (1 + n * flip_probability);
  latest_.resize(std::bit_ceil(std::clamp(static_cast<size_t>(remembered), kSlotsMin, kSlotsMax)));
}

size_t SharedGaps::SlotOf(const uint32_t* run) const {
  uint64_t hash = 0;
  for (size_t k = 0; k < length_; ++k) hash = (hash ^ run[k]) * 0x9e3779b97f4a7c15;
  return (hash >> 32) & (latest_.size() - 1);
}

uint32_t SharedGaps::Add(absl::Span<const uint64_t> flips) {
  if (length_ == 0) return 0;
  std::vector<uint32_t>& gaps = GapsOf(++report_);
  gaps.clear();
  uint32_t next = 0;  // the place behind the flip before
  for (size_t w = 0; w < flips.size(); ++w) {
    for (uint64_t word = flips[w]; word != 0; word &= word - 1) {
      const auto flip = static_cast<uint32_t>(64 * w + std::countr_zero(word));
      gaps.push_back(flip - next);
      next = flip + 1;
    }
  }
  uint32_t shared = 0;
  for (size_t first = 0; first + length_ <= gaps.size(); ++first) {
    const Place& place = latest_[SlotOf(&gaps[first])];
    if (place.report == 0 || report_ - place.report > kReportDistanceMax) continue;
    const uint32_t* const run = &GapsOf(place.report)[place.gap];
    if (std::equal(run, run + length_, &gaps[first])) shared |= uint32_t{1} << (report_ - place.report);
  }
  for (size_t first = 0; first + length_ <= gaps.size(); ++first) {
    latest_[SlotOf(&gaps[first])] = {report_, static_cast<uint32_t>(first)};
  }
  return shared;
}

}  // namespace blink
