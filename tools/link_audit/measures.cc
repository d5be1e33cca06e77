#include "tools/link_audit/measures.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace blink {
namespace {

// Of values in descending order: how many are larger than `score`, and how many equal it.
struct Standing {
  double above = 0, equal = 0;
};

Standing StandingOf(const std::vector<float>& descending, double score) {
  const auto first = std::partition_point(descending.begin(), descending.end(), [&](float s) { return s > score; });
  const auto last = std::partition_point(first, descending.end(), [&](float s) { return s == score; });
  return {static_cast<double>(first - descending.begin()), static_cast<double>(last - first)};
}

double Taken(const std::vector<float>& descending, const DensityCut& cut) {
  const Standing standing = StandingOf(descending, cut.score);
  return standing.above + cut.share * standing.equal;
}

std::optional<double> Ratio(double part, double whole) {
  return whole > 0 ? std::optional<double>(part / whole) : std::nullopt;
}

}  // namespace

ScoredPairs ScorePairs(const LinkAttack& attack, const CsrGraph& truth, absl::Span<const NodeIndex> rows,
                       PairsTaken taken) {
  const uint32_t n = truth.node_count();
  ScoredPairs pairs;
  std::vector<float> scores(n);
  for (const NodeIndex i : rows) {
    attack.ScoreRow(i, absl::MakeSpan(scores));
    const absl::Span<const NodeIndex> neighbours = truth.NeighboursOf(i);
    auto next = neighbours.begin();
    for (NodeIndex j = 0; j < n; ++j) {
      const bool linked = next != neighbours.end() && *next == j;
      if (linked) ++next;
      if (j == i || (taken == PairsTaken::kOnce && j < i)) continue;
      const float score = std::isnan(scores[j]) ? -std::numeric_limits<float>::infinity() : scores[j];
      (linked ? pairs.linked : pairs.others).push_back(score);
    }
  }
  return pairs;
}

SortedScores::SortedScores(ScoredPairs pairs) : linked_(std::move(pairs.linked)), others_(std::move(pairs.others)) {
  std::sort(linked_.begin(), linked_.end(), std::greater<>());
  std::sort(others_.begin(), others_.end(), std::greater<>());
}

DensityCut SortedScores::CutAtDensity() const {
  const size_t wanted = linked_.size();
  if (wanted == 0) return {.score = std::numeric_limits<double>::infinity(), .share = 0};
  size_t of_linked = 0, of_others = 0;  // the largest so many of each are the largest so many of all
  float score = 0;
  while (of_linked + of_others < wanted) {
    const bool from_others =
        of_others < others_.size() && (of_linked == linked_.size() || others_[of_others] > linked_[of_linked]);
    score = from_others ? others_[of_others++] : linked_[of_linked++];
  }
  const Standing linked = StandingOf(linked_, score), others = StandingOf(others_, score);
  const double missing = static_cast<double>(wanted) - linked.above - others.above;
  return {.score = score, .share = missing / (linked.equal + others.equal)};
}

std::optional<double> SortedScores::Auc() const {
  if (linked_.empty() || others_.empty()) return std::nullopt;
  double lower = 0;  // pairs (link, other) in which the other scores lower, ties half
  size_t above = 0, not_below = 0;
  for (const float score : linked_) {  // descending, so that both only grow
    while (above < others_.size() && others_[above] > score) ++above;
    not_below = std::max(not_below, above);
    while (not_below < others_.size() && others_[not_below] >= score) ++not_below;
    lower += static_cast<double>(others_.size() - not_below) + 0.5 * static_cast<double>(not_below - above);
  }
  return lower / (static_cast<double>(linked_.size()) * static_cast<double>(others_.size()));
}

std::optional<double> SortedScores::TruePositiveRate(double rate) const {
  if (linked_.empty() || others_.empty()) return std::nullopt;
  const double allowed = rate * static_cast<double>(others_.size());
  const auto at = static_cast<size_t>(allowed);
  if (at >= others_.size()) return 1;
  const Standing of_others = StandingOf(others_, others_[at]), of_linked = StandingOf(linked_, others_[at]);
  const double share = (allowed - of_others.above) / of_others.equal;
  return (of_linked.above + share * of_linked.equal) / static_cast<double>(linked_.size());
}

LinkMeasures SortedScores::Measure(const DensityCut& cut) const {
  const auto links = static_cast<double>(linked_.size());
  const double right = Taken(linked_, cut), wrong = Taken(others_, cut);
  return {.pairs = linked_.size() + others_.size(),
          .links = linked_.size(),
          .auc = Auc(),
          .precision = Ratio(right, right + wrong),
          .recall = Ratio(right, links),
          .true_positive_rate = TruePositiveRate(kFalsePositiveRate)};
}

}  // namespace blink
