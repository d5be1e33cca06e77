// Early pruning: whether a training that is under way can still reach a score, so that a search need not finish a
// training that is far behind. No LibTorch.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_EARLY_PRUNING_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_EARLY_PRUNING_H_

#include <vector>

namespace blink {

// A score, validation accuracy - loss_weight * validation loss, that a training has to reach.
struct TargetScore {
  double score = 0, loss_weight = 0;
};

// Whether to end the training after the epochs given (one validation loss and one accuracy each, as many of one as of
// the other). Let g be the gain of the score, averaged over five epochs, in the last 25 epochs. The training ends if
//   - it has not gathered pace: the 25 epochs before gained g or more; and
//   - 4 g more do not take the score, or the score at the lowest loss, to the target.
// 4 g is all that follows if each 25 epochs gain 0.8 of what the 25 before gained; trainings that slow down mostly slow
// down faster. The rule is asked every 10 epochs from the 100th on, since some networks hardly move for longer than 60.
// So a training that goes on from a checkpoint ends at the same epoch.
bool ShouldPrune(const std::vector<float>& validation_losses, const std::vector<float>& validation_accuracies,
                 const TargetScore& target);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_EARLY_PRUNING_H_
