#include "aggregator_server/estimate/beta/hybrid.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "aggregator_server/estimate/beta/pairs_in_range.h"
#include "aggregator_server/estimate/beta/value_cut.h"
#include "aggregator_server/estimate/hybrid_cut.h"
#include "aggregator_server/estimate/received_rows.h"
#include "common/base/progress_parts.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Links = std::vector<std::pair<NodeIndex, NodeIndex>>;

struct Tied {
  uint64_t hash;
  NodeIndex i, j;
  friend bool operator<(const Tied& a, const Tied& b) {
    return std::tie(a.hash, a.i, a.j) < std::tie(b.hash, b.i, b.j);
  }
};

// What one pass over the pairs keeps.
struct Kept {
  Links above;
  std::vector<Tied> tied;  // with a hash of at most the limit
};

class Selector {
 public:
  Selector(const ReportSet& reports, const Posterior& posterior, const ValueCut& cut, uint64_t tie_seed, int threads)
      : reports_(reports),
        cut_(cut),
        tie_seed_(tie_seed),
        threads_(threads),
        above_(reports, posterior, {cut.log_odds, kInfinity}, threads_),
        at_(reports, posterior, {std::nextafter(cut.log_odds, -kInfinity), cut.log_odds}, threads_) {}

  // All pairs above the cut, and `cut.taken` of those at it.
  Links Select(const std::function<void(double)>& progress) {
    // Hashes are uniform: of the pairs at the cut, those that are taken have a hash of about taken / pairs. A limit
    // that is too low, which ten standard deviations make as good as impossible, is raised and the pass made again.
    double margin = 10 * std::sqrt(static_cast<double>(cut_.taken)) + 100;
    for (;; margin *= 4) {
      const double share = (static_cast<double>(cut_.taken) + margin) / static_cast<double>(cut_.pairs);
      const bool all = !(share < 1);
      Kept kept = Pass(all ? ~uint64_t{0} : static_cast<uint64_t>(std::ldexp(share, 64)), progress);
      if (kept.tied.size() < cut_.taken && !all) continue;
      kept.tied.resize(Smallest(kept.tied, cut_.taken));
      for (const Tied& pair : kept.tied) kept.above.emplace_back(pair.i, pair.j);
      std::sort(kept.above.begin(), kept.above.end());
      return std::move(kept.above);
    }
  }

 private:
  static size_t Smallest(std::vector<Tied>& tied, uint64_t count) {
    if (count < tied.size()) std::nth_element(tied.begin(), tied.begin() + static_cast<int64_t>(count), tied.end());
    return std::min<size_t>(count, tied.size());
  }

  Kept Pass(uint64_t hash_max, const std::function<void(double)>& progress) {
    std::vector<Kept> of_thread(threads_);
    const auto visit = [&](const PairRow& row) {
      Kept& kept = of_thread[row.thread];
      above_.ForEachLater(row, [&](NodeIndex j) { kept.above.emplace_back(row.i, j); });
      at_.ForEachLater(row, [&](NodeIndex j) {
        const uint64_t hash = TieHash(tie_seed_, row.i, j);
        if (hash <= hash_max) kept.tied.push_back({hash, row.i, j});
      });
    };
    ForEachPairRow(reports_, PairSpan::kLater, threads_, visit, progress);
    for (int t = 1; t < threads_; ++t) {
      of_thread[0].above.insert(of_thread[0].above.end(), of_thread[t].above.begin(), of_thread[t].above.end());
      of_thread[0].tied.insert(of_thread[0].tied.end(), of_thread[t].tied.begin(), of_thread[t].tied.end());
      of_thread[t] = {};
    }
    return std::move(of_thread[0]);
  }

  const ReportSet& reports_;
  const ValueCut cut_;
  const uint64_t tie_seed_;
  const int threads_;
  PairsInRange above_, at_;
};

}  // namespace

absl::StatusOr<LinkWeights> HybridWeights(const ReportSet& reports, PairCounts& counts, double expected_links,
                                          uint64_t tie_seed, const std::function<void(double)>& progress) {
  const Posterior& posterior = counts.posterior();
  const uint64_t wanted = HybridLinkCount(expected_links);
  ProgressParts parts(progress, 2);
  Links links;
  if (wanted > 0) {
    const ValueCut cut = FindValueCut(counts, wanted, parts.Next(1));
    links = Selector(reports, posterior, cut, tie_seed, counts.threads()).Select(parts.Next(1));
  }
  LinkWeights weights;
  weights.node_count = reports.node_count();
  weights.weighted = true;
  BLINK_ASSIGN_OR_RETURN(weights.links, CsrGraph::FromLinks(reports.node_count(), std::move(links)));
  weights.values.reserve(weights.links.neighbours().size());
  const auto class_of_node = posterior.prior().class_of_node();
  for (NodeIndex i = 0; i < reports.node_count(); ++i) {
    for (const NodeIndex j : weights.links.NeighboursOf(i)) {
      const auto [a, b] = std::minmax(class_of_node[i], class_of_node[j]);
      weights.values.push_back(static_cast<float>(posterior.Probability(a, b, EvidenceOf(reports, i, j))));
    }
  }
  return weights;
}

}  // namespace blink
