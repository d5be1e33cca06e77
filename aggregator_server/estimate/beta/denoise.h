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
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/estimate/link_estimate.h"
#include "aggregator_server/reports/report_set.h"
#include "common/graph/csr_graph.h"

namespace blink {

struct EstimateOptions {
  bool soft = false, hybrid = false;  // which variants beside Hard
  uint64_t tie_seed = 0;              // of the round: which of Hybrid's ties at the cut are links
  int threads = 0;                    // 0: all cores
  const CsrGraph* truth = nullptr;    // simulation only
  std::vector<int64_t> degrees;       // [n] to fit the beta-model to; empty: those of EstimateDegrees
  std::function<void(double fraction)> progress;
};
absl::StatusOr<LinkEstimate> EstimateLinks(const ReportSet& reports, const EstimateOptions& options);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_DENOISE_H_
