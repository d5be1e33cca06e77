// Which candidate of a search is kept, and which ensembles of candidates are tried beside them. Validation nodes
// decide; test nodes decide nothing. No LibTorch.
#ifndef BLINK_AGGREGATOR_SERVER_SELECT_CHOICE_H_
#define BLINK_AGGREGATOR_SERVER_SELECT_CHOICE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "aggregator_server/select/candidate.h"

namespace blink {

struct Tried {
  Candidate candidate;
  std::string skipped;  // why it was not trained; empty: it was trained, and the fields below say how well
  int best_epoch = 0;
  int ended_after = 0;                                  // epochs, if fewer than asked for; otherwise 0
  bool pruned = false;                                  // TrainOptions::target; otherwise by patience
  double validation_loss = 0, validation_accuracy = 0;  // on folds of all nodes in them (train/folds.h)
  double test_accuracy = 0;                             // for research: an aggregator has no use for it
  // What the search chooses by instead of the validation accuracy, where it is something else and defined.
  std::optional<double> validation_measure;
};

// The score of a candidate in a search under `prior`: validation accuracy, or what the search chooses by instead,
// - LossWeight * validation loss. Larger is better.
double LossWeight(Prior prior);
double Score(const Tried& tried, Prior prior);

// Under the attributed prior, a candidate this far below the best gets no more time: neither it nor an ensemble with it
// is likely to be chosen.
inline constexpr double kNearScore = 0.03;
// Where candidates are trained on folds, few nodes have decided so far, and this far below the best is near. The score
// of one node has a deviation of about 1.
double NearScoreOf(size_t nodes);
// Whether `tried` was trained, to a score that is at most `near_score` below `best_score`.
bool IsNear(const Tried& tried, double best_score, Prior prior, double near_score = kNearScore);
// A candidate that was trained is better than one that was not.
bool IsBetter(const Tried& a, const Tried& b, Prior prior);

// The index of the candidate that is kept. Scores within one validation node of the best (1 / validation_nodes) count
// as equal. Of equal ones the ensemble with the most members is kept, since an average of many errs least; among those
// the best, then the first. Without ensembles this is the best candidate. Requires that one candidate was trained.
size_t ChooseCandidate(const std::vector<Tried>& tried, Prior prior, size_t validation_nodes);

// The best of those that were trained and read no report; of equals the first. Nothing where there is none.
std::optional<size_t> BestFeaturesOnly(const std::vector<Tried>& tried, Prior prior);

// The ensembles that a search under the attributed prior tries, as indices into `best_of_kind`. That holds the best
// candidate of each model and prior, best first, all trained. None is listed twice, and each has two members or more:
//   the two stacked models
//   the stacked model with GCN; with GraphSAGE; with both; with GAT too; with both and the best beta-prior network
//   GCN with GraphSAGE
//   the best two, three and four of all
// The average of unlike models is mostly better than each of them. A member of the beta prior, or one of features
// alone, guards against a posterior that misleads.
std::vector<std::vector<size_t>> EnsemblesToTry(const std::vector<Candidate>& best_of_kind);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SELECT_CHOICE_H_
