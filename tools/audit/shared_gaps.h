// Finds reports whose flips were drawn from one random stream by gaps, where flips are few.
//
// A stream that is read again from some words further on gives the same gaps between flips. They begin anywhere, so
// that no bit of one report tells anything about one bit of the other. But a run of gaps is the same.
#ifndef BLINK_TOOLS_AUDIT_SHARED_GAPS_H_
#define BLINK_TOOLS_AUDIT_SHARED_GAPS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace blink {

// Reports r and r + d are compared for each distance d from 1 to this many.
inline constexpr size_t kReportDistanceMax = 16;

// What is compared: `length` gaps in a row, from the row's beginning or from a flip on.
//
// Pr[two honest reports of n bits have such a run in common] <= probability_max, by the union bound. Let p be the
// probability of a flip. The run begins behind one of 1 + (n - 1) p places of each report, in expectation. Two gaps are
// equal with probability sum over g of (p (1 - p)^(g - 1))^2 = p / (2 - p). The bit of the node itself is never
// flipped. It may stand within one gap of the run, which is likelier by a factor of at most 1 / (1 - p) for that.
//
//   probability_max = ((1 + (n - 1) p) / (1 - p))^2 (p / (2 - p))^length
struct GapRuns {
  size_t length = 0;  // 0: flips are not rare, so words of them are compared instead (audit/findings.cc)
  double probability_max = 1;

  // The shortest runs that honest reports hardly ever have in common.
  static GapRuns For(uint32_t n, double flip_probability);
};

// A random stream that every second report reads again, from at most so many flips further on, is noticed with
// probability 0.99 by a test at `alpha` of `pairs` pairs of successive reports. None: not even the same stream is.
std::optional<uint64_t> NoticedStream(const GapRuns& runs, uint64_t pairs, double alpha, uint32_t n,
                                      double flip_probability);

// Compares each report with the kReportDistanceMax before it. Takes a time of the number of flips.
class SharedGaps {
 public:
  SharedGaps(GapRuns runs, uint32_t n, double flip_probability);
  // The flips of the next report. Bit d of the result: it has a run in common with the report d before. A run is looked
  // for in the latest report that had it. So some are missed, and none is made up.
  uint32_t Add(absl::Span<const uint64_t> flips);

 private:
  struct Place {
    uint64_t report = 0;  // counted from 1; 0: none
    uint32_t gap = 0;     // the first of the run
  };
  std::vector<uint32_t>& GapsOf(uint64_t report) { return gaps_[report % gaps_.size()]; }
  size_t SlotOf(const uint32_t* run) const;

  const size_t length_;
  uint64_t report_ = 0;
  std::array<std::vector<uint32_t>, kReportDistanceMax + 1> gaps_;  // [report mod size]
  std::vector<Place> latest_;                                       // [hash of a run]; a power of two
};

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_SHARED_GAPS_H_
