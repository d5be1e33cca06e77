#include "common/wire/training_spec.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

TEST(TrainingSpec, FillsWhatIsUnset) {
  const auto spec = NormalizeTrainingSpec({});
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->prior(), v1::PRIOR_BETA);
  EXPECT_EQ(spec->variant(), v1::VARIANT_HARD);
  EXPECT_EQ(spec->model(), v1::MODEL_GCN);
  EXPECT_EQ(spec->learning_rate(), 0.01);
  EXPECT_EQ(spec->weight_decay(), 1e-4);
  EXPECT_EQ(spec->dropout(), 0.1);
  EXPECT_EQ(spec->epochs(), 300u);
  EXPECT_EQ(spec->hidden(), 16u);
  EXPECT_EQ(spec->layers(), 2u);
  EXPECT_EQ(spec->device(), "auto");
  EXPECT_EQ(NormalizeTrainingSpec(*spec)->SerializeAsString(), spec->SerializeAsString());
}

TEST(TrainingSpec, KeepsAZeroThatWasMeant) {
  v1::TrainingSpec spec;
  spec.set_weight_decay(0);
  spec.set_dropout(0);
  const auto normal = NormalizeTrainingSpec(spec);
  EXPECT_EQ(normal->weight_decay(), 0.0);
  EXPECT_EQ(normal->dropout(), 0.0);
}

TEST(TrainingSpec, LeavesOpenWhatIsSearched) {
  v1::TrainingSpec spec;
  spec.set_candidates(9);
  spec.set_dropout(0);
  const auto normal = NormalizeTrainingSpec(spec);
  ASSERT_TRUE(normal.ok()) << normal.status();
  EXPECT_EQ(normal->variant(), v1::VARIANT_UNSPECIFIED);
  EXPECT_EQ(normal->model(), v1::MODEL_UNSPECIFIED);
  EXPECT_EQ(normal->learning_rate(), 0);
  EXPECT_FALSE(normal->has_weight_decay());
  EXPECT_TRUE(normal->has_dropout());
  EXPECT_EQ(normal->epochs(), 300u) << "what is not searched has its default";
  EXPECT_EQ(NormalizeTrainingSpec(*normal)->SerializeAsString(), normal->SerializeAsString());
}

TEST(TrainingSpec, TheAttributedPriorSearchesUnlessToldNotTo) {
  v1::TrainingSpec spec;
  spec.set_prior(v1::PRIOR_ATTRIBUTED);
  const auto normal = NormalizeTrainingSpec(spec);
  ASSERT_TRUE(normal.ok()) << normal.status();
  EXPECT_EQ(normal->candidates(), kCandidatesDefault);
  EXPECT_EQ(normal->model(), v1::MODEL_UNSPECIFIED);
  EXPECT_EQ(NormalizeTrainingSpec(*normal)->SerializeAsString(), normal->SerializeAsString());
  spec.set_candidates(5);
  EXPECT_EQ(NormalizeTrainingSpec(spec)->candidates(), 5u);
  spec.set_candidates(0);
  EXPECT_EQ(NormalizeTrainingSpec(spec)->candidates(), 0u);
  EXPECT_NE(NormalizeTrainingSpec(spec)->model(), v1::MODEL_UNSPECIFIED);
}

template <typename Change>
void ExpectSpecRefused(Change change, const char* why) {
  v1::TrainingSpec spec;
  change(spec);
  const auto normal = NormalizeTrainingSpec(spec);
  EXPECT_EQ(normal.status().code(), absl::StatusCode::kInvalidArgument) << why;
  EXPECT_THAT(std::string(normal.status().message()), HasSubstr(why));
}

TEST(TrainingSpec, TakesEveryNumberAtTheEndsOfItsRange) {
  const auto expect_taken = [](const std::function<void(v1::TrainingSpec&)>& change, const char* what) {
    v1::TrainingSpec spec;
    change(spec);
    const auto normal = NormalizeTrainingSpec(spec);
    EXPECT_TRUE(normal.ok()) << what << ": " << normal.status();
  };
  for (const double end : {1e-9, 10.0})
    expect_taken([&](v1::TrainingSpec& s) { s.set_learning_rate(end); }, "learning_rate");
  for (const double end : {0.0, 1.0})
    expect_taken([&](v1::TrainingSpec& s) { s.set_weight_decay(end); }, "weight_decay");
  for (const double end : {0.0, std::nextafter(1.0, 0.0)})
    expect_taken([&](v1::TrainingSpec& s) { s.set_dropout(end); }, "dropout");
  for (const uint32_t end : {1u, 100'000u}) expect_taken([&](v1::TrainingSpec& s) { s.set_epochs(end); }, "epochs");
  for (const uint32_t end : {1u, 4096u}) expect_taken([&](v1::TrainingSpec& s) { s.set_hidden(end); }, "hidden");
  for (const uint32_t end : {1u, 8u}) expect_taken([&](v1::TrainingSpec& s) { s.set_layers(end); }, "layers");
  for (const uint32_t end : {0u, 100'000u}) expect_taken([&](v1::TrainingSpec& s) { s.set_patience(end); }, "patience");
  for (const uint32_t end : {0u, 1u, 10'000'000u}) {
    expect_taken([&](v1::TrainingSpec& s) { s.set_batch_nodes(end); }, "batch_nodes");
  }
  for (const uint32_t end : {1u, 1'000'000u}) {
    expect_taken(
        [&](v1::TrainingSpec& s) {
          s.set_batch_nodes(64);
          s.add_fan_out(end);
          s.add_fan_out(end);
        },
        "fan_out");
  }
  for (const uint32_t end : {0u, 1000u}) {
    expect_taken([&](v1::TrainingSpec& s) { s.set_candidates(end); }, "candidates");
  }
}

TEST(TrainingSpec, RefusesEveryFieldOutOfRange) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {-0.1, 1e-320, 9e-10, 10.1, nan, infinity}) {
    ExpectSpecRefused([&](v1::TrainingSpec& s) { s.set_learning_rate(bad); }, "training.learning_rate");
  }
  for (const double bad : {-0.1, 1.1, nan, infinity}) {
    ExpectSpecRefused([&](v1::TrainingSpec& s) { s.set_weight_decay(bad); }, "training.weight_decay");
  }
  for (const double bad : {-0.1, 1.0, nan, infinity}) {
    ExpectSpecRefused([&](v1::TrainingSpec& s) { s.set_dropout(bad); }, "training.dropout");
  }
  ExpectSpecRefused([](v1::TrainingSpec& s) { s.set_epochs(100'001); }, "training.epochs");
  ExpectSpecRefused([](v1::TrainingSpec& s) { s.set_hidden(4097); }, "training.hidden");
  ExpectSpecRefused([](v1::TrainingSpec& s) { s.set_layers(9); }, "training.layers");
  ExpectSpecRefused([](v1::TrainingSpec& s) { s.set_patience(100'001); }, "training.patience");
  ExpectSpecRefused([](v1::TrainingSpec& s) { s.set_batch_nodes(10'000'001); }, "training.batch_nodes");
  for (const uint32_t bad : {0u, 1'000'001u}) {
    ExpectSpecRefused(
        [&](v1::TrainingSpec& s) {
          s.set_batch_nodes(64);
          s.add_fan_out(10);
          s.add_fan_out(bad);
        },
        "training.fan_out");
  }
  ExpectSpecRefused([](v1::TrainingSpec& s) { s.set_candidates(1001); }, "training.candidates");
  ExpectSpecRefused(
      [](v1::TrainingSpec& s) {
        s.set_candidates(2);
        s.set_learning_rate(-1);
      },
      "training.learning_rate");
  ExpectSpecRefused([](v1::TrainingSpec& s) { s.set_node_features(static_cast<v1::NodeFeatures>(9)); },
                    "training.node_features is 9");
  ExpectSpecRefused([](v1::TrainingSpec& s) { s.set_prior(static_cast<v1::Prior>(3)); }, "training.prior is 3");
  ExpectSpecRefused([](v1::TrainingSpec& s) { s.set_variant(static_cast<v1::Variant>(77)); }, "training.variant is 77");
  ExpectSpecRefused([](v1::TrainingSpec& s) { s.set_model(static_cast<v1::Model>(77)); }, "training.model is 77");
  ExpectSpecRefused([](v1::TrainingSpec& s) { s.set_out_of_memory(static_cast<v1::OutOfMemory>(9)); },
                    "training.out_of_memory is 9");
  ExpectSpecRefused([](v1::TrainingSpec& s) { s.set_score(static_cast<v1::Measure>(4)); }, "training.score is 4");
}

TEST(TrainingSpec, RefusesAScoreWithoutASearchThatItWouldChooseIn) {
  for (const v1::Measure score : {v1::MEASURE_MACRO_F1, v1::MEASURE_ROC_AUC}) {
    ExpectSpecRefused([&](v1::TrainingSpec& s) { s.set_score(score); }, "ask for a search (--tune)");
    ExpectSpecRefused(
        [&](v1::TrainingSpec& s) {
          s.set_prior(v1::PRIOR_ATTRIBUTED);
          s.set_candidates(0);
          s.set_score(score);
        },
        MeasureName(FromProto(score)));
    v1::TrainingSpec spec;
    spec.set_score(score);
    spec.set_candidates(3);
    EXPECT_EQ(NormalizeTrainingSpec(spec)->score(), score);
    spec.clear_candidates();
    spec.set_prior(v1::PRIOR_ATTRIBUTED);
    EXPECT_EQ(NormalizeTrainingSpec(spec)->score(), score) << "the attributed prior searches";
  }
}

TEST(TrainingSpec, AccuracyIsWhatARoundWithoutAScoreChoosesBy) {
  v1::TrainingSpec spec;
  spec.set_score(v1::MEASURE_ACCURACY);
  EXPECT_EQ(NormalizeTrainingSpec(spec)->SerializeAsString(), NormalizeTrainingSpec({})->SerializeAsString());
  EXPECT_EQ(FromProto(v1::MEASURE_UNSPECIFIED), Measure::kAccuracy);
}

TEST(TrainingSpec, TheScoreOfARoundHoldsForAnotherSearchAndEndsWithIt) {
  v1::TrainingSpec of_round;
  of_round.set_candidates(8);
  of_round.set_score(v1::MEASURE_ROC_AUC);
  v1::TrainingSpec given;
  EXPECT_EQ(OverrideTrainingSpec(of_round, given).score(), v1::MEASURE_ROC_AUC);
  given.set_prior(v1::PRIOR_ATTRIBUTED);
  EXPECT_EQ(OverrideTrainingSpec(of_round, given).score(), v1::MEASURE_ROC_AUC) << "that prior searches";
  given.set_candidates(0);
  EXPECT_TRUE(NormalizeTrainingSpec(OverrideTrainingSpec(of_round, given)).ok());
  given.clear_prior();
  EXPECT_TRUE(NormalizeTrainingSpec(OverrideTrainingSpec(of_round, given)).ok());
  given.set_candidates(3);
  given.set_score(v1::MEASURE_ACCURACY);
  EXPECT_EQ(NormalizeTrainingSpec(OverrideTrainingSpec(of_round, given))->score(), v1::MEASURE_UNSPECIFIED);
  of_round.set_prior(v1::PRIOR_ATTRIBUTED);
  given.Clear();
  given.set_prior(v1::PRIOR_BETA);
  EXPECT_TRUE(NormalizeTrainingSpec(OverrideTrainingSpec(of_round, given)).ok()) << "no search follows";
}

TEST(TrainingSpec, RefusesAModelThatThePriorDoesNotHave) {
  for (const v1::Model model : {v1::MODEL_STACKED, v1::MODEL_CLASS_MODEL}) {
    for (const v1::Prior prior : {v1::PRIOR_UNSPECIFIED, v1::PRIOR_BETA}) {
      ExpectSpecRefused(
          [&](v1::TrainingSpec& s) {
            s.set_prior(prior);
            s.set_model(model);
          },
          "which the attributed prior alone has");
    }
    v1::TrainingSpec spec;
    spec.set_prior(v1::PRIOR_ATTRIBUTED);
    spec.set_model(model);
    EXPECT_TRUE(NormalizeTrainingSpec(spec).ok());
  }
}

TEST(TrainingSpec, RefusesAVariantForTheStackedModelButSoft) {
  for (const uint32_t candidates : {0u, 24u}) {
    for (const v1::Variant variant : {v1::VARIANT_HARD, v1::VARIANT_HYBRID}) {
      ExpectSpecRefused(
          [&](v1::TrainingSpec& s) {
            s.set_prior(v1::PRIOR_ATTRIBUTED);
            s.set_model(v1::MODEL_STACKED);
            s.set_candidates(candidates);
            s.set_variant(variant);
          },
          "training.variant");
    }
    v1::TrainingSpec spec;
    spec.set_prior(v1::PRIOR_ATTRIBUTED);
    spec.set_model(v1::MODEL_STACKED);
    spec.set_candidates(candidates);
    const auto normal = NormalizeTrainingSpec(spec);
    ASSERT_TRUE(normal.ok());
    EXPECT_TRUE(NormalizeTrainingSpec(*normal).ok());
  }
}

TEST(TrainingSpec, RefusesADeviceItCannotMean) {
  for (const char* bad : {"gpu", "cuda", "cuda:", "cuda:x", "cuda:01", "cuda:-1", "cuda:1000", "CPU", "cpu "}) {
    ExpectSpecRefused([&](v1::TrainingSpec& s) { s.set_device(bad); }, "training.device");
  }
  for (const char* good : {"auto", "cpu", "cuda:0", "cuda:12"}) {
    v1::TrainingSpec spec;
    spec.set_device(good);
    EXPECT_TRUE(NormalizeTrainingSpec(spec).ok()) << good;
  }
}

TEST(TrainingSpec, TakesTheNumbersDefaultsFromTheOnePlaceThatChecksThem) {
  EXPECT_TRUE(CheckTrainingNumbers({}).ok());
  const auto spec = NormalizeTrainingSpec({});
  EXPECT_EQ(spec->learning_rate(), TrainingNumbers{}.learning_rate);
  EXPECT_EQ(spec->epochs(), TrainingNumbers{}.epochs);
}

TEST(TrainingSpec, TheWiresChoicesStandForTheDomainsAndBack) {
  for (size_t k = 0; k < kVariantNames.size(); ++k) {
    const auto variant = static_cast<Variant>(k);
    EXPECT_EQ(FromProto(ToProto(variant)), variant);
    EXPECT_STREQ(VariantName(ToProto(variant)), kVariantNames[k]);
  }
  for (size_t k = 0; k < kModelsToAskFor; ++k) {
    const auto model = static_cast<Model>(k);
    EXPECT_EQ(FromProto(ToProto(model)), model);
    EXPECT_STREQ(ModelName(ToProto(model)), kModelNames[k]);
  }
  for (size_t k = 0; k < kPriorNames.size(); ++k) {
    const auto prior = static_cast<Prior>(k);
    EXPECT_EQ(FromProto(ToProto(prior)), prior);
    EXPECT_STREQ(PriorName(ToProto(prior)), kPriorNames[k]);
    EXPECT_EQ(PriorOfName(kPriorNames[k]), ToProto(prior));
  }
  EXPECT_FALSE(FromProto(v1::PRIOR_UNSPECIFIED).has_value());
  EXPECT_FALSE(PriorOfName("unspecified").has_value());
  for (size_t k = 1; k < kNodeFeaturesNames.size(); ++k) {
    const auto kind = static_cast<NodeFeatures>(k);
    EXPECT_EQ(FromProto(ToProto(kind)), kind);
    EXPECT_STREQ(NodeFeaturesName(ToProto(kind)), kNodeFeaturesNames[k]);
  }
  EXPECT_FALSE(FromProto(v1::VARIANT_UNSPECIFIED).has_value());
  EXPECT_FALSE(FromProto(static_cast<v1::Model>(77)).has_value());
  EXPECT_FALSE(FromProto(static_cast<v1::NodeFeatures>(-1)).has_value());
  EXPECT_EQ(FromProto(v1::NODE_FEATURES_UNSPECIFIED), NodeFeatures::kAuto);
}

TEST(TrainingSpec, AnotherPriorThanTheRoundsBeginsAnew) {
  v1::TrainingSpec of_round, given;
  of_round.set_model(v1::MODEL_GAT);
  of_round.set_variant(v1::VARIANT_SOFT);
  of_round.set_dropout(0.4);
  of_round.set_epochs(70);
  of_round.set_candidates(3);
  of_round.set_hidden(16);
  given.set_prior(v1::PRIOR_BETA);
  EXPECT_EQ(OverrideTrainingSpec(of_round, given).model(), v1::MODEL_GAT)
      << "an old round, which names no prior, is of beta";
  given.set_prior(v1::PRIOR_ATTRIBUTED);
  given.set_variant(v1::VARIANT_HYBRID);
  const v1::TrainingSpec spec = OverrideTrainingSpec(of_round, given);
  EXPECT_EQ(spec.prior(), v1::PRIOR_ATTRIBUTED);
  EXPECT_EQ(spec.model(), v1::MODEL_UNSPECIFIED);
  EXPECT_EQ(spec.variant(), v1::VARIANT_HYBRID);
  EXPECT_FALSE(spec.has_dropout());
  EXPECT_FALSE(spec.has_candidates());
  EXPECT_EQ(spec.hidden(), 0u);
  EXPECT_EQ(spec.epochs(), 70u);
  of_round.set_prior(v1::PRIOR_ATTRIBUTED);
  EXPECT_EQ(OverrideTrainingSpec(of_round, given).candidates(), 3u) << "the same prior: the round's choices hold";
}

TEST(TrainingSpec, WhatIsGivenGoesBeforeWhatTheRoundSays) {
  v1::TrainingSpec of_round, given;
  of_round.set_model(v1::MODEL_GAT);
  of_round.set_variant(v1::VARIANT_SOFT);
  of_round.set_learning_rate(0.5);
  of_round.set_dropout(0.4);
  of_round.set_balance_classes(true);
  of_round.set_epochs(70);
  given.set_model(v1::MODEL_GCN);
  given.set_balance_classes(false);
  given.set_weight_decay(0);
  const v1::TrainingSpec spec = OverrideTrainingSpec(of_round, given);
  EXPECT_EQ(spec.model(), v1::MODEL_GCN);
  EXPECT_EQ(spec.variant(), v1::VARIANT_SOFT);
  EXPECT_EQ(spec.learning_rate(), 0.5);
  EXPECT_TRUE(spec.has_weight_decay());
  EXPECT_FALSE(spec.balance_classes()) << "what is given as no overrides a yes";
  EXPECT_EQ(spec.epochs(), 70u);
}

v1::TrainingSpec InBatches(uint32_t batch_nodes, const std::vector<uint32_t>& fan_out) {
  v1::TrainingSpec spec;
  spec.set_batch_nodes(batch_nodes);
  spec.mutable_fan_out()->Assign(fan_out.begin(), fan_out.end());
  return spec;
}

TEST(TrainingSpec, BatchesDrawTenLinksOfANodeALayerWhereNobodySaysHowMany) {
  v1::TrainingSpec spec = InBatches(512, {});
  spec.set_layers(3);
  const v1::TrainingSpec normal = NormalizeTrainingSpec(spec).value();
  EXPECT_THAT(normal.fan_out(), ::testing::ElementsAre(10, 10, 10));
  EXPECT_EQ(NormalizeTrainingSpec(normal)->SerializeAsString(), normal.SerializeAsString());
  EXPECT_EQ(NormalizeTrainingSpec(v1::TrainingSpec())->fan_out_size(), 0);
  EXPECT_EQ(NormalizeTrainingSpec(InBatches(0, {}))->fan_out_size(), 0);
}

TEST(TrainingSpec, RefusesBatchesOfWhatHasNone) {
  const auto refused = [](v1::TrainingSpec spec, const std::string& why) {
    const absl::Status status = NormalizeTrainingSpec(std::move(spec)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << why;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  };
  refused(InBatches(0, {10, 10}), "training.fan_out is set, but nothing is sampled without batches: say how many");
  refused(InBatches(64, {10}), "training.fan_out has 1 number, but there are 2 layers: give one number for each");
  refused(InBatches(64, {10, 10, 10}), "training.fan_out has 3 numbers, but there are 2 layers");
  v1::TrainingSpec spec = InBatches(64, {10, 10});
  spec.set_variant(v1::VARIANT_SOFT);
  refused(spec, "choose hard or hybrid links (--variant hard), or no batches (--batch-nodes 0)");
  spec.set_candidates(10);
  refused(spec, "training.batch_nodes is 64, but on soft links");
  spec.set_candidates(0);
  spec.set_model(v1::MODEL_MLP);
  EXPECT_TRUE(NormalizeTrainingSpec(spec).ok()) << "which reads no link";
  for (const v1::Model model : {v1::MODEL_STACKED, v1::MODEL_CLASS_MODEL}) {
    spec = InBatches(64, {10, 10});
    spec.set_prior(v1::PRIOR_ATTRIBUTED);
    spec.set_candidates(0);
    spec.set_model(model);
    refused(spec, "is no network and knows no batches: choose gcn, graphsage or gat");
  }
}

TEST(TrainingSpec, AFanOutThatIsGivenReplacesTheRoundsAndFallsWithItsLayersOrBatches) {
  const v1::TrainingSpec of_round = NormalizeTrainingSpec(InBatches(512, {25, 10})).value();
  const auto with = [&](const v1::TrainingSpec& given) {
    return NormalizeTrainingSpec(OverrideTrainingSpec(of_round, given)).value();
  };
  EXPECT_THAT(with({}).fan_out(), ::testing::ElementsAre(25, 10));
  EXPECT_THAT(with(InBatches(64, {5, 3})).fan_out(), ::testing::ElementsAre(5, 3));
  EXPECT_EQ(with(InBatches(64, {5, 3})).batch_nodes(), 64u);
  v1::TrainingSpec given;
  given.set_batch_nodes(64);
  EXPECT_THAT(with(given).fan_out(), ::testing::ElementsAre(25, 10));
  given.set_batch_nodes(0);
  EXPECT_EQ(with(given).fan_out_size(), 0);
  given = {};
  given.set_layers(3);
  EXPECT_THAT(with(given).fan_out(), ::testing::ElementsAre(10, 10, 10));
  given.set_layers(2);
  EXPECT_THAT(with(given).fan_out(), ::testing::ElementsAre(25, 10));
}

TEST(TrainingSpec, ASearchThatIsGivenIsNotBoundByTheRoundsChoicesAndOneThatIsTakenBackEnds) {
  v1::TrainingSpec of_round, given;
  of_round.set_model(v1::MODEL_GAT);
  of_round.set_learning_rate(0.5);
  of_round.set_hidden(32);
  given.set_candidates(5);
  given.set_variant(v1::VARIANT_HARD);
  v1::TrainingSpec spec = NormalizeTrainingSpec(OverrideTrainingSpec(of_round, given)).value();
  EXPECT_EQ(spec.candidates(), 5u);
  EXPECT_EQ(spec.model(), v1::MODEL_UNSPECIFIED);
  EXPECT_EQ(spec.variant(), v1::VARIANT_HARD);
  EXPECT_EQ(spec.learning_rate(), 0);
  EXPECT_EQ(spec.hidden(), 32u);
  of_round = {};
  of_round.set_candidates(24);
  of_round.set_dropout(0.3);
  given = {};
  given.set_candidates(0);
  spec = NormalizeTrainingSpec(OverrideTrainingSpec(of_round, given)).value();
  EXPECT_EQ(spec.candidates(), 0u);
  EXPECT_EQ(spec.model(), v1::MODEL_GCN) << "the default of what the search had left open";
  EXPECT_EQ(spec.dropout(), 0.3);
}

TEST(TrainingSpec, NamesGoBothWays) {
  for (const char* name : {"hard", "soft", "hybrid"}) EXPECT_STREQ(VariantName(VariantOfName(name).value()), name);
  for (const char* name : {"mlp", "gcn", "graphsage", "gat"}) EXPECT_STREQ(ModelName(ModelOfName(name).value()), name);
  for (const char* name : {"given", "degree", "identity", "given+degree"}) {
    EXPECT_STREQ(NodeFeaturesName(NodeFeaturesOfName(name).value()), name);
  }
  for (const char* bad : {"", "unspecified", "HARD", "soft "}) EXPECT_FALSE(VariantOfName(bad).has_value()) << bad;
  EXPECT_STREQ(ModelName(static_cast<v1::Model>(77)), "unspecified");
  EXPECT_STREQ(ModelName(static_cast<v1::Model>(-1)), "unspecified");
}

TEST(TrainingSpec, ASearchUnderTheAttributedPriorLeavesTheWidthOpen) {
  v1::TrainingSpec spec;
  spec.set_prior(v1::PRIOR_ATTRIBUTED);
  EXPECT_EQ(NormalizeTrainingSpec(spec)->hidden(), 0u);
  EXPECT_EQ(NormalizeTrainingSpec(*NormalizeTrainingSpec(spec))->hidden(), 0u);
  spec.set_hidden(24);
  EXPECT_EQ(NormalizeTrainingSpec(spec)->hidden(), 24u);
  spec.set_hidden(5000);
  EXPECT_EQ(NormalizeTrainingSpec(spec).status().code(), absl::StatusCode::kInvalidArgument);
  spec.clear_hidden();
  spec.set_candidates(0);
  EXPECT_EQ(NormalizeTrainingSpec(spec)->hidden(), 16u);
}

// ---- the model none ----

v1::TrainingSpec Nothing() {
  v1::TrainingSpec spec;
  spec.set_model(v1::MODEL_NONE);
  return spec;
}

TEST(TrainingSpec, TheModelNoneHasLinksAndNoNumberOfATraining) {
  EXPECT_EQ(ModelOfName("none"), v1::MODEL_NONE);
  for (const v1::Prior prior : {v1::PRIOR_UNSPECIFIED, v1::PRIOR_BETA, v1::PRIOR_ATTRIBUTED}) {
    v1::TrainingSpec spec = Nothing();
    spec.set_prior(prior);
    const auto normal = NormalizeTrainingSpec(spec);
    ASSERT_TRUE(normal.ok()) << normal.status();
    EXPECT_EQ(normal->variant(), v1::VARIANT_HYBRID);
    EXPECT_EQ(normal->candidates(), 0u) << "no search, under the attributed prior neither";
    EXPECT_EQ(normal->epochs(), 0u);
    EXPECT_EQ(NormalizeTrainingSpec(*normal)->SerializeAsString(), normal->SerializeAsString());
  }
  v1::TrainingSpec hard = Nothing();
  hard.set_variant(v1::VARIANT_HARD);
  EXPECT_EQ(NormalizeTrainingSpec(hard)->variant(), v1::VARIANT_HARD);
}

TEST(TrainingSpec, RefusesATrainingBesideTheModelNone) {
  const auto refused = [](const std::function<void(v1::TrainingSpec&)>& set, const std::string& field) {
    v1::TrainingSpec spec = Nothing();
    set(spec);
    const absl::Status status = NormalizeTrainingSpec(spec).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("training." + field + " is set, but the model none"), std::string::npos) << status;
  };
  refused([](v1::TrainingSpec& s) { s.set_candidates(24); }, "candidates");
  refused([](v1::TrainingSpec& s) { s.set_score(v1::MEASURE_MACRO_F1); }, "score");
  refused([](v1::TrainingSpec& s) { s.set_learning_rate(0.1); }, "learning_rate");
  refused([](v1::TrainingSpec& s) { s.set_weight_decay(0); }, "weight_decay");
  refused([](v1::TrainingSpec& s) { s.set_dropout(0); }, "dropout");
  refused([](v1::TrainingSpec& s) { s.set_epochs(300); }, "epochs");
  refused([](v1::TrainingSpec& s) { s.set_hidden(16); }, "hidden");
  refused([](v1::TrainingSpec& s) { s.set_layers(2); }, "layers");
  refused([](v1::TrainingSpec& s) { s.set_patience(0); }, "patience");
  refused([](v1::TrainingSpec& s) { s.set_balance_classes(true); }, "balance_classes");
  refused([](v1::TrainingSpec& s) { s.set_batch_nodes(64); }, "batch_nodes");
  refused([](v1::TrainingSpec& s) { s.add_fan_out(10); }, "fan_out");
  refused([](v1::TrainingSpec& s) { s.set_node_features(v1::NODE_FEATURES_DEGREE); }, "node_features");
  refused([](v1::TrainingSpec& s) { s.set_deterministic(true); }, "deterministic");
  refused([](v1::TrainingSpec& s) { s.set_allow_slow_attention(true); }, "allow_slow_attention");
  refused([](v1::TrainingSpec& s) { s.set_device("cuda:0"); }, "device");
}

TEST(TrainingSpec, BetweenAModelAndNoneNothingOfTheTrainingCarriesOver) {
  v1::TrainingSpec search;
  search.set_prior(v1::PRIOR_ATTRIBUTED);
  search.set_seed(7);
  search.set_hidden(32);
  v1::TrainingSpec spec =
      NormalizeTrainingSpec(OverrideTrainingSpec(*NormalizeTrainingSpec(search), Nothing())).value();
  EXPECT_EQ(spec.model(), v1::MODEL_NONE);
  EXPECT_EQ(spec.prior(), v1::PRIOR_ATTRIBUTED);
  EXPECT_EQ(spec.seed(), 7u);
  const v1::TrainingSpec of_nothing = NormalizeTrainingSpec(Nothing()).value();
  v1::TrainingSpec given;
  given.set_model(v1::MODEL_GCN);
  spec = NormalizeTrainingSpec(OverrideTrainingSpec(of_nothing, given)).value();
  EXPECT_EQ(spec.variant(), v1::VARIANT_HARD) << "the default of a model";
  given = {};
  given.set_candidates(5);
  EXPECT_EQ(OverrideTrainingSpec(of_nothing, given).model(), v1::MODEL_UNSPECIFIED);
  given = {};
  given.set_prior(v1::PRIOR_ATTRIBUTED);
  given.set_variant(v1::VARIANT_SOFT);
  spec = NormalizeTrainingSpec(OverrideTrainingSpec(of_nothing, given)).value();
  EXPECT_EQ(spec.model(), v1::MODEL_NONE);
  EXPECT_EQ(spec.variant(), v1::VARIANT_SOFT);
}

TEST(TrainingSpec, AnotherPriorIsNotBoundByTheRoundsWidth) {
  v1::TrainingSpec attributed;
  attributed.set_prior(v1::PRIOR_ATTRIBUTED);
  EXPECT_EQ(OverrideTrainingSpec(*NormalizeTrainingSpec({}), attributed).hidden(), 0u);
  attributed.set_hidden(32);
  EXPECT_EQ(OverrideTrainingSpec(*NormalizeTrainingSpec({}), attributed).hidden(), 32u);
}

}  // namespace
}  // namespace blink
