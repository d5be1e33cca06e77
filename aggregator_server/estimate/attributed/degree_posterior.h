// The degrees of the nodes as all their reports show them: the noisy degree, and the debiased sums of the bits of row
// and column, joined by empirical Bayes.
//
//   r_i                          debiased mean of the bits about i's pairs, scaled to n - 1; its variance v_i follows
//                                from how many bits were received
//                                of mirrored reports (ReportSet::Mirror) the bits are half as many
//   likelihood of a degree d     exp(-(r_i - d)^2 / (2 v_i) - epsilon_degree |d~_i - d|)
//   distribution of the degrees  weights on a log-spaced grid of at most 60 degrees, by EM, lightly smoothed
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_DEGREE_POSTERIOR_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_DEGREE_POSTERIOR_H_

#include <vector>

#include "aggregator_server/reports/report_set.h"

namespace blink {

struct DegreePosterior {
  std::vector<double> mean;       // [n], positive: the posterior mean w_i. Base log-odds: log w_i + log w_j - log sum w
  std::vector<double> deviation;  // [n] the posterior's standard deviation; empty without empirical Bayes
  // [n] What a pair's own bits have done to the mean of its end, to take it out again. No prior of a pair may contain
  // the pair's bits, and the mean contains them in r_i. To first order (Tweedie)
  //   d log w_i / d r_i = influence_i = posterior variance / v_i / w_i, so the log-odds without the pair's own bits are
  //   log w_i + log w_j - log sum w - (influence_i + influence_j) * OwnBits(...)
  // The effect is small for one pair, but it has the same sign for all pairs of a node. With it the fit of the
  // coefficients takes the noise of r for knowledge, and expects half as many links again (n = 1,000, 8 links a node,
  // epsilon 1). At most kInfluenceMax; 0 where r says nothing, or is not used.
  std::vector<double> influence;
  static constexpr double kInfluenceMax = 0.4;
  // What `ones` of `reports` received bits of a pair say of it, as r_i counts it: 0 without bits.
  static double OwnBits(int reports, int ones, double flip_probability) {
    return reports == 0 ? 0 : (static_cast<double>(ones) / reports - flip_probability) / (1 - 2 * flip_probability);
  }
  // An observation of the number of links that does not come from the bits: half the sum of the noisy degrees, scaled
  // up for nodes that sent none. Its variance, as an observation of a sum of probabilities, has three parts: the noise,
  // what the missing degrees may have been, and the links' own chance. It is infinite without noisy degrees (s = 0),
  // and where the bits contradict the total by more than five deviations.
  //
  // Security: a degree that no honest noise makes counts as the most extreme one that it does make. So a single false
  // degree cannot decide how many links there are.
  double links = 0, links_variance = 0;
};

// `empirical_bayes` false (for ablation): w_i = max(d~_i clipped, small) as the beta-model would take it.
DegreePosterior EstimateDegreePosterior(const ReportSet& reports, int threads, bool empirical_bayes = true);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_DEGREE_POSTERIOR_H_
