// What the public features say of the classes of the nodes, before any link: the input of the attributed prior. Made by
// train/feature_classifier.h; no LibTorch type.
#ifndef BLINK_AGGREGATOR_SERVER_PROFILES_CLASS_PROBABILITIES_H_
#define BLINK_AGGREGATOR_SERVER_PROFILES_CLASS_PROBABILITIES_H_

#include <cstdint>
#include <vector>

namespace blink {

struct ClassProbabilities {
  uint32_t node_count = 0, class_count = 0;
  // [n, classes], rows that sum to 1. Of a training node from a model that was not trained on it, so that training rows
  // look like the others.
  std::vector<float> open;
  // [n, classes]: open, but 1 for the label of a training node. Never what a classifier is trained on.
  std::vector<float> clamped;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_PROFILES_CLASS_PROBABILITIES_H_
