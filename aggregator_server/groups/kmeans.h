// k-means: Lloyd's algorithm from the initial centres of k-means++.
//
// Sources: Lloyd (1982); Arthur and Vassilvitskii, "k-means++" (2007). It ends as scikit-learn's KMeans does: when no
// point changes its group, when the centres move by less than 1e-4 of the points' mean variance, or after `iterations`.
#ifndef BLINK_AGGREGATOR_SERVER_GROUPS_KMEANS_H_
#define BLINK_AGGREGATOR_SERVER_GROUPS_KMEANS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace blink {

struct KMeansOptions {
  int iterations = 50;
  uint64_t seed = 1;
  int threads = 0;  // 0: all cores; the result does not depend on it
};

// [n] the group of each point, 0 .. groups - 1. A group may be empty where fewer points than groups differ.
// `points`: [n, width] row-major, finite. Requires width >= 1 and 1 <= groups <= n.
// Time: 2 n groups width operations an iteration; memory: 8 groups width + 1024 groups bytes, and that of the points.
std::vector<uint32_t> KMeans(absl::Span<const float> points, uint32_t width, uint32_t groups,
                             const KMeansOptions& options);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_GROUPS_KMEANS_H_
