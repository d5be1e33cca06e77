// A search under the attributed prior, on sources that are made by hand in place of the estimate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "aggregator_server/select/search.h"
#include "aggregator_server/train/log_probabilities.h"
#include "tests/unit/worker/small_round.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const ProblemSize kSmall{.nodes = 200,
                         .feature_values = 1200,
                         .scaled_values = 1200,
                         .classes = 3,
                         .flip_probability = 0.1,
                         .links = 400,
                         .attributed_links = 400,
                         .attributed_kept = 400};

class AttributedSearch : public ::testing::Test {
 protected:
  AttributedSearch() : data_(testing::SmallDataset()), hard_(LinkWeights::Unweighted(data_.graph)), soft_(hard_) {
    soft_.weighted = true;
    for (size_t k = 0; k < soft_.links.neighbours().size(); ++k) soft_.values.push_back(0.8f);
    Prepare();
  }
  // Of the labels that data_ has.
  void Prepare() {
    NodeProfiles profiles = MakeNodeProfiles(data_.attributes.features, 1);
    feature_classifier_ =
        FitFeatureClassifier(data_.attributes, profiles, {.folds = folds_ ? &*folds_ : nullptr, .seed = 1}).value();
    scaled_ = data_.attributes;
    scaled_.features = std::move(profiles.scaled);
    sums_.assign(feature_classifier_.probabilities.clamped.size(), 0.0f);
    Multiply(soft_, feature_classifier_.probabilities.clamped.data(), 3, 1, sums_.data());
    attributed_ = {.feature_classifier = &feature_classifier_,
                   .scaled = &scaled_,
                   .stacked = {.classes = &feature_classifier_.probabilities, .class_sums = &sums_, .kept = &soft_},
                   .beta_stacked = StackedInput{.classes = &feature_classifier_.probabilities, .kept = &hard_}};
    sources_ = {.attributes = &data_.attributes,
                .weights_of = [this](const Candidate& candidate) -> const LinkWeights& {
                  return candidate.variant == Variant::kHard || !candidate.variant ? hard_ : soft_;
                },
                .attributed = &attributed_};
  }
  // As where few nodes have a label.
  void UseFolds() {
    folds_ = DealFolds(data_.attributes, 1);
    Prepare();
    sources_.folds = &*folds_;
  }
  static v1::TrainingSpec Spec(uint32_t candidates) {
    v1::TrainingSpec spec;
    spec.set_prior(v1::PRIOR_ATTRIBUTED);
    spec.set_candidates(candidates);
    spec.set_epochs(15);
    spec.set_device("cpu");
    return spec;
  }
  TrainedModel Searched(uint32_t candidates, const TrainingOptions& options = {}) {
    return Search(CandidateGrid::Create(Spec(candidates), true, kSmall).value(), kSmall, sources_, options).value();
  }
  static Candidate Of(Model model, std::optional<Variant> variant) {
    Candidate candidate{.prior = Prior::kAttributed, .variant = variant};
    candidate.options.model = model;
    candidate.options.epochs = 15;
    candidate.options.device = "cpu";
    return candidate;
  }

  Dataset data_;
  LinkWeights hard_, soft_;
  std::optional<Folds> folds_;
  FeatureClassifier feature_classifier_;
  NodeAttributes scaled_;
  std::vector<float> sums_;
  AttributedSources attributed_;
  TrainingSources sources_;
};

TEST_F(AttributedSearch, KeepsTheBestOfTheCandidatesAndTheirMeans) {
  const TrainedModel model = Searched(23);
  ASSERT_GT(model.search.size(), 21u + 3);
  double best = -1e9;
  size_t means = 0;
  for (const Tried& tried : model.search) {
    ASSERT_TRUE(tried.skipped.empty()) << CandidateName(tried.candidate) << ": " << tried.skipped;
    best = std::max(best, Score(tried, Prior::kAttributed));
    means += tried.candidate.options.model == Model::kEnsemble ? 1 : 0;
  }
  EXPECT_LE(model.search.size(), 23 + means);
  const double kept =
      Score({.validation_loss = model.result.validation_loss, .validation_accuracy = model.result.validation_accuracy},
            Prior::kAttributed);
  EXPECT_LE(kept, best);
  EXPECT_GE(kept, best - 1.0 / 50) << "a validation node";
  const Tried& chosen = model.search[ChooseCandidate(model.search, Prior::kAttributed, 50)];
  EXPECT_EQ(CandidateName(model.trained), CandidateName(chosen.candidate));
  EXPECT_EQ(model.result.validation_loss, chosen.validation_loss);
  EXPECT_FALSE(model.result.model_bytes.empty());
  EXPECT_EQ(model.result.predictions.size(), 200u);
  for (const Tried& tried : model.search) {
    EXPECT_TRUE(std::is_sorted(tried.candidate.members.begin(), tried.candidate.members.end()))
        << "one name for one mean";
  }
}

TEST_F(AttributedSearch, TheBetaPriorsCandidatesAreTheSameUnderEitherPrior) {
  v1::TrainingSpec spec = Spec(10);
  spec.set_prior(v1::PRIOR_BETA);
  const TrainedModel beta = Search(CandidateGrid::Create(spec, true, kSmall).value(), kSmall, sources_, {}).value();
  const TrainedModel attributed = Searched(21);
  size_t found = 0;
  for (const Tried& a : beta.search) {
    for (const Tried& b : attributed.search) {
      if (CandidateName(a.candidate) != CandidateName(b.candidate)) continue;
      ++found;
      EXPECT_EQ(a.validation_loss, b.validation_loss) << CandidateName(a.candidate);
    }
  }
  EXPECT_EQ(found, 9u) << "all but GAT on Soft";
}

TEST_F(AttributedSearch, DependsNeitherOnTheThreadsNorOnTheTestNodes) {
  const TrainedModel one = Searched(22, {.threads = 1});
  for (size_t i = 0; i < data_.attributes.labels.size(); ++i) {
    if (data_.attributes.split[i] == Split::kTest) data_.attributes.labels[i] = 2 - data_.attributes.labels[i];
  }
  Prepare();
  const TrainedModel three = Searched(22, {.threads = 3});
  EXPECT_EQ(CandidateName(one.trained), CandidateName(three.trained));
  EXPECT_EQ(one.result.logits, three.result.logits);
  ASSERT_EQ(one.search.size(), three.search.size());
  for (size_t k = 0; k < one.search.size(); ++k) {
    EXPECT_EQ(CandidateName(one.search[k].candidate), CandidateName(three.search[k].candidate));
    EXPECT_EQ(one.search[k].validation_loss, three.search[k].validation_loss) << CandidateName(one.search[k].candidate);
  }
}

TEST_F(AttributedSearch, AMeanIsTheMeanOfItsMembersProbabilities) {
  const Candidate stacked = Of(Model::kStacked, Variant::kSoft), gcn = Of(Model::kGcn, Variant::kSoft);
  const TrainResult a = TrainCandidate(stacked, sources_).value(), b = TrainCandidate(gcn, sources_).value();
  const TrainResult mean = EnsembleResult({&stacked, &gcn}, {&a, &b}, sources_);
  std::vector<float> p = a.logits, q = b.logits;
  LogSoftmaxRows(p, 3);
  LogSoftmaxRows(q, 3);
  for (size_t k = 0; k < p.size(); ++k)
    EXPECT_NEAR(std::exp(mean.logits[k]), (std::exp(p[k]) + std::exp(q[k])) / 2, 1e-5);
  EXPECT_EQ(mean.state.size(), a.state.size() + b.state.size());
  EXPECT_EQ(mean.state[0].name, "stacked_soft_attributed.weight");
  EXPECT_THAT(mean.state.back().name, StartsWith("gcn_soft_attributed.conv2."));
  EXPECT_TRUE(mean.script_bytes.empty());
  EXPECT_EQ(mean.feature_count, b.feature_count);
}

TEST_F(AttributedSearch, NetworksOfThePriorGetTheScaledFeaturesUnlessOthersAreAskedFor) {
  Candidate gcn = Of(Model::kGcn, Variant::kHard);
  const std::vector<float> scaled = TrainCandidate(gcn, sources_)->logits;
  TrainOptions as_they_are = gcn.options;
  as_they_are.features_as_they_are = true;
  EXPECT_EQ(scaled, Train(hard_, scaled_, as_they_are)->logits);
  EXPECT_NE(scaled, Train(hard_, data_.attributes, gcn.options)->logits);
  gcn.options.node_features = NodeFeatures::kIdentity;
  EXPECT_EQ(TrainCandidate(gcn, sources_)->logits, Train(hard_, data_.attributes, gcn.options)->logits);
  gcn.options.node_features = NodeFeatures::kAuto;
  gcn.prior = Prior::kBeta;
  EXPECT_EQ(TrainCandidate(gcn, sources_)->logits, Train(hard_, data_.attributes, gcn.options)->logits);
}

TEST_F(AttributedSearch, TrainsOneModelThatIsNoNetwork) {
  for (const Model model : {Model::kStacked, Model::kFeatureClassifier}) {
    std::string text;
    const auto trained =
        TrainOne(Of(model, model == Model::kStacked ? std::optional(Variant::kSoft) : std::nullopt), sources_,
                 {.threads = 2, .progress = [&](double, const std::string& told) { text = told; }});
    ASSERT_TRUE(trained.ok()) << trained.status();
    EXPECT_FALSE(trained->result.model_bytes.empty());
    EXPECT_TRUE(trained->result.validation_losses.empty()) << "no epochs, no curves";
    EXPECT_TRUE(std::isfinite(trained->result.validation_loss));
    EXPECT_FALSE(text.empty());
  }
}

TEST_F(AttributedSearch, GoesOnFromItsCheckpoints) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/attributed_search_", ::getpid());
  std::filesystem::remove_all(folder);
  const TrainedModel first = Searched(9, {.checkpoint_folder = folder});
  std::vector<std::string> told;
  const TrainedModel again = Searched(
      9, {.progress = [&](double, const std::string& text) { told.push_back(text); }, .checkpoint_folder = folder});
  EXPECT_EQ(first.result.logits, again.result.logits);
  EXPECT_LE(told.size(), 2 * 9u) << "no epoch was trained twice";
  std::filesystem::remove_all(folder);
}

// The grid of a search on folds.
CandidateGrid GridOnFolds(const v1::TrainingSpec& spec) {
  ProblemSize few = kSmall;
  few.labelled_train = 100;
  few.labelled_validation = 50;
  return CandidateGrid::Create(spec, true, few).value();
}

TEST_F(AttributedSearch, OnFoldsDependsNeitherOnTheThreadsNorOnTheTestNodes) {
  UseFolds();
  const auto searched = [&](int threads) {
    return Search(GridOnFolds(Spec(10)), kSmall, sources_, {.threads = threads}).value();
  };
  const TrainedModel one = searched(1);
  for (size_t i = 0; i < data_.attributes.labels.size(); ++i) {
    if (data_.attributes.split[i] == Split::kTest) data_.attributes.labels[i] = 2 - data_.attributes.labels[i];
  }
  UseFolds();
  const TrainedModel three = searched(3);
  EXPECT_EQ(CandidateName(one.trained), CandidateName(three.trained));
  EXPECT_EQ(one.result.logits, three.result.logits);
  ASSERT_EQ(one.search.size(), three.search.size());
  for (size_t k = 0; k < one.search.size(); ++k) {
    EXPECT_EQ(one.search[k].validation_loss, three.search[k].validation_loss) << CandidateName(one.search[k].candidate);
    EXPECT_EQ(one.search[k].skipped, three.search[k].skipped) << CandidateName(one.search[k].candidate);
  }
}

TEST_F(AttributedSearch, OnFoldsAllTrainingAndValidationNodesChoose) {
  UseFolds();
  const TrainedModel model = Search(GridOnFolds(Spec(10)), kSmall, sources_, {}).value();
  EXPECT_EQ(model.result.validation.nodes, NodesOf(*folds_).size());
  EXPECT_FALSE(model.result.model_bytes.empty());
  const Tried& chosen = model.search[ChooseCandidate(model.search, Prior::kAttributed, NodesOf(*folds_).size())];
  EXPECT_EQ(CandidateName(model.trained), CandidateName(chosen.candidate));
  EXPECT_EQ(model.result.validation_loss, chosen.validation_loss);
}

TEST_F(AttributedSearch, OnFoldsANodeIsPredictedByANetworkThatDidNotSeeItsLabel) {
  UseFolds();
  Candidate gcn = Of(Model::kGcn, Variant::kSoft);
  gcn.options.epochs = 1;  // the label says when the training of its own fold ends: here it has no say
  const TrainResult before = TrainOnFolds(gcn, sources_, {}).value();
  EXPECT_THAT(before.state.front().name, StartsWith("fold1.conv1."));
  const int64_t node = NodesOf(*folds_).front();
  for (NodeAttributes* attributes : {&data_.attributes, &scaled_})
    attributes->labels[node] = (attributes->labels[node] + 1) % 3;
  const TrainResult after = TrainOnFolds(gcn, sources_, {}).value();
  for (int c = 0; c < 3; ++c) EXPECT_EQ(after.logits[node * 3 + c], before.logits[node * 3 + c]);
  EXPECT_NE(after.logits, before.logits) << "the others have learnt from it";
}

TEST_F(AttributedSearch, OnFoldsWhatIsFarBehindEndsAfterTheFirst) {
  UseFolds();
  Candidate slow = Of(Model::kGcn, Variant::kSoft);
  slow.options.learning_rate = 1e-6;
  FoldRace race{.loss_weight = 0.5};
  for (uint32_t i = 0; i < data_.attributes.node_count; ++i) {
    for (int c = 0; c < 3; ++c) race.leader.push_back(c == data_.attributes.labels[i] ? -0.01f : -5.0f);
  }
  int epochs = 0;
  slow.options.progress = [&](int epoch, double) { epochs = epoch; };
  const absl::Status behind = TrainOnFolds(slow, sources_, race).status();
  EXPECT_EQ(behind.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(behind.message()), HasSubstr("after 1 of 5 folds"));
  EXPECT_EQ(epochs, slow.options.epochs / 5);
  race.leader.assign(race.leader.size(), std::log(1.0f / 3));
  EXPECT_TRUE(TrainOnFolds(slow, sources_, race).ok()) << "it is as good as the leader";
}

TEST_F(AttributedSearch, OnFoldsGoesOnFromItsCheckpoints) {
  UseFolds();
  const std::string folder = absl::StrCat(::testing::TempDir(), "/attributed_folds_", ::getpid());
  std::filesystem::remove_all(folder);
  const auto searched = [&](const TrainingOptions& options) {
    return Search(GridOnFolds(Spec(6)), kSmall, sources_, options).value();
  };
  const TrainedModel first = searched({.checkpoint_folder = folder});
  EXPECT_TRUE(std::filesystem::exists(folder + "/candidate-1-fold-5.checkpoint"));
  size_t told = 0;
  const TrainedModel again =
      searched({.progress = [&](double, const std::string&) { ++told; }, .checkpoint_folder = folder});
  EXPECT_EQ(first.result.logits, again.result.logits);
  EXPECT_LE(told, 9u * (kFolds + 1)) << "no epoch was trained twice";
  std::filesystem::remove_all(folder);
}

TEST_F(AttributedSearch, OnFoldsTheFeatureOnlyClassifierIsTheOneThatThereIs) {
  UseFolds();
  const Candidate classes = Of(Model::kFeatureClassifier, std::nullopt);
  const TrainResult on_folds = TrainOnFolds(classes, sources_, {}).value();
  EXPECT_EQ(on_folds.logits, TrainCandidate(classes, sources_)->logits);
  EXPECT_EQ(on_folds.validation.nodes, NodesOf(*folds_).size());
}

TEST_F(AttributedSearch, OfOneModelTheMeanIsOfItsTwoPriors) {
  v1::TrainingSpec spec = Spec(6);
  spec.set_model(v1::MODEL_GCN);
  const TrainedModel model = Search(CandidateGrid::Create(spec, true, kSmall).value(), kSmall, sources_, {}).value();
  ASSERT_EQ(model.search.size(), 7u);
  EXPECT_THAT(CandidateName(model.search[6].candidate), HasSubstr("mean of gcn "));
}

TEST_F(AttributedSearch, EndsWhatWouldNotComeNearTheBestAndTriesNoOtherSettingOfIt) {
  v1::TrainingSpec spec = Spec(1000);
  spec.set_epochs(130);
  spec.set_learning_rate(1e-5);  // of networks: the stacked model is far ahead of them
  spec.set_dropout(0);
  const auto searched = [&](int threads) {
    return Search(CandidateGrid::Create(spec, true, kSmall).value(), kSmall, sources_, {.threads = threads}).value();
  };
  const TrainedModel model = searched(1), side_by_side = searched(3);
  size_t trained = 0, ended = 0;
  for (size_t k = 0; k < model.search.size(); ++k) {
    const Tried& tried = model.search[k];
    EXPECT_EQ(tried.ended_after, side_by_side.search[k].ended_after) << CandidateName(tried.candidate);
    if (tried.candidate.options.model == Model::kEnsemble) continue;
    ++trained;
    if (!tried.pruned) continue;
    ++ended;
    EXPECT_GE(k, 6u) << "there was no score to reach yet: " << CandidateName(tried.candidate);
    EXPECT_GE(tried.ended_after, 100);
    EXPECT_LE(tried.best_epoch, tried.ended_after);
  }
  EXPECT_GE(ended, 5u);
  EXPECT_EQ(trained, 21u) << "one setting of each pair";
}

TEST_F(AttributedSearch, TriesTheStackedModelOnTheBetaPriorsLinksToo) {
  Candidate candidate = Of(Model::kStacked, Variant::kSoft);
  candidate.prior = Prior::kBeta;
  EXPECT_EQ(CandidateName(candidate), "stacked soft");
  const TrainResult of_beta = TrainCandidate(candidate, sources_).value();
  EXPECT_NE(of_beta.logits, TrainCandidate(Of(Model::kStacked, Variant::kSoft), sources_)->logits);
  attributed_.beta_stacked.reset();
  EXPECT_THAT(std::string(TrainCandidate(candidate, sources_).status().message()),
              HasSubstr("stacked soft needs the feature-only classifier"));
}

TEST_F(AttributedSearch, RefusesACandidateOfThePriorWithoutItsEstimate) {
  sources_.attributed = nullptr;
  for (const Model model : {Model::kStacked, Model::kGcn, Model::kFeatureClassifier}) {
    EXPECT_EQ(TrainCandidate(Of(model, Variant::kSoft), sources_).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(AttributedSearch, RefusesToTrainAMeanByItself) {
  EXPECT_THAT(std::string(TrainCandidate(Of(Model::kEnsemble, std::nullopt), sources_).status().message()),
              HasSubstr("not trained by itself"));
  EXPECT_EQ(Train(hard_, data_.attributes, Of(Model::kStacked, Variant::kSoft).options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(AttributedSearch, AStackedModelThatCannotBeIsPassedOver) {
  sums_.pop_back();
  const TrainedModel model = Searched(5);
  bool skipped = false;
  for (const Tried& tried : model.search) {
    if (PairName(tried.candidate) == "stacked soft attributed")
      skipped = absl::StrContains(tried.skipped, "do not fit");
    EXPECT_FALSE(absl::StrContains(CandidateName(tried.candidate), "+ stacked soft attributed"));
  }
  EXPECT_TRUE(skipped);
}

}  // namespace
}  // namespace blink
