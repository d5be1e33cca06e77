#include "aggregator_server/estimate/hybrid.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "aggregator_server/estimate/pair_masks.h"
#include "aggregator_server/estimate/pair_rows.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

using Links = std::vector<std::pair<NodeIndex, NodeIndex>>;

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection in which every bit depends on every bit.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

struct Cut {
  double log_odds = std::numeric_limits<double>::infinity();  // pairs above it are taken
  uint64_t pairs = 0;                                         // that have just this value
  uint64_t taken = 0;                                         // of them
};

// Where the `wanted` largest values end.
Cut FindCut(const PairScan& scan, const Posterior& posterior, uint64_t wanted) {
  std::vector<std::pair<double, uint64_t>> values;  // log-odds, pairs
  for (uint32_t a = 0; a < scan.class_count; ++a) {
    for (uint32_t b = a; b < scan.class_count; ++b) {
      for (const Evidence evidence : kAllEvidence) {
        const uint64_t pairs = scan.Count(a, b, evidence);
        if (pairs > 0) values.emplace_back(posterior.LogOdds(a, b, evidence), pairs);
      }
    }
  }
  std::sort(values.begin(), values.end(), std::greater<>());
  Cut cut;
  for (size_t k = 0; k < values.size() && wanted > 0;) {
    cut = {values[k].first, 0, 0};
    for (; k < values.size() && values[k].first == cut.log_odds; ++k) cut.pairs += values[k].second;
    cut.taken = std::min(wanted, cut.pairs);
    wanted -= cut.taken;
  }
  return cut;
}

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
  Selector(const ReportSet& reports, const Posterior& posterior, const Cut& cut, uint64_t tie_seed, int threads)
      : reports_(reports),
        cut_(cut),
        tie_seed_(tie_seed),
        threads_(ThreadsFor(threads, TileCount(reports.node_count()))),
        above_(reports, posterior.prior(),
               [&](uint32_t a, uint32_t b, Evidence evidence) {
                 return posterior.LogOdds(std::min(a, b), std::max(a, b), evidence) > cut.log_odds;
               }),
        at_(reports, posterior.prior(), [&](uint32_t a, uint32_t b, Evidence evidence) {
          return posterior.LogOdds(std::min(a, b), std::max(a, b), evidence) == cut.log_odds;
        }) {}

  // All pairs above the cut, and `cut.taken` of those at it.
  Links Select() const {
    // Hashes are uniform: of the pairs at the cut, those that are taken have a hash of about taken / pairs. A limit
    // that is too low, which ten standard deviations make as good as impossible, is raised and the pass made again.
    double margin = 10 * std::sqrt(static_cast<double>(cut_.taken)) + 100;
    for (;; margin *= 4) {
      const double share = (static_cast<double>(cut_.taken) + margin) / static_cast<double>(cut_.pairs);
      const bool all = !(share < 1);
      Kept kept = Pass(all ? ~uint64_t{0} : static_cast<uint64_t>(std::ldexp(share, 64)));
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

  Kept Pass(uint64_t hash_max) const {
    std::vector<Kept> of_thread(threads_);
    ForEachPairRow(reports_, PairSpan::kLater, threads_, [&](const PairRow& row) {
      Kept& kept = of_thread[row.thread];
      above_.ForEachLater(row, [&](NodeIndex j) { kept.above.emplace_back(row.i, j); });
      at_.ForEachLater(row, [&](NodeIndex j) {
        const uint64_t hash = TieHash(tie_seed_, row.i, j);
        if (hash <= hash_max) kept.tied.push_back({hash, row.i, j});
      });
    });
    for (int t = 1; t < threads_; ++t) {
      of_thread[0].above.insert(of_thread[0].above.end(), of_thread[t].above.begin(), of_thread[t].above.end());
      of_thread[0].tied.insert(of_thread[0].tied.end(), of_thread[t].tied.begin(), of_thread[t].tied.end());
      of_thread[t] = {};
    }
    return std::move(of_thread[0]);
  }

  const ReportSet& reports_;
  const Cut cut_;
  const uint64_t tie_seed_;
  const int threads_;
  const PairMasks above_, at_;
};

}  // namespace

uint64_t TieHash(uint64_t tie_seed, NodeIndex i, NodeIndex j) {
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15u;
  return Mix(Mix(tie_seed + kGolden) ^ Mix((uint64_t{i} << 32 | j) + kGolden));
}

absl::StatusOr<LinkWeights> HybridWeights(const ReportSet& reports, const Posterior& posterior, const PairScan& scan,
                                          double expected_links, uint64_t tie_seed, int threads) {
  // Without bits the sum is that of the degrees, a whole number, which rounding must not bring below itself.
  const auto wanted = static_cast<uint64_t>(std::floor(2 * expected_links * (1 + 1e-9))) / 2;
  Links links;
  if (wanted > 0) {
    links = Selector(reports, posterior, FindCut(scan, posterior, wanted), tie_seed, threads).Select();
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
