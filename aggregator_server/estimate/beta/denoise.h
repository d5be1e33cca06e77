// From reports to links: degrees, beta-model, posterior (Algorithm 3), and the variants: Hard (links with P > 1/2),
// Soft (soft.h) and Hybrid (hybrid.h).
//
//   ReportSet -> EstimateDegrees -> ClassifyDegrees -> FitBetaModel -> posterior table [K, K, 6] -> LinkWeights
//
// The evidence of a pair is the number of reports received for it (0, 1, 2) and the ones among them, so the posterior
// takes one value per (class, class, evidence): logit P = beta_a + beta_b + (ones - zeros) * ln((1-p)/p).
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_DENOISE_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_DENOISE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/estimate/beta/beta_model.h"
#include "aggregator_server/estimate/link_prior.h"
#include "aggregator_server/estimate/posterior_quality.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/reports/report_set.h"
#include "common/graph/csr_graph.h"

namespace blink {

// d~ of every node: the reported one; without it (s = 0) the debiased row sum; for a node that never reported the
// debiased column sum over those who did, scaled to n-1. Rounded; clipped to [1, n-2] by ClassifyDegrees.
struct DegreeEstimate {
  std::vector<int64_t> degrees;  // [n]
  uint32_t nodes_without_report = 0;
};
DegreeEstimate EstimateDegrees(const ReportSet& reports);

struct LinkEstimate {
  LinkWeights hard;                         // links with P > 1/2
  std::optional<LinkWeights> soft, hybrid;  // when asked for
  double expected_links = 0;                // sum of P over unordered pairs
  uint32_t distinct_degrees = 0;            // K
  uint32_t nodes_without_report = 0;
  BetaModel mle;
  double denoise_seconds = 0;
  const CsrGraph& links() const { return hard.links; }
  const LinkWeights& Of(Variant variant) const {  // one that was asked for
    return variant == Variant::kHard ? hard : variant == Variant::kSoft ? *soft : *hybrid;
  }

  // Against a true graph, when one was given (simulation only).
  double mae = 0;               // mean of |P - A| over all n^2 entries
  uint64_t true_positives = 0;  // links of the estimate that are links of the truth
  std::optional<PosteriorQuality> quality;
};

struct EstimateOptions {
  bool soft = false, hybrid = false;  // which variants beside Hard
  uint64_t tie_seed = 0;              // of the round: which of Hybrid's ties at the cut are links
  int threads = 0;                    // 0: all cores
  const CsrGraph* truth = nullptr;    // simulation only
  std::function<void(double fraction)> progress;
};
absl::StatusOr<LinkEstimate> EstimateLinks(const ReportSet& reports, const EstimateOptions& options);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_DENOISE_H_
