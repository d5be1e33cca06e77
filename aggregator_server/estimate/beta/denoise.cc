#include "aggregator_server/estimate/beta/denoise.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "aggregator_server/estimate/beta/hybrid.h"
#include "aggregator_server/estimate/beta/pair_scan.h"
#include "aggregator_server/estimate/beta/soft.h"
#include "aggregator_server/estimate/posterior.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

// The expected number of links among `trials` entries of which `ones` were received as 1, each flipped with probability
// p: (ones - trials p) / (1 - 2 p). With p = 1/2 the bits say nothing, and half the entries is as good as any answer.
double Debiased(double ones, double trials, const PrivacyParameters& parameters) {
  const double contrast = std::tanh(parameters.bit_log_odds() / 2);  // 1 - 2 p without cancellation
  if (!(contrast > 0)) return trials / 2;
  return (ones - trials * parameters.flip_probability()) / contrast;
}

int64_t RoundedDegree(double degree, uint32_t n) {
  return std::llround(std::clamp<double>(degree, -1.0, n));
}  // clipped to [1, n-2] later

// Ones received about each node of `silent`.
std::vector<uint64_t> ColumnSums(const ReportSet& reports, const BitRow& silent) {
  std::vector<uint64_t> sums(reports.node_count(), 0);
  reports.reported_nodes().ForEachOne([&](NodeIndex i) {
    const auto row = reports.row(i);
    for (uint32_t w = 0; w < row.size(); ++w) {
      for (uint64_t bits = row[w] & silent.words()[w]; bits != 0; bits &= bits - 1)
        ++sums[w * 64 + std::countr_zero(bits)];
    }
  });
  return sums;
}

uint64_t TruePositives(const CsrGraph& truth, const CsrGraph& links) {
  uint64_t found = 0;
  for (NodeIndex i = 0; i < truth.node_count(); ++i) {
    for (const NodeIndex j : truth.NeighboursOf(i)) found += i < j && links.HasLink(i, j);
  }
  return found;
}

// The sum of the degrees that were fitted is twice that of P without bits: known exactly, where the sum of P over the
// pairs is subject to rounding and to the certificate.
double LinksOfDegrees(const DegreeClasses& classes) {
  uint64_t ends = 0;
  for (size_t a = 0; a < classes.degree.size(); ++a) ends += uint64_t{classes.degree[a]} * classes.size[a];
  return static_cast<double>(ends) / 2;
}

// The progress of several parts, each of a weight.
class Parts {
 public:
  Parts(const std::function<void(double)>& progress, double begin, double weights)
      : progress_(progress), done_(begin), scale_((1 - begin) / weights) {}
  // Of the part that begins now.
  std::function<void(double)> Next(double weight) {
    const double begin = done_;
    done_ += weight * scale_;
    return [this, begin, end = done_](double fraction) {
      if (progress_) progress_(begin + fraction * (end - begin));
    };
  }

 private:
  const std::function<void(double)>& progress_;
  double done_;
  const double scale_;
};

}  // namespace

DegreeEstimate EstimateDegrees(const ReportSet& reports) {
  const uint32_t n = reports.node_count();
  const double received = reports.report_count();
  const PrivacyParameters& parameters = reports.parameters();
  DegreeEstimate estimate;
  estimate.degrees.assign(n, 0);
  estimate.nodes_without_report = n - reports.report_count();
  BitRow silent(n);
  double sum = 0;
  for (NodeIndex i = 0; i < n; ++i) {
    if (!reports.reported(i)) {
      silent.Set(i);
    } else if (reports.noisy_degree(i).has_value()) {
      estimate.degrees[i] = *reports.noisy_degree(i);
    } else {
      double ones = 0;
      for (const uint64_t word : reports.row(i)) ones += std::popcount(word);
      estimate.degrees[i] = RoundedDegree(Debiased(ones, n - 1.0, parameters), n);
    }
    if (reports.reported(i)) sum += static_cast<double>(std::clamp<int64_t>(estimate.degrees[i], 1, n - 2));
  }
  if (estimate.nodes_without_report == 0 || received == 0) return estimate;
  if (!parameters.sends_bits()) {  // s = 1: nobody said anything about a silent node but how many links there are
    silent.ForEachOne([&](NodeIndex i) { estimate.degrees[i] = RoundedDegree(sum / received, n); });
    return estimate;
  }
  const std::vector<uint64_t> columns = ColumnSums(reports, silent);
  silent.ForEachOne([&](NodeIndex i) {
    const double links = Debiased(static_cast<double>(columns[i]), received, parameters);
    estimate.degrees[i] = RoundedDegree(links * (n - 1.0) / received, n);
  });
  return estimate;
}

absl::StatusOr<LinkEstimate> EstimateLinks(const ReportSet& reports, const EstimateOptions& options) {
  if (reports.report_count() == 0)
    return absl::FailedPreconditionError("no node has reported: there is nothing to estimate from");
  if (options.truth != nullptr && options.truth->node_count() != reports.node_count()) {
    return absl::InvalidArgumentError(absl::StrCat("the true graph has ", options.truth->node_count(),
                                                   " nodes, the reports are of ", reports.node_count(),
                                                   ": compare with the data set that was reported"));
  }
  const auto report_progress = [&](double fraction) {
    if (options.progress) options.progress(fraction);
  };
  const auto started = std::chrono::steady_clock::now();
  LinkEstimate estimate;
  const DegreeEstimate degrees = EstimateDegrees(reports);
  const DegreeClasses classes = ClassifyDegrees(degrees.degrees);
  const auto fitting = [&](double fraction) {
    report_progress(0.1 * fraction);
    return true;
  };
  BLINK_ASSIGN_OR_RETURN(estimate.mle, FitBetaModel(classes, {.threads = options.threads, .keep_going = fitting}));
  estimate.distinct_degrees = static_cast<uint32_t>(classes.degree.size());
  estimate.nodes_without_report = degrees.nodes_without_report;
  report_progress(0.1);

  const BetaPrior prior(classes, estimate.mle);
  const Posterior posterior(prior, reports.parameters().bit_log_odds());
  constexpr double kScan = 2, kVariant = 2;  // passes over the pairs
  Parts parts(options.progress, 0.1, kScan + kVariant * (options.soft + options.hybrid));
  PairCounts counts(reports, posterior, options.threads);
  PairScan scan = ScanPairs(reports, counts, options.truth, parts.Next(kScan));
  BLINK_ASSIGN_OR_RETURN(CsrGraph links, CsrGraph::FromLinks(reports.node_count(), std::move(scan.links)));
  estimate.hard = LinkWeights::Unweighted(std::move(links));
  const bool exact = !reports.parameters().sends_bits() && !estimate.mle.regularised;
  estimate.expected_links = exact ? LinksOfDegrees(classes) : scan.expected_links;
  if (options.hybrid) {
    BLINK_ASSIGN_OR_RETURN(estimate.hybrid, HybridWeights(reports, counts, estimate.expected_links, options.tie_seed,
                                                          parts.Next(kVariant)));
  }
  if (options.soft) {
    BLINK_ASSIGN_OR_RETURN(
        estimate.soft, SoftWeights(reports, posterior, scan.pairs_with_ones, options.threads, parts.Next(kVariant)));
  }
  estimate.denoise_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count() - estimate.mle.seconds;
  if (options.truth != nullptr) {
    const double n = options.truth->node_count();
    estimate.mae = 2.0 * scan.error / (n * n);
    estimate.true_positives = TruePositives(*options.truth, estimate.links());
    estimate.quality = std::move(scan.quality);
  }
  report_progress(1.0);
  return estimate;
}

}  // namespace blink
