#ifndef BLINK_TESTS_UNIT_ESTIMATE_BETA_MLE_EXISTS_H_
#define BLINK_TESTS_UNIT_ESTIMATE_BETA_MLE_EXISTS_H_

#include <vector>

#include "aggregator_server/estimate/beta/beta_model.h"
#include "aggregator_server/estimate/beta/degree_polytope.h"

namespace blink {

// Whether the clipped degrees lie inside the polytope of degree sequences.
inline bool MleExists(const DegreeClasses& classes) {
  return InsideDegreePolytope(std::vector<double>(classes.degree.begin(), classes.degree.end()), classes.size);
}

}  // namespace blink

#endif  // BLINK_TESTS_UNIT_ESTIMATE_BETA_MLE_EXISTS_H_
