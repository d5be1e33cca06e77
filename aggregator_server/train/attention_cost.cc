#include "aggregator_server/train/attention_cost.h"

#include "absl/strings/str_format.h"

namespace blink {

double PairAttentionSeconds(uint32_t nodes, int layers, int hidden, uint32_t classes, int threads) {
  constexpr double kSecondsPerOperation = 5e-11;  // of eight at once, measured with AVX2
  double operations = 0;
  for (int layer = 0; layer < layers; ++layer) {
    const double width = layer + 1 == layers ? classes : hidden;
    operations += 2 * (20 + 2 * width);       // forward with a gradient, and backward
    if (layer > 0) operations += 20 + width;  // the evaluation; the first layer's serves both
  }
  return operations * nodes * nodes * kSecondsPerOperation / threads;
}

absl::Status CheckAttentionCost(const LinkWeights& weights, uint32_t classes, const TrainOptions& options) {
  if (options.model != Model::kGat || !weights.has_background() || options.allow_slow_attention)
    return absl::OkStatus();
  const double seconds =
      PairAttentionSeconds(weights.node_count, options.layers, options.hidden, classes, options.threads);
  const double hours = seconds * options.epochs / 3600;
  if (hours <= kPairAttentionHoursMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("GAT over Soft weights computes the attention of all %d^2 pairs of nodes: about %.0f s an epoch "
                      "with %d thread(s), %.1f hours for "
                      "%d epochs; more than %g hour(s) are refused. Use Hard or Hybrid weights, GCN or GraphSAGE, "
                      "fewer epochs, or insist with "
                      "TrainOptions::allow_slow_attention",
                      weights.node_count, seconds, options.threads, hours, options.epochs, kPairAttentionHoursMax));
}

}  // namespace blink
