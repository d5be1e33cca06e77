// The pairs whose posterior lies in a range, row by row, however the reports are stored.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_PAIRS_IN_RANGE_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_PAIRS_IN_RANGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "aggregator_server/estimate/beta/node_kinds.h"
#include "aggregator_server/estimate/beta/pair_masks.h"
#include "aggregator_server/estimate/posterior.h"
#include "aggregator_server/estimate/received_rows.h"
#include "aggregator_server/reports/report_set.h"

namespace blink {

// Of reports as gaps: each pair with a one is looked at by itself, and pairs without one only where those of their
// kinds are in the range. Time of a row: its ones, 2 K comparisons where its kind is not that of the row before, and
// the pairs without a one that are in the range, which are sorted. Memory of a thread: 16 K bytes and those pairs.
class PairChecks {
 public:
  PairChecks(const ReportSet& reports, const Posterior& posterior, LogOddsRange range, int threads)
      : posterior_(posterior), range_(range), kinds_(reports, posterior.prior()), of_thread_(threads) {}

  template <typename Visit>
  void ForEachLater(const PairRow& row, const Visit& visit) {
    OfKind& own = Of(row.thread, kinds_.Of(row.i));
    FindWithoutOnes(row, own);
    auto without = own.nodes.begin();
    for (const ReceivedOne& one : row.ones) {
      for (; without != own.nodes.end() && *without < one.j; ++without) visit(*without);
      if (without != own.nodes.end() && *without == one.j) ++without;
      const uint32_t kind = kinds_.Of(one.j);
      const Evidence evidence{static_cast<int>(own.kind % 2 + kind % 2), one.both() ? 2 : 1};
      if (range_.Contains(posterior_.With(own.prior[kind / 2], evidence))) visit(one.j);
    }
    for (; without != own.nodes.end(); ++without) visit(*without);
  }

 private:
  static constexpr uint32_t kNoKind = ~uint32_t{0};
  struct OfKind {
    uint32_t kind = kNoKind;        // of the row that was last looked at
    std::vector<double> prior;      // [K] its log-odds with each class
    std::vector<uint32_t> without;  // the kinds with which its pairs without a one are in the range
    std::vector<NodeIndex> nodes;   // scratch: the nodes behind the row of these kinds, ascending
  };

  OfKind& Of(int thread, uint32_t kind);
  void FindWithoutOnes(const PairRow& row, OfKind& own) const;

  const Posterior& posterior_;
  const LogOddsRange range_;
  const NodeKinds kinds_;
  std::vector<OfKind> of_thread_;
};

class PairsInRange {
 public:
  // `threads` as for ForEachPairRow, whose rows are asked for.
  PairsInRange(const ReportSet& reports, const Posterior& posterior, LogOddsRange range, int threads) {
    if (reports.storage() == RowStorage::kGaps) {
      checks_.emplace(reports, posterior, range, threads);
    } else {
      masks_.emplace(reports, posterior, range, threads);
    }
  }

  // Calls visit(j) for every pair of the row (PairSpan::kLater) that is in the range, ascending. Each thread has rows
  // of its own.
  template <typename Visit>
  void ForEachLater(const PairRow& row, const Visit& visit) {
    checks_.has_value() ? checks_->ForEachLater(row, visit) : masks_->ForEachLater(row, visit);
  }

 private:
  std::optional<PairMasks> masks_;
  std::optional<PairChecks> checks_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_PAIRS_IN_RANGE_H_
