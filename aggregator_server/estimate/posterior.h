// The posterior of a pair (Algorithm 3) as a function of the classes of its ends and of its evidence.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_POSTERIOR_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_POSTERIOR_H_

#include <cmath>
#include <cstdint>

#include "aggregator_server/estimate/link_prior.h"

namespace blink {

// What was received about a pair: `reports` 0, 1 or 2, `ones` 0 .. reports. Six values; Index() numbers them.
struct Evidence {
  int reports = 0;
  int ones = 0;
  int Index() const { return reports * (reports + 1) / 2 + ones; }
};
// Log-odds this near to 0 are a tie, and no link (Posterior::IsLink).
inline constexpr double kTie = 1e-9;

// 1 / (1 + e^-x), without overflow and, of -x, without loss of digits.
inline double ProbabilityOf(double log_odds) {
  return log_odds >= 0 ? 1.0 / (1.0 + std::exp(-log_odds)) : std::exp(log_odds) / (1.0 + std::exp(log_odds));
}

// logit P = prior + (ones - zeros) * ln((1-p)/p), from a `bit_log_odds` of at least 0. Keeps a reference to `prior`.
class Posterior {
 public:
  Posterior(const LinkPrior& prior, double bit_log_odds) : prior_(prior), bit_log_odds_(bit_log_odds) {}
  const LinkPrior& prior() const { return prior_; }
  double LogOdds(uint32_t a, uint32_t b, Evidence evidence) const { return With(prior_.LogOdds(a, b), evidence); }
  // Log-odds of the prior, and then of the evidence. The product is exact, so that there is one rounding whatever the
  // compiler makes of it: equal values are equal wherever they are computed.
  double With(double prior, Evidence evidence) const {
    return prior + (2 * evidence.ones - evidence.reports) * bit_log_odds_;
  }
  double bit_log_odds() const { return bit_log_odds_; }
  // P, and with `complement` 1 - P without loss of digits.
  double Probability(uint32_t a, uint32_t b, Evidence evidence, bool complement = false) const {
    return ProbabilityOf(complement ? -LogOdds(a, b, evidence) : LogOdds(a, b, evidence));
  }
  // Hard's rule, P > 1/2. Log-odds within the error of the prior's certificate of 0 are a tie, and no link: a round of
  // symmetric degrees must not be decided by rounding.
  bool IsLink(uint32_t a, uint32_t b, Evidence evidence) const { return LogOdds(a, b, evidence) > kTie; }

 private:
  const LinkPrior& prior_;
  const double bit_log_odds_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_POSTERIOR_H_
