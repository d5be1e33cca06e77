// The attacks, on graphs and predictions whose answer is known.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "common/graph/dataset.h"
#include "tools/link_audit/attack_runner.h"
#include "tools/link_audit/feature_attack.h"
#include "tools/link_audit/posterior_attack.h"
#include "tools/link_audit/similarity_attack.h"
#include "tools/link_audit/table_attack.h"

namespace blink {
namespace {

CsrGraph SmallGraph() {
  return GenerateDataset({.nodes = 80, .classes = 3, .mean_degree = 4, .features = 20, .words_per_node = 5})->graph;
}

AttackResult Attack(std::unique_ptr<LinkAttack> attack, const CsrGraph& graph,
                    AttackKind kind = AttackKind::kPosterior) {
  const GroupRows rows = ChooseRows(MakeNodeGroups(graph), std::nullopt, 1);
  std::vector<PlannedAttack> attacks;
  attacks.push_back({kind, std::move(attack), &rows});
  return RunAttacks(attacks, graph, 2)[0];
}

TEST(PosteriorAttack, FindsEveryLinkWhereThePosteriorIsTheTruth) {
  const CsrGraph graph = SmallGraph();
  const LinkWeights weights = LinkWeights::Unweighted(graph);
  const AttackResult result = Attack(std::make_unique<PosteriorAttack>(weights), graph);
  EXPECT_EQ(result.name, "posterior");
  for (const LinkMeasures& measures : result.groups) {
    EXPECT_EQ(measures.auc, 1);
    EXPECT_EQ(measures.precision, 1);
    EXPECT_EQ(measures.recall, 1);
    EXPECT_EQ(measures.true_positive_rate, 1);
  }
  EXPECT_EQ(result.groups[kEveryNode].links, graph.link_count());
  EXPECT_EQ(result.groups[kEveryNode].pairs, 80u * 79 / 2);
}

TEST(PosteriorAttack, FindsNothingWhereEveryPairIsAsLikely) {
  const CsrGraph graph = SmallGraph();
  LinkWeights weights{.node_count = 80, .weighted = true};
  weights.links = CsrGraph::FromLinks(80, {}).value();
  const AttackResult result = Attack(std::make_unique<PosteriorAttack>(weights), graph);
  const NodeGroup every_node = MakeNodeGroups(graph)[kEveryNode];
  EXPECT_DOUBLE_EQ(*result.groups[kEveryNode].auc, 0.5);
  EXPECT_NEAR(*result.groups[kEveryNode].precision, every_node.density(), 1e-12);
  EXPECT_NEAR(*result.groups[kLowDegree].recall, every_node.density(), 1e-12);
}

TEST(PosteriorAttack, GivesTheSameWithAnyNumberOfThreads) {
  const CsrGraph graph = SmallGraph();
  const LinkWeights weights = LinkWeights::Unweighted(graph);
  const GroupRows rows = ChooseRows(MakeNodeGroups(graph), 10, 1);
  std::vector<PlannedAttack> attacks;
  for (int k = 0; k < 3; ++k) {
    attacks.push_back({AttackKind::kPosterior, std::make_unique<PosteriorAttack>(weights), &rows});
  }
  const auto one = RunAttacks(attacks, graph, 1), four = RunAttacks(attacks, graph, 4);
  for (size_t k = 0; k < one.size(); ++k) {
    for (size_t g = 0; g < kGroups; ++g) EXPECT_EQ(one[k].groups[g].recall, four[k].groups[g].recall);
  }
}

// [1/4, 1/4, 1/2] and [1/2, 1/4, 1/4], by hand.
TEST(DistanceBetween, HasTheValuesThatThePaperMeans) {
  const double a[] = {0.25, 0.25, 0.5}, b[] = {0.5, 0.25, 0.25};
  const auto between = [&](Distance distance) { return DistanceBetween(distance, a, b); };
  EXPECT_NEAR(between(Distance::kCosine), 1 - 0.3125 / 0.375, 1e-12);
  EXPECT_NEAR(between(Distance::kEuclidean), std::sqrt(0.125), 1e-12);
  EXPECT_NEAR(between(Distance::kCorrelation), 1.5, 1e-12);  // of (-1, -1, 2) and (2, -1, -1)
  EXPECT_NEAR(between(Distance::kChebyshev), 0.25, 1e-12);
  EXPECT_NEAR(between(Distance::kBrayCurtis), 0.25, 1e-12);
  EXPECT_NEAR(between(Distance::kCanberra), 2.0 / 3, 1e-12);
  EXPECT_NEAR(between(Distance::kManhattan), 0.5, 1e-12);
  EXPECT_NEAR(between(Distance::kSquaredEuclidean), 0.125, 1e-12);
}

TEST(DistanceBetween, IsTheSameInBothDirectionsAndZeroToItself) {
  const double a[] = {0.1, 0.7, 0.2}, b[] = {0.3, 0.3, 0.4};
  for (size_t k = 0; k < kDistanceNames.size(); ++k) {
    const auto distance = static_cast<Distance>(k);
    EXPECT_DOUBLE_EQ(DistanceBetween(distance, a, b), DistanceBetween(distance, b, a)) << kDistanceNames[k];
    EXPECT_NEAR(DistanceBetween(distance, a, a), 0, 1e-12) << kDistanceNames[k];
    EXPECT_GT(DistanceBetween(distance, a, b), 0.01) << kDistanceNames[k];
  }
}

TEST(DistanceBetween, IsDefinedWhereAVectorHasNoDirection) {
  const double flat[] = {0.5, 0.5}, other[] = {0.9, 0.1}, zero[] = {0, 0};
  EXPECT_DOUBLE_EQ(DistanceBetween(Distance::kCorrelation, flat, other), 1);
  EXPECT_DOUBLE_EQ(DistanceBetween(Distance::kCosine, zero, other), 1);
  EXPECT_DOUBLE_EQ(DistanceBetween(Distance::kBrayCurtis, zero, zero), 0);
  EXPECT_DOUBLE_EQ(DistanceBetween(Distance::kCanberra, zero, zero), 0);
}

TEST(Predictions, AreTheSoftmaxOfTheLogitsAlsoOfLargeOnes) {
  const float logits[] = {1000, 1000, 0, std::log(3.0f)};
  const Predictions predictions(logits, 2);
  ASSERT_EQ(predictions.node_count(), 2u);
  EXPECT_NEAR(predictions.Of(0)[0], 0.5, 1e-12);
  EXPECT_NEAR(predictions.Of(1)[1], 0.75, 1e-6);
}

TEST(SimilarityAttack, ScoresARowByTheDistancesToAll) {
  const float logits[] = {0, 1, 2, 2, 0, 1, -1, 0.5f, 0.25f, 0, 0, 0};
  const Predictions predictions(logits, 3);
  for (size_t k = 0; k < kDistanceNames.size(); ++k) {
    const auto distance = static_cast<Distance>(k);
    const SimilarityAttack attack(predictions, distance);
    EXPECT_EQ(attack.name(), kDistanceNames[k]);
    std::vector<float> row(4);
    attack.ScoreRow(1, absl::MakeSpan(row));
    for (NodeIndex j = 0; j < 4; ++j) {
      EXPECT_NEAR(row[j], -DistanceBetween(distance, predictions.Of(1), predictions.Of(j)), 1e-6) << attack.name();
    }
  }
}

TEST(SimilarityAttack, FindsTheLinksOfCliquesWhosePredictionsAreAlike) {
  const CsrGraph cliques = CsrGraph::FromLinks(6, {{0, 1}, {0, 2}, {1, 2}, {3, 4}, {3, 5}, {4, 5}}).value();
  const float logits[] = {2, 0, 2.1f, 0, 2.2f, 0, 0, 2, 0, 2.1f, 0, 2.2f};
  const Predictions predictions(logits, 2);
  for (size_t k = 0; k < kDistanceNames.size(); ++k) {
    const AttackResult result = Attack(std::make_unique<SimilarityAttack>(predictions, static_cast<Distance>(k)),
                                       cliques, AttackKind::kSimilarity);
    EXPECT_EQ(result.groups[kEveryNode].auc, 1) << kDistanceNames[k];
    EXPECT_EQ(result.groups[kEveryNode].recall, 1) << kDistanceNames[k];
  }
}

TEST(FeatureAttack, ScoresTheCosineOfSparseAndDenseFeaturesAlike) {
  const FeatureMatrix sparse{
      .rows = 3, .cols = 3, .sparse = true, .row_offsets = {0, 2, 3, 3}, .columns = {0, 2, 2}, .values = {3, 4, 7}};
  for (const FeatureMatrix& features : {sparse, ToDense(sparse)}) {
    std::vector<float> row(3);
    FeatureAttack(features).ScoreRow(0, absl::MakeSpan(row));
    EXPECT_NEAR(row[1], 0.8, 1e-6);
    EXPECT_EQ(row[2], 0) << "a node without a feature";
  }
}

TEST(TableAttack, ScoresTheRowsThatItHasAndNoOther) {
  const NodeIndex nodes[] = {2, 0};
  const TableAttack attack("influence", 3, nodes, {1, 2, 3, 4, 5, 6});
  std::vector<float> row(3);
  attack.ScoreRow(0, absl::MakeSpan(row));
  EXPECT_EQ(row, (std::vector<float>{4, 5, 6}));
  attack.ScoreRow(1, absl::MakeSpan(row));
  EXPECT_EQ(row, (std::vector<float>{0, 0, 0}));
}

}  // namespace
}  // namespace blink
