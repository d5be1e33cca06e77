// A property of (class, class, evidence) as bit masks over the nodes, so that the pairs of a row that have it are found
// 64 at a time.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_PAIR_MASKS_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_PAIR_MASKS_H_

#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "aggregator_server/estimate/link_prior.h"
#include "aggregator_server/estimate/pair_rows.h"
#include "aggregator_server/estimate/posterior.h"
#include "aggregator_server/reports/report_set.h"

namespace blink {

// Rows of one class that reported (or did not) share their masks, and so do classes with the same property: with the
// beta-model the classes that have it with class a are an interval that moves with a, so there are at most about 4 K
// masks of n bits (K = 400, n = 100,000: 20 MB), and far fewer where one bit decides.
class PairMasks {
 public:
  using Property = std::function<bool(uint32_t class_a, uint32_t class_b, Evidence evidence)>;  // symmetric

  PairMasks(const ReportSet& reports, const LinkPrior& prior, const Property& has);

  // The masks over the other nodes [words]: whose pair with node i has the property if no one, a one, or two ones were
  // received about it.
  struct Row {
    const uint64_t *none, *one, *two;
    // The pairs of word w that have the property, from the words of the pairs' ones; without the diagonal's bit.
    uint64_t Select(uint32_t w, uint64_t any, uint64_t both) const {
      return (none[w] & ~any) | (one[w] & any & ~both) | (two[w] & both);
    }
  };
  Row Of(NodeIndex i) const {
    const RowKind& kind = kinds_[2 * static_cast<size_t>(class_of_node_[i]) + CountsAsReported(i)];
    return {masks_[kind.mask[0]].data(), masks_[kind.mask[1]].data(), masks_[kind.mask[2]].data()};
  }

  // Calls visit(j) for every pair of the row (PairSpan::kLater) that has the property, ascending.
  template <typename Visit>
  void ForEachLater(const PairRow& row, const Visit& visit) const {
    const Row masks = Of(row.i);
    const uint32_t first = row.i / 64, words = static_cast<uint32_t>(masks_[0].size());
    uint64_t later = ~uint64_t{1} << (row.i & 63);
    for (uint32_t w = first; w < words; ++w, later = ~uint64_t{0}) {
      for (uint64_t bits = masks.Select(w, row.any[w], row.both[w]) & later; bits != 0; bits &= bits - 1) {
        visit(w * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
      }
    }
  }

 private:
  struct RowKind {
    uint32_t mask[3] = {0, 0, 0};  // for 0, 1, 2 ones
  };
  // Without bits (s = 1) a report is no evidence about a pair.
  bool CountsAsReported(NodeIndex i) const { return reports_.parameters().sends_bits() && reports_.reported(i); }

  const ReportSet& reports_;
  const absl::Span<const uint32_t> class_of_node_;
  std::vector<RowKind> kinds_;                // [2 K]: by class, and whether it reported
  std::vector<std::vector<uint64_t>> masks_;  // distinct; the first is empty
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_PAIR_MASKS_H_
