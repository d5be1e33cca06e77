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
// Two posteriors with one theta: `links` (Qc on both sides) is the best guess at the links; `training` (Qo on both
// sides) is what classifiers are trained on: it never uses a row's own label, so that training rows look like test
// rows.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_ATTRIBUTED_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_ATTRIBUTED_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/estimate/posterior_quality.h"
#include "aggregator_server/links/link_weights.h"
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

struct AttributedOptions {
  Ingredients ingredients;
  std::optional<int> network_rounds;  // absent: by what the bits may spend, 1 or 2
  uint64_t seed = 0;                  // which pairs the coefficients are fitted on
  uint64_t tie_seed = 0;              // Hybrid's ties, as EstimateOptions
  bool soft = true, hybrid = true;    // which of `training`'s variants beside Hard
  int threads = 0;
  const CsrGraph* truth = nullptr;  // simulation only
  std::function<void(double fraction)> progress;
};

// One posterior P.
struct AttributedPosterior {
  LinkWeights hard;                         // P > 1/2
  std::optional<LinkWeights> soft, hybrid;  // soft: the pairs with P > kKeptMin; hybrid: the floor(|P|_1) largest
  // Null: it was not asked for.
  const LinkWeights* Of(Variant variant) const {
    if (variant == Variant::kHard) return &hard;
    const std::optional<LinkWeights>& weights = variant == Variant::kSoft ? soft : hybrid;
    return weights.has_value() ? &*weights : nullptr;
  }
  double expected_links = 0;                // sum of P over all unordered pairs, kept or not
  double left_out_links = 0;                // ... over those that soft leaves out
  double mae = 0;                           // against the truth: mean of |P - A| over n^2 entries
  uint64_t true_positives = 0;              // links of hard that are links of the truth
  std::optional<PosteriorQuality> quality;  // with a truth
};

struct AttributedEstimate {
  AttributedPosterior links;  // hard and figures only; no soft, no hybrid
  AttributedPosterior training;
  std::vector<float> class_sums;  // [n, classes]: sum_j P_ij Qc_j of `training`, over ALL pairs
  struct Coefficient {
    std::string feature;
    double theta = 0;
  };
  std::vector<Coefficient> coefficients;  // of the last round
  int network_rounds = 0;
  uint32_t nodes_without_report = 0;
  double seconds = 0;
};

inline constexpr float kKeptMin = 0.02f;  // a smaller P is left out of soft

// Memory: the reports, profiles, some n * (latent + classes) doubles, the likely pairs (12 to 28 bytes each, at most 50
// times the expected links), the pairs of the fit (some 100 bytes each, at most 4 million), and tiles; never n^2
// numbers. Time: grows as n^2 * (latent + dense columns), in 3 + 2 * network rounds passes over all pairs, and 1 to 3
// more where P is so diffuse that Hybrid's cut lies below kKeptMin. n = 22,470 with 128 dense columns, one network
// round: 21 s of one core's time, 0.6 GB. The result does not depend on the threads. INVALID_ARGUMENT: sizes that do
// not fit, network rounds beyond 0 .. 2. FAILED_PRECONDITION: no node has reported.
absl::StatusOr<AttributedEstimate> EstimateAttributed(const ReportSet& reports, const NodeProfiles& profiles,
                                                      const ClassProbabilities& classes,
                                                      const AttributedOptions& options);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_ATTRIBUTED_ATTRIBUTED_H_
