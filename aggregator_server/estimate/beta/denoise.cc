#include "aggregator_server/estimate/beta/denoise.h"

#include <chrono>
#include <utility>

#include "aggregator_server/estimate/beta/beta_prior.h"
#include "aggregator_server/estimate/beta/hybrid.h"
#include "aggregator_server/estimate/beta/pair_scan.h"
#include "aggregator_server/estimate/beta/soft.h"
#include "aggregator_server/estimate/degrees.h"
#include "aggregator_server/estimate/posterior.h"
#include "common/base/progress_parts.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

// The sum of the degrees that were fitted is twice that of P without bits: known exactly, where the sum of P over the
// pairs is subject to rounding and to the certificate.
double LinksOfDegrees(const DegreeClasses& classes) {
  uint64_t ends = 0;
  for (size_t a = 0; a < classes.degree.size(); ++a) ends += uint64_t{classes.degree[a]} * classes.size[a];
  return static_cast<double>(ends) / 2;
}

}  // namespace

absl::StatusOr<LinkEstimate> EstimateLinks(const ReportSet& reports, const EstimateOptions& options) {
  BLINK_RETURN_IF_ERROR(CheckEstimable(reports, options.truth));
  const auto started = std::chrono::steady_clock::now();
  LinkEstimate estimate;
  DegreeEstimate degrees = EstimateDegrees(reports);
  if (!options.degrees.empty()) degrees.degrees = options.degrees;
  const DegreeClasses classes = ClassifyDegrees(degrees.degrees);
  constexpr double kScan = 2, kVariant = 2;  // passes over the pairs
  const double passes = kScan + kVariant * (options.soft + options.hybrid);
  const double fit = passes / 9;  // a tenth of all, roughly
  ProgressParts parts(options.progress, fit + passes);
  const auto keep_going = [tell = parts.Next(fit)](double fraction) {
    tell(fraction);
    return true;
  };
  BLINK_ASSIGN_OR_RETURN(BetaModel mle, FitBetaModel(classes, {.threads = options.threads, .keep_going = keep_going}));
  estimate.beta_fit = {.distinct_degrees = static_cast<uint32_t>(classes.degree.size()), .mle = std::move(mle)};
  estimate.nodes_without_report = degrees.nodes_without_report;

  const BetaPrior prior(classes, estimate.beta_fit->mle);
  const Posterior posterior(prior, reports.bit_log_odds());
  PairCounts counts(reports, posterior, options.threads);
  PairScan scan = ScanPairs(reports, counts, options.truth, parts.Next(kScan));
  BLINK_ASSIGN_OR_RETURN(CsrGraph links, CsrGraph::FromLinks(reports.node_count(), std::move(scan.links)));
  estimate.hard = LinkWeights::Unweighted(std::move(links));
  const bool exact = !reports.parameters().sends_bits() && !estimate.beta_fit->mle.regularised;
  estimate.expected_links = exact ? LinksOfDegrees(classes) : scan.expected_links;
  if (options.hybrid) {
    BLINK_ASSIGN_OR_RETURN(estimate.hybrid, HybridWeights(reports, counts, estimate.expected_links, options.tie_seed,
                                                          parts.Next(kVariant)));
  }
  if (options.soft) {
    BLINK_ASSIGN_OR_RETURN(
        estimate.soft, SoftWeights(reports, posterior, scan.pairs_with_ones, options.threads, parts.Next(kVariant)));
  }
  estimate.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  estimate.expected_quality = scan.expected_quality;
  if (options.truth != nullptr) {
    const double n = options.truth->node_count();
    estimate.mae = 2.0 * scan.error / (n * n);
    estimate.true_positives = CountTruePositives(estimate.links(), *options.truth);
    estimate.quality = std::move(scan.quality);
  }
  if (options.progress) options.progress(1.0);
  return estimate;
}

}  // namespace blink
