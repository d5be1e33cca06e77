// What a simulation's accuracy is worth: how much of what the links can give did the reports recover?
//
//   features only  the best model that reads no report, by validation
//   true links     the same training on the true links
//   recovered      (accuracy - features only) / (true links - features only): 0 where the reports add nothing to the
//                  features, 1 where they are worth as much as the links themselves
#ifndef BLINK_TOOLS_SIMULATE_BOUNDS_H_
#define BLINK_TOOLS_SIMULATE_BOUNDS_H_

#include <optional>
#include <string>

#include "aggregator_server/estimate/posterior_quality.h"
#include "tools/simulate/run.h"

namespace blink {

// The share is not stated where the true links give less than this more than the features: it would be noise.
inline constexpr double kSmallestGap = 0.01;

// Test accuracies; means over the trials. Absent where there is no test node, and where a comment says so.
struct BoundsFigures {
  std::optional<double> features_only_accuracy_mean;
  std::string features_only_name;  // the one that was the best in most trials; empty: there is none
  bool has_true_links = false;     // the rest is measured; absent otherwise
  std::optional<double> true_links_accuracy_mean;
  std::string true_links_name;
  // Of the means above. The deviation is that of (accuracy - features only) of each trial over the same gap: of the
  // sample, absent for one trial.
  std::optional<double> recovered_mean, recovered_std;
  // A sentence: why there is no share, and what to do; or that it is not above zero. Empty: neither.
  std::string recovered_note;
};
// Absent where no trial knows what the features alone give.
std::optional<BoundsFigures> FiguresOfBounds(const Simulation& simulation);

// How good an estimate of the links is, and by how much it is better than a plain one.
struct LinkGain {
  struct Figures {
    double log_likelihood = 0, auc = 0, mae = 0;  // as PosteriorQuality and LinkPosterior have them
  };
  std::string over;  // "beta": the beta prior on the same reports; "density": every pair has the true share of links
  Figures estimate, plain;
};
// Every pair of `nodes` nodes has the same probability of a link, the true share.
LinkGain::Figures FiguresOfDensity(uint32_t nodes, uint64_t links);

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_BOUNDS_H_
