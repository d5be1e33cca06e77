#include "aggregator_server/estimate/beta/pair_scan.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>

#include "aggregator_server/estimate/beta/pairs_in_range.h"
#include "aggregator_server/estimate/received_rows.h"

namespace blink {
namespace {

// The links of Hard, by the tiles of the rows in which they are found.
class LikelyPairs {
 public:
  LikelyPairs(const ReportSet& reports, const PairCounts& counts)
      : in_range_(reports, counts.posterior(), {kTie, std::numeric_limits<double>::infinity()}, counts.threads()),
        of_tile_(TileCount(reports.node_count())) {}

  void Visit(const PairRow& row) {
    auto& links = of_tile_[row.tile];
    in_range_.ForEachLater(row, [&](NodeIndex j) { links.emplace_back(row.i, j); });
  }
  std::vector<std::pair<NodeIndex, NodeIndex>> Collect() {
    std::vector<std::pair<NodeIndex, NodeIndex>> all;
    for (auto& links : of_tile_) {
      all.insert(all.end(), links.begin(), links.end());
      links = {};
    }
    return all;
  }

 private:
  PairsInRange in_range_;
  std::vector<std::vector<std::pair<NodeIndex, NodeIndex>>> of_tile_;  // [tiles]
};

// P of the pairs of two classes for every evidence, from one exponential: e^-x of the prior's log-odds x times that of
// the bits.
class Probabilities {
 public:
  explicit Probabilities(double bit_log_odds) {
    for (int k = -2; k <= 2; ++k) of_bits_[k + 2] = std::exp(-k * bit_log_odds);
  }
  void MoveTo(double prior_log_odds) { against_ = std::exp(-prior_log_odds); }
  double Of(Evidence evidence) const { return 1 / (1 + against_ * of_bits_[2 * evidence.ones - evidence.reports + 2]); }

 private:
  double of_bits_[5];
  double against_ = 0;
};

// The sums over the pairs of one class at a time.
class Sums {
 public:
  Sums(const ReportSet& reports, const PairCounts& counts, const CsrGraph* truth)
      : reports_(reports), counts_(counts), truth_(truth), expected_(counts.class_count()), error_(expected_.size()) {
    if (truth != nullptr) SortByClass();
  }

  void Visit(uint32_t a, absl::Span<const uint64_t> with_ones) {
    std::vector<double> prior(counts_.class_count());
    counts_.posterior().prior().FillLogOdds(a, prior.data());
    expected_[a] = SumOfClass(a, prior, with_ones);
    uint64_t pairs = 0;
    for (const uint64_t count : with_ones) pairs += count;
    pairs_with_ones_ += pairs;
    QualityCounter quality = TakeQuality();
    counts_.ForEachValue(a, with_ones, prior, [&](double value, int64_t more) { quality.AddMany(value, more, 0); });
    if (truth_ != nullptr) error_[a] = ErrorOfClass(a, prior, {with_ones.begin(), with_ones.end()}, quality);
    const std::lock_guard lock(mutex_);
    quality_.push_back(std::move(quality));
  }
  void Collect(PairScan& scan) const {
    scan.expected_links = std::accumulate(expected_.begin(), expected_.end(), 0.0);
    scan.error = std::accumulate(error_.begin(), error_.end(), 0.0);
    scan.pairs_with_ones = pairs_with_ones_;
    QualityCounter all;
    for (const QualityCounter& part : quality_) all.Join(part);
    scan.expected_quality = all.Expected();
    if (truth_ != nullptr) scan.quality = all.Quality();
  }

 private:
  // One that no other thread uses. As many as there are threads are ever made.
  QualityCounter TakeQuality() {
    const std::lock_guard lock(mutex_);
    if (quality_.empty()) return {};
    QualityCounter last = std::move(quality_.back());
    quality_.pop_back();
    return last;
  }

  void SortByClass() {
    const auto class_of_node = counts_.posterior().prior().class_of_node();
    first_.assign(size_t{counts_.class_count()} + 1, 0);
    for (const uint32_t a : class_of_node) ++first_[a + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    nodes_.resize(class_of_node.size());
    std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
    for (NodeIndex i = 0; i < class_of_node.size(); ++i) nodes_[next[class_of_node[i]]++] = i;
  }

  // All pairs as if no one had been received, and what each that has ones is beyond that: no term is negative.
  double SumOfClass(uint32_t a, const std::vector<double>& prior, absl::Span<const uint64_t> with_ones) const {
    Probabilities probability(counts_.posterior().bit_log_odds());
    double sum = 0;
    for (uint32_t b = 0; b < prior.size(); ++b) {
      const uint64_t* ones = &with_ones[3 * size_t{b}];
      if (b < a && (ones[0] | ones[1] | ones[2]) == 0) continue;
      probability.MoveTo(prior[b]);
      double none[3];
      for (int reports = 0; reports < 3; ++reports) none[reports] = probability.Of({reports, 0});
      if (b >= a) {
        const PairCounts::Pairs all = counts_.AllPairs(a, b);
        for (int reports = 0; reports < 3; ++reports) {
          sum += static_cast<double>(all.by_reports[reports]) * none[reports];
        }
      }
      for (int kind = 0; kind < 3; ++kind) {
        const Evidence evidence = PairCounts::kOfKind[kind];
        if (ones[kind] > 0) {
          sum += static_cast<double>(ones[kind]) * (probability.Of(evidence) - none[evidence.reports]);
        }
      }
    }
    return sum;
  }

  // The same over the pairs that are no links of the truth, and 1 - P of those that are. Counts the latter as links.
  double ErrorOfClass(uint32_t a, const std::vector<double>& prior, std::vector<uint64_t> with_ones,
                      QualityCounter& quality) const {
    const Posterior& posterior = counts_.posterior();
    double of_links = 0, without_ones = 0;
    for (uint32_t k = first_[a]; k < first_[a + 1]; ++k) {
      const NodeIndex i = nodes_[k];
      for (const NodeIndex j : truth_->NeighboursOf(i)) {
        if (j < i) continue;
        const uint32_t b = posterior.prior().class_of_node()[j];
        const Evidence evidence = EvidenceOf(reports_, i, j);
        quality.AddMany(posterior.LogOdds(a, b, evidence), 0, 1);
        of_links += posterior.Probability(a, b, evidence, /*complement=*/true);
        without_ones += posterior.Probability(a, b, {evidence.reports, 0});
        if (evidence.ones > 0) --with_ones[3 * size_t{b} + evidence.Index() - (evidence.reports == 1 ? 2 : 3)];
      }
    }
    return SumOfClass(a, prior, with_ones) - without_ones + of_links;
  }

  const ReportSet& reports_;
  const PairCounts& counts_;
  const CsrGraph* const truth_;
  std::vector<double> expected_, error_;  // [K] summed in the order of the classes, whoever computed them
  std::atomic<uint64_t> pairs_with_ones_{0};
  std::vector<uint32_t> first_;   // [K + 1] of a class's nodes in nodes_
  std::vector<NodeIndex> nodes_;  // [n] by class
  std::mutex mutex_;
  std::vector<QualityCounter> quality_;  // parts of it, whose sum does not depend on which they are
};

// Without bits (s = 1) a pair is a link when its classes say so: no pass over the pairs that are not.
std::vector<std::pair<NodeIndex, NodeIndex>> LinksOfThePrior(const Posterior& posterior) {
  const auto class_of_node = posterior.prior().class_of_node();
  const uint32_t classes = posterior.prior().class_count();
  std::vector<std::vector<NodeIndex>> members(classes);
  for (NodeIndex i = 0; i < class_of_node.size(); ++i) members[class_of_node[i]].push_back(i);
  std::vector<std::pair<NodeIndex, NodeIndex>> links;
  for (uint32_t a = 0; a < classes; ++a) {
    for (uint32_t b = a; b < classes; ++b) {
      if (!posterior.IsLink(a, b, {0, 0})) continue;
      for (const NodeIndex i : members[a]) {
        for (const NodeIndex j : members[b]) {
          if (a != b || i < j) links.emplace_back(std::min(i, j), std::max(i, j));
        }
      }
    }
  }
  std::sort(links.begin(), links.end());
  return links;
}

}  // namespace

PairScan ScanPairs(const ReportSet& reports, PairCounts& counts, const CsrGraph* truth,
                   const std::function<void(double)>& progress) {
  PairScan scan;
  Sums sums(reports, counts, truth);
  const auto visit = [&](uint32_t a, absl::Span<const uint64_t> with_ones) { sums.Visit(a, with_ones); };
  if (reports.parameters().sends_bits()) {
    LikelyPairs links(reports, counts);
    counts.ForEachClass(visit, progress, [&](const PairRow& row) { links.Visit(row); });
    scan.links = links.Collect();
  } else {
    scan.links = LinksOfThePrior(counts.posterior());
    counts.ForEachClass(visit, progress);
  }
  sums.Collect(scan);
  return scan;
}

}  // namespace blink
