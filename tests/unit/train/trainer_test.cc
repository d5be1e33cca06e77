#include "aggregator_server/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>

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
  for (const Model model : {Model::kGcn, Model::kMlp}) {
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
  const TrainResult b = Train(LinkWeights::Unweighted(CsrGraph::FromLinks(n, links).value()), permuted, options).value();
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
  if (std::system("python3 -c 'import torch' > /dev/null 2>&1") != 0) GTEST_SKIP() << "python3 cannot import torch here";
  const Dataset data = testing::SmallDataset();
  const std::string path = ::testing::TempDir() + "/blink_state_dict.pt";
  std::ofstream(path, std::ios::binary) << Train(LinkWeights::Unweighted(data.graph), data.attributes, Quick()).value().model_bytes;
  const std::string script =
      "python3 -c \"import torch; d = torch.load('" + path +
      "'); s = {k: tuple(v.shape) for k, v in d.items()}; assert s == {'conv1.lin.weight': (16, 60), 'conv1.bias': (16,), "
      "'conv2.lin.weight': (3, 16), 'conv2.bias': (3,)}, s\"";
  EXPECT_EQ(std::system(script.c_str()), 0);
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

TEST(Trainer, RefusesADataSetWithoutFeatures) {
  Dataset data = testing::SmallDataset();
  data.attributes.features = FeatureMatrix{.rows = 150};
  ExpectRefused(data, Quick(), "no node features");
  ExpectRefused(data, Quick(Model::kMlp), "no node features");
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
  for (const double bad : {0.0, -0.1, 10.5, nan, infinity}) refused([&](TrainOptions& o) { o.learning_rate = bad; }, "learning_rate");
  for (const double bad : {-1e-9, 1.5, nan, infinity}) refused([&](TrainOptions& o) { o.weight_decay = bad; }, "weight_decay");
  for (const double bad : {-0.1, 1.0, nan, infinity}) refused([&](TrainOptions& o) { o.dropout = bad; }, "dropout");
  for (const int bad : {0, -1, 100'001}) refused([&](TrainOptions& o) { o.epochs = bad; }, "epochs");
  for (const int bad : {0, -1, 4097}) refused([&](TrainOptions& o) { o.hidden = bad; }, "hidden");
  for (const int bad : {-1, 1025}) refused([&](TrainOptions& o) { o.threads = bad; }, "threads");
}

TEST(Trainer, SaysThatATrainingDiverged) {
  Dataset data = testing::SmallDataset();
  data.attributes.features.values[0] = std::numeric_limits<float>::infinity();
  const auto result = Train(LinkWeights::Unweighted(data.graph), data.attributes, Quick());
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << result.status();
}

}  // namespace
}  // namespace blink
