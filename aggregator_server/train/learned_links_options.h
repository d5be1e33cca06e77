// How links are learnt together with a network (learned_links.h), and what that takes. Needs no LibTorch.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_LEARNED_LINKS_OPTIONS_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_LEARNED_LINKS_OPTIONS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "common/wire/training_choices.h"

namespace blink {

struct LearnedLinksOptions {
  double rate = 0.01;       // Adam's, of A
  double closeness = 0.01;  // lambda_1
  double sparsity = 1e-4;   // lambda_2

  bool operator==(const LearnedLinksOptions&) const = default;
};
// INVALID_ARGUMENT, naming the option: the rate is not in (0, 10], or another not in [0, 1000].
absl::Status ValidateLearnedLinks(const LearnedLinksOptions& options);

// A, A~, the gradient, Adam's two moments, and what a step makes of them: n x n floats each. Attention has more of
// them.
double LearnedLinksBytes(uint32_t node_count, Model model);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_LEARNED_LINKS_OPTIONS_H_
