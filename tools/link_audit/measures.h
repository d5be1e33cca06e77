// How well the scores of an attack tell links from other pairs.
//
//   SortedScores all(ScorePairs(attack, truth, every_node, PairsTaken::kOnce));
//   const DensityCut cut = all.CutAtDensity();         // the graph that the attacker would draw
//   LinkMeasures of_all = all.Measure(cut);
//   LinkMeasures of_few = SortedScores(ScorePairs(attack, truth, few, PairsTaken::kOfEachRow)).Measure(cut);
//
// Pairs of equal score count as if they were put into a random order: all figures are the means over such orders.
#ifndef BLINK_TOOLS_LINK_AUDIT_MEASURES_H_
#define BLINK_TOOLS_LINK_AUDIT_MEASURES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "common/graph/csr_graph.h"
#include "tools/link_audit/attack.h"

namespace blink {

struct ScoredPairs {
  std::vector<float> linked, others;  // the scores of pairs with and without a link
};

enum class PairsTaken {
  kOnce,      // every unordered pair once; the rows are all nodes
  kOfEachRow  // for each row its pairs with all other nodes; a pair of two rows counts twice
};
// Scores the pairs of `rows`. A score that is not a number counts as the least.
ScoredPairs ScorePairs(const LinkAttack& attack, const CsrGraph& truth, absl::Span<const NodeIndex> rows,
                       PairsTaken taken);

// Which pairs the attacker takes for links: those above `score`, and of those at it a random share.
struct DensityCut {
  double score = 0, share = 0;
};

// The share of false alarms at which the true positives are counted.
inline constexpr double kFalsePositiveRate = 0.001;

// Absent where nothing is divided by.
struct LinkMeasures {
  uint64_t pairs = 0, links = 0;
  std::optional<double> auc;                 // a link scores higher than another pair, ties half
  std::optional<double> precision, recall;   // of the pairs that the cut takes
  std::optional<double> true_positive_rate;  // share of the links found at kFalsePositiveRate
};

class SortedScores {
 public:
  explicit SortedScores(ScoredPairs pairs);

  // Takes as many pairs as are linked: the attacker is told how many links there are.
  DensityCut CutAtDensity() const;
  std::optional<double> Auc() const;
  // The share of the links that score above all but `rate` of the other pairs: the ROC curve, with straight lines
  // across ties.
  std::optional<double> TruePositiveRate(double rate) const;
  LinkMeasures Measure(const DensityCut& cut) const;

 private:
  std::vector<float> linked_, others_;  // descending
};

}  // namespace blink

#endif  // BLINK_TOOLS_LINK_AUDIT_MEASURES_H_
