// What the classes of the most similar nodes (aggregator_server/profiles/nearest.h) say of a node's own class. No
// LibTorch type.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_NEAREST_SHARES_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_NEAREST_SHARES_H_

#include <cstdint>
#include <vector>

#include "aggregator_server/profiles/class_probabilities.h"
#include "aggregator_server/profiles/nearest.h"

namespace blink {

// What a logistic regression gets of sums over the classes: shares[c] = log((sums[c] + 0.01) / all of them), with
// `logs` (may be null) also log(sums[c] + 0.01). A sum below 0, which is rounding, counts as 0. [classes] each.
void WriteLogShares(const float* sums, uint32_t classes, float* shares, float* logs);
// [n, classes] log(open + 0.001): likewise of the class probabilities.
std::vector<float> LogsOfOpen(const ClassProbabilities& classes);

// [n, width]: for the 10 and the 30 nearest nodes by the scaled features, and likewise by the latent ones, the
// logarithms of the shares of the classes in their `clamped` rows, weighted by the cosines. width is a multiple of the
// classes, 0 where there are no features. Never of the node's own row.
struct NearestShares {
  uint32_t width = 0;
  std::vector<float> values;
};
NearestShares NearestSharesOf(const NearestNodes& nearest, const ClassProbabilities& classes);

// [n, a + b] the rows of [n, a] and [n, b] side by side.
std::vector<float> SideBySide(const std::vector<float>& left, uint32_t left_width, const std::vector<float>& right,
                              uint32_t right_width);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_NEAREST_SHARES_H_
