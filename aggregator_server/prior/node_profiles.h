// What is public of the nodes, in the form in which pairs of them are compared.
#ifndef BLINK_AGGREGATOR_SERVER_PRIOR_NODE_PROFILES_H_
#define BLINK_AGGREGATOR_SERVER_PRIOR_NODE_PROFILES_H_

#include <cstdint>
#include <vector>

#include "common/graph/node_attributes.h"

namespace blink {

inline constexpr uint32_t kLatentWidth = 64;

struct NodeProfiles {
  // Rows of Euclidean norm 1, or 0 where a node has no features. Of sparse, non-negative features their tf-idf (value times
  // 1 + ln((1 + n) / (1 + df))), sparse; of dense or signed ones the standardised columns, dense. cols is 0 where there
  // are none.
  FeatureMatrix scaled;
  // [n, latent_width] rows of norm 1, or 0: `scaled` projected on its strongest right singular vectors (latent semantic
  // analysis); latent_width is at most kLatentWidth and at most cols. Deterministic: the same on any number of threads.
  uint32_t latent_width = 0;
  std::vector<float> latent;
};

NodeProfiles MakeNodeProfiles(const FeatureMatrix& features, int threads);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_PRIOR_NODE_PROFILES_H_
