// Public attributes of a small deployment, for an aggregator that needs some and does not care which.
#ifndef BLINK_TESTS_TESTING_SMALL_ATTRIBUTES_H_
#define BLINK_TESTS_TESTING_SMALL_ATTRIBUTES_H_

#include <string>

#include "absl/status/status.h"
#include "common/base/status_macros.h"
#include "common/graph/dataset.h"

namespace blink::testing {

inline absl::Status WriteSmallAttributes(uint32_t nodes, const std::string& folder) {
  SyntheticOptions synthetic;
  synthetic.nodes = nodes;
  synthetic.classes = 3;
  synthetic.features = 20;
  synthetic.words_per_node = 4;
  BLINK_ASSIGN_OR_RETURN(const Dataset dataset, GenerateDataset(synthetic));
  return WriteAttributes(dataset.attributes, folder);
}

}  // namespace blink::testing

#endif  // BLINK_TESTS_TESTING_SMALL_ATTRIBUTES_H_
