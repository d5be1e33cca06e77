// What attention over all pairs would cost, before it is begun. Internal to this folder; no LibTorch type.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_ATTENTION_COST_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_ATTENTION_COST_H_

#include <cstdint>

#include "absl/status/status.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/train/trainer.h"

namespace blink {

// Longer trainings of GAT over Soft weights on a CPU are refused, unless the options insist.
inline constexpr double kPairAttentionHoursMax = 1.0;

// Seconds of one epoch of GAT over all pairs of `nodes` nodes on this many cores of the reference machine: an estimate
// within a factor of about two. Per pair a pass costs about 20 operations and 2 per column of the layer (1 without a
// gradient).
double PairAttentionSeconds(uint32_t nodes, int layers, int hidden, uint32_t classes, int threads);

// INVALID_ARGUMENT, naming the estimated time and the remedies, for a GAT over weights with a background whose epochs
// would take longer than kPairAttentionHoursMax in all, without options.allow_slow_attention. `options.threads` must be
// resolved.
absl::Status CheckAttentionCost(const LinkWeights& weights, uint32_t classes, const TrainOptions& options);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_ATTENTION_COST_H_
