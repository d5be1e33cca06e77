#include "aggregator_server/estimate/beta/pairs_in_range.h"

#include <algorithm>

namespace blink {

PairChecks::OfKind& PairChecks::Of(int thread, uint32_t kind) {
  OfKind& own = of_thread_[thread];
  if (own.kind == kind) return own;
  own.kind = kind;
  own.prior.resize(posterior_.prior().class_count());
  posterior_.prior().FillLogOdds(kind / 2, own.prior.data());
  own.without.clear();
  for (uint32_t other = 0; other < kinds_.count(); ++other) {
    const Evidence evidence{static_cast<int>(kind % 2 + other % 2), 0};
    const bool is_in = range_.Contains(posterior_.With(own.prior[other / 2], evidence));
    if (is_in && !kinds_.NodesOf(other).empty()) own.without.push_back(other);
  }
  return own;
}

void PairChecks::FindWithoutOnes(const PairRow& row, OfKind& own) const {
  own.nodes.clear();
  for (const uint32_t kind : own.without) {
    const absl::Span<const NodeIndex> nodes = kinds_.NodesOf(kind);
    own.nodes.insert(own.nodes.end(), std::upper_bound(nodes.begin(), nodes.end(), row.i), nodes.end());
  }
  if (own.without.size() > 1) std::sort(own.nodes.begin(), own.nodes.end());
}

}  // namespace blink
