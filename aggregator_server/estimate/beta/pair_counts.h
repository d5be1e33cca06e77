// How many pairs of nodes there are of each (class, class, evidence), class by class.
//
// Such a table has K^2 entries. K is small (30 to 400) as long as the degrees are worth anything. Where noise drowns
// them there are thousands of classes, and the table would take gigabytes. So it is made for a block of classes at a
// time, by a pass over the rows of its nodes.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_PAIR_COUNTS_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_PAIR_COUNTS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "aggregator_server/estimate/posterior.h"
#include "aggregator_server/estimate/received_rows.h"
#include "aggregator_server/reports/report_set.h"

namespace blink {

// Memory: per thread 24 K bytes a class of the block, which has at least one class and otherwise as many as
// `table_bytes` allows; never more than 24 K^2.
// Time: every pair with ones is counted once, whatever the number of blocks; a pass over the reports and their
// transpose, n^2 / 64 words, for each block. With one block (K up to 1,180) the table is kept, and costs its pass once.
class PairCounts {
 public:
  // Of the pairs (i, j), i < j, with i of the class that is visited: [K, 3] by the class of j and
  //   0: a one was received, of one report      1: one one of two reports      2: two ones of two reports
  using Visit = std::function<void(uint32_t class_a, absl::Span<const uint64_t> with_ones)>;

  // `threads`: 0: all cores. `table_bytes` of a thread, 0: 32 MB, or more where the reports take so much more that it
  // does not matter.
  PairCounts(const ReportSet& reports, const Posterior& posterior, int threads, uint64_t table_bytes = 0);

  // Calls visit once for every class, for several at a time from as many threads. `on_row`, where given, is called for
  // every row of PairSpan::kLater as by ForEachPairRow with threads(). `progress` is called by the calling thread only.
  void ForEachClass(const Visit& visit, const std::function<void(double fraction)>& progress = nullptr,
                    const std::function<void(const PairRow& row)>& on_row = nullptr);

  // Pairs of nodes of two classes (in either order) by how many reports about them were received: [3].
  struct Pairs {
    uint64_t by_reports[3];
  };
  Pairs AllPairs(uint32_t a, uint32_t b) const;

  const Posterior& posterior() const { return posterior_; }
  uint32_t class_count() const { return class_count_; }
  int threads() const { return threads_; }

  // Calls visit(value, pairs) for the log-odds of class a's pairs, with how many more pairs have the value than were
  // told before (may be negative: pairs with ones are told after all pairs). Each unordered pair is in one class.
  // `prior`: [K] scratch.
  template <typename VisitValue>
  void ForEachValue(uint32_t a, absl::Span<const uint64_t> with_ones, std::vector<double>& prior,
                    const VisitValue& visit) const {
    prior.resize(class_count_);
    posterior_.prior().FillLogOdds(a, prior.data());
    for (uint32_t b = 0; b < class_count_; ++b) {
      const auto value = [&](Evidence evidence) { return posterior_.With(prior[b], evidence); };
      if (b >= a) {
        const Pairs all = AllPairs(a, b);
        for (int reports = 0; reports < 3; ++reports) {
          if (all.by_reports[reports] > 0) visit(value({reports, 0}), static_cast<int64_t>(all.by_reports[reports]));
        }
      }
      for (int kind = 0; kind < 3; ++kind) {
        const auto pairs = static_cast<int64_t>(with_ones[3 * size_t{b} + kind]);
        if (pairs == 0) continue;
        visit(value(kOfKind[kind]), pairs);
        visit(value({kOfKind[kind].reports, 0}), -pairs);
      }
    }
  }

  static constexpr Evidence kOfKind[3] = {{1, 1}, {2, 1}, {2, 2}};

 private:
  void Count(uint32_t begin, uint32_t end, const std::function<void(double)>& progress,
             const std::function<void(const PairRow&)>& on_row);
  void CountRow(const PairRow& row, uint32_t begin);
  void VisitBlock(uint32_t begin, uint32_t end, const Visit& visit);

  const ReportSet& reports_;
  const Posterior& posterior_;
  const absl::Span<const uint32_t> class_of_node_;
  const uint32_t class_count_;
  const int threads_;
  uint32_t classes_of_block_ = 1;
  std::vector<uint64_t> reported_, silent_;    // [K] nodes whose reports count as evidence, and the others
  std::vector<std::vector<uint64_t>> tables_;  // [threads][classes of the block, K, 3]
  bool kept_ = false;                          // tables_[0] is that of all classes
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_PAIR_COUNTS_H_
