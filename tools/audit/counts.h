// What an audit keeps of millions of reports: counts per bit, per pair of bits, per value of the noisy degree.
#ifndef BLINK_TOOLS_AUDIT_COUNTS_H_
#define BLINK_TOOLS_AUDIT_COUNTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/privacy/bit_row.h"
#include "tools/audit/shared_gaps.h"
#include "tools/audit/statistics.h"

namespace blink {

// Counts, for each of 64 * words lanes, the rows in which the lane is 1. It works on slices of bits: each row is added
// to eight planes of binary digits, 64 lanes at a time. Every 255 rows the planes are emptied into the counts.
class LaneCounter {
 public:
  explicit LaneCounter(size_t words) : words_(words), carry_(words), planes_(kPlanes * words), counts_(64 * words) {}
  void Add(absl::Span<const uint64_t> row);  // [words]
  const std::vector<uint64_t>& Counts();     // [64 * words]

 private:
  static constexpr size_t kPlanes = 8;
  void Empty();

  const size_t words_;
  uint32_t pending_ = 0;  // rows in the planes, below 2^kPlanes
  std::vector<uint64_t> carry_;
  std::vector<uint64_t> planes_;  // [kPlanes, words]
  std::vector<uint64_t> counts_;
};

// A list that is audited. The cells of noisy degrees are relative to `degree_origin`. Neighbouring lists share it, so
// that the same cell is the same event for both.
struct AuditedList {
  std::vector<NodeIndex> neighbours;
  BitRow row;  // [n]
  int64_t degree_origin = 0;
  int64_t degree() const { return static_cast<int64_t>(neighbours.size()); }
};

// The classes of degree noise that flips are compared within.
enum NoiseClass { kNoisePositive, kNoiseNegative, kNoiseLarge, kNoiseOdd, kNoiseClasses };

// The pairs of reports r and r + d, for a fixed distance d. The pairs whose r / d is even have no report in common, nor
// do those whose r / d is odd. So each of the two sums is over independent pairs. Together they are all pairs, so that
// nothing that is used again can hide.
struct DistantPairs {
  std::array<uint64_t, 2> pairs{};        // [r / d mod 2]
  std::array<uint64_t, 2> flips{};        // ... bits that are flipped in both, over all bits
  std::array<uint64_t, 2> equal_noise{};  // ... pairs in which the degree noise is the same
  std::array<uint64_t, 2> shared_gaps{};  // ... pairs with a run of gaps between flips in common
};

// Counts over the reports of one list. A bit is flipped when the report's bit differs from the list's.
struct ListCounts {
  uint64_t reports = 0;
  uint64_t malformed = 0;  // reports of another length, or with a bit for the node itself or past n
  uint64_t non_integer_degrees = 0;
  std::vector<uint64_t> flips;        // [n] reports in which bit j is flipped
  std::vector<uint64_t> adjacent;     // [n] ... bits j and j + 1 are
  std::vector<uint64_t> lanes;        // [n] ... bits j and j + 64, the same lane of the next word, are
  std::vector<uint64_t> flip_totals;  // [n] reports in which so many bits are flipped
  std::array<DistantPairs, kReportDistanceMax + 1> distant;  // [distance]; the first is not used
  std::array<std::vector<uint64_t>, 2> successive;  // [as distant[1]][n] pairs in which bit j is flipped in both
  std::array<uint64_t, kNoiseClasses> class_reports{};
  std::array<std::vector<uint64_t>, kNoiseClasses> class_flips;  // [class][n]
  std::array<std::vector<uint64_t>, 2>
      degree_cells;  // [bit `target` of the report][cell]; all in cell 0 without a degree
  void Merge(const ListCounts& other);
};

// Gathers the reports of one list, in one thread.
class ReportCounter {
 public:
  // `target`: the entry in which the neighbouring lists differ. Noise beyond +-large_noise is the class kNoiseLarge.
  // `gap_runs`: those of `flip_probability`, which is 0 without bits.
  ReportCounter(const AuditedList& list, NodeIndex self, NodeIndex target, bool has_bits, bool has_degree,
                DegreeCells cells, double large_noise, GapRuns gap_runs = {}, double flip_probability = 0);
  // `degree` as the mechanism put it out, whatever number it is. Keeps the flips of the report in flips().
  void Add(const BitRow& bits, double degree);
  absl::Span<const uint64_t> flips() const { return flips_; }
  ListCounts Finish();

 private:
  bool IsWellFormed(const BitRow& bits) const;
  void CountPairs();
  void CountWithEarlier(double noise);

  const AuditedList& list_;
  const NodeIndex self_, target_;
  const bool has_bits_, has_degree_;
  const DegreeCells cells_;
  const double large_noise_;
  const size_t words_;
  ListCounts counts_;
  std::vector<uint64_t> flips_, scratch_;                                // [words]
  uint64_t compared_ = 0;                                                // reports that were remembered
  std::array<std::vector<uint64_t>, kReportDistanceMax> earlier_flips_;  // [report mod kReportDistanceMax][words]
  std::array<double, kReportDistanceMax> earlier_noise_{};
  SharedGaps shared_gaps_;
  LaneCounter flip_counter_, adjacent_counter_, lane_counter_;
  std::vector<LaneCounter> successive_counters_;  // [2]
  std::vector<LaneCounter> class_counters_;
};

// Counts how often each pair of bits i < j is flipped together in `rows` of `words` words, and adds that to
// counts[i * 64 * words + j]. Takes a time of the sum over the rows of (flips)^2 / 2.
void CountAllPairs(absl::Span<const uint64_t> rows, size_t words, std::vector<uint32_t>& counts);

// Counts how often bit i is flipped in the first and bit j in the second row of a pair, for the rows (0, 1), (2, 3) and
// so on, and adds that to counts[i * 64 * words + j]. Returns the number of pairs. A last row without a partner is left
// out.
uint64_t CountCrossPairs(absl::Span<const uint64_t> rows, size_t words, std::vector<uint32_t>& counts);

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_COUNTS_H_
