// The stacked model: a logistic regression on the class probabilities of a node and of those it may be linked with.
// Convex and deterministic. It needs only sums of P, so it is strong where P is diffuse (small epsilon). No LibTorch
// type.
//
//   S1_i = sum_j P_ij Qc_j                              over all pairs
//   S2_i = sum_j K_ij S1_j - Qc_i sum_j K_ij^2          over the kept pairs K, without the way back to i
//
//   features of node i, standardised on the training nodes:
//     log(Qo_i + 1e-3)
//     the classes of the nearest nodes (nearest_shares.h)
//     of S1_i and of S2_i: the log of the share of each class, and log(sum + 1e-2)
//
// Under the beta prior K holds all pairs, since that Soft is a table by classes plus the pairs that have a one.
//
// A training row never sees its own label: Qo is out of fold, P_ii = 0, and the way back is subtracted.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_STACKED_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_STACKED_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/profiles/class_probabilities.h"
#include "aggregator_server/train/nearest_shares.h"
#include "aggregator_server/train/trainer.h"
#include "common/graph/node_attributes.h"

namespace blink {

// Everything outlives what is made of it.
struct StackedInput {
  const ClassProbabilities* classes = nullptr;
  // [n, classes] S1. Null: K holds every pair (the beta prior's Soft), and S1 is K Qc.
  const std::vector<float>* class_sums = nullptr;
  const LinkWeights* kept = nullptr;       // K: symmetric, zero diagonal
  const NearestShares* nearest = nullptr;  // null: without
  uint32_t width() const { return 5 * classes->class_count + (nearest == nullptr ? 0 : nearest->width); }
};

// [n, width()], before they are standardised. INVALID_ARGUMENT: sizes that do not fit, or sums beside
// weights with a background, which need none.
absl::StatusOr<std::vector<float>> StackedFeatures(const StackedInput& input, int threads);

struct StackedOptions {
  std::vector<double> ridges = {1e-4, 1e-3, 1e-2, 1e-1};  // the one of lowest validation loss is kept
  bool balance_classes = false;                           // as TrainOptions
  int threads = 0;                                        // 0: all cores. The result does not depend on it
};

// `features` [n, width]. Logits are log-probabilities. A class that the m training nodes lack gets a probability of at
// most 1 / (2 m), and the loss of a node that has it is a number. The state dict: weight [classes, width], bias
// [classes], mean [width], scale [width] (0 for a column that does not vary), ridge [1]:
//   log_softmax(((x - mean) * scale) @ weight.T + bias)
// `state` only; the file is the caller's to make. INVALID_ARGUMENT: no training or validation node, or sizes that do
// not fit.
absl::StatusOr<TrainResult> FitStacked(const std::vector<float>& features, uint32_t width,
                                       const NodeAttributes& attributes, const StackedOptions& options);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_STACKED_H_
