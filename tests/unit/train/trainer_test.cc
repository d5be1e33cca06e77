#include "aggregator_server/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>

#include "aggregator_server/train/checkpoint.h"
#include "common/base/durable_file.h"
#include "tests/testing/places.h"
#include "tests/unit/train/small_data.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

TrainOptions Quick(Model model = Model::kGcn) {
  TrainOptions options;
  options.model = model;
  options.learning_rate = 0.05;
  options.epochs = 60;
  options.device = "cpu";
  return options;
}

TEST(Trainer, LearnsTheClassesOfASmallGraph) {
  const Dataset data = testing::SmallDataset(400);
  for (const Model model : {Model::kGcn, Model::kGraphSage, Model::kGat, Model::kMlp}) {
    const auto result = Train(LinkWeights::Unweighted(data.graph), data.attributes, Quick(model));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_GT(result->test_accuracy, 0.5);  // chance is a third
    EXPECT_EQ(result->predictions.size(), 400u);
    EXPECT_EQ(result->logits.size(), 1200u);
    EXPECT_EQ(result->train_losses.size(), 60u);
    EXPECT_EQ(result->validation_losses.size(), 60u);
    EXPECT_EQ(result->device, "cpu");
    EXPECT_LT(result->train_losses.back(), result->train_losses.front());
  }
}

TEST(Trainer, ReportsTheEpochOfTheLowestValidationLoss) {
  const Dataset data = testing::SmallDataset();
  const TrainResult result = Train(LinkWeights::Unweighted(data.graph), data.attributes, Quick()).value();
  const auto lowest = std::min_element(result.validation_losses.begin(), result.validation_losses.end());
  EXPECT_EQ(result.best_epoch, lowest - result.validation_losses.begin() + 1);
  EXPECT_FLOAT_EQ(result.validation_loss, *lowest);
  // The accuracies are those of the predictions, and the predictions those of the logits.
  uint32_t right = 0, nodes = 0;
  for (uint32_t i = 0; i < 150; ++i) {
    const float* row = &result.logits[3 * i];
    EXPECT_EQ(result.predictions[i], std::max_element(row, row + 3) - row);
    if (data.attributes.split[i] != Split::kTest) continue;
    ++nodes;
    right += result.predictions[i] == data.attributes.labels[i];
  }
  EXPECT_DOUBLE_EQ(result.test_accuracy, static_cast<double>(right) / nodes);
}

TEST(Trainer, SameSeedGivesTheSameBits) {
  const Dataset data = testing::SmallDataset(300);
  for (const Model model : {Model::kGcn, Model::kMlp}) {
    const TrainResult a = Train(LinkWeights::Unweighted(data.graph), data.attributes, Quick(model)).value();
    const TrainResult b = Train(LinkWeights::Unweighted(data.graph), data.attributes, Quick(model)).value();
    EXPECT_EQ(a.logits, b.logits);
    EXPECT_EQ(a.validation_losses, b.validation_losses);
    EXPECT_EQ(a.model_bytes, b.model_bytes);
    TrainOptions other = Quick(model);
    other.threads = 3;
    EXPECT_EQ(a.logits, Train(LinkWeights::Unweighted(data.graph), data.attributes, other).value().logits);
    other.seed = 2;
    EXPECT_NE(a.logits, Train(LinkWeights::Unweighted(data.graph), data.attributes, other).value().logits);
  }
}

TEST(Trainer, PermutingTheNodesPermutesThePredictions) {
  const Dataset data = testing::SmallDataset();
  const uint32_t n = data.attributes.node_count;
  std::vector<uint32_t> to(n);
  std::iota(to.begin(), to.end(), 0);
  std::shuffle(to.begin(), to.end(), std::mt19937_64(4));
  std::vector<uint32_t> from(n);
  for (uint32_t i = 0; i < n; ++i) from[to[i]] = i;

  NodeAttributes permuted = data.attributes;
  permuted.features.row_offsets = {0};
  permuted.features.columns.clear();
  permuted.features.values.clear();
  std::vector<std::pair<NodeIndex, NodeIndex>> links;
  for (uint32_t j = 0; j < n; ++j) {
    const uint32_t i = from[j];
    permuted.labels[j] = data.attributes.labels[i];
    permuted.split[j] = data.attributes.split[i];
    for (int64_t k = data.attributes.features.row_offsets[i]; k < data.attributes.features.row_offsets[i + 1]; ++k) {
      permuted.features.columns.push_back(data.attributes.features.columns[k]);
      permuted.features.values.push_back(data.attributes.features.values[k]);
    }
    permuted.features.row_offsets.push_back(static_cast<int64_t>(permuted.features.columns.size()));
    for (const NodeIndex neighbour : data.graph.NeighboursOf(i)) links.emplace_back(j, to[neighbour]);
  }
  TrainOptions options = Quick();
  options.dropout = 0;  // the masks belong to places, not to nodes
  options.epochs = 30;
  const TrainResult a = Train(LinkWeights::Unweighted(data.graph), data.attributes, options).value();
  const TrainResult b =
      Train(LinkWeights::Unweighted(CsrGraph::FromLinks(n, links).value()), permuted, options).value();
  for (uint32_t i = 0; i < n; ++i) {
    for (int c = 0; c < 3; ++c) ASSERT_NEAR(a.logits[3 * i + c], b.logits[3 * to[i] + c], 2e-3);
  }
}

TEST(Trainer, TheMlpIgnoresTheGraph) {
  const Dataset data = testing::SmallDataset();
  const TrainResult a = Train(LinkWeights::Unweighted(data.graph), data.attributes, Quick(Model::kMlp)).value();
  const TrainResult b = Train(LinkWeights(), data.attributes, Quick(Model::kMlp)).value();
  EXPECT_EQ(a.logits, b.logits);
}

TEST(Trainer, IsolatedNodesUnlabelledNodesAndAClassWithoutTrainingNodeAreFine) {
  Dataset data = testing::SmallDataset();
  data.graph = CsrGraph::FromLinks(150, {{0, 1}}).value();
  for (uint32_t i = 0; i < 150; ++i) {
    if (data.attributes.labels[i] == 2 && data.attributes.split[i] == Split::kTrain) data.attributes.labels[i] = -1;
  }
  const auto result = Train(LinkWeights::Unweighted(data.graph), data.attributes, Quick());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->predictions.size(), 150u);
}

TEST(Trainer, AnEmptyTestSplitGivesNoAccuracy) {
  Dataset data = testing::SmallDataset();
  for (Split& split : data.attributes.split) {
    if (split == Split::kTest) split = Split::kNone;
  }
  const TrainResult result = Train(LinkWeights::Unweighted(data.graph), data.attributes, Quick()).value();
  EXPECT_TRUE(std::isnan(result.test_accuracy));
  EXPECT_FALSE(std::isnan(result.validation_accuracy));
}

TEST(Trainer, TellsEveryEpoch) {
  const Dataset data = testing::SmallDataset();
  TrainOptions options = Quick();
  std::vector<int> epochs;
  options.progress = [&](int epoch, double) { epochs.push_back(epoch); };
  ASSERT_TRUE(Train(LinkWeights::Unweighted(data.graph), data.attributes, options).ok());
  ASSERT_EQ(epochs.size(), 60u);
  EXPECT_EQ(epochs.front(), 1);
  EXPECT_EQ(epochs.back(), 60);
}

TEST(Trainer, StateDictNamesNothingThatWeightsOnlyLoadingRefuses) {
  const Dataset data = testing::SmallDataset();
  const std::string bytes = Train(LinkWeights::Unweighted(data.graph), data.attributes, Quick()).value().model_bytes;
  EXPECT_EQ(bytes.substr(0, 2), "PK");
  EXPECT_THAT(bytes, HasSubstr("_rebuild_tensor_v2"));
  EXPECT_THAT(bytes, ::testing::Not(HasSubstr("restore_type_tag")));
}

TEST(Trainer, StateDictLoadsInPython) {
  const Dataset data = testing::SmallDataset();
  const std::string folder =
      ::testing::TempDir() + "/trainer_state_dict_" + std::to_string(::getpid());  // tests run side by side
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/blink_state_dict.pt", std::ios::binary)
      << Train(LinkWeights::Unweighted(data.graph), data.attributes, Quick()).value().model_bytes;
  std::ofstream(folder + "/blink_state_dict.py") << R"(
import sys, torch
shapes = {name: tuple(value.shape) for name, value in torch.load(sys.argv[1]).items()}
assert shapes == {'conv1.lin.weight': (16, 60), 'conv1.bias': (16,),
                  'conv2.lin.weight': (3, 16), 'conv2.bias': (3,)}, shapes
)";
  const std::string command = testing::InSources("tests/testing/python_with_torch") + " " + testing::TorchParent() +
                              " " + folder + "/blink_state_dict.py " + folder + "/blink_state_dict.pt";
  const int ended = std::system(command.c_str());
  std::filesystem::remove_all(folder);
  if (WIFEXITED(ended) && WEXITSTATUS(ended) == 77) GTEST_SKIP() << "python3 cannot import torch here";
  EXPECT_EQ(ended, 0);
}

// Early stopping, classes, features.

TEST(Trainer, PatienceEndsTheTrainingAndChangesNothingBefore) {
  const Dataset data = testing::SmallDataset();
  TrainOptions options = Quick();
  options.learning_rate = 0.3;  // overfits soon
  options.epochs = 200;
  const TrainResult all = Train(LinkWeights::Unweighted(data.graph), data.attributes, options).value();
  options.patience = 10;
  const TrainResult stopped = Train(LinkWeights::Unweighted(data.graph), data.attributes, options).value();
  ASSERT_LT(stopped.validation_losses.size(), 200u);
  EXPECT_EQ(static_cast<int>(stopped.validation_losses.size()), stopped.best_epoch + 10);
  EXPECT_TRUE(
      std::equal(stopped.validation_losses.begin(), stopped.validation_losses.end(), all.validation_losses.begin()));
  EXPECT_EQ(stopped.validation_accuracies.size(), stopped.validation_losses.size());
}

TEST(Trainer, BalancedClassesRaiseTheRecallOfARareClass) {
  Dataset data = testing::SmallDataset(400);
  // Of class 2 every tenth training label stays.
  int seen = 0;
  for (uint32_t i = 0; i < 400; ++i) {
    if (data.attributes.labels[i] == 2 && data.attributes.split[i] == Split::kTrain && seen++ % 10 != 0)
      data.attributes.labels[i] = -1;
  }
  TrainOptions options = Quick();
  const TrainResult plain = Train(LinkWeights::Unweighted(data.graph), data.attributes, options).value();
  options.balance_classes = true;
  const TrainResult balanced = Train(LinkWeights::Unweighted(data.graph), data.attributes, options).value();
  EXPECT_GT(balanced.test.classes[2].Recall(), plain.test.classes[2].Recall());
  EXPECT_EQ(balanced.unlabelled,
            static_cast<uint32_t>(std::count(data.attributes.labels.begin(), data.attributes.labels.end(), -1)));
}

TEST(Trainer, BalancedWeightsOfEqualClassesChangeNothingButRounding) {
  Dataset data = testing::SmallDataset();
  for (uint32_t i = 0, k = 0; i < 150; ++i) {
    data.attributes.split[i] = i < 90 ? Split::kTrain : Split::kValidation;
    data.attributes.labels[i] = static_cast<int32_t>(k++ % 3);
  }
  TrainOptions options = Quick();
  options.epochs = 5;
  const TrainResult plain = Train(LinkWeights::Unweighted(data.graph), data.attributes, options).value();
  options.balance_classes = true;
  const TrainResult balanced = Train(LinkWeights::Unweighted(data.graph), data.attributes, options).value();
  for (size_t k = 0; k < plain.logits.size(); ++k) ASSERT_NEAR(plain.logits[k], balanced.logits[k], 1e-3);
}

TEST(Trainer, AGraphWithoutFeaturesIsTrainedOnOneFeaturePerNodeAndSaysSo) {
  Dataset data = testing::SmallDataset();
  data.attributes.features = FeatureMatrix{.rows = 150};
  const TrainResult identity = Train(LinkWeights::Unweighted(data.graph), data.attributes, Quick()).value();
  EXPECT_EQ(identity.node_features, NodeFeatures::kIdentity);
  EXPECT_EQ(identity.feature_count, 150u);
  EXPECT_GT(identity.test_accuracy, 0.4);  // chance is a third, and links join like to like
  EXPECT_THAT(identity.warnings, ::testing::Contains(HasSubstr("one feature per node (identity) stands for them")));
  const TrainResult mlp = Train(LinkWeights(), data.attributes, Quick(Model::kMlp)).value();
  EXPECT_THAT(mlp.warnings, ::testing::Contains(HasSubstr("an MLP learns nothing about the nodes")));
  TrainOptions options = Quick();
  options.node_features = NodeFeatures::kDegree;
  const TrainResult degree = Train(LinkWeights::Unweighted(data.graph), data.attributes, options).value();
  EXPECT_EQ(degree.node_features, NodeFeatures::kDegree);
  EXPECT_LT(degree.feature_count, 20u);
}

TEST(Trainer, GivenAndDegreeFeaturesStandBesideEachOther) {
  const Dataset data = testing::SmallDataset();
  TrainOptions options = Quick();
  options.node_features = NodeFeatures::kGivenAndDegree;
  const TrainResult both = Train(LinkWeights::Unweighted(data.graph), data.attributes, options).value();
  EXPECT_GT(both.feature_count, 61u);
  EXPECT_GT(both.test_accuracy, 0.4);
}

TEST(Trainer, WarnsOfAClassWithoutTrainingNodeAndOfIsolatedNodes) {
  Dataset data = testing::SmallDataset();
  data.attributes.class_names = {"red", "green", "blue"};
  data.graph = CsrGraph::FromLinks(150, {{0, 1}}).value();
  for (uint32_t i = 0; i < 150; ++i) {
    if (data.attributes.labels[i] == 2 && data.attributes.split[i] == Split::kTrain) data.attributes.labels[i] = -1;
  }
  const TrainResult result = Train(LinkWeights::Unweighted(data.graph), data.attributes, Quick()).value();
  EXPECT_THAT(result.warnings,
              ::testing::Contains(HasSubstr("class 2 (blue) without a labelled node in the training split")));
  EXPECT_THAT(result.warnings, ::testing::Contains(HasSubstr("148 of 150 nodes have no link")));
  EXPECT_EQ(result.test.classes[2].right, 0u);
  EXPECT_GT(result.test.classes[2].nodes, 0u);
}

// Checkpoints.

class TrainerCheckpoint : public ::testing::TestWithParam<Model> {
 protected:
  TrainerCheckpoint() : data_(testing::SmallDataset()), weights_(LinkWeights::Unweighted(data_.graph)) {
    path_ =
        ::testing::TempDir() + "/trainer_" + std::to_string(::getpid()) + "_" + ModelName(GetParam()) + ".checkpoint";
    std::filesystem::remove(path_);
    options_ = Quick(GetParam());
    options_.checkpoint_file = path_;
    options_.checkpoint_every_s = 0;
    options_.epochs = 20;
  }
  ~TrainerCheckpoint() override { std::filesystem::remove(path_); }

  // What a training that was ended after `epoch` leaves.
  std::string CheckpointAfter(int epoch, TrainOptions options) {
    std::string bytes;
    options.progress = [&](int done, double) {
      if (done == epoch) bytes = ReadFile(path_, 1 << 24).value();
    };
    EXPECT_TRUE(Train(weights_, data_.attributes, options).ok());
    return bytes;
  }
  void ExpectTheSame(const TrainResult& a, const TrainResult& b) {
    EXPECT_EQ(a.logits, b.logits);
    EXPECT_EQ(a.train_losses, b.train_losses);
    EXPECT_EQ(a.validation_losses, b.validation_losses);
    EXPECT_EQ(a.validation_accuracies, b.validation_accuracies);
    EXPECT_EQ(a.best_epoch, b.best_epoch);
    EXPECT_EQ(a.model_bytes, b.model_bytes);
    EXPECT_EQ(a.script_bytes, b.script_bytes);
  }
  TrainResult Uninterrupted() {
    TrainOptions options = options_;
    options.checkpoint_file.clear();
    return Train(weights_, data_.attributes, options).value();
  }
  void ExpectBegunAnew(const std::string& checkpoint, const std::string& text) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << checkpoint;
    const TrainResult result = Train(weights_, data_.attributes, options_).value();
    EXPECT_EQ(result.resumed_from_epoch, 0);
    EXPECT_THAT(result.warnings, ::testing::Contains(HasSubstr(text)));
    ExpectTheSame(result, Uninterrupted());
  }

  const Dataset data_;
  const LinkWeights weights_;
  std::string path_;
  TrainOptions options_;
};
INSTANTIATE_TEST_SUITE_P(Models, TrainerCheckpoint, ::testing::Values(Model::kGcn, Model::kGat, Model::kMlp));

TEST_P(TrainerCheckpoint, GoesOnToTheSameBits) {
  for (const int epoch : {1, 12, 20}) {
    std::filesystem::remove(path_);
    const std::string checkpoint = CheckpointAfter(epoch, options_);
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << checkpoint;
    int first = 0;
    TrainOptions options = options_;
    options.threads = 3;  // does not matter
    options.progress = [&](int done, double) { first = first == 0 ? done : first; };
    const TrainResult result = Train(weights_, data_.attributes, options).value();
    EXPECT_EQ(result.resumed_from_epoch, epoch);
    EXPECT_EQ(first, epoch == 20 ? 0 : epoch + 1);
    ExpectTheSame(result, Uninterrupted());
  }
}

TEST_P(TrainerCheckpoint, IsIgnoredWhenItIsOfOtherOptions) {
  TrainOptions other = options_;
  other.learning_rate *= 2;
  ExpectBegunAnew(CheckpointAfter(10, other), "of another training");
}

TEST_P(TrainerCheckpoint, IsIgnoredWhenItIsTruncatedOrDamaged) {
  const std::string checkpoint = CheckpointAfter(10, options_);
  ExpectBegunAnew(checkpoint.substr(0, checkpoint.size() - 1), "truncated");
  ExpectBegunAnew("", "truncated");
  std::string damaged = checkpoint;
  damaged[damaged.size() / 2] ^= 1;
  ExpectBegunAnew(damaged, "checksum");
}

// As somebody could make one who knows the format: the checksum is right.
TEST_P(TrainerCheckpoint, IsIgnoredWhenTheGeneratorsStateIsNone) {
  TrainOptions options = options_;
  options.dropout = 0.5;
  const std::string good = CheckpointAfter(10, options);
  const Digest fingerprint = DigestFromBytes(good.substr(sizeof("BLINKTRAIN-1\n") - 1, sizeof(Digest))).value();
  Checkpoint checkpoint = DecodeCheckpoint(good, fingerprint).value();
  const std::string state = checkpoint.generator;
  for (const std::string& broken :
       {std::string(), std::string("x"), state + state, std::string(state.size(), '\xff')}) {
    checkpoint.generator = broken;
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << EncodeCheckpoint(checkpoint, fingerprint);
    const auto result = Train(weights_, data_.attributes, options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->resumed_from_epoch, 0);
    EXPECT_THAT(result->warnings, ::testing::Contains(HasSubstr("the state of its random generator")));
  }
}

TEST_P(TrainerCheckpoint, IsNotWrittenOverWhatIsNone) {
  for (const std::string notes : {"my own notes, of some length that a checkpoint might have", "x"}) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << notes;
    const auto result = Train(weights_, data_.attributes, options_);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(result.status().message()), HasSubstr(path_));
    EXPECT_EQ(ReadFile(path_, 100).value(), notes);
  }
}

TEST(Trainer, ACheckpointOfOtherLinksOrLabelsIsIgnored) {
  const Dataset data = testing::SmallDataset();
  TrainOptions options = Quick();
  options.checkpoint_file = ::testing::TempDir() + "/trainer_other_" + std::to_string(::getpid()) + ".checkpoint";
  const auto resumed = [&](const LinkWeights& weights, const NodeAttributes& attributes) {
    return Train(weights, attributes, options)->resumed_from_epoch;
  };
  const LinkWeights weights = LinkWeights::Unweighted(data.graph);
  EXPECT_EQ(resumed(weights, data.attributes), 0);
  EXPECT_EQ(resumed(weights, data.attributes), 60);
  std::vector<std::pair<NodeIndex, NodeIndex>> links;
  for (NodeIndex i = 0; i < 150; ++i) {
    for (const NodeIndex j : data.graph.NeighboursOf(i)) links.emplace_back(i, j);
  }
  links.emplace_back(3, data.graph.HasLink(3, 140) ? 141 : 140);
  EXPECT_EQ(resumed(LinkWeights::Unweighted(CsrGraph::FromLinks(150, links).value()), data.attributes), 0);
  EXPECT_EQ(resumed(weights, data.attributes), 0);
  NodeAttributes attributes = data.attributes;
  attributes.labels[5] = (attributes.labels[5] + 1) % 3;
  EXPECT_EQ(resumed(weights, attributes), 0);
  attributes.features.values[0] *= 2;
  EXPECT_EQ(resumed(weights, attributes), 0);
  std::filesystem::remove(options.checkpoint_file);
}

TEST(Trainer, GoesOnWithoutACheckpointThatCannotBeWritten) {
  const Dataset data = testing::SmallDataset();
  TrainOptions options = Quick();
  options.checkpoint_file = ::testing::TempDir() + "/no/such/folder/checkpoint";
  const auto result = Train(LinkWeights::Unweighted(data.graph), data.attributes, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->warnings, ::testing::Contains(HasSubstr("no checkpoint could be written")));
}

// What is refused.

void ExpectRefused(const Dataset& data, const TrainOptions& options, const std::string& text) {
  const auto result = Train(LinkWeights::Unweighted(data.graph), data.attributes, options);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << result.status();
  EXPECT_THAT(std::string(result.status().message()), HasSubstr(text));
}

void Clear(Dataset& data, Split split) {
  for (Split& s : data.attributes.split) {
    if (s == split) s = Split::kNone;
  }
}

TEST(Trainer, RefusesADataSetWithoutTrainingNode) {
  Dataset data = testing::SmallDataset();
  Clear(data, Split::kTrain);
  ExpectRefused(data, Quick(), "training split");
}

TEST(Trainer, RefusesADataSetWithoutValidationNode) {
  Dataset data = testing::SmallDataset();
  Clear(data, Split::kValidation);
  ExpectRefused(data, Quick(), "validation split");
}

TEST(Trainer, RefusesFeaturesThatAreNotThere) {
  Dataset data = testing::SmallDataset();
  data.attributes.features = FeatureMatrix{.rows = 150};
  TrainOptions options = Quick();
  for (const NodeFeatures kind : {NodeFeatures::kGiven, NodeFeatures::kGivenAndDegree}) {
    options.node_features = kind;
    ExpectRefused(data, options, "no node features");
  }
}

TEST(Trainer, RefusesFeaturesWhoseSpanFloat32DoesNotHold) {
  Dataset data = testing::SmallDataset();
  data.attributes.features = FeatureMatrix{.rows = 150, .cols = 2, .values = std::vector<float>(300, 1.0f)};
  data.attributes.features.values[0] = 3e38f;
  EXPECT_TRUE(Train(LinkWeights::Unweighted(data.graph), data.attributes, Quick()).ok());
  data.attributes.features.values[1] = -3e38f;
  ExpectRefused(data, Quick(), "more than a float32 can hold");
}

TEST(Trainer, RefusesADegreeForTheMlpWhichMustNotSeeLinks) {
  const Dataset data = testing::SmallDataset();
  TrainOptions options = Quick(Model::kMlp);
  for (const NodeFeatures kind : {NodeFeatures::kDegree, NodeFeatures::kGivenAndDegree}) {
    options.node_features = kind;
    ExpectRefused(data, options, "the MLP sees no link");
  }
}

TEST(Trainer, RefusesAGraphOfAnotherSize) {
  Dataset data = testing::SmallDataset();
  data.graph = CsrGraph::FromLinks(149, {{0, 1}}).value();
  ExpectRefused(data, Quick(), "the graph has 149 nodes");
}

TEST(Trainer, RefusesALabelBeyondTheClasses) {
  Dataset data = testing::SmallDataset();
  data.attributes.labels[7] = 3;
  ExpectRefused(data, Quick(), "node 7 has label 3");
}

TEST(Trainer, RefusesAnUnknownDevice) {
  const Dataset data = testing::SmallDataset();
  for (const char* name : {"", "gpu", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:1234", "CPU"}) {
    TrainOptions options = Quick();
    options.device = name;
    ExpectRefused(data, options, "unknown device");
  }
}

TEST(Trainer, RefusesAGpuThatIsNotThere) {
  const Dataset data = testing::SmallDataset();
  TrainOptions options = Quick();
  options.device = "cuda:99";
  const auto result = Train(LinkWeights::Unweighted(data.graph), data.attributes, options);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kFailedPrecondition) << result.status();
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("cuda:99"));
}

TEST(Trainer, RefusesOptionsOutOfRange) {
  const Dataset data = testing::SmallDataset();
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const auto refused = [&](auto change, const std::string& name) {
    TrainOptions options = Quick();
    change(options);
    ExpectRefused(data, options, name);
  };
  for (const double bad : {0.0, -0.1, 10.5, nan, infinity})
    refused([&](TrainOptions& o) { o.learning_rate = bad; }, "learning_rate");
  for (const double bad : {-1e-9, 1.5, nan, infinity})
    refused([&](TrainOptions& o) { o.weight_decay = bad; }, "weight_decay");
  for (const double bad : {-0.1, 1.0, nan, infinity}) refused([&](TrainOptions& o) { o.dropout = bad; }, "dropout");
  for (const int bad : {0, -1, 100'001}) refused([&](TrainOptions& o) { o.epochs = bad; }, "epochs");
  for (const int bad : {0, -1, 4097}) refused([&](TrainOptions& o) { o.hidden = bad; }, "hidden");
  for (const int bad : {-1, 1025}) refused([&](TrainOptions& o) { o.threads = bad; }, "threads");
  for (const int bad : {0, -1, 9}) refused([&](TrainOptions& o) { o.layers = bad; }, "layers");
  for (const int bad : {-1, 100'001}) refused([&](TrainOptions& o) { o.patience = bad; }, "patience");
  for (const double bad : {-1.0, nan})
    refused([&](TrainOptions& o) { o.checkpoint_every_s = bad; }, "checkpoint_every_s");
}

TEST(Trainer, SaysThatATrainingDiverged) {
  const Dataset data = testing::SmallDataset();
  LinkWeights weights = LinkWeights::Unweighted(data.graph);
  weights.weighted = true;
  weights.values.assign(weights.links.neighbours().size(), std::numeric_limits<float>::quiet_NaN());
  const auto result = Train(weights, data.attributes, Quick());
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << result.status();
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("diverged"));
}

}  // namespace
}  // namespace blink
