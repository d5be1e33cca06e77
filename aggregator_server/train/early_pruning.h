// Whether a training that is under way can still come to something, so that a search need not finish what is far
// behind. No LibTorch.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_EARLY_PRUNING_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_EARLY_PRUNING_H_

#include <vector>

namespace blink {

// A score, validation accuracy - loss_weight * validation loss, that a training has to reach.
struct TargetScore {
  double score = 0, loss_weight = 0;
};

// Asked after the last of the given epochs (one validation loss and accuracy each, of equal number). It is hopeless
// where the score, the mean of five epochs, has risen by g over the last 25 epochs, by no less over the 25 before, and
// 4 g more would not take it, or the score at the lowest loss, to the target: 4 g is all that follows when each 25
// epochs gain 0.8 of what those before them did. Trainings mostly slow down faster than that, once they do; one that
// still gathers pace is never hopeless. Looked at every 10 epochs from the 100th on (some hardly move for longer than
// 60), and so the same for whoever goes on from a checkpoint.
bool ShouldPrune(const std::vector<float>& validation_losses, const std::vector<float>& validation_accuracies,
                 const TargetScore& target);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_EARLY_PRUNING_H_
