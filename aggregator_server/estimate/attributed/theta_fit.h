// The coefficients of the attributed prior, from the noisy bits alone.
//
// With base log-odds o, features phi and evidence L = (ones - zeros) ln((1-p)/p) of a pair, pi = sigma(o + theta.phi):
//   maximise  sum_pairs weight * log(1 - pi + pi e^L)  -  ridge / 2 |scale * theta|^2
//             - (sum_pairs weight * pi - links)^2 / (2 links_variance)
// This is the marginal likelihood of the bits, with the total of the noisy degrees as one more observation. The fit
// takes Newton's steps with a line search. Far from the maximum the Hessian may not be positive. There the sum of
// weight r^2 phi phi^T with r = sigma(o + theta.phi + L) - pi takes its place (BHHH). If there are many pairs, some of
// them are fitted first, to start from.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_THETA_FIT_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_THETA_FIT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace blink {

// Pairs that stand for all: `weights` are inverse inclusion probabilities.
struct PairSample {
  uint32_t width = 0;           // features of a pair; the first is the constant 1
  std::vector<float> features;  // [m, width]
  std::vector<float> base;      // [m] o
  std::vector<float> evidence;  // [m] L
  std::vector<float> weights;   // [m]
  size_t size() const { return base.size(); }
};

struct ThetaOptions {
  double ridge = 1;                      // on coefficients of standardised features; a quarter of it on the constant
  double links = 0, links_variance = 0;  // DegreePosterior; a variance of 0 or infinity: no such observation
  std::vector<double> start;             // [width]; empty: zeros
  int iterations_max = 60;
  int threads = 1;  // the result does not depend on it
};

struct ThetaFit {
  std::vector<double> theta;  // [width]
  double objective = 0;       // beyond theta = 0
  double links = 0;           // sum of weight * pi
  int iterations = 0;         // on all pairs
  bool converged = false;     // the gain of the last step was below 1e-4
};

// INVALID_ARGUMENT: no pairs, sizes that do not fit, a weight that is not positive, or a number that is not finite.
absl::StatusOr<ThetaFit> FitTheta(const PairSample& sample, const ThetaOptions& options);

// FitTheta, but the expected links stay within two deviations of the observed links. A model that is too stiff for the
// graph has a likelihood that can outweigh the observation by any amount. A larger miss is then the model's error and
// not the noise's. This holds only where a deviation is at most a tenth of the links: elsewhere the noise alone may
// deny that there are any. Errors as FitTheta.
absl::StatusOr<ThetaFit> FitThetaWithinLinks(const PairSample& sample, ThetaOptions options);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_THETA_FIT_H_
