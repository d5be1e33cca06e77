// Trains a network together with the links that it is trained on: the adjacency matrix is a parameter, too.
//
//   minimise over Theta, A:   loss(Theta, A) + closeness ||A - A~||_F + sparsity ||A||_1
//
// from A = A~, by alternating steps of Adam: of Theta in the odd epochs, of A in the even ones. The network takes its
// weighted form (network.h). Entries of A may take any value; attention counts negative ones as 0. Source: Solitude
// (Lin, Li and Wang, TIFS 2022), as Blink (CCS '23) compares with it.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_LEARNED_LINKS_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_LEARNED_LINKS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/train/learned_links_options.h"
#include "aggregator_server/train/trainer.h"
#include "common/graph/node_attributes.h"

namespace blink {

// `reported`: A~, links alone, directed or not. Needs LearnedLinksBytes: ask for the memory first. On a CPU the result
// does not depend on the threads, because one thread computes it. Takes no checkpoint, target or GPU.
// INVALID_ARGUMENT: the model is no GCN, GraphSAGE or GAT, `options` want what it does not take, or the training
// diverged. Otherwise errors of Train. `learned`: [n, n] A after the last epoch; null: it is not wanted.
absl::StatusOr<TrainResult> TrainWithLinks(const LinkWeights& reported, const NodeAttributes& attributes,
                                           const TrainOptions& options, const LearnedLinksOptions& links,
                                           std::vector<float>* learned = nullptr);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_LEARNED_LINKS_H_
