// What an estimate of the links gives, whatever the prior: the one result of EstimateLinks (beta/) and
// EstimateAttributed (attributed/).
//
//   estimate.Of(Variant::kSoft)         the weights that classifiers are trained on
//   estimate.BestGuess().links()        the links themselves: what is reported, and compared with a true graph
//
// The two differ under the attributed prior alone.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_LINK_ESTIMATE_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_LINK_ESTIMATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "aggregator_server/estimate/posterior_quality.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/reports/report_set.h"
#include "common/graph/csr_graph.h"

namespace blink {

// One posterior P of all pairs.
struct LinkPosterior {
  LinkWeights hard;                         // links with P > 1/2
  std::optional<LinkWeights> soft, hybrid;  // where they were asked for
  double expected_links = 0;                // sum of P over all unordered pairs
  // A Soft that is a list has the pairs with a larger P than this; 0: all pairs that are not of weight 0.
  float soft_from = 0;
  double left_out_links = 0;  // sum of P over the pairs that it leaves out
  // Absent of what only classifiers are trained on.
  std::optional<ExpectedQuality> expected_quality;

  // Against a true graph, where one was given (simulation only).
  double mae = 0;               // mean of |P - A| over all n^2 entries
  uint64_t true_positives = 0;  // links of `hard` that are links of the truth
  std::optional<PosteriorQuality> quality;

  const CsrGraph& links() const { return hard.links; }
  // Null: it was not asked for.
  const LinkWeights* Of(Variant variant) const {
    if (variant == Variant::kHard) return &hard;
    const std::optional<LinkWeights>& weights = variant == Variant::kSoft ? soft : hybrid;
    return weights.has_value() ? &*weights : nullptr;
  }
};

// The maximum likelihood of the beta-model: P(link ij) = sigma(beta_i + beta_j) before any bit (beta/beta_model.h).
struct BetaModel {
  std::vector<double> beta;  // [K], by classes of equal degree
  bool exists = true;        // false: the degrees have no finite maximum of the likelihood
  bool regularised = false;  // the model is that of regularised degrees: no maximum exists, or it is out of reach
  double degree_share = 1;   // how far the degrees were kept; 1 unless regularised
  int iterations = 0;        // steps of Newton's method, of all attempts together
  // The certificate: over the degrees d that were fitted, largest |expected - d| / min(d, n-1-d); <= 1e-8. (So it
  // bounds the error relative to d, and that of the links that are missing.)
  double residual = 0;
  // Over the degrees that were given, largest |expected - d| / d: that of the certificate, or what was changed.
  double distance = 0;
  double seconds = 0;
};

// What the beta prior alone has.
struct BetaFit {
  uint32_t distinct_degrees = 0;  // K
  BetaModel mle;
};

// What the attributed prior alone has.
struct AttributedFit {
  LinkPosterior best_guess;       // hard and figures; neither soft nor hybrid
  std::vector<float> class_sums;  // [n, classes]: sum_j P_ij Qc_j of what is trained on, over all pairs
  struct Coefficient {
    std::string feature;
    double theta = 0;
  };
  std::vector<Coefficient> coefficients;  // of the last round
  int network_rounds = 0;
};

struct LinkEstimate : LinkPosterior {
  uint32_t nodes_without_report = 0;
  double seconds = 0;  // of all of it
  std::optional<BetaFit> beta_fit;
  std::optional<AttributedFit> attributed_fit;

  const LinkPosterior& BestGuess() const { return attributed_fit ? attributed_fit->best_guess : *this; }
};

// FAILED_PRECONDITION: no node has reported. INVALID_ARGUMENT: `truth` (may be null) has another number of nodes, or
// reports of Mechanism::kOneEnd are not mirrored, or the set of reports is not complete.
absl::Status CheckEstimable(const ReportSet& reports, const CsrGraph* truth);

// Links that are links of the truth.
uint64_t CountTruePositives(const CsrGraph& links, const CsrGraph& truth);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_LINK_ESTIMATE_H_
