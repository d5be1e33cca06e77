#include "aggregator_server/analysis/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "aggregator_server/analysis/analysis.h"
#include "tests/unit/analysis/small_round.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

const ProblemSize kSmall{.nodes = 200, .feature_values = 1000, .classes = 3, .flip_probability = 0.1, .links = 400};

v1::TrainingSpec SearchSpec(uint32_t candidates) {
  v1::TrainingSpec spec;
  spec.set_candidates(candidates);
  spec.set_epochs(15);
  spec.set_device("cpu");
  return spec;
}

// All that the grid gives when the pairs keep their order.
std::vector<CandidateGrid::Entry> Everything(CandidateGrid grid) {
  std::vector<size_t> ranking(grid.pairs().size());
  std::iota(ranking.begin(), ranking.end(), size_t{0});
  std::vector<CandidateGrid::Entry> all;
  for (auto batch = grid.NextBatch({}); !batch.empty(); batch = grid.NextBatch(ranking)) {
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

std::set<std::string> NamesOf(const std::vector<CandidateGrid::Entry>& entries) {
  std::set<std::string> names;
  for (const auto& entry : entries) names.insert(CandidateName(entry.candidate));
  return names;
}

TEST(CandidateGrid, TriesEveryPairOfModelAndVariantFirst) {
  CandidateGrid grid = CandidateGrid::Create(SearchSpec(1000), /*estimated=*/true, kSmall).value();
  const auto first = grid.NextBatch({});
  ASSERT_EQ(first.size(), 10u) << "three models on three variants, and the MLP";
  std::set<std::pair<int, int>> pairs;
  for (const auto& [pair, candidate] : first) {
    pairs.insert(
        {static_cast<int>(candidate.options.model), candidate.variant ? static_cast<int>(*candidate.variant) : -1});
  }
  EXPECT_EQ(pairs.size(), 10u);
}

TEST(CandidateGrid, GivesAsManyAsAskedForAndNoneTwice) {
  for (const uint32_t candidates : {1u, 3u, 10u, 11u, 24u, 60u, 1000u}) {
    const CandidateGrid grid = CandidateGrid::Create(SearchSpec(candidates), true, kSmall).value();
    const auto all = Everything(grid);
    EXPECT_EQ(static_cast<int>(all.size()), grid.count()) << candidates;
    EXPECT_EQ(NamesOf(all).size(), all.size()) << candidates;
    EXPECT_TRUE(candidates > 100 || all.size() == candidates) << candidates;
  }
}

TEST(CandidateGrid, WhatIsSetRestrictsIt) {
  v1::TrainingSpec spec = SearchSpec(1000);
  spec.set_model(v1::MODEL_GCN);
  spec.set_learning_rate(0.02);
  spec.set_weight_decay(0);
  for (const auto& [pair, candidate] : Everything(CandidateGrid::Create(spec, true, kSmall).value())) {
    EXPECT_EQ(candidate.options.model, Model::kGcn);
    EXPECT_EQ(candidate.options.learning_rate, 0.02);
    EXPECT_EQ(candidate.options.weight_decay, 0);
    EXPECT_EQ(candidate.options.epochs, 15);
  }
  spec.set_variant(v1::VARIANT_SOFT);
  spec.set_dropout(0.3);
  const auto only = Everything(CandidateGrid::Create(spec, true, kSmall).value());
  ASSERT_EQ(only.size(), 1u);
  EXPECT_EQ(CandidateName(only[0].candidate), "gcn soft, learning rate 0.02, weight decay 0, dropout 0.3");
}

TEST(CandidateGrid, OfAGivenGraphThereAreNoVariants) {
  const CandidateGrid grid = CandidateGrid::Create(SearchSpec(1000), /*estimated=*/false, kSmall).value();
  EXPECT_EQ(grid.pairs().size(), 4u);
  for (const Candidate& pair : grid.pairs()) EXPECT_FALSE(pair.variant.has_value());
}

TEST(CandidateGrid, LeavesOutWhatWouldTakeHoursUnlessItIsNamed) {
  const ProblemSize large{
      .nodes = 22'470, .feature_values = 2'900'000, .classes = 4, .flip_probability = 0.3, .links = 170'000};
  v1::TrainingSpec spec = SearchSpec(1000);
  spec.set_epochs(300);
  const CandidateGrid grid = CandidateGrid::Create(spec, true, large).value();
  ASSERT_EQ(grid.too_costly().size(), 1u);
  EXPECT_EQ(grid.too_costly()[0].options.model, Model::kGat);
  EXPECT_EQ(grid.too_costly()[0].variant, Variant::kSoft);
  EXPECT_EQ(grid.pairs().size(), 9u);
  spec.set_model(v1::MODEL_GAT);
  spec.set_variant(v1::VARIANT_SOFT);
  EXPECT_EQ(CandidateGrid::Create(spec, true, large)->pairs().size(), 1u);
}

TEST(CandidateGrid, RefusesASpecThatIsOutOfRangeOrAsksForNoSearch) {
  EXPECT_EQ(CandidateGrid::Create(SearchSpec(0), true, kSmall).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CandidateGrid::Create(SearchSpec(1001), true, kSmall).status().code(), absl::StatusCode::kInvalidArgument);
  v1::TrainingSpec spec = SearchSpec(5);
  spec.set_dropout(1);
  EXPECT_EQ(CandidateGrid::Create(spec, true, kSmall).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CandidateFromSpec(SearchSpec(5)).status().code(), absl::StatusCode::kInvalidArgument);
}

class SearchTest : public testing::SmallRound {
 protected:
  Analysis Searched(const v1::TrainingSpec& spec, const AnalysisOptions& options = {}) {
    const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
    absl::StatusOr<Analysis> analysis = Analyse(round.reports, data_.attributes, spec, options);
    EXPECT_TRUE(analysis.ok()) << analysis.status();
    return *std::move(analysis);
  }
};

TEST_F(SearchTest, KeepsTheModelOfTheCandidateThatValidatesBest) {
  const Analysis analysis = Searched(SearchSpec(12));
  ASSERT_EQ(analysis.search.size(), 12u);
  double best = -1e9;
  for (const Tried& tried : analysis.search) {
    if (tried.skipped.empty()) best = std::max(best, tried.validation_accuracy - 0.2 * tried.validation_loss);
  }
  EXPECT_EQ(analysis.training.validation_accuracy - 0.2 * analysis.training.validation_loss, best);
  // The chosen one, trained alone on the same links, is the same model.
  const LinkWeights& weights = analysis.estimate.Of(analysis.trained.variant.value_or(Variant::kHard));
  EXPECT_EQ(Train(weights, data_.attributes, analysis.trained.options)->logits, analysis.training.logits);
}

TEST_F(SearchTest, DependsNeitherOnTheThreadsNorOnTheTestNodes) {
  AnalysisOptions one, four;
  one.threads = 1;
  four.threads = 4;
  const Analysis a = Searched(SearchSpec(12), one);
  for (size_t i = 0; i < data_.attributes.labels.size(); ++i) {
    if (data_.attributes.split[i] == Split::kTest) data_.attributes.labels[i] = 0;
  }
  const Analysis b = Searched(SearchSpec(12), four);
  EXPECT_EQ(CandidateName(a.trained), CandidateName(b.trained));
  EXPECT_EQ(a.training.logits, b.training.logits);
  ASSERT_EQ(a.search.size(), b.search.size());
  for (size_t k = 0; k < a.search.size(); ++k) {
    EXPECT_EQ(CandidateName(a.search[k].candidate), CandidateName(b.search[k].candidate));
    EXPECT_EQ(a.search[k].validation_loss, b.search[k].validation_loss);
  }
}

TEST_F(SearchTest, TellsAProgressThatOnlyGrows) {
  std::vector<double> shares;
  AnalysisOptions options;
  std::string last;
  options.progress = [&](Stage stage, double fraction, const std::string& text) {
    if (stage != Stage::kTraining) return;
    shares.push_back(fraction);
    last = text;
  };
  Searched(SearchSpec(11), options);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_NEAR(shares.back(), 1, 1e-9);
  EXPECT_THAT(last, HasSubstr(" of 11: "));
}

TEST_F(SearchTest, ACandidateThatDivergesIsPassedOver) {
  v1::TrainingSpec spec = SearchSpec(4);
  spec.set_model(v1::MODEL_MLP);
  data_.attributes.features.values[0] = 1e38f;  // every loss is infinite or not a number
  for (float& value : data_.attributes.features.values) value *= 1e38f;
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  const auto analysis = Analyse(round.reports, data_.attributes, spec, {});
  EXPECT_FALSE(analysis.ok()) << "they all diverge";
  EXPECT_EQ(analysis.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(analysis.status().message()), HasSubstr("diverged"));
}

TEST_F(SearchTest, TheResultListsWhatWasTriedAndNoTestAccuracyOfIt) {
  const Analysis analysis = Searched(SearchSpec(12));
  const auto train = MetricsJson(parameters_, 180, analysis)["train"];
  EXPECT_EQ(train["chosen"], CandidateName(analysis.trained));
  ASSERT_EQ(train["candidates"].size(), 12u);
  EXPECT_FALSE(train["candidates"][0].contains("test_accuracy"));
  EXPECT_TRUE(train["candidates"][0].contains("validation_loss"));
  EXPECT_TRUE(
      SearchJson(analysis.trained, analysis.search, /*research=*/true)["candidates"][0].contains("test_accuracy"));
}

}  // namespace
}  // namespace blink
