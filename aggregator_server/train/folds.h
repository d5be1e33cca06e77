// Cross-validation, for graphs of which few nodes have a label: one validation split of a few dozen nodes picks by
// luck. Training and validation nodes are dealt to folds together. Of each candidate one model a fold is trained on the
// other folds and validated by its own. So every one of these nodes is predicted by a model that was not trained on it,
// and all of them choose. Test nodes are in no fold. No LibTorch type.
//
//   const Folds folds = DealFolds(data, seed);
//   for (int fold = 0; fold < kFolds; ++fold) results.push_back(Train(links, OfFold(data, folds, fold), options));
//   const TrainResult joined = JoinFolds(results, folds, data, balance_classes);
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_FOLDS_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_FOLDS_H_

#include <cstdint>
#include <vector>

#include "aggregator_server/train/trainer.h"
#include "common/graph/node_attributes.h"

namespace blink {

inline constexpr int kFolds = 5;

struct Folds {
  std::vector<int> of;  // [n] 0 .. kFolds - 1; -1: in none
};

// The labelled nodes of the training and validation splits, class by class, so that each fold has its share of each
// class. By the seed, the same with every standard library.
Folds DealFolds(const NodeAttributes& attributes, uint64_t seed);

// The nodes that choose, ascending: those in the folds [begin, end).
std::vector<int64_t> NodesOf(const Folds& folds, int begin = 0, int end = kFolds);

// The attributes with another split: what is in `fold` validates, and what is in the others trains. Test nodes stay.
NodeAttributes OfFold(const NodeAttributes& attributes, const Folds& folds, int fold);

// [n, classes] log-probabilities of the models of all folds ([kFolds], their logits need not be normalised): those of a
// node's own fold, or the log of the mean probability where it is in none.
std::vector<float> JoinLogits(const std::vector<const std::vector<float>*>& logits, const Folds& folds,
                              uint32_t classes);

// Of each node in the folds [begin, end), ascending: 1 if it is predicted right, + loss_weight * the log-probability of
// its label. Their mean is accuracy - loss_weight * loss.
std::vector<double> NodeScores(const std::vector<float>& log_probabilities, const Folds& folds,
                               const NodeAttributes& attributes, double loss_weight, int begin = 0, int end = kFolds);

// Whether `scores` are above `others`, of the same nodes, by more than the standard error of the mean difference: what
// is less may be luck (the rule of one standard error, Breiman et al., Classification and Regression Trees, 1984).
bool ExceedsLuck(const std::vector<double>& scores, const std::vector<double>& others);

// As ResultOfLogProbabilities. But the validation figures are of all nodes in folds.
TrainResult ResultOfFolds(std::vector<float> log_probabilities, const Folds& folds, const NodeAttributes& attributes,
                          bool balance_classes);

// ResultOfFolds of the models of all folds, together: their state dicts as "fold1.<name>" etc., and what is said of
// their trainings. `best_epoch` is their mean. There are no curves. A warning of one
// model alone is left out: it is of its fold, such as a class whose only node validates.
TrainResult JoinFolds(std::vector<TrainResult> results, const Folds& folds, const NodeAttributes& attributes,
                      bool balance_classes);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_FOLDS_H_
