// What one step of the fit of theta needs of all pairs of the sample, in one pass over them. Internal to this folder.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_THETA_SUMS_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_THETA_SUMS_H_

#include <vector>

#include "absl/types/span.h"
#include "aggregator_server/estimate/attributed/theta_fit.h"

namespace blink {

// With eta = base + theta . phi, pi = sigma(eta) and r = sigma(eta + evidence) - pi of a pair, each weighted:
struct ThetaSums {
  double likelihood = 0;            // sum of log(1 - pi + pi e^evidence)
  double links = 0;                 // sum of pi
  std::vector<double> gradient;     // [width] sum of r phi: the gradient of `likelihood`
  std::vector<double> links_slope;  // [width] sum of pi (1 - pi) phi: the gradient of `links`
  std::vector<double> curvature;    // [width, width] sum of h phi phi^T, symmetric
};
enum class Curvature {
  kOuter,    // h = r^2: never negative
  kHessian,  // h = sigma'(eta) - sigma'(eta + evidence): minus the second derivative, exact but of either sign
};

// In double precision but for the products of features, which are summed as floats over 256 pairs at a time. The pairs
// are cut into pieces of a fixed length, whose sums are added in order: the result does not depend on the threads.
// About 30 ns a pair and thread for 14 features.
ThetaSums SumPairs(const PairSample& sample, absl::Span<const double> theta, int threads,
                   Curvature curvature = Curvature::kOuter);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_THETA_SUMS_H_
