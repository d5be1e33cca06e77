// The attributed prior: what the aggregator believes about a pair before its bits, from the degrees AND from what is
// public of the two nodes, with coefficients learnt from the noisy bits themselves. Post-processing: it costs no
// privacy.
//
//   log-odds of a pair = o_ij + theta . phi_ij        o_ij = log w_i + log w_j - log sum w   (degree_posterior.h)
//   phi_ij: pair_features.h; theta: theta_fit.h
//   then the bits, as under any prior:  logit P_ij = log-odds + (ones - zeros) ln((1-p)/p)
//
//   round 0   phi of profiles and classes          -> theta -> P
//   round 1.. phi also of the network P, without the pair's own part -> theta -> P
//
// Two posteriors come from one theta. LinkEstimate::BestGuess() is the best guess at the links: it uses Qc on both
// sides. LinkEstimate itself is what classifiers are trained on. It uses Qo on both sides, which never contains a row's
// own label, so that training rows look like test rows.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_ATTRIBUTED_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_ATTRIBUTED_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "aggregator_server/estimate/link_estimate.h"
#include "aggregator_server/profiles/class_probabilities.h"
#include "aggregator_server/profiles/node_profiles.h"
#include "aggregator_server/reports/report_set.h"
#include "common/graph/csr_graph.h"

namespace blink {

// The ingredients, so that a study can leave one out.
struct Ingredients {
  bool nearest = true;       // the classes of the most similar nodes, in the class probabilities and the stacked model
  bool degrees = true;       // empirical Bayes; without: the noisy degrees as they are
  bool degree_total = true;  // the total of the noisy degrees as an observation in the fit of theta
  bool features = true;      // cosine and hinges
  bool latent = true;        // LSA
  bool classes = true;       // q_i . q_j
  bool network = true;       // rounds 1 and up
};

inline constexpr int kNetworkRoundsMax = 2;  // more reinforce themselves

struct LogOddsRow;  // posterior_pass.h

struct AttributedOptions {
  Ingredients ingredients;
  std::optional<int> network_rounds;  // absent: by what the bits may spend, 1 or 2
  uint64_t seed = 0;                  // which pairs the coefficients are fitted on
  uint64_t tie_seed = 0;              // Hybrid's ties, as EstimateOptions
  bool soft = true, hybrid = true;    // which variants to train on beside Hard
  int threads = 0;
  const CsrGraph* truth = nullptr;  // simulation only
  // Sees the log-odds of every pair once, of what classifiers are trained on; several threads call it. For studies: it
  // costs another pass.
  std::function<void(const LogOddsRow& row)> visit;
  std::function<void(double fraction)> progress;
};

inline constexpr float kKeptMin = 0.02f;  // a smaller P is left out of Soft

// The result does not depend on the threads. INVALID_ARGUMENT: sizes that do not fit, network rounds beyond 0 .. 2.
// FAILED_PRECONDITION: no node has reported.
//
// Memory: never n^2 numbers, but
//   the reports, the profiles, some n * (latent + classes) doubles, and tiles
//   the likely pairs       12 to 28 bytes each, at most 50 times the expected links
//   the pairs of the fit   some 100 bytes each, at most 4 million
// Time: grows as n^2 * (latent + dense columns), in 3 + 2 * network rounds passes over all pairs. Where P is so diffuse
// that Hybrid's cut lies below kKeptMin, there are 1 to 3 more. n = 22,470 with 128 dense columns and one network
// round: 21 s of one core's time, 0.6 GB.
absl::StatusOr<LinkEstimate> EstimateAttributed(const ReportSet& reports, const NodeProfiles& profiles,
                                                const ClassProbabilities& classes, const AttributedOptions& options);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_ATTRIBUTED_H_
