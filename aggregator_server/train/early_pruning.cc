#include "aggregator_server/train/early_pruning.h"

#include <algorithm>
#include <cstddef>

namespace blink {

bool ShouldPrune(const std::vector<float>& validation_losses, const std::vector<float>& validation_accuracies,
                 const TargetScore& target) {
  constexpr size_t kFirst = 100, kLook = 10, kStep = 25, kMean = 5;
  constexpr double kGainsToCome = 4;
  const size_t epochs = validation_losses.size();
  if (epochs < kFirst || epochs % kLook != 0) return false;
  const auto at = [&](size_t epoch) {
    return validation_accuracies[epoch] - target.loss_weight * validation_losses[epoch];
  };
  const auto mean_until = [&](size_t end) {
    double sum = 0;
    for (size_t epoch = end - kMean; epoch < end; ++epoch) sum += at(epoch);
    return sum / kMean;
  };
  const double now = mean_until(epochs), before = mean_until(epochs - kStep),
               long_before = mean_until(epochs - 2 * kStep);
  const double gain = std::max(0.0, now - before);
  if (gain > std::max(0.0, before - long_before)) return false;
  const auto lowest = std::min_element(validation_losses.begin(), validation_losses.end()) - validation_losses.begin();
  // Of a loss that is no number nothing is known, and no comparison true.
  return std::max(now, at(static_cast<size_t>(lowest))) + kGainsToCome * gain < target.score;
}

}  // namespace blink
