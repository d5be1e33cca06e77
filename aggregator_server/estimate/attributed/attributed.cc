#include "aggregator_server/estimate/attributed/attributed.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/estimate/attributed/degree_posterior.h"
#include "aggregator_server/estimate/attributed/likely_links.h"
#include "aggregator_server/estimate/attributed/pair_features.h"
#include "aggregator_server/estimate/attributed/pair_sample.h"
#include "aggregator_server/estimate/attributed/posterior_pass.h"
#include "aggregator_server/estimate/attributed/theta_fit.h"
#include "aggregator_server/estimate/hybrid_cut.h"
#include "aggregator_server/estimate/posterior.h"
#include "common/base/progress_parts.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr double kNetworkReports = 0.2;  // share of the nodes that must have reported

absl::Status CheckClasses(const ClassProbabilities& classes, uint32_t n) {
  const size_t size = size_t{n} * classes.class_count;
  if (classes.node_count != n || classes.class_count < 1 || classes.open.size() != size ||
      classes.clamped.size() != size) {
    return absl::InvalidArgumentError(absl::StrCat("class probabilities of ", classes.node_count, " nodes and ",
                                                   classes.class_count, " classes with ", classes.open.size(), " and ",
                                                   classes.clamped.size(), " values do not fit reports of ", n,
                                                   " nodes: make them from the attributes of the round"));
  }
  for (const auto* values : {&classes.open, &classes.clamped}) {
    for (const float q : *values) {
      if (!(q >= 0 && q <= 1.001f)) return absl::InvalidArgumentError("a class probability is outside [0, 1]");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckProfiles(const NodeProfiles& profiles, uint32_t n) {
  const FeatureMatrix& scaled = profiles.scaled;
  const bool features = scaled.cols == 0 || scaled.rows == n;
  const bool form = scaled.sparse ? scaled.row_offsets.size() == size_t{scaled.rows} + 1 &&
                                        scaled.columns.size() == scaled.values.size()
                                  : scaled.cols == 0 || scaled.values.size() == size_t{scaled.rows} * scaled.cols;
  if (!features || !form || profiles.latent.size() != size_t{n} * profiles.latent_width) {
    return absl::InvalidArgumentError(absl::StrCat("profiles of ", scaled.rows, " nodes and ", profiles.latent.size(),
                                                   " latent values do not fit reports of ", n,
                                                   " nodes: make them from the attributes of the round"));
  }
  return absl::OkStatus();
}

absl::Status Check(const ReportSet& reports, const NodeProfiles& profiles, const ClassProbabilities& classes,
                   const AttributedOptions& options) {
  BLINK_RETURN_IF_ERROR(CheckEstimable(reports, options.truth));
  BLINK_RETURN_IF_ERROR(CheckProfiles(profiles, reports.node_count()));
  BLINK_RETURN_IF_ERROR(CheckClasses(classes, reports.node_count()));
  if (const int rounds = options.network_rounds.value_or(0); rounds < 0 || rounds > kNetworkRoundsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("network rounds must be 0 .. ", kNetworkRoundsMax, ", not ", rounds));
  }
  return absl::OkStatus();
}

int NetworkRounds(const ReportSet& reports, const AttributedOptions& options) {
  // Without bits theta cannot be learnt, and nothing is known of a network.
  if (!options.ingredients.network || !reports.parameters().sends_bits()) return 0;
  if (options.network_rounds.has_value()) return *options.network_rounds;
  // Where many are silent the network is thin on just those pairs for which it would be needed.
  if (reports.report_count() < kNetworkReports * reports.node_count()) return 0;
  return IsSharp(reports) ? 2 : 1;
}

// Of a posterior as bins of log-odds; of a bin its middle counts.
ExpectedQuality ExpectedOfBins(const std::vector<uint64_t>& bins) {
  QualityCounter counter;
  for (size_t k = 0; k < bins.size(); ++k) {
    if (bins[k] > 0) counter.AddMany((k + 0.5) / kBinsPerUnit - kBinReach, static_cast<int64_t>(bins[k]), 0);
  }
  return counter.Expected();
}

class Estimator {
 public:
  Estimator(const ReportSet& reports, const NodeProfiles& profiles, const ClassProbabilities& classes,
            const AttributedOptions& options)
      : reports_(reports),
        classes_(classes),
        options_(options),
        threads_(ThreadsOrCores(options.threads)),
        network_rounds_(NetworkRounds(reports, options)),
        parts_(options.progress, 1 + 4.0 * (network_rounds_ + 1) + 2),
        degrees_(EstimateDegreePosterior(reports, threads_, options.ingredients.degrees)),
        inputs_(reports, profiles, classes, degrees_, options.ingredients) {}

  absl::StatusOr<LinkEstimate> Run() {
    BLINK_RETURN_IF_ERROR(Fit());
    const size_t last = rounds_.size() - 1;
    auto sums = PassOverPairs(inputs_, classes_, rounds_, last,
                              {.class_sums = true,
                               .bins = options_.hybrid,
                               .bins_of_links = true,
                               .truth = options_.truth,
                               .threads = threads_,
                               .progress = parts_.Next(2)});
    LinkEstimate estimate;
    estimate.nodes_without_report = reports_.node_count() - reports_.report_count();
    BLINK_RETURN_IF_ERROR(Fill(sums[kOfTraining], estimate));
    estimate.soft_from = kKeptMin;
    if (options_.soft) {
      BLINK_ASSIGN_OR_RETURN(estimate.soft, MakeWeights(sums[kOfTraining].likely));
    }
    if (options_.hybrid) {
      BLINK_ASSIGN_OR_RETURN(estimate.hybrid, MakeWeights(LargestPairs(inputs_, rounds_, last, sums[kOfTraining],
                                                                       HybridLinkCount(estimate.expected_links),
                                                                       options_.tie_seed, threads_, parts_.Next(2))));
    }
    if (options_.visit) ForEachLogOddsRow(inputs_, rounds_, last, threads_, options_.visit, nullptr);
    AttributedFit fit;
    fit.network_rounds = network_rounds_;
    fit.coefficients = std::move(coefficients_);
    fit.class_sums = ClassSums(sums[kOfTraining]);
    BLINK_RETURN_IF_ERROR(Fill(sums[kOfLinks], fit.best_guess));
    fit.best_guess.expected_quality = ExpectedOfBins(sums[kOfLinks].bins);
    estimate.attributed_fit = std::move(fit);
    return estimate;
  }

 private:
  // The rounds, and of all but the last their posteriors.
  absl::Status Fit() {
    const bool bits = reports_.parameters().sends_bits();
    if (!bits) {
      rounds_.emplace_back();
      return absl::OkStatus();
    }
    const PairSampler sampler(inputs_, options_.seed, threads_, parts_.Next(1));
    for (int round = 0; round <= network_rounds_; ++round) {
      BLINK_RETURN_IF_ERROR(FitRound(sampler));
      if (round < network_rounds_) MakeNetwork();
    }
    return absl::OkStatus();
  }

  absl::Status FitRound(const PairSampler& sampler) {
    const PairSampler::Sample sample = sampler.Draw(rounds_, rounds_.size(), parts_.Next(2));
    ThetaOptions options;
    options.threads = threads_;
    options.links = degrees_.links;
    options.links_variance =
        options_.ingredients.degree_total ? degrees_.links_variance : std::numeric_limits<double>::infinity();
    for (const int feature : sample.features) {
      options.start.push_back(rounds_.empty() ? 0 : rounds_.back().theta[feature]);
    }
    BLINK_ASSIGN_OR_RETURN(const ThetaFit fit, FitThetaWithinLinks(sample.pairs, options));
    PriorRound round;
    coefficients_.clear();
    for (size_t k = 0; k < sample.features.size(); ++k) {
      round.theta[sample.features[k]] = fit.theta[k];
      coefficients_.push_back({kFeatureForms[sample.features[k]].name, fit.theta[k]});
    }
    rounds_.push_back(std::move(round));
    return absl::OkStatus();
  }

  void MakeNetwork() {
    auto sums = PassOverPairs(inputs_, classes_, rounds_, rounds_.size() - 1,
                              {.for_network = true, .threads = threads_, .progress = parts_.Next(2)});
    for (int kind = 0; kind < 2; ++kind) rounds_.back().network[kind] = NetworkOf(inputs_, sums[kind]);
  }

  absl::Status Fill(const PosteriorSums& sums, LinkPosterior& posterior) const {
    std::vector<std::pair<NodeIndex, NodeIndex>> links;
    posterior.expected_links = sums.expected_links;
    double likely = 0;
    for (const LikelyPair& pair : sums.likely) {
      likely += ProbabilityOf(pair.log_odds);
      if (pair.log_odds > static_cast<float>(kTie)) links.emplace_back(pair.i, pair.j);
    }
    posterior.left_out_links = std::max(0.0, sums.expected_links - likely);
    BLINK_ASSIGN_OR_RETURN(CsrGraph graph, CsrGraph::FromLinks(inputs_.n, std::move(links)));
    posterior.hard = LinkWeights::Unweighted(std::move(graph));
    if (options_.truth == nullptr) return absl::OkStatus();
    const double n = inputs_.n;
    posterior.mae = 2 * sums.error / (n * n);
    posterior.true_positives = CountTruePositives(posterior.links(), *options_.truth);
    posterior.quality = sums.quality.Quality();
    return absl::OkStatus();
  }

  absl::StatusOr<LinkWeights> MakeWeights(const std::vector<LikelyPair>& pairs) const {
    LikelyRows rows = RowsOf(inputs_.n, pairs);
    LinkWeights weights;
    weights.node_count = inputs_.n;
    weights.weighted = true;
    BLINK_ASSIGN_OR_RETURN(weights.links, CsrGraph::FromRows(std::move(rows.offsets), std::move(rows.neighbours)));
    weights.values = std::move(rows.probabilities);
    return weights;
  }

  // [n, classes]: the columns of the sums behind the first, as floats.
  std::vector<float> ClassSums(const PosteriorSums& sums) const {
    const size_t class_count = classes_.class_count;
    std::vector<float> result(inputs_.n * class_count);
    for (size_t i = 0; i < inputs_.n; ++i) {
      for (size_t c = 0; c < class_count; ++c) {
        result[i * class_count + c] = static_cast<float>(sums.sums[i * sums.width + 1 + c]);
      }
    }
    return result;
  }

  const ReportSet& reports_;
  const ClassProbabilities& classes_;
  const AttributedOptions& options_;
  const int threads_;
  const int network_rounds_;
  ProgressParts parts_;
  const DegreePosterior degrees_;
  const PairInputs inputs_;
  std::vector<PriorRound> rounds_;
  std::vector<AttributedFit::Coefficient> coefficients_;
};

}  // namespace

absl::StatusOr<LinkEstimate> EstimateAttributed(const ReportSet& reports, const NodeProfiles& profiles,
                                                const ClassProbabilities& classes, const AttributedOptions& options) {
  const auto started = std::chrono::steady_clock::now();
  BLINK_RETURN_IF_ERROR(Check(reports, profiles, classes, options));
  BLINK_ASSIGN_OR_RETURN(LinkEstimate estimate, Estimator(reports, profiles, classes, options).Run());
  estimate.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (options.progress) options.progress(1.0);
  return estimate;
}

}  // namespace blink
