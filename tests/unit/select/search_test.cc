#include "aggregator_server/select/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <new>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>

#include "aggregator_server/result/metrics_json.h"
#include "aggregator_server/worker/analyse.h"
#include "tests/unit/worker/small_round.h"

namespace blink {
namespace {

using ::testing::Contains;
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

TEST(CandidateGrid, BeginsWithTheMlpAndAStrongPairAndSpreadsOverModelsAndVariants) {
  const auto first = Everything(CandidateGrid::Create(SearchSpec(4), true, kSmall).value());
  ASSERT_EQ(first.size(), 4u);
  EXPECT_EQ(first[0].candidate.options.model, Model::kMlp);
  EXPECT_EQ(first[1].candidate.options.model, Model::kGraphSage);
  EXPECT_EQ(first[1].candidate.variant, Variant::kSoft);
  std::set<Model> models;
  std::set<std::optional<Variant>> variants;
  for (const auto& [pair, candidate] : first) {
    models.insert(candidate.options.model);
    variants.insert(candidate.variant);
  }
  EXPECT_EQ(models.size(), 4u);
  EXPECT_EQ(variants.size(), 4u) << "three and the MLP's none";
}

TEST(CandidateGrid, TriesTheMlpHoweverFewAreAskedForAndWhateverTheVariant) {
  for (const uint32_t candidates : {1u, 2u, 9u}) {
    for (const bool estimated : {true, false}) {
      v1::TrainingSpec spec = SearchSpec(candidates);
      spec.set_variant(v1::VARIANT_HYBRID);
      const auto all = Everything(CandidateGrid::Create(spec, estimated, kSmall).value());
      ASSERT_EQ(all.size(), candidates);
      EXPECT_EQ(all[0].candidate.options.model, Model::kMlp);
    }
  }
}

TEST(TrainingBytes, CountsFeaturesLinksAndLayers) {
  Candidate candidate{.variant = Variant::kHard};
  const double bytes = TrainingBytes(candidate, kSmall);
  ProblemSize wide = kSmall, linked = kSmall;
  wide.feature_values = 1'000'000'000;
  EXPECT_GT(TrainingBytes(candidate, wide), 8e9) << "the values and their columns";
  linked.links = 1'000'000;
  EXPECT_GT(TrainingBytes(candidate, linked), bytes + 1e7);
  candidate.options.hidden = 1024;
  EXPECT_GT(TrainingBytes(candidate, kSmall), bytes + 200 * 1000 * 4);
  candidate.options.model = Model::kMlp;
  candidate.variant.reset();
  EXPECT_EQ(TrainingBytes(candidate, linked), TrainingBytes(candidate, kSmall)) << "the MLP has no links";
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

TEST(CandidateGrid, InBatchesTriesNoNetworkOnSoftLinks) {
  for (const v1::Prior prior : {v1::PRIOR_BETA, v1::PRIOR_ATTRIBUTED}) {
    v1::TrainingSpec spec = SearchSpec(1000);
    spec.set_prior(prior);
    spec.set_batch_nodes(64);
    const CandidateGrid grid = CandidateGrid::Create(spec, true, kSmall).value();
    EXPECT_GE(grid.pairs().size(), 7u) << "three models on Hard and Hybrid, and the MLP";
    for (const Candidate& pair : grid.pairs()) {
      const bool network = IsNetwork(pair.options.model);
      EXPECT_TRUE(!network || pair.variant != Variant::kSoft) << PairName(pair);
      EXPECT_EQ(pair.options.batch_nodes, network ? 64u : 0u) << PairName(pair);
      EXPECT_EQ(pair.options.fan_out.size(), network ? 2u : 0u) << PairName(pair);
    }
  }
}

TEST(CandidateGrid, OfAGivenGraphThereAreNoVariants) {
  const CandidateGrid grid = CandidateGrid::Create(SearchSpec(1000), /*estimated=*/false, kSmall).value();
  EXPECT_EQ(grid.pairs().size(), 4u);
  for (const Candidate& pair : grid.pairs()) EXPECT_FALSE(pair.variant.has_value());
}

TEST(CandidateGrid, LeavesOutWhatWouldTakeHoursUnlessItIsNamed) {
  const ProblemSize large{
      .nodes = 60'000, .feature_values = 2'900'000, .classes = 4, .flip_probability = 0.05, .links = 170'000};
  v1::TrainingSpec spec = SearchSpec(1000);
  spec.set_epochs(300);
  const CandidateGrid grid = CandidateGrid::Create(spec, true, large).value();
  ASSERT_EQ(grid.too_costly().size(), 1u);
  EXPECT_EQ(grid.too_costly()[0].options.model, Model::kGat);
  EXPECT_EQ(grid.too_costly()[0].variant, Variant::kSoft);
  EXPECT_EQ(grid.pairs().size(), 9u);
  spec.set_allow_slow_attention(true);
  EXPECT_EQ(CandidateGrid::Create(spec, true, large)->pairs().size(), 10u);
  spec.set_allow_slow_attention(false);
  spec.set_model(v1::MODEL_GAT);
  spec.set_variant(v1::VARIANT_SOFT);
  EXPECT_TRUE(CandidateGrid::Create(spec, true, large)->pairs().empty())
      << "attention over all pairs is insisted on by its own field";
  spec.set_allow_slow_attention(true);
  EXPECT_EQ(CandidateGrid::Create(spec, true, large)->pairs().size(), 1u);
}

TEST(CandidateGrid, LeavesOutLinksOfHoursUnlessModelAndVariantAreNamed) {
  ProblemSize dense{.nodes = 60'000, .feature_values = 60'000, .classes = 4, .flip_probability = 0, .links = 0};
  v1::TrainingSpec spec = SearchSpec(1000);
  spec.set_epochs(3000);
  spec.set_model(v1::MODEL_GRAPHSAGE);
  EXPECT_EQ(CandidateGrid::Create(spec, true, dense)->pairs().size(), 3u);
  dense.links = 1e9;
  const CandidateGrid grid = CandidateGrid::Create(spec, true, dense).value();
  EXPECT_EQ(grid.pairs().size(), 1u) << "the least costly: the reports are spent when the links are known";
  EXPECT_EQ(grid.too_costly().size(), 2u);
  spec.set_variant(v1::VARIANT_HARD);
  EXPECT_EQ(CandidateGrid::Create(spec, true, dense)->pairs().size(), 1u);
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

  // The search on one thread, and the same on so many threads and with other labels of the test nodes. Returns the
  // first.
  Analysis ExpectTheSameWithoutTestLabels(const v1::TrainingSpec& spec, int threads) {
    AnalysisOptions one, several;
    one.threads = 1;
    several.threads = threads;
    Analysis a = Searched(spec, one);
    for (size_t i = 0; i < data_.attributes.labels.size(); ++i) {
      if (data_.attributes.split[i] == Split::kTest) data_.attributes.labels[i] = 0;
    }
    const Analysis b = Searched(spec, several);
    EXPECT_EQ(CandidateName(a.trained), CandidateName(b.trained));
    EXPECT_EQ(a.training.logits, b.training.logits);
    EXPECT_EQ(a.search.size(), b.search.size());
    for (size_t k = 0; k < std::min(a.search.size(), b.search.size()); ++k) {
      EXPECT_EQ(CandidateName(a.search[k].candidate), CandidateName(b.search[k].candidate));
      EXPECT_EQ(a.search[k].validation_loss, b.search[k].validation_loss);
    }
    return a;
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
  const LinkWeights& weights = *analysis.estimates.beta.Of(analysis.trained.variant.value_or(Variant::kHard));
  EXPECT_EQ(Train(weights, data_.attributes, analysis.trained.options)->logits, analysis.training.logits);
}

TEST_F(SearchTest, DependsNeitherOnTheThreadsNorOnTheTestNodes) { ExpectTheSameWithoutTestLabels(SearchSpec(12), 4); }

v1::TrainingSpec AttributedSpec(uint32_t candidates) {
  v1::TrainingSpec spec = SearchSpec(candidates);
  spec.set_prior(v1::PRIOR_ATTRIBUTED);
  return spec;
}

TEST_F(SearchTest, UnderTheAttributedPriorDependsNeitherOnTheThreadsNorOnTheTestNodes) {
  const Analysis analysis = ExpectTheSameWithoutTestLabels(AttributedSpec(22), 3);
  ASSERT_TRUE(analysis.estimates.attributed.has_value());
  EXPECT_GT(analysis.search.size(), 22u) << "and means";
}

TEST_F(SearchTest, TheBetaPriorsEstimateIsTheSameUnderEitherPrior) {
  const Analysis beta = Searched(SearchSpec(1)), attributed = Searched(AttributedSpec(1));
  EXPECT_FALSE(beta.estimates.attributed.has_value());
  EXPECT_EQ(beta.estimates.beta.links().neighbours(), attributed.estimates.beta.links().neighbours());
}

TEST_F(SearchTest, WhereFewNodesHaveALabelTheyAllChooseUnderTheAttributedPriorAlone) {
  const Analysis attributed = Searched(AttributedSpec(4)), beta = Searched(SearchSpec(4));
  const uint32_t labelled = beta.training.train.nodes + beta.training.validation.nodes;
  EXPECT_EQ(attributed.training.validation.nodes, labelled);
  EXPECT_EQ(attributed.training.test.nodes, beta.training.test.nodes);
  EXPECT_LT(beta.training.validation.nodes, labelled);
  ASSERT_TRUE(attributed.features_only.has_value());
  EXPECT_EQ(Searched(AttributedSpec(0)).training.validation.nodes, beta.training.validation.nodes)
      << "one model is validated as it is told";
}

TEST_F(SearchTest, WithoutASearchTheAttributedPriorTrainsExactlyWhatIsNamed) {
  for (const auto& [model, name] : {std::pair(v1::MODEL_GCN, "gcn hybrid attributed, learning rate"),
                                    {v1::MODEL_STACKED, "stacked soft attributed"},
                                    {v1::MODEL_CLASS_MODEL, "class-model"}}) {
    v1::TrainingSpec spec = AttributedSpec(0);
    spec.set_model(model);
    if (model != v1::MODEL_STACKED) spec.set_variant(v1::VARIANT_HYBRID);
    const Analysis analysis = Searched(spec);
    EXPECT_THAT(CandidateName(analysis.trained), ::testing::StartsWith(name));
    EXPECT_TRUE(analysis.search.empty());
    EXPECT_FALSE(analysis.training.model_bytes.empty());
    EXPECT_EQ(analysis.training.script_bytes.empty(), model != v1::MODEL_GCN);
  }
}

TEST_F(SearchTest, TellsAProgressOfTheAttributedEstimateThatOnlyGrows) {
  std::vector<double> shares;
  AnalysisOptions options;
  options.progress = [&](Stage stage, double fraction, const std::string&) {
    if (stage == Stage::kEstimating) shares.push_back(fraction);
  };
  v1::TrainingSpec spec = AttributedSpec(0);
  spec.set_model(v1::MODEL_STACKED);
  Searched(spec, options);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_NEAR(shares.back(), 1, 1e-9);
}

TEST_F(SearchTest, TellsAProgressThatOnlyGrows) {
  std::vector<double> shares;
  AnalysisOptions options;
  std::vector<std::string> texts;
  options.progress = [&](Stage stage, double fraction, const std::string& text) {
    if (stage != Stage::kTraining) return;
    shares.push_back(fraction);
    texts.push_back(text);
  };
  Searched(SearchSpec(11), options);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_NEAR(shares.back(), 1, 1e-9);
  EXPECT_THAT(texts, Contains(HasSubstr(" of 11: ")));
  EXPECT_THAT(texts.back(), HasSubstr("features alone"));
}

// Links of which those of some variants have weights that are not numbers, so that no loss on them is one.
class Diverging : public ::testing::Test {
 protected:
  Diverging() : data_(testing::SmallDataset()), sound_(LinkWeights::Unweighted(data_.graph)), broken_(sound_) {
    broken_.weighted = true;
    broken_.values.assign(broken_.links.neighbours().size(), std::numeric_limits<float>::quiet_NaN());
  }
  absl::StatusOr<TrainedModel> SearchWith(uint32_t candidates, int threads, const std::set<Variant>& diverging,
                                          v1::TrainingSpec spec = {}) {
    spec.MergeFrom(SearchSpec(candidates));
    const CandidateGrid grid = CandidateGrid::Create(spec, true, kSmall).value();
    const auto weights_of = [&](const Candidate& candidate) -> const LinkWeights& {
      return candidate.variant && diverging.count(*candidate.variant) > 0 ? broken_ : sound_;
    };
    return Search(grid, kSmall, {.attributes = &data_.attributes, .weights_of = weights_of}, {.threads = threads});
  }
  const Dataset data_;
  const LinkWeights sound_;
  LinkWeights broken_;
};

TEST_F(Diverging, ACandidateLosesAndIsReportedAndTheSearchGoesOn) {
  for (const int threads : {1, 3}) {
    const auto model = SearchWith(14, threads, {Variant::kSoft});
    ASSERT_TRUE(model.ok()) << model.status();
    ASSERT_EQ(model->search.size(), 14u);
    EXPECT_NE(model->trained.variant, Variant::kSoft);
    int diverged = 0;
    for (const Tried& tried : model->search) {
      const bool soft = tried.candidate.variant == Variant::kSoft;
      if (!tried.skipped.empty()) {
        EXPECT_TRUE(soft) << CandidateName(tried.candidate);
        EXPECT_THAT(tried.skipped, HasSubstr("diverged"));
        ++diverged;
      }
    }
    EXPECT_GE(diverged, 2);
  }
}

TEST_F(Diverging, AFirstCandidateThatDivergesIsPassedOver) {
  v1::TrainingSpec sage;
  sage.set_model(v1::MODEL_GRAPHSAGE);
  const auto model = SearchWith(3, 2, {Variant::kSoft}, sage);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_FALSE(model->search[0].skipped.empty());
  EXPECT_TRUE(model->search[1].skipped.empty());
}

TEST_F(Diverging, WhenAllDivergeTheFirstOnesErrorIsTheSearchs) {
  v1::TrainingSpec gcn;
  gcn.set_model(v1::MODEL_GCN);
  const auto model = SearchWith(4, 2, {Variant::kSoft, Variant::kHybrid, Variant::kHard}, gcn);
  EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument) << "they all diverge";
  EXPECT_THAT(std::string(model.status().message()), HasSubstr("diverged"));
}

TEST(Search, RefusesADeviceThatIsNotHereBeforeItTrains) {
  const Dataset data = testing::SmallDataset();
  const LinkWeights weights = LinkWeights::Unweighted(data.graph);
  v1::TrainingSpec spec = SearchSpec(4);
  spec.set_device("cuda:99");
  int asked = 0;
  const auto model = Search(CandidateGrid::Create(spec, true, kSmall).value(), kSmall,
                            {.attributes = &data.attributes,
                             .weights_of = [&](const Candidate&) -> const LinkWeights& {
                               ++asked;
                               return weights;
                             }},
                            {});
  EXPECT_EQ(model.status().code(), absl::StatusCode::kFailedPrecondition) << model.status();
  EXPECT_EQ(asked, 0);
}

TEST(Search, NoExceptionLeavesIt) {
  const Dataset data = testing::SmallDataset();
  const auto searched = [&](auto thrown, int threads) {
    return Search(CandidateGrid::Create(SearchSpec(6), true, kSmall).value(), kSmall,
                  {.attributes = &data.attributes,
                   .weights_of = [&](const Candidate&) -> const LinkWeights& { throw thrown; }},
                  {.threads = threads})
        .status()
        .code();
  };
  for (const int threads : {1, 3}) {
    EXPECT_EQ(searched(std::bad_alloc(), threads), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(searched(std::runtime_error("x"), threads), absl::StatusCode::kInternal);
  }
}

TEST_F(SearchTest, TheResultListsWhatWasTriedAndNoTestAccuracyOfIt) {
  const Analysis analysis = Searched(SearchSpec(12));
  const auto train = MetricsJson(parameters_, 180, analysis, ReportOrigin::kRound)["train"];
  EXPECT_EQ(train["chosen"], CandidateName(analysis.trained));
  ASSERT_EQ(train["candidates"].size(), 12u);
  EXPECT_FALSE(train["candidates"][0].contains("test_accuracy"));
  EXPECT_TRUE(train["candidates"][0].contains("validation_loss"));
  EXPECT_TRUE(
      SearchJson(analysis.trained, analysis.search, /*research=*/true)["candidates"][0].contains("test_accuracy"));
}

}  // namespace
}  // namespace blink
