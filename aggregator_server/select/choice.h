// Which of the candidates of a search is kept, and which means of them are tried beside them. Test nodes decide
// nothing. No LibTorch.
#ifndef BLINK_AGGREGATOR_SERVER_SELECT_CHOICE_H_
#define BLINK_AGGREGATOR_SERVER_SELECT_CHOICE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "aggregator_server/select/candidates.h"

namespace blink {

struct Tried {
  Candidate candidate;
  std::string skipped;  // why it was not trained; empty: it was, and the rest says how well
  int best_epoch = 0;
  int ended_after = 0;  // epochs, where they were fewer than asked for
  bool pruned = false;  // TrainOptions::target; otherwise by patience
  double validation_loss = 0, validation_accuracy = 0;
  double test_accuracy = 0;  // for research: an aggregator has no use for it
};

// What the best of a search under `prior` is chosen by, validation accuracy - LossWeight * validation loss: the larger,
// the better.
double LossWeight(Prior prior);
double Score(const Tried& tried, Prior prior);
// Under the attributed prior: what is this much below the best is not worth more time, since neither it nor a mean with
// it is likely to be chosen.
inline constexpr double kNearScore = 0.03;
// Whether `tried` was trained, to a score that is not more than that below the best of a search under `prior`.
bool IsNear(const Tried& tried, double best_score, Prior prior);
// One that was trained is better than one that was not.
bool IsBetter(const Tried& a, const Tried& b, Prior prior);

// The number of the candidate that is kept. What is as good to within one validation node, 1 / validation_nodes of the
// score, is equally good: of that the mean of the most members, of those the best, of equals the first. With few
// validation nodes many are, and a mean of many errs least. Of singles alone it is the best. Requires that one was
// trained.
size_t ChosenOf(const std::vector<Tried>& tried, Prior prior, size_t validation_nodes);

// Means of probabilities that are tried under the attributed prior, as numbers of `best_of_kind`: the best candidate of
// each model and prior, each trained, the best first. None twice, none of fewer than two:
//   the two stacked models; the stacked model with GCN, with GraphSAGE, with both, with GAT too, with both and the best
//   network of the beta prior; GCN with GraphSAGE; the best two, three and four of all
// A mean of unlike models is mostly better than each, and where one of them is of the beta prior or of features alone
// it guards against a posterior that misleads.
std::vector<std::vector<size_t>> EnsemblesToTry(const std::vector<Candidate>& best_of_kind);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SELECT_CHOICE_H_
