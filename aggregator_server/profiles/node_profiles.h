// What is public of the nodes, in the form in which pairs of them are compared.
#ifndef BLINK_AGGREGATOR_SERVER_PROFILES_NODE_PROFILES_H_
#define BLINK_AGGREGATOR_SERVER_PROFILES_NODE_PROFILES_H_

#include <cstdint>
#include <vector>

#include "common/graph/node_attributes.h"

namespace blink {

inline constexpr uint32_t kLatentWidth = 64;
inline constexpr double kCountsShareMax = 0.25;

// Whether features look like counts, such as words: none is negative, and at most kCountsShareMax of the matrix is not
// 0. The values decide, not the form of the file. Their profiles are then sparse, and what is made of them costs by the
// entries that are not 0; those of others are dense, [n, cols] floats.
bool LooksLikeCounts(const FeatureMatrix& features);

struct NodeProfiles {
  // Rows of Euclidean norm 1, or 0 where a node has no features. Features that look like counts become their tf-idf,
  // value times 1 + ln((1 + n) / (1 + df)), sparse; others become standardised columns (0 where a column is constant),
  // dense. The same features have the same profiles in either form of file. cols is 0 where there are none.
  FeatureMatrix scaled;
  // [n, latent_width] rows of norm 1, or 0: `scaled` projected on its strongest right singular vectors (latent semantic
  // analysis); latent_width is min(kLatentWidth, cols, n). Deterministic: the same on any number of threads.
  uint32_t latent_width = 0;
  std::vector<float> latent;
};

// `features` must be finite (readers of data sets refuse others). Memory: a copy of the features, or n * cols floats
// where they do not look like counts, and some 100 * (n + cols) floats.
NodeProfiles MakeNodeProfiles(const FeatureMatrix& features, int threads);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_PROFILES_NODE_PROFILES_H_
