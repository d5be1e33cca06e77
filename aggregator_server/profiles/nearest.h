// Which nodes are most like each node, by what is public of them, and what is known of their classes. They serve as
// links between similar nodes that no report was needed for.
#ifndef BLINK_AGGREGATOR_SERVER_PROFILES_NEAREST_H_
#define BLINK_AGGREGATOR_SERVER_PROFILES_NEAREST_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "aggregator_server/profiles/node_profiles.h"

namespace blink {

inline constexpr uint32_t kNearestCount = 30;

// Of every node the other nodes with the largest positive cosines, the largest first, of equals the smaller node first.
struct Nearest {
  uint32_t node_count = 0, count = 0;
  std::vector<uint32_t> nodes;  // [n, count]
  std::vector<float> cosines;   // [n, count] 0: there are no more
};

struct NearestNodes {
  Nearest scaled, latent;  // by NodeProfiles::scaled and ::latent; count 0 where there are none
};

// `count` of each, at most n - 1. Time: n^2 / 2 cosines. The result does not depend on the threads.
NearestNodes FindNearest(const NodeProfiles& profiles, uint32_t count, int threads,
                         const std::function<void(double fraction)>& progress);

// [n, width] sums of the rows x_j of the `count` nearest nodes j of each node, weighted by their cosines: never the
// node's own row.
std::vector<float> SumsOfNearest(const Nearest& nearest, uint32_t count, const std::vector<float>& x, uint32_t width);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_PROFILES_NEAREST_H_
