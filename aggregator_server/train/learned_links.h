// Trains a network together with the links that it is trained on: the adjacency matrix is a parameter, too.
//
//   minimise over Theta, A:   loss(Theta, A) + closeness ||A - A~||_F + sparsity ||A||_1
//
// from A = A~, by alternating steps of Adam: of Theta in the odd epochs, of A in the even ones. The network takes its
// weighted form (network.h). Entries of A may take any value; attention counts negative ones as 0. Source: Solitude
// (Lin, Li and Wang, TIFS 2022), as Blink (CCS '23) compares with it.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_LEARNED_LINKS_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_LEARNED_LINKS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/train/trainer.h"
#include "common/graph/node_attributes.h"

namespace blink {

struct LearnedLinksOptions {
  double links_learning_rate = 0.01;  // Adam's, of A
  double closeness = 0.01;            // lambda_1
  double sparsity = 1e-4;             // lambda_2
};
// INVALID_ARGUMENT, naming the option: the rate is not in (0, 10], or another not in [0, 1000].
absl::Status ValidateLearnedLinks(const LearnedLinksOptions& options);

// A, A~, the gradient, Adam's two moments, and what a step makes of them: n x n floats each. Attention has more of
// them.
double LearnedLinksBytes(uint32_t node_count, Model model);

// `reported`: A~, links alone, directed or not. Needs LearnedLinksBytes: ask for the memory first. On a CPU the result
// does not depend on the threads, because one thread computes it. Takes no checkpoint, target or GPU.
// INVALID_ARGUMENT: the model is no GCN, GraphSAGE or GAT, `options` want what it does not take, or the training
// diverged. Otherwise errors of Train. `learned`: [n, n] A after the last epoch; null: it is not wanted.
absl::StatusOr<TrainResult> TrainWithLinks(const LinkWeights& reported, const NodeAttributes& attributes,
                                           const TrainOptions& options, const LearnedLinksOptions& links,
                                           std::vector<float>* learned = nullptr);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_LEARNED_LINKS_H_
