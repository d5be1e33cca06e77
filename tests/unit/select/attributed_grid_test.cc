// What a search under the attributed prior tries, and how it chooses: no LibTorch.
#include "tests/unit/select/attributed_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "aggregator_server/select/candidate_grid.h"
#include "aggregator_server/select/choice.h"
#include "aggregator_server/select/trainable.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ProblemSize kSmall{.nodes = 200,
                         .feature_values = 1000,
                         .scaled_values = 1000,
                         .classes = 3,
                         .flip_probability = 0.1,
                         .links = 400,
                         .attributed_links = 400,
                         .attributed_kept = 800};

std::set<std::string> PairsOf(const std::vector<Candidate>& candidates) {
  std::set<std::string> names;
  for (const Candidate& candidate : candidates) names.insert(PairName(candidate));
  return names;
}

TEST(AttributedGrid, TriesThePairsOfBothPriorsOnceFirstButForTheBetaPriorsAttentionToAllPairs) {
  CandidateGrid grid = CandidateGrid::Create(AttributedSpec(1000), true, kSmall).value();
  EXPECT_EQ(grid.prior(), Prior::kAttributed);
  EXPECT_EQ(grid.pairs().size(), 21u)
      << "nine of the beta prior, nine networks of this one, the stacked models of both, the feature-only classifier";
  EXPECT_EQ(PairsOf(grid.pairs()).size(), 21u);
  v1::TrainingSpec beta = AttributedSpec(1000);
  beta.set_prior(v1::PRIOR_BETA);
  for (const std::string& pair : PairsOf(CandidateGrid::Create(beta, true, kSmall)->pairs())) {
    EXPECT_EQ(PairsOf(grid.pairs()).count(pair), pair == "gat soft" ? 0u : 1u) << pair;
  }
  EXPECT_EQ(grid.NextBatch({}).size(), 6u) << "what the others have a score to reach from";
  EXPECT_EQ(grid.NextBatch({}).size(), 15u);
  EXPECT_TRUE(grid.NextBatch({}).empty()) << "no pair is worth another setting";
}

TEST(AttributedGrid, EndsItsOwnNetworksByPatienceUnlessOneIsGivenAndNeverThoseItIsToBeNoWorseThan) {
  for (const Candidate& pair :
       std::vector<Candidate>(CandidateGrid::Create(AttributedSpec(24), true, kSmall)->pairs())) {
    const bool own = pair.prior == Prior::kAttributed && IsNetwork(pair.options.model);
    EXPECT_EQ(pair.options.patience, own ? 100 : 0) << PairName(pair);
  }
  v1::TrainingSpec spec = AttributedSpec(24);
  spec.set_patience(0);
  for (const Candidate& pair : std::vector<Candidate>(CandidateGrid::Create(spec, true, kSmall)->pairs()))
    EXPECT_EQ(pair.options.patience, 0) << PairName(pair);
  spec = AttributedSpec(24);
  spec.set_prior(v1::PRIOR_BETA);
  for (const Candidate& pair : std::vector<Candidate>(CandidateGrid::Create(spec, true, kSmall)->pairs()))
    EXPECT_EQ(pair.options.patience, 0) << PairName(pair);
}

TEST(AttributedGrid, BeginsWithWhatCostsNextToNothing) {
  const auto all = Everything(CandidateGrid::Create(AttributedSpec(3), true, kSmall).value());
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(CandidateName(all[1]), "stacked soft attributed");
  EXPECT_EQ(CandidateName(all[2]), "class-model");
  EXPECT_EQ(all[0].options.model, Model::kMlp);
}

TEST(AttributedGrid, GivesAsManyAsAskedForAndNoneTwice) {
  for (const uint32_t candidates : {1u, 5u, 20u, 24u, 40u, 1000u}) {
    const CandidateGrid grid = CandidateGrid::Create(AttributedSpec(candidates), true, kSmall).value();
    std::set<std::string> names;
    const auto all = Everything(grid);
    for (const Candidate& candidate : all) names.insert(CandidateName(candidate));
    EXPECT_EQ(static_cast<int>(all.size()), grid.count());
    EXPECT_EQ(names.size(), all.size());
    EXPECT_TRUE(candidates > 200 || all.size() == candidates) << candidates;
  }
}

TEST(AttributedGrid, TriesWidthsUnlessOneIsGiven) {
  std::set<int> widths;
  for (const Candidate& candidate : Everything(CandidateGrid::Create(AttributedSpec(1000), true, kSmall).value())) {
    if (candidate.prior == Prior::kAttributed && IsNetwork(candidate.options.model))
      widths.insert(candidate.options.hidden);
    if (candidate.prior == Prior::kBeta) {
      EXPECT_EQ(candidate.options.hidden, 16);
    }
  }
  EXPECT_THAT(widths, ElementsAre(16, 64));
  v1::TrainingSpec spec = AttributedSpec(1000);
  spec.set_hidden(24);
  for (const Candidate& candidate : Everything(CandidateGrid::Create(spec, true, kSmall).value()))
    EXPECT_EQ(candidate.options.hidden, 24);
}

TEST(AttributedGrid, WhatIsSetRestrictsBothPriors) {
  v1::TrainingSpec spec = AttributedSpec(1000);
  spec.set_model(v1::MODEL_GCN);
  spec.set_variant(v1::VARIANT_HYBRID);
  EXPECT_THAT(PairsOf(CandidateGrid::Create(spec, true, kSmall)->pairs()),
              ElementsAre("gcn hybrid", "gcn hybrid attributed"));
  spec = AttributedSpec(1000);
  spec.set_variant(v1::VARIANT_SOFT);
  const std::set<std::string> soft = PairsOf(CandidateGrid::Create(spec, true, kSmall)->pairs());
  EXPECT_EQ(soft.count("stacked soft attributed"), 1u);
  EXPECT_EQ(soft.count("stacked soft"), 1u);
  EXPECT_EQ(soft.count("mlp"), 1u);
  EXPECT_EQ(soft.count("gcn hard attributed"), 0u);
  spec.set_variant(v1::VARIANT_HARD);
  const std::set<std::string> hard = PairsOf(CandidateGrid::Create(spec, true, kSmall)->pairs());
  EXPECT_EQ(hard.count("stacked soft attributed") + hard.count("stacked soft"), 0u);
}

TEST(AttributedGrid, LeavesOutPairsOfTheBetaPriorThatTakeMinutes) {
  const ProblemSize large{.nodes = 22'470,
                          .feature_values = 2'876'160,
                          .scaled_values = 2'876'160,
                          .classes = 4,
                          .flip_probability = 0.27,
                          .links = 170'000,
                          .attributed_links = 170'000,
                          .attributed_kept = 400'000};
  const CandidateGrid grid = CandidateGrid::Create(AttributedSpec(1000), true, large).value();
  std::set<std::string> left_out = PairsOf(grid.too_costly());
  EXPECT_THAT(left_out, ElementsAre("gcn soft", "graphsage soft"));
  for (const Candidate& candidate : grid.too_costly())
    EXPECT_THAT(grid.ExplainLeftOut(candidate, large), HasSubstr("--prior beta"));
  v1::TrainingSpec named = AttributedSpec(1000);
  named.set_model(v1::MODEL_GCN);
  named.set_variant(v1::VARIANT_SOFT);
  EXPECT_EQ(CandidateGrid::Create(named, true, large)->pairs().size(), 2u);
}

TEST(CandidateGrid, IsTheSameWhetherTheLinksAreKnownAtOnceOrLater) {
  ProblemSize large{.nodes = 200'000, .feature_values = 4'000'000, .scaled_values = 4'000'000, .classes = 7};
  for (const v1::Prior prior : {v1::PRIOR_BETA, v1::PRIOR_ATTRIBUTED}) {
    for (const v1::Model model : {v1::MODEL_UNSPECIFIED, v1::MODEL_GCN}) {
      for (const double links : {1e5, 1e9}) {
        v1::TrainingSpec spec = AttributedSpec(1000);
        spec.set_prior(prior);
        spec.set_model(model);
        large.links = large.attributed_links = large.attributed_kept = 0;
        CandidateGrid later = CandidateGrid::Create(spec, true, large).value();
        large.links = large.attributed_links = large.attributed_kept = links;
        const CandidateGrid at_once = CandidateGrid::Create(spec, true, large).value();
        later.CompleteCosts(large);
        EXPECT_EQ(later.count(), at_once.count());
        EXPECT_EQ(PairsOf(later.pairs()), PairsOf(at_once.pairs()));
        EXPECT_EQ(PairsOf(later.too_costly()), PairsOf(at_once.too_costly()));
      }
    }
  }
}

TEST(CandidateFromSpec, TakesTheOneModelOfTheAttributedPriorThatIsNamed) {
  v1::TrainingSpec spec = AttributedSpec(0);
  spec.set_model(v1::MODEL_GRAPHSAGE);
  spec.set_variant(v1::VARIANT_HYBRID);
  const Candidate sage = CandidateFromSpec(spec).value();
  EXPECT_EQ(CandidateName(sage),
            "graphsage hybrid attributed, learning rate 0.01, weight decay 0.0001, dropout 0.1, hidden 16");
  EXPECT_EQ(sage.prior, Prior::kAttributed);
  spec.set_model(v1::MODEL_MLP);
  EXPECT_EQ(CandidateFromSpec(spec)->prior, Prior::kBeta) << "it sees no links";
}

TEST(CandidateFromSpec, TakesTheStackedModelOnSoftWhateverTheVariant) {
  v1::TrainingSpec spec = AttributedSpec(0);
  spec.set_model(v1::MODEL_STACKED);
  EXPECT_EQ(CandidateFromSpec(spec)->variant, Variant::kSoft) << "the default of the variant is hard";
  spec.set_model(v1::MODEL_CLASS_MODEL);
  EXPECT_EQ(CandidateFromSpec(spec)->variant, std::nullopt);
  EXPECT_EQ(CandidateFromSpec(spec)->prior, Prior::kAttributed);
}

TEST(CandidateFromSpec, RefusesModelsOfTheAttributedPriorUnderTheBetaPrior) {
  for (const v1::Model model : {v1::MODEL_STACKED, v1::MODEL_CLASS_MODEL}) {
    for (const uint32_t candidates : {0u, 24u}) {
      v1::TrainingSpec spec = AttributedSpec(candidates);
      spec.set_prior(v1::PRIOR_BETA);
      spec.set_model(model);
      EXPECT_EQ(CandidateFromSpec(spec).status().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(CandidateGrid::Create(spec, true, kSmall).status().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(
          CheckTrainable(
              spec,
              TrainingFacts{.nodes = 200, .features = 5, .classes = 3, .labelled_train = 9, .labelled_validation = 9},
              {})
              .code(),
          absl::StatusCode::kInvalidArgument);
    }
  }
}

TEST(AttributedGrid, RefusesAVariantThatTheModelDoesNotHave) {
  v1::TrainingSpec spec = AttributedSpec(24);
  spec.set_model(v1::MODEL_STACKED);
  spec.set_variant(v1::VARIANT_HARD);
  EXPECT_THAT(std::string(CandidateGrid::Create(spec, true, kSmall).status().message()),
              HasSubstr("the model stacked takes all links as weights: choose soft, or leave out the variant"));
}

TEST(CandidateName, OfTheBetaPriorIsAsItAlwaysWas) {
  Candidate candidate{.variant = Variant::kSoft};
  EXPECT_EQ(CandidateName(candidate), "gcn soft, learning rate 0.01, weight decay 0.0001, dropout 0.1");
  candidate.options.model = Model::kEnsemble;
  candidate.members = {"stacked soft attributed", "gcn hard"};
  EXPECT_EQ(CandidateName(candidate), "mean of stacked soft attributed + gcn hard");
}

TEST(NominalSeconds, OfAttributedSoftLinksCountsThePairsThatAreKept) {
  Candidate soft{.prior = Prior::kAttributed, .variant = Variant::kSoft};
  ProblemSize more = kSmall;
  more.attributed_kept *= 1000;
  EXPECT_GT(NominalSeconds(soft, more), 2 * NominalSeconds(soft, kSmall));
  EXPECT_GT(TrainingBytes(soft, more), TrainingBytes(soft, kSmall));
  soft.options.model = Model::kGat;
  EXPECT_FALSE(AttendsAllPairs(soft)) << "a list of pairs";
}

// ---- what is refused before a report is drawn ----

TrainingFacts Facts(uint32_t nodes, bool dense) {
  return {.nodes = nodes,
          .features = 500,
          .feature_values = 50'000,
          .dense = dense,
          .classes = 7,
          .labelled_train = 100,
          .labelled_validation = 50};
}

void ExpectRefused(const v1::TrainingSpec& spec, const TrainingFacts& facts, const TrainingPlace& place,
                   const char* field, const char* remedy) {
  const absl::Status refused = CheckTrainable(spec, facts, place);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr(field), HasSubstr(remedy)));
}

TEST(CheckTrainable, RefusesTheAttributedPriorWhereThereAreTooManyPairs) {
  for (const uint32_t candidates : {0u, 24u}) {
    EXPECT_TRUE(CheckTrainable(AttributedSpec(candidates), Facts(22'470, true), {}).ok());
    EXPECT_TRUE(CheckTrainable(AttributedSpec(candidates), Facts(100'000, false), {}).ok());
    ExpectRefused(AttributedSpec(candidates), Facts(1'000'000, false), {}, "training.prior", "--prior beta");
    ExpectRefused(AttributedSpec(candidates), Facts(150'000, true), {}, "500 dense features", "--prior beta");
  }
  v1::TrainingSpec beta = AttributedSpec(24);
  beta.set_prior(v1::PRIOR_BETA);
  EXPECT_TRUE(CheckTrainable(beta, Facts(1'000'000, false), {}).ok());
}

TEST(CheckTrainable, TakesTheAttributedPriorForLinksThatAreGivenWithinTheSameLimits) {
  EXPECT_TRUE(CheckTrainable(AttributedSpec(24), Facts(1000, false), {.estimated = false}).ok());
  ExpectRefused(AttributedSpec(24), Facts(1'000'000, false), {.estimated = false}, "training.prior", "--prior beta");
}

TEST(AttributedGrid, OnGivenLinksEachModelOfEachPriorIsTriedOnceAndTheStackedOneOnce) {
  CandidateGrid grid = CandidateGrid::Create(AttributedSpec(9), /*estimated=*/false, kSmall).value();
  std::vector<std::string> names;
  for (const Candidate& pair : grid.pairs()) {
    EXPECT_EQ(pair.variant, std::nullopt);
    names.push_back(PairName(pair));
  }
  EXPECT_THAT(names, ElementsAre("mlp", "stacked attributed", "class-model", "gcn attributed", "graphsage attributed",
                                 "graphsage", "gcn", "gat", "gat attributed"));
}

TEST(CheckTrainable, TakesFeaturesForDenseByTheirValuesAndNotByTheFormOfTheirFile) {
  NodeAttributes attributes{
      .node_count = 2, .labels = {0, 1}, .split = {Split::kTrain, Split::kValidation}, .class_count = 2};
  attributes.features = {
      .rows = 2, .cols = 8, .sparse = true, .row_offsets = {0, 1, 2}, .columns = {0, 1}, .values = {1, 2}};
  EXPECT_FALSE(FactsOf(attributes).dense);
  EXPECT_EQ(SizeOf(FactsOf(attributes)).scaled_values, 2u);
  attributes.features.values[0] = -1;
  EXPECT_TRUE(FactsOf(attributes).dense);
  EXPECT_EQ(SizeOf(FactsOf(attributes)).scaled_values, 16u) << "networks of the attributed prior get as many";
  EXPECT_EQ(SizeOf(FactsOf(attributes)).feature_values, 2u);
  attributes.features = {.rows = 2, .cols = 4, .values = {1, 0, 0, 0, 0, 2, 0, 0}};
  EXPECT_FALSE(FactsOf(attributes).dense) << "counts in a dense file";
  attributes.features = {.rows = 2, .cols = 1, .values = {1, 2}};
  EXPECT_TRUE(FactsOf(attributes).dense);
  attributes.features = {};
  EXPECT_FALSE(FactsOf(attributes).dense);
}

TEST(NominalSeconds, OfNetworksOfThePriorCountTheFeaturesThatTheyGet) {
  Candidate gcn{.prior = Prior::kAttributed, .variant = Variant::kHard};
  ProblemSize dense = kSmall;
  dense.scaled_values *= 100;
  EXPECT_GT(NominalSeconds(gcn, dense), 2 * NominalSeconds(gcn, kSmall));
  EXPECT_GT(TrainingBytes(gcn, dense), 2 * TrainingBytes(gcn, kSmall));
  gcn.prior = Prior::kBeta;
  EXPECT_EQ(NominalSeconds(gcn, dense), NominalSeconds(gcn, kSmall));
}

TEST(CheckTrainable, RefusesToMakeMoreOfSignedFeaturesThanTheMemoryHolds) {
  TrainingFacts facts = Facts(3'000, true);
  EXPECT_TRUE(CheckTrainable(AttributedSpec(24), facts, {}).ok());
  facts.features = 1'000'000;
  ExpectRefused(AttributedSpec(24), facts, {}, "3000 nodes by 1000000 columns would be 12.0 GB", "--prior beta");
  facts.dense = false;
  EXPECT_TRUE(CheckTrainable(AttributedSpec(24), facts, {}).ok()) << "counts stay sparse";
}

// ---- the choice ----

Tried Of(double loss, double accuracy, double test = 0) {
  return {.validation_loss = loss, .validation_accuracy = accuracy, .test_accuracy = test};
}

TEST(Choice, WeighsAccuracyAndLossAndNeverTheTestNodes) {
  EXPECT_TRUE(IsBetter(Of(0.5, 0.8), Of(0.5, 0.7), Prior::kAttributed));
  EXPECT_TRUE(IsBetter(Of(0.5, 0.8), Of(0.6, 0.8), Prior::kAttributed));
  EXPECT_FALSE(IsBetter(Of(0.5, 0.8, 0.99), Of(0.5, 0.8, 0.1), Prior::kAttributed));
  EXPECT_FALSE(IsBetter(Of(0.5, 0.8, 0.1), Of(0.5, 0.8, 0.99), Prior::kAttributed));
  EXPECT_DOUBLE_EQ(Score(Of(0.5, 0.8), Prior::kBeta), 0.8 - 0.2 * 0.5) << "as it always was";
}

TEST(Choice, WhatWasNotTrainedIsNeverBetter) {
  Tried skipped = Of(0, 1);
  skipped.skipped = "diverged";
  EXPECT_FALSE(IsBetter(skipped, Of(9, 0), Prior::kAttributed));
  EXPECT_TRUE(IsBetter(Of(9, 0), skipped, Prior::kAttributed));
}

Tried MeanWith(double score, size_t members) {
  Tried tried = Of(0, score);
  tried.candidate.members.resize(members);
  return tried;
}

TEST(Choice, OfWhatIsEquallyGoodToWithinAValidationNodeItTakesTheMeanOfTheMost) {
  const std::vector<Tried> tried = {Of(0, 0.93), MeanWith(0.915, 3), MeanWith(0.92, 2), MeanWith(0.91, 3),
                                    MeanWith(0.87, 4)};
  EXPECT_EQ(ChooseCandidate(tried, Prior::kAttributed, 20), 1u) << "0.05 is one of 20 nodes";
  EXPECT_EQ(ChooseCandidate(tried, Prior::kAttributed, 90), 2u);
  EXPECT_EQ(ChooseCandidate(tried, Prior::kAttributed, 500), 0u) << "0.01 is five of 500";
}

TEST(Choice, WithoutMeansItTakesTheBestAndOfEqualsTheFirst) {
  Tried skipped = Of(0, 1);
  skipped.skipped = "diverged";
  EXPECT_EQ(ChooseCandidate({skipped, Of(0, 0.90), Of(0, 0.91), Of(0, 0.91)}, Prior::kAttributed, 10), 2u);
  EXPECT_EQ(ChooseCandidate({Of(9, 0), skipped}, Prior::kAttributed, 10), 0u);
}

TEST(Choice, WhatWasNotTrainedIsNeverNearTheBestHoweverLowTheScoresAre) {
  const Tried best = Of(9, 0.5);
  const double score = Score(best, Prior::kAttributed);
  ASSERT_LT(score, 0);
  EXPECT_TRUE(IsNear(best, score, Prior::kAttributed));
  EXPECT_TRUE(IsNear(Of(9, 0.48), score, Prior::kAttributed));
  EXPECT_FALSE(IsNear(Of(9, 0.46), score, Prior::kAttributed));
  Tried skipped;
  skipped.skipped = "diverged";
  EXPECT_FALSE(IsNear(skipped, score, Prior::kAttributed));
  EXPECT_FALSE(IsNear(Of(std::nan(""), 0.9), score, Prior::kAttributed));
  EXPECT_TRUE(IsNear(Of(9, 0.38), score, Prior::kAttributed, NearScoreOf(100))) << "0.13: by few nodes much is near";
  EXPECT_FALSE(IsNear(Of(9, 0.36), score, Prior::kAttributed, NearScoreOf(100)));
}

Candidate Kind(Prior prior, Model model) {
  Candidate candidate{.prior = prior};
  if (model != Model::kMlp && model != Model::kFeatureClassifier) candidate.variant = Variant::kSoft;
  candidate.options.model = model;
  return candidate;
}

Tried Trained(Prior prior, Model model, double accuracy) {
  Tried tried = Of(0, accuracy);
  tried.candidate = Kind(prior, model);
  return tried;
}

TEST(Choice, ByAnotherMeasureTheAccuracyCountsNothing) {
  Tried accurate = Of(0.5, 0.9), balanced = Of(0.5, 0.7);
  accurate.validation_measure = 0.4;
  balanced.validation_measure = 0.6;
  EXPECT_TRUE(IsBetter(balanced, accurate, Prior::kBeta));
  EXPECT_EQ(ChooseCandidate({accurate, balanced}, Prior::kAttributed, 100), 1u);
  EXPECT_DOUBLE_EQ(Score(balanced, Prior::kBeta), 0.6 - 0.2 * 0.5);
}

TEST(Choice, TheBestOfTheFeaturesAloneIsOfWhatReadsNoReport) {
  Tried of_features = Trained(Prior::kAttributed, Model::kEnsemble, 0.79);
  of_features.candidate.members = {"class-model", "mlp"};
  Tried mixed = Trained(Prior::kAttributed, Model::kEnsemble, 0.95);
  mixed.candidate.members = {"class-model", "stacked soft attributed"};
  Tried skipped = Trained(Prior::kBeta, Model::kMlp, 0.99);
  skipped.skipped = "diverged";
  std::vector<Tried> tried = {Trained(Prior::kAttributed, Model::kStacked, 0.9), skipped,
                              Trained(Prior::kBeta, Model::kMlp, 0.7),
                              Trained(Prior::kAttributed, Model::kFeatureClassifier, 0.78), mixed};
  EXPECT_EQ(BestFeaturesOnly(tried, Prior::kAttributed), 3u);
  tried.push_back(of_features);
  EXPECT_EQ(BestFeaturesOnly(tried, Prior::kAttributed), 5u);
}

TEST(Choice, WhereEverythingReadsReportsThereIsNoBestOfTheFeatures) {
  EXPECT_EQ(BestFeaturesOnly({}, Prior::kBeta), std::nullopt);
  EXPECT_EQ(BestFeaturesOnly({Trained(Prior::kBeta, Model::kGcn, 0.9)}, Prior::kBeta), std::nullopt);
}

TEST(Choice, MeansAreOfUnlikeModelsAndNoneIsTriedTwice) {
  const std::vector<Candidate> kinds = {
      Kind(Prior::kAttributed, Model::kGcn), Kind(Prior::kAttributed, Model::kStacked),
      Kind(Prior::kAttributed, Model::kGraphSage), Kind(Prior::kBeta, Model::kGat), Kind(Prior::kBeta, Model::kMlp)};
  const auto means = EnsemblesToTry(kinds);
  EXPECT_THAT(means, ::testing::UnorderedElementsAre(ElementsAre(0, 1), ElementsAre(1, 2), ElementsAre(0, 1, 2),
                                                     ElementsAre(0, 1, 2, 3), ElementsAre(0, 2)));
}

TEST(Choice, TheStackedModelsOfBothPriorsMakeAMean) {
  const std::vector<Candidate> kinds = {Kind(Prior::kAttributed, Model::kGcn), Kind(Prior::kBeta, Model::kStacked),
                                        Kind(Prior::kBeta, Model::kGat), Kind(Prior::kBeta, Model::kMlp),
                                        Kind(Prior::kAttributed, Model::kStacked)};
  EXPECT_THAT(EnsemblesToTry(kinds), ::testing::Contains(ElementsAre(1, 4)));
}

TEST(Choice, TheMeanWithTheBetaPriorIsWithANetworkOfItHoweverGoodItsStackedModel) {
  const std::vector<Candidate> kinds = {Kind(Prior::kBeta, Model::kStacked), Kind(Prior::kAttributed, Model::kStacked),
                                        Kind(Prior::kAttributed, Model::kGcn),
                                        Kind(Prior::kAttributed, Model::kGraphSage),
                                        Kind(Prior::kBeta, Model::kGraphSage)};
  EXPECT_THAT(EnsemblesToTry(kinds), ::testing::Contains(ElementsAre(1, 2, 3, 4)));
}

TEST(Choice, ThereIsNoMeanOfOneOrOfNone) {
  EXPECT_TRUE(EnsemblesToTry({}).empty());
  EXPECT_TRUE(EnsemblesToTry({Kind(Prior::kAttributed, Model::kGcn)}).empty());
  EXPECT_EQ(EnsemblesToTry({Kind(Prior::kAttributed, Model::kGcn), Kind(Prior::kBeta, Model::kGcn)}).size(), 1u);
}

}  // namespace
}  // namespace blink
