// Maximum likelihood of the beta-model (Algorithm 2) over distinct clipped degrees: P(link ij) = sigma(beta_i + beta_j)
// with sum_{j != i} sigma(beta_i + beta_j) = d_i. Nodes of equal degree have equal beta.
//
//   const DegreeClasses classes = ClassifyDegrees(noisy_degrees);     // O(n)
//   BLINK_ASSIGN_OR_RETURN(BetaModel model, FitBetaModel(classes));   // O(K) an iteration, then O(K^2) once
//   ... model.beta[classes.class_of_node[i]] ...
//
// Newton's method on the concave log-likelihood. Its linear equations are solved by conjugate gradients over
// LogisticSums, in O(K) time and memory. A result is returned only with its certificate: all threads sum the degree
// equations once more, pair of classes by pair and without any approximation.
//
// Degrees without a maximum. Clipped noisy degrees may lie outside the polytope of degree sequences, which is decided
// beforehand, or so near its boundary that some |beta| would exceed kBetaMax. The model is then the exact one of
// regularised degrees, lowest + share * (d - lowest). share = t * min(t, 63/64), where t is the greatest share with
// which the degrees lie inside. So they end as far inside as they were outside. The step is repeated while beta is out
// of reach.
//
// Why the degrees are lowered: they are impossible because the greatest want more links than the others offer, and both
// the noise and the clip at 1 have raised their sum. A slight violation (two hubs of a star, t = 0.97) changes next to
// nothing. Where noise has drowned the degrees (t = 0.4), the prior falls back towards a regular graph and lets the
// bits speak. The table has the mean error of the posterior, sum over pairs of |P - A|, beside two other ways. "To the
// mean" pulls to the mean degree, which keeps a sum that is wrong. "Cap" limits the greatest degrees. Both end 1/64
// inside.
//
//   graph                                              links  to the mean   cap  as here
//   5 hubs of n = 600, epsilon_d = 1, epsilon_a = 4     2826          101   108      107
//   2 hubs of n = 600, epsilon_d = 1, epsilon_a = 3     1442          324   319      318
//   star with 2 hubs, n = 300, 4 and 3                   472         12.9   7.7      8.1
//   power law, n = 600, 0.003 and 3                     1193       12,456 9,125    1,552
//   power law, n = 600, 0.01 and 3                      1222        5,260 8,201    1,865
//   power law, n = 20, 0.1 and 1                          37         60.8  55.8     44.1
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_BETA_MODEL_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_BETA_MODEL_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "aggregator_server/estimate/link_estimate.h"

namespace blink {

struct DegreeClasses {
  std::vector<uint32_t> class_of_node;  // [n]
  std::vector<uint32_t> degree;         // [K] distinct, ascending, in [1, n-2]
  std::vector<uint32_t> size;           // [K] nodes of each class
};
// Clips to [1, n-2]. n >= 3.
DegreeClasses ClassifyDegrees(absl::Span<const int64_t> degrees);

struct BetaModelOptions {
  int threads = 0;  // 0: all cores; the result does not depend on it
  // Called by the calling thread with the share that is done (most of the time with K > 10^4 goes into the
  // certificate); false stops.
  std::function<bool(double fraction)> keep_going;
};
// INVALID_ARGUMENT for fewer than 3 nodes, CANCELLED when keep_going said so, INTERNAL when the certificate is not
// reached.
absl::StatusOr<BetaModel> FitBetaModel(const DegreeClasses& classes, const BetaModelOptions& options = {});

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_BETA_MODEL_H_
