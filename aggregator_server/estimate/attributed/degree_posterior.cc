#include "aggregator_server/estimate/attributed/degree_posterior.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "aggregator_server/estimate/attributed/column_sums.h"
#include "aggregator_server/estimate/attributed/degree_distribution.h"
#include "aggregator_server/estimate/degrees.h"
#include "common/base/run_on_threads.h"

namespace blink {
namespace {

// Variance of the two-sided geometric noise: 2 a / (1 - a)^2 with a = e^-epsilon, which is 1 / (2 sinh^2(epsilon / 2)).
double NoiseVariance(double epsilon) {
  const double sinh = std::sinh(epsilon / 2);
  return 1 / (2 * sinh * sinh);
}

// The debiased bits about node i's pairs. A pair of which both bits were received counts as their mean, one of which
// one was received as that: of a node that reported, every pair is seen, and the sum is its degree without bias. Of a
// silent node only the pairs with those who reported are seen: their sum is scaled to n - 1, and which of its links
// they are is chance, too (sampling without replacement).
// Of a mirrored set a pair counts once where its own end has reported, for either of its ends.
class BitSums {
 public:
  BitSums(const ReportSet& reports, int threads)
      : reports_(reports), columns_(reports.mirrored() ? std::vector<uint32_t>() : ColumnSums(reports, threads)) {
    const double p = reports.parameters().flip_probability();
    contrast_ = std::tanh(reports.parameters().bit_log_odds() / 2);  // 1 - 2 p without cancellation
    variance_of_bit_ = p * (1 - p) / (contrast_ * contrast_);
    known_ = reports.parameters().sends_bits() && contrast_ > 0 && std::isfinite(variance_of_bit_);
  }

  void Set(NodeIndex i, DegreeEvidence& evidence) const {
    if (!known_) return;
    if (reports_.mirrored()) {
      const ObservedPairs seen = CountObservedPairs(reports_, i);
      if (seen.pairs > 0) SetFromSome(Debiased(seen.ones, seen.pairs), seen.pairs, evidence);
      return;
    }
    const double others = reports_.report_count() - (reports_.reported(i) ? 1.0 : 0.0);  // who may have named i
    if (others == 0 && !reports_.reported(i)) return;
    const double pairs = reports_.node_count() - 1.0, columns = Debiased(columns_[i], others);
    if (!reports_.reported(i)) return SetFromSome(columns, others, evidence);
    // Ones about pairs of which two bits, or one, were received.
    const uint32_t twice = reports_.CountOnesAmong(i, reports_.reported_nodes());
    const uint32_t once = reports_.CountOnes(i) - twice;
    evidence.sum = (Debiased(twice, others) + columns) / 2 + Debiased(once, pairs - others);
    evidence.variance = variance_of_bit_ * (others / 2 + (pairs - others));
  }

 private:
  // From the links of `seen` pairs alone, each of which was received once: scaled to all, and which of the node's links
  // are among them is chance.
  void SetFromSome(double links, double seen, DegreeEvidence& evidence) const {
    const double scale = (reports_.node_count() - 1.0) / seen, sum = links * scale;
    evidence.sum = sum;
    evidence.variance = scale * scale * seen * variance_of_bit_ + std::max(sum, 1.0) * (scale - 1);
  }

  // Expected links among `trials` entries of which `ones` were received as 1.
  double Debiased(double ones, double trials) const {
    return (ones - trials * reports_.parameters().flip_probability()) / contrast_;
  }

  const ReportSet& reports_;
  const std::vector<uint32_t> columns_;
  double contrast_ = 0, variance_of_bit_ = 0;
  bool known_ = false;
};

// 1 / the scale of Laplace noise that is as uncertain as a noisy degree. A mirrored one is twice what is left of the
// degree d when a fair coin decides of each link whether it counts: that chance adds d to four times the noise.
double EpsilonOfDegrees(const ReportSet& reports, double mean_degree) {
  const double epsilon = reports.parameters().epsilon_degree();
  if (!reports.mirrored()) return epsilon;
  return std::sqrt(2 / (4 * NoiseVariance(epsilon) + std::max(1.0, mean_degree)));
}

std::vector<DegreeEvidence> EvidenceOfNodes(const ReportSet& reports, double links, int threads) {
  const uint32_t n = reports.node_count();
  const BitSums bits(reports, threads);
  const double epsilon = EpsilonOfDegrees(reports, 2 * links / n);
  std::vector<DegreeEvidence> nodes(n);
  for (NodeIndex i = 0; i < n; ++i) {
    bits.Set(i, nodes[i]);
    if (!reports.noisy_degree(i).has_value()) continue;
    nodes[i].noisy = static_cast<double>(*reports.noisy_degree(i));
    nodes[i].epsilon = epsilon;
  }
  return nodes;
}

// The total of the noisy degrees is no observation where the bits contradict it: one of the two is not honest, and the
// bits are what everything else is made of.
void DropContradictedLinks(const std::vector<DegreeEvidence>& nodes, DegreePosterior& posterior) {
  constexpr double kDeviations = 5;
  double links = 0, variance = 0;  // of the sum of the pairs' bits; a pair is in the sums of both its ends
  for (const DegreeEvidence& node : nodes) {
    if (!node.sum.has_value()) return;
    links += *node.sum / 2;
    variance += node.variance;  // half of it when all reported
  }
  if (std::abs(links - posterior.links) > kDeviations * std::sqrt(variance + posterior.links_variance)) {
    posterior.links_variance = std::numeric_limits<double>::infinity();
  }
}

// How much one pair's bits count in the sum of a node: where not all of its pairs were seen, those that were stand for
// the others too.
double ScaleOfSum(const ReportSet& reports, NodeIndex i) {
  const double pairs = reports.node_count() - 1.0;
  if (reports.mirrored()) return pairs / CountObservedPairs(reports, i).pairs;
  return reports.reported(i) ? 1 : pairs / reports.report_count();
}

// The nodes' means and influences, each on its own: any number of threads gives the same.
void SetMeans(const ReportSet& reports, int threads, DegreePosterior& posterior) {
  const std::vector<DegreeEvidence> nodes = EvidenceOfNodes(reports, posterior.links, threads);
  if (std::isfinite(posterior.links_variance)) DropContradictedLinks(nodes, posterior);
  const DegreeDistribution distribution = DegreeDistribution::Fit(nodes, threads);
  posterior.mean.resize(nodes.size());
  posterior.deviation.resize(nodes.size());
  posterior.influence.resize(nodes.size());
  constexpr size_t kPiece = 256;
  std::atomic<size_t> next{0};
  RunOnThreads(static_cast<int>(std::clamp<size_t>(nodes.size() / kPiece, 1, threads)), [&](int) {
    for (size_t begin; (begin = next.fetch_add(kPiece)) < nodes.size();) {
      for (size_t i = begin; i < std::min(nodes.size(), begin + kPiece); ++i) {
        const DegreeDistribution::Moments of = distribution.PosteriorMoments(nodes[i]);
        posterior.mean[i] = of.mean;
        posterior.deviation[i] = std::sqrt(std::max(0.0, of.variance));
        if (!nodes[i].sum.has_value()) continue;
        const double scale = ScaleOfSum(reports, static_cast<NodeIndex>(i));
        posterior.influence[i] =
            std::min(DegreePosterior::kInfluenceMax, scale * std::min(1.0, of.variance / nodes[i].variance) / of.mean);
      }
    }
  });
}

std::vector<double> DegreesAsSent(const ReportSet& reports) {
  const std::vector<int64_t> degrees = EstimateDegrees(reports).degrees;
  const int64_t largest = int64_t{reports.node_count()} - 2;
  std::vector<double> clipped;
  for (const int64_t degree : degrees) clipped.push_back(static_cast<double>(std::clamp<int64_t>(degree, 1, largest)));
  return clipped;
}

// A noisy degree as honest noise can make it, but for a chance of 1e-6 in a whole round: whoever sends another number
// must not move the total by more.
double Possible(int64_t noisy_degree, const ReportSet& reports) {
  const double n = reports.node_count(), of_noise = std::log(1e6 * n) / reports.parameters().epsilon_degree();
  const double beyond = reports.mirrored() ? 2 * of_noise : of_noise;
  return std::clamp(static_cast<double>(noisy_degree), -beyond, n - 1 + beyond);
}

void SetLinks(const ReportSet& reports, DegreePosterior& posterior) {
  posterior.links_variance = std::numeric_limits<double>::infinity();
  if (!reports.parameters().sends_degree() || reports.report_count() == 0) return;
  const double n = reports.node_count(), received = reports.report_count();
  double sum = 0, squares = 0;
  for (NodeIndex i = 0; i < reports.node_count(); ++i) {
    if (!reports.noisy_degree(i).has_value()) continue;
    const double degree = Possible(*reports.noisy_degree(i), reports);
    sum += degree;
    squares += degree * degree;
  }
  const double of_degree = NoiseVariance(reports.parameters().epsilon_degree());
  const double mean = sum / received, noise = reports.mirrored() ? 4 * of_degree : of_degree;
  const double of_degrees = std::max(0.0, squares / received - mean * mean - noise);
  posterior.links = n * mean / 2;
  // of the mean of the degrees: the noise, and that those received are a sample of all
  const double of_mean = noise / received + of_degrees / received * (1 - received / n);
  posterior.links_variance = n * n / 4 * of_mean + std::max(1.0, posterior.links);
}

}  // namespace

DegreePosterior EstimateDegreePosterior(const ReportSet& reports, int threads, bool empirical_bayes) {
  DegreePosterior posterior;
  SetLinks(reports, posterior);
  const int workers = ThreadsOrCores(threads);
  if (empirical_bayes) {
    SetMeans(reports, workers, posterior);
  } else {
    posterior.mean = DegreesAsSent(reports);
    posterior.influence.assign(posterior.mean.size(), 0.0);
  }
  return posterior;
}

}  // namespace blink
