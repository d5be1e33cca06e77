// A small synthetic data set for the tests of training.
#ifndef BLINK_TESTS_UNIT_TRAIN_SMALL_DATA_H_
#define BLINK_TESTS_UNIT_TRAIN_SMALL_DATA_H_

#include <ostream>

#include "aggregator_server/train/trainer.h"
#include "common/graph/dataset.h"

namespace blink {

// The names of parameterised tests.
inline void PrintTo(Model model, std::ostream* out) { *out << ModelName(model); }

}  // namespace blink

namespace blink::testing {

inline Dataset SmallDataset(uint32_t nodes = 150, uint64_t seed = 5) {
  SyntheticOptions options;
  options.nodes = nodes;
  options.classes = 3;
  options.mean_degree = 4;
  options.features = 60;
  options.words_per_node = 8;
  options.seed = seed;
  return GenerateDataset(options).value();
}

}  // namespace blink::testing

#endif  // BLINK_TESTS_UNIT_TRAIN_SMALL_DATA_H_
