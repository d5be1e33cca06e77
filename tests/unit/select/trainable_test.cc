#include "aggregator_server/select/trainable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kUnsuitable = absl::StatusCode::kFailedPrecondition;

TrainingFacts Facts() {
  return {.nodes = 2708,
          .features = 1433,
          .feature_values = 49'216,
          .classes = 7,
          .labelled = 2708,
          .labelled_train = 1354,
          .labelled_validation = 677};
}
TrainingFacts WithoutFeatures() {
  TrainingFacts facts = Facts();
  facts.features = 0;
  facts.feature_values = 0;
  return facts;
}
TrainingFacts Large() {
  TrainingFacts facts = Facts();
  facts.nodes = 100'000;
  return facts;
}
TrainingPlace WithGpus(int count) {
  return {.flip_probability = 0.01, .gpus = Gpus{.count = count, .why_none = "no driver"}};
}

v1::TrainingSpec Spec(v1::Model model, v1::Variant variant = v1::VARIANT_UNSPECIFIED,
                      v1::NodeFeatures features = v1::NODE_FEATURES_UNSPECIFIED) {
  v1::TrainingSpec spec;
  spec.set_model(model);
  spec.set_variant(variant);
  spec.set_node_features(features);
  return spec;
}

void ExpectRefused(const v1::TrainingSpec& spec, const TrainingFacts& facts, const TrainingPlace& place,
                   absl::StatusCode code, const std::string& field, const std::string& remedy) {
  const absl::Status refused = CheckTrainable(spec, facts, place);
  EXPECT_EQ(refused.code(), code) << spec.ShortDebugString() << ": " << refused;
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr(field), HasSubstr(remedy))) << spec.ShortDebugString();
}

TEST(CheckTrainable, AcceptsEveryModelOnEveryVariantOfAGraphWithFeatures) {
  for (const v1::Model model : {v1::MODEL_MLP, v1::MODEL_GCN, v1::MODEL_GRAPHSAGE, v1::MODEL_GAT}) {
    for (const v1::Variant variant : {v1::VARIANT_HARD, v1::VARIANT_SOFT, v1::VARIANT_HYBRID}) {
      EXPECT_TRUE(CheckTrainable(Spec(model, variant), Facts(), WithGpus(0)).ok());
    }
  }
  EXPECT_TRUE(CheckTrainable({}, Facts(), {}).ok());
  EXPECT_TRUE(CheckTrainable({}, WithoutFeatures(), {}).ok()) << "one feature per node stands for them";
}

TEST(CheckTrainable, RefusesAFieldOutOfRange) {
  v1::TrainingSpec spec;
  spec.set_dropout(1);
  ExpectRefused(spec, Facts(), {}, kInvalid, "training.dropout is 1", "[0, 1)");
}

TEST(CheckTrainable, RefusesAnMlpThatWouldHaveToSeeLinks) {
  for (const v1::NodeFeatures kind : {v1::NODE_FEATURES_DEGREE, v1::NODE_FEATURES_GIVEN_AND_DEGREE}) {
    ExpectRefused(Spec(v1::MODEL_MLP, v1::VARIANT_HARD, kind), Facts(), {}, kInvalid, "training.node_features",
                  "identity");
  }
  EXPECT_TRUE(CheckTrainable(Spec(v1::MODEL_MLP), WithoutFeatures(), {}).ok())
      << "one feature per node stands for them";
  TrainingFacts very_large = WithoutFeatures();
  very_large.nodes = kIdentityNodesMax + 1;
  ExpectRefused(Spec(v1::MODEL_MLP), very_large, {}, kInvalid, "training.model is mlp", "identity");
  EXPECT_TRUE(
      CheckTrainable(Spec(v1::MODEL_MLP, v1::VARIANT_HARD, v1::NODE_FEATURES_IDENTITY), WithoutFeatures(), {}).ok());
}

TEST(CheckTrainable, RefusesGivenFeaturesThatThereAreNot) {
  for (const v1::NodeFeatures kind : {v1::NODE_FEATURES_GIVEN, v1::NODE_FEATURES_GIVEN_AND_DEGREE}) {
    ExpectRefused(Spec(v1::MODEL_GCN, v1::VARIANT_HARD, kind), WithoutFeatures(), {}, kInvalid,
                  "training.node_features", "features.npz");
  }
}

TEST(CheckTrainable, RefusesAGraphWithoutALabelToTrainOnOrToValidateWith) {
  TrainingFacts facts = Facts();
  facts.labelled_train = 0;
  ExpectRefused({}, facts, {}, kUnsuitable, "training split", "labels.csv");
  facts = Facts();
  facts.labelled_validation = 0;
  ExpectRefused({}, facts, {}, kUnsuitable, "validation split", "labels.csv");
  v1::TrainingSpec search;
  search.set_candidates(5);
  ExpectRefused(search, facts, {}, kUnsuitable, "validation split", "split.csv");
}

TrainingFacts WithoutLabels() {
  TrainingFacts facts = Facts();
  facts.classes = facts.labelled = facts.labelled_train = facts.labelled_validation = 0;
  return facts;
}
v1::TrainingSpec Attributed(v1::Model model) {
  v1::TrainingSpec spec = Spec(model);
  spec.set_prior(v1::PRIOR_ATTRIBUTED);
  return spec;
}

TEST(CheckTrainable, OfAGraphWithoutLabelsTakesTheModelNoneAlone) {
  EXPECT_TRUE(CheckTrainable(Spec(v1::MODEL_NONE), WithoutLabels(), {}).ok());
  EXPECT_TRUE(CheckTrainable(Spec(v1::MODEL_NONE), {.nodes = 2708}, {}).ok()) << "nothing at all is known of its nodes";
  EXPECT_TRUE(CheckTrainable(Attributed(v1::MODEL_NONE), WithoutLabels(), {}).ok()) << "the features are enough";
  v1::TrainingSpec search;
  search.set_candidates(5);
  for (const v1::TrainingSpec& spec : {v1::TrainingSpec{}, Spec(v1::MODEL_MLP), Spec(v1::MODEL_GAT), search,
                                       Attributed(v1::MODEL_UNSPECIFIED), Attributed(v1::MODEL_STACKED)}) {
    ExpectRefused(spec, WithoutLabels(), {}, kUnsuitable, "no node has a label", "--model none");
  }
}

// What the message advises, taken at its word.
v1::TrainingSpec AsAdvised(v1::TrainingSpec spec, absl::string_view message) {
  if (absl::StrContains(message, "--prior beta")) spec.set_prior(v1::PRIOR_BETA);
  if (absl::StrContains(message, "--model none, without other options of a training")) {
    const v1::Prior prior = spec.prior();
    spec = Spec(v1::MODEL_NONE);
    spec.set_prior(prior);
  }
  if (absl::StrContains(message, "--model gcn")) spec.set_model(v1::MODEL_GCN);
  return spec;
}

TEST(CheckTrainable, TakesWhatItAdvisesWhereALabelIsMissing) {
  TrainingFacts nothing{.nodes = 2708}, no_train = Facts(), no_validation = WithoutFeatures();
  no_train.labelled_train = 0;
  no_validation.labelled_validation = 0;
  v1::TrainingSpec search, short_one;
  search.set_candidates(5);
  short_one.set_epochs(5);
  for (const v1::TrainingSpec& spec : {v1::TrainingSpec{}, search, short_one, Spec(v1::MODEL_MLP),
                                       Attributed(v1::MODEL_UNSPECIFIED), Attributed(v1::MODEL_STACKED)}) {
    for (const TrainingFacts& facts : {nothing, WithoutLabels(), no_train, no_validation}) {
      const std::string refused(CheckTrainable(spec, facts, {}).message());
      ASSERT_THAT(refused, HasSubstr("--model none"));
      EXPECT_TRUE(CheckTrainable(AsAdvised(spec, refused), facts, {}).ok()) << refused;
    }
  }
}

TEST(CheckTrainable, OnGivenLinksDoesNotAdviseToTrainNothing) {
  TrainingFacts no_validation = Facts();
  no_validation.labelled_validation = 0;
  for (const TrainingFacts& facts : {WithoutLabels(), no_validation}) {
    const absl::Status refused = CheckTrainable({}, facts, {.estimated = false});
    EXPECT_EQ(refused.code(), kUnsuitable);
    EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("labels.csv"), Not(HasSubstr("--model none"))));
  }
}

TEST(CheckTrainable, TakesTheBetaPriorThatItAdvisesWithEveryModel) {
  TrainingFacts too_many = Facts(), too_wide = Facts();
  too_many.nodes = 5'000'000;
  too_wide.dense = true;
  too_wide.nodes = 100'000;
  too_wide.features = 100'000;
  for (const TrainingFacts& facts : {too_many, too_wide}) {
    for (const v1::Model model : {v1::MODEL_UNSPECIFIED, v1::MODEL_GCN, v1::MODEL_STACKED, v1::MODEL_CLASS_MODEL}) {
      v1::TrainingSpec spec = Attributed(model);
      spec.set_candidates(0);
      const std::string refused(CheckTrainable(spec, facts, {}).message());
      ASSERT_THAT(refused, HasSubstr("--prior beta"));
      EXPECT_TRUE(CheckTrainable(AsAdvised(spec, refused), facts, {}).ok()) << refused;
    }
  }
}

TEST(CheckTrainable, DoesNotAdviseTheDegreeToAModelThatSeesNoLink) {
  const auto refused = [](v1::Model model) {
    const v1::TrainingSpec spec = Spec(model, v1::VARIANT_HARD, v1::NODE_FEATURES_GIVEN);
    return std::string(CheckTrainable(spec, WithoutFeatures(), {}).message());
  };
  EXPECT_THAT(refused(v1::MODEL_GCN), HasSubstr("(degree)"));
  EXPECT_THAT(refused(v1::MODEL_MLP), AllOf(HasSubstr("(identity)"), Not(HasSubstr("(degree)"))));
}

TEST(CheckTrainable, RefusesTheAttributedPriorWhereNothingIsKnownOfTheNodes) {
  TrainingFacts facts = WithoutLabels();
  facts.features = 0;
  ExpectRefused(Attributed(v1::MODEL_NONE), facts, {}, kUnsuitable, "no features, and no labels", "--prior beta");
  facts.labelled = facts.labelled_train = 10;
  ExpectRefused(Attributed(v1::MODEL_NONE), facts, {}, kUnsuitable, "in the validation split", "features.npz");
  EXPECT_TRUE(CheckTrainable(Attributed(v1::MODEL_NONE), WithoutFeatures(), {}).ok()) << "labels alone are something";
}

TEST(CheckTrainable, RefusesTheModelNoneOnLinksThatAreGiven) {
  ExpectRefused(Spec(v1::MODEL_NONE), Facts(), {.estimated = false}, kInvalid, "training.model is none",
                "links are given");
}

TEST(CheckTrainable, RefusesAGpuThatIsNotThereWhereItIsKnown) {
  v1::TrainingSpec spec;
  spec.set_device("cuda:1");
  ExpectRefused(spec, Facts(), WithGpus(0), kUnsuitable, "training.device is cuda:1", "no driver");
  ExpectRefused(spec, Facts(), WithGpus(1), kUnsuitable, "training.device is cuda:1", "1 GPU(s)");
  EXPECT_TRUE(CheckTrainable(spec, Facts(), WithGpus(2)).ok());
  EXPECT_TRUE(CheckTrainable(spec, Facts(), {}).ok()) << "not known";
  for (const char* device : {"auto", "cpu"}) {
    spec.set_device(device);
    EXPECT_TRUE(CheckTrainable(spec, Facts(), WithGpus(0)).ok()) << device;
  }
}

TEST(CheckTrainable, RefusesAttentionOfHoursUnlessSomebodyInsists) {
  v1::TrainingSpec spec = Spec(v1::MODEL_GAT, v1::VARIANT_SOFT);
  ExpectRefused(spec, Large(), WithGpus(0), kInvalid, "hours of one core", "--allow-slow-attention");
  spec.set_allow_slow_attention(true);
  EXPECT_TRUE(CheckTrainable(spec, Large(), WithGpus(0)).ok());
  spec.set_allow_slow_attention(false);
  EXPECT_TRUE(CheckTrainable(spec, Large(), WithGpus(1)).ok()) << "a GPU does not take hours";
  spec.set_device("cpu");
  ExpectRefused(spec, Large(), WithGpus(1), kInvalid, "training.model is gat", "Hybrid");
  EXPECT_TRUE(CheckTrainable(Spec(v1::MODEL_GAT, v1::VARIANT_HYBRID), Large(), WithGpus(0)).ok());
  EXPECT_TRUE(CheckTrainable(Spec(v1::MODEL_GCN, v1::VARIANT_SOFT), Large(), WithGpus(0)).ok());
  EXPECT_TRUE(CheckTrainable(Spec(v1::MODEL_GAT, v1::VARIANT_SOFT), Facts(), WithGpus(0)).ok());
  TrainingPlace given = WithGpus(0);
  given.estimated = false;
  EXPECT_TRUE(CheckTrainable(Spec(v1::MODEL_GAT, v1::VARIANT_SOFT), Large(), given).ok())
      << "a given graph has no variants";
}

TEST(CheckTrainable, OfASearchOnePairThatCanBeTrainedIsEnough) {
  v1::TrainingSpec search;
  search.set_candidates(24);
  EXPECT_TRUE(CheckTrainable(search, Facts(), WithGpus(0)).ok());
  TrainingFacts very_large = WithoutFeatures();
  very_large.nodes = kIdentityNodesMax + 1;
  EXPECT_TRUE(CheckTrainable(search, very_large, WithGpus(0)).ok()) << "the MLP alone has no features";
  EXPECT_TRUE(CheckTrainable(search, Large(), WithGpus(0)).ok()) << "all but GAT on Soft";
}

TEST(CheckTrainable, RefusesASearchOfWhichNothingIsLeft) {
  v1::TrainingSpec search = Spec(v1::MODEL_MLP, v1::VARIANT_UNSPECIFIED, v1::NODE_FEATURES_DEGREE);
  search.set_candidates(24);
  ExpectRefused(search, Facts(), {}, kInvalid, "training.node_features", "identity");
  search = Spec(v1::MODEL_GAT, v1::VARIANT_SOFT);
  search.set_candidates(24);
  ExpectRefused(search, Large(), WithGpus(0), kInvalid, "training.candidates", "--allow-slow-attention");
  search.set_allow_slow_attention(true);
  EXPECT_TRUE(CheckTrainable(search, Large(), WithGpus(0)).ok());
}

TEST(CheckTrainable, TakesItsFactsFromTheAttributes) {
  NodeAttributes attributes{.node_count = 6, .class_count = 2};
  attributes.labels = {0, 1, -1, 1, -1, 0};
  attributes.split = {Split::kTrain,      Split::kTrain,      Split::kTrain,
                      Split::kValidation, Split::kValidation, Split::kTest};
  attributes.features = {
      .rows = 6, .cols = 3, .sparse = true, .row_offsets = {0, 1, 1, 1, 2, 2, 2}, .columns = {0, 2}, .values = {1, 1}};
  const TrainingFacts facts = FactsOf(attributes);
  EXPECT_EQ(facts.nodes, 6u);
  EXPECT_EQ(facts.features, 3u);
  EXPECT_EQ(facts.feature_values, 2u);
  EXPECT_EQ(facts.classes, 2u);
  EXPECT_EQ(facts.labelled, 4u);
  EXPECT_EQ(facts.labelled_train, 2u);
  EXPECT_EQ(facts.labelled_validation, 1u);
}

TEST(NominalSeconds, CountsWorkEvenWhereNoLinkIsExpected) {
  const ProblemSize none{.nodes = 100, .feature_values = 0, .classes = 2, .flip_probability = 0, .links = 0};
  for (const v1::Model model : {v1::MODEL_MLP, v1::MODEL_GCN, v1::MODEL_GRAPHSAGE, v1::MODEL_GAT}) {
    const Candidate candidate = CandidateFromSpec(Spec(model, v1::VARIANT_HARD)).value();
    EXPECT_GT(NominalSeconds(candidate, none), 0) << "progress is a share of it";
    ProblemSize many = none;
    many.links = 1e9;
    if (model == v1::MODEL_MLP) continue;
    EXPECT_GT(NominalSeconds(candidate, many), NominalSeconds(candidate, none));
  }
  Candidate candidate = CandidateFromSpec(Spec(v1::MODEL_GAT, v1::VARIANT_SOFT)).value();
  const double seconds = NominalSeconds(candidate, none);
  candidate.options.threads = 64;
  EXPECT_EQ(NominalSeconds(candidate, none), seconds) << "whatever the machine";
}

}  // namespace
}  // namespace blink
