#include "aggregator_server/estimate/posterior_quality.h"

#include "aggregator_server/estimate/posterior.h"

namespace blink {
namespace {

constexpr double kBinEnds[] = {1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.99};

// ln(1 - sigma(x))
double LogOfNone(double x) { return -(std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)))); }

}  // namespace

void QualityCounter::Join(const QualityCounter& other) {
  for (size_t k = 0; k < cells_.size(); ++k) {
    cells_[k].pairs += other.cells_[k].pairs;
    cells_[k].links += other.cells_[k].links;
    cells_[k].sum += other.cells_[k].sum;
    cells_[k].sum_of_links += other.cells_[k].sum_of_links;
  }
}

PosteriorQuality QualityCounter::Quality() const {
  PosteriorQuality quality;
  std::vector<size_t> first = {0};  // cell of each bin, and the end
  for (const double p : kBinEnds) {
    first.push_back(static_cast<size_t>(std::lround((std::log(p / (1 - p)) + kReach) * kCellsPerUnit)));
  }
  first.push_back(kCells);
  double links_below = 0, others_below = 0, ordered = 0;
  for (size_t b = 0; b + 1 < first.size(); ++b) {
    PosteriorQuality::Bin bin;
    bin.from = b == 0 ? 0 : ProbabilityOf(LowerEnd(first[b]));
    bin.to = b + 2 == first.size() ? 1 : ProbabilityOf(LowerEnd(first[b + 1]));
    double sum_of_p = 0;
    for (size_t k = first[b]; k < first[b + 1]; ++k) {
      const Cell& cell = cells_[k];
      if (cell.pairs == 0) continue;
      const auto pairs = static_cast<double>(cell.pairs), links = static_cast<double>(cell.links);
      const double mean = LowerEnd(k) + static_cast<double>(cell.sum) / kUnits / pairs;
      sum_of_p += pairs * ProbabilityOf(mean);
      // ln P = ln(1 - P) + log-odds: exact for the links as well, wherever they lie in their cell.
      quality.log_likelihood +=
          pairs * LogOfNone(mean) + links * LowerEnd(k) + static_cast<double>(cell.sum_of_links) / kUnits;
      ordered += links * (others_below + (pairs - links) / 2);
      links_below += links;
      others_below += pairs - links;
      bin.pairs += static_cast<uint64_t>(cell.pairs);
      bin.links += static_cast<uint64_t>(cell.links);
    }
    if (bin.pairs > 0) bin.mean_p = sum_of_p / static_cast<double>(bin.pairs);
    quality.bins.push_back(bin);
  }
  if (links_below > 0 && others_below > 0) quality.auc = ordered / links_below / others_below;
  return quality;
}

ExpectedQuality QualityCounter::Expected() const {
  ExpectedQuality expected;
  double links_below = 0, others_below = 0, ordered = 0, of_hard = 0, hard = 0;
  for (size_t k = 0; k < cells_.size(); ++k) {
    const Cell& cell = cells_[k];
    if (cell.pairs == 0) continue;
    const auto pairs = static_cast<double>(cell.pairs);
    const double mean = LowerEnd(k) + static_cast<double>(cell.sum) / kUnits / pairs;
    const double links = pairs * ProbabilityOf(mean), others = pairs * ProbabilityOf(-mean);
    expected.log_likelihood += pairs * LogOfNone(mean) + links * mean;
    expected.error += 2 * links * ProbabilityOf(-mean);
    ordered += links * (others_below + others / 2);
    links_below += links;
    others_below += others;
    if (mean <= kTie) continue;
    of_hard += links;
    hard += pairs;
  }
  if (links_below > 0 && others_below > 0) expected.auc = ordered / links_below / others_below;
  expected.precision = of_hard / hard;
  expected.recall = of_hard / links_below;
  return expected;
}

}  // namespace blink
