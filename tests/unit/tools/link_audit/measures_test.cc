// The measures of an attack, beside slow versions that read like their definitions.
#include "tools/link_audit/measures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <utility>

namespace blink {
namespace {

ScoredPairs RandomScores(size_t linked, size_t others, int values, uint64_t seed) {
  std::mt19937_64 random(seed);
  ScoredPairs pairs;
  for (size_t k = 0; k < linked; ++k) pairs.linked.push_back(static_cast<float>(random() % values) + 0.3f * values);
  for (size_t k = 0; k < others; ++k) pairs.others.push_back(static_cast<float>(random() % values));
  return pairs;
}

double SlowAuc(const ScoredPairs& pairs) {
  double sum = 0;
  for (const float link : pairs.linked) {
    for (const float other : pairs.others) sum += link > other ? 1 : link == other ? 0.5 : 0;
  }
  return sum / static_cast<double>(pairs.linked.size() * pairs.others.size());
}

// The mean over random orders of equal scores, of `count(order)`; order: whether each pair is a link, best first.
template <typename Count>
double MeanOverOrders(const ScoredPairs& pairs, const Count& count) {
  std::vector<std::pair<float, bool>> all;
  for (const float score : pairs.linked) all.emplace_back(score, true);
  for (const float score : pairs.others) all.emplace_back(score, false);
  std::mt19937_64 random(7);
  constexpr int kOrders = 4000;
  double sum = 0;
  for (int k = 0; k < kOrders; ++k) {
    std::shuffle(all.begin(), all.end(), random);
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    sum += count(all);
  }
  return sum / kOrders;
}

using Order = std::vector<std::pair<float, bool>>;

TEST(SortedScores, HaveTheAucOfAllPairsOfPairs) {
  for (const int values : {1, 3, 50, 1'000'000}) {
    const ScoredPairs pairs = RandomScores(40, 300, values, 1);
    EXPECT_NEAR(*SortedScores(pairs).Auc(), SlowAuc(pairs), 1e-12) << values;
  }
}

TEST(SortedScores, TakeAsManyPairsAsAreLinkedAndCountTiesByChance) {
  for (const int values : {1, 4, 20, 1'000'000}) {
    const ScoredPairs pairs = RandomScores(30, 200, values, 2);
    const SortedScores scores(pairs);
    const LinkMeasures measures = scores.Measure(scores.CutAtDensity());
    const double right = MeanOverOrders(pairs, [](const Order& order) {
      return std::count_if(order.begin(), order.begin() + 30, [](const auto& pair) { return pair.second; });
    });
    EXPECT_NEAR(*measures.recall, right / 30, 0.01) << values;
    EXPECT_NEAR(*measures.precision, *measures.recall, 1e-12) << "as many are taken as there are links";
  }
}

// Without ties the curve is a staircase, and with a whole number of false alarms it can be read off the order.
TEST(SortedScores, CountLinksAboveAllButAShareOfTheOthers) {
  for (const int values : {5, 50, 1'000'000}) {
    const ScoredPairs pairs = RandomScores(25, 200, values, 3);
    const double found = MeanOverOrders(pairs, [](const Order& order) {
      int others = 0, links = 0;
      for (const auto& [score, linked] : order) {
        if (linked) ++links;
        if (!linked && ++others == 11) break;  // the eleventh false alarm is one too many
      }
      return links;
    });
    // A random order has the links of a tie spread over one place more than there are others.
    EXPECT_NEAR(*SortedScores(pairs).TruePositiveRate(0.05), found / 25, values == 1'000'000 ? 1e-9 : 0.03) << values;
  }
}

TEST(SortedScores, GiveAPerfectAttackAllThereIs) {
  const SortedScores scores({.linked = {3, 4, 5}, .others = {0, 1, 2, 2}});
  const LinkMeasures measures = scores.Measure(scores.CutAtDensity());
  EXPECT_EQ(measures.auc, 1);
  EXPECT_EQ(measures.precision, 1);
  EXPECT_EQ(measures.recall, 1);
  EXPECT_EQ(measures.true_positive_rate, 1);
  EXPECT_EQ(measures.pairs, 7u);
  EXPECT_EQ(measures.links, 3u);
}

TEST(SortedScores, GiveAnAttackThatSaysNothingWhatChanceGives) {
  const SortedScores scores({.linked = std::vector<float>(10, 1), .others = std::vector<float>(90, 1)});
  const LinkMeasures measures = scores.Measure(scores.CutAtDensity());
  EXPECT_DOUBLE_EQ(*measures.auc, 0.5);
  EXPECT_DOUBLE_EQ(*measures.precision, 0.1);
  EXPECT_DOUBLE_EQ(*measures.recall, 0.1);
  EXPECT_NEAR(*measures.true_positive_rate, kFalsePositiveRate, 1e-12);
}

TEST(SortedScores, GiveAnAttackThatIsAlwaysWrongNothing) {
  const SortedScores scores({.linked = {0, 0}, .others = {1, 2, 3}});
  const LinkMeasures measures = scores.Measure(scores.CutAtDensity());
  EXPECT_EQ(measures.auc, 0);
  EXPECT_EQ(measures.precision, 0);
  EXPECT_EQ(measures.recall, 0);
  EXPECT_EQ(measures.true_positive_rate, 0);
}

TEST(SortedScores, MeasureFewPairsByTheCutOfAll) {
  const SortedScores all({.linked = {9, 5, 1}, .others = {8, 7, 0, 0}});  // the cut takes 9, 8, 7
  const LinkMeasures few = SortedScores({.linked = {9, 5}, .others = {8, 0}}).Measure(all.CutAtDensity());
  EXPECT_DOUBLE_EQ(*few.precision, 0.5);
  EXPECT_DOUBLE_EQ(*few.recall, 0.5);
}

TEST(SortedScores, HaveNoFiguresWithoutLinks) {
  const SortedScores none({.linked = {}, .others = {1, 2}});
  const LinkMeasures measures = none.Measure(none.CutAtDensity());
  EXPECT_FALSE(measures.auc.has_value());
  EXPECT_FALSE(measures.precision.has_value()) << "nothing is taken";
  EXPECT_FALSE(measures.recall.has_value());
  EXPECT_FALSE(measures.true_positive_rate.has_value());
}

TEST(SortedScores, HaveNoCurveWhereEveryPairIsALink) {
  const SortedScores scores({.linked = {1, 2}, .others = {}});
  const LinkMeasures measures = scores.Measure(scores.CutAtDensity());
  EXPECT_FALSE(measures.auc.has_value());
  EXPECT_FALSE(measures.true_positive_rate.has_value());
  EXPECT_EQ(measures.precision, 1);
}

class ScoreOfEnds : public LinkAttack {
 public:
  std::string name() const override { return "ends"; }
  void ScoreRow(NodeIndex node, absl::Span<float> out) const override {
    for (NodeIndex j = 0; j < out.size(); ++j) out[j] = static_cast<float>(std::min(node, j) * 10 + std::max(node, j));
    if (node == 0) out[3] = std::numeric_limits<float>::quiet_NaN();
  }
};

TEST(ScorePairs, TakesEachPairOnceOrEachOfARow) {
  const CsrGraph graph = CsrGraph::FromLinks(4, {{0, 1}, {1, 2}}).value();
  const ScoreOfEnds attack;
  const NodeIndex every_node[] = {0, 1, 2, 3}, one[] = {1};
  const ScoredPairs all = ScorePairs(attack, graph, every_node, PairsTaken::kOnce);
  EXPECT_EQ(all.linked, (std::vector<float>{1, 12}));
  EXPECT_EQ(all.others.size(), 4u);
  const ScoredPairs of_one = ScorePairs(attack, graph, one, PairsTaken::kOfEachRow);
  EXPECT_EQ(of_one.linked, (std::vector<float>{1, 12}));
  EXPECT_EQ(of_one.others, (std::vector<float>{13}));
}

TEST(ScorePairs, TakesWhatIsNoNumberForTheLeast) {
  const CsrGraph graph = CsrGraph::FromLinks(4, {{0, 1}}).value();
  const NodeIndex rows[] = {0};
  const ScoredPairs pairs = ScorePairs(ScoreOfEnds(), graph, rows, PairsTaken::kOfEachRow);
  EXPECT_EQ(pairs.others, (std::vector<float>{2, -std::numeric_limits<float>::infinity()}));
}

}  // namespace
}  // namespace blink
