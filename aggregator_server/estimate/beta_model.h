// Maximum likelihood of the beta-model (Algorithm 2) over distinct clipped degrees: P(link ij) = sigma(beta_i + beta_j)
// with sum_{j != i} sigma(beta_i + beta_j) = d_i. Nodes of equal degree have equal beta, so an iteration costs O(K^2).
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_MODEL_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_MODEL_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace blink {

struct DegreeClasses {
  std::vector<uint32_t> class_of_node;  // [n]
  std::vector<uint32_t> degree;         // [K] distinct, ascending, in [1, n-2]
  std::vector<uint32_t> size;           // [K] nodes of each class
};
// Clips to [1, n-2]. n >= 3.
DegreeClasses ClassifyDegrees(absl::Span<const int64_t> degrees);

struct BetaModel {
  std::vector<double> beta;  // [K]
  bool exists = true;        // false: no finite MLE exists (strict Erdos-Gallai fails); beta is the regularised answer
  int iterations = 0;
  double residual = 0;  // largest relative residual of the degree equations; <= 1e-8 when exists
  double seconds = 0;
};
// Without an MLE the model is fitted to the degrees pulled towards their mean just far enough that one exists; the
// number of links that it expects stays that of the degrees. INTERNAL when the certificate (residual <= 1e-8) is not
// reached.
absl::StatusOr<BetaModel> FitBetaModel(const DegreeClasses& classes);

// Strict Erdos-Gallai over the sorted classes: whether the clipped degrees lie in the interior of the polytope.
bool MleExists(const DegreeClasses& classes);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_MODEL_H_
