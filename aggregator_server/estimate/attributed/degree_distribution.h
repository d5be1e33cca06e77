// The degree distribution of a graph, fitted to uncertain observations of each degree, and what it says about each.
// Internal to this folder; degree_posterior.h is what others use.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_DEGREE_DISTRIBUTION_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_DEGREE_DISTRIBUTION_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace blink {

// Log-likelihood of a degree d: -(sum - d)^2 / (2 variance) - epsilon |noisy - d|; without a number, without its term.
struct DegreeEvidence {
  std::optional<double> sum;    // the debiased bits of row and column
  double variance = 0;          // of sum, positive
  std::optional<double> noisy;  // the noisy degree
  double epsilon = 0;           // 1 / the scale of its noise
  double LogLikelihood(double degree) const;
};

class DegreeDistribution {
 public:
  // By EM on a log-spaced grid of at most 60 degrees from 0.3 to n - 1, a fixed number of steps from the uniform one
  // (an early end is a regulariser), smoothed lightly at each. Of more than 32,768 nodes every k-th is enough. The
  // result does not depend on the threads.
  static DegreeDistribution Fit(const std::vector<DegreeEvidence>& nodes, int threads);

  // The mean degree and its variance, given the evidence. They are taken over a finer grid, on which the distribution
  // is interpolated, so that sharp evidence of a large degree is not rounded to the grid.
  struct Moments {
    double mean = 0, variance = 0;
  };
  Moments PosteriorMoments(const DegreeEvidence& evidence) const;
  double PosteriorMean(const DegreeEvidence& evidence) const { return PosteriorMoments(evidence).mean; }

  const std::vector<double>& degrees() const { return degrees_; }  // the grid, ascending
  const std::vector<double>& weights() const { return weights_; }  // of each, with sum 1

 private:
  explicit DegreeDistribution(uint32_t node_count);

  std::vector<double> degrees_, weights_;
  std::vector<double> fine_degrees_, fine_weights_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_DEGREE_DISTRIBUTION_H_
