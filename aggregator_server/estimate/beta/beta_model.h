// Maximum likelihood of the beta-model (Algorithm 2) over distinct clipped degrees: P(link ij) = sigma(beta_i + beta_j)
// with sum_{j != i} sigma(beta_i + beta_j) = d_i. Nodes of equal degree have equal beta.
//
//   const DegreeClasses classes = ClassifyDegrees(noisy_degrees);     // O(n)
//   BLINK_ASSIGN_OR_RETURN(BetaModel model, FitBetaModel(classes));   // O(K) an iteration, then O(K^2) once
//   ... model.beta[classes.class_of_node[i]] ...
//
// Newton's method on the concave log-likelihood; its linear equations are solved by conjugate gradients over
// LogisticSums, in O(K) time and memory. A result is returned only with its certificate: the degree equations summed
// once more pair of classes by pair, without any approximation, by all threads.
//
// Degrees without a maximum. Clipped noisy degrees may lie outside the polytope of degree sequences, which is decided
// beforehand, or so near its boundary that some |beta| would exceed kBetaMax. The model is then the exact one of
// regularised degrees, lowest + share * (d - lowest): share = t * min(t, 63/64), t being the greatest share with which
// they lie inside, so that they end as far inside as they were outside; and again so while beta is out of reach.
// Why so: degrees are impossible because the greatest want more links than the others offer, and both noise and the
// clip at 1 have raised their sum, so that it is right to lower it. A slight violation (two hubs of a star, t = 0.97)
// changes next to nothing; where noise has drowned the degrees (t = 0.4) the prior falls back towards a regular graph,
// and lets the bits speak. Tried beside it: pulling to the mean degree, which keeps a sum that is wrong; a cap on the
// greatest degrees; both 1/64 inside. Mean error of the posterior, sum over pairs of |P - A|:
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
  bool exists = true;        // false: the degrees have no finite maximum of the likelihood
  bool regularised = false;  // beta is the model of regularised degrees: always where no maximum exists, and where one
                             // is out of reach
  double degree_share = 1;   // the share above; 1 unless regularised
  int iterations = 0;        // steps of Newton's method, of all attempts together
  // The certificate: over the degrees d that were fitted, largest |expected - d| / min(d, n-1-d); <= 1e-8. (So it
  // bounds the error relative to d, and that of the links that are missing.)
  double residual = 0;
  // Over the degrees that were given, largest |expected - d| / d: that of the certificate, or what was changed.
  double distance = 0;
  double seconds = 0;
};

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
