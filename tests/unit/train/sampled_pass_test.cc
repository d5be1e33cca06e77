// Training on samples: against training on everything, where nothing is left out, and against a slow twin, dense
// matrices of doubles, where something is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "aggregator_server/train/device.h"
#include "aggregator_server/train/feature_rows.h"
#include "aggregator_server/train/labelled_nodes.h"
#include "aggregator_server/train/neighbour_sampler.h"
#include "aggregator_server/train/passes.h"
#include "aggregator_server/train/trainer.h"
#include "common/base/durable_file.h"
#include "tests/unit/train/dense_network.h"
#include "tests/unit/train/small_data.h"
#include "tests/unit/train/small_weights.h"

namespace blink {
namespace {

using testing::DenseFeatures;
using testing::DenseWeights;
using testing::Doubles;
using ::testing::HasSubstr;
using testing::Kind;
using testing::KindName;
using testing::SmallWeights;

constexpr uint32_t kEveryNode = 1'000'000, kEveryLink = 1'000'000;

// A network, and the gradient of its next step: plain descent by 1 leaves the parameters less the gradient.
struct Stepping {
  Stepping(NetworkInput input, const TrainOptions& options, const NodeAttributes& attributes)
      : generator(MakeGenerator(torch::kCPU, 3)),
        network(std::move(input),
                {.model = options.model, .layers = options.layers, .hidden = options.hidden, .classes = 3}, generator,
                torch::kCPU),
        optimizer(network.parameters(), torch::optim::SGDOptions(1)),
        train(attributes, Split::kTrain, {}, torch::kCPU) {}
  Trained trained() { return {network, optimizer, train, nullptr}; }

  torch::Generator generator;
  Network network;
  torch::optim::SGD optimizer;
  SplitTensors train;
};

struct Case {
  Model model;
  Kind kind;
  OperatorPath path = OperatorPath::kAuto;
  bool dense_features = false;
  int layers = 2;
  int hidden = 5;

  friend void PrintTo(const Case& value, std::ostream* out) {
    *out << ModelName(value.model) << ", " << KindName(value.kind)
         << (value.path == OperatorPath::kAuto ? ", kernels, " : ", tensor operations, ")
         << (value.dense_features ? "dense features, " : "sparse features, ") << value.layers << " layers of "
         << value.hidden;
  }
};

class SampledPass : public ::testing::TestWithParam<Case> {
 protected:
  SampledPass() : data_(testing::SmallDataset()), weights_(SmallWeights(GetParam().kind, data_.graph)) {
    if (GetParam().dense_features) data_.attributes.features = ToDense(data_.attributes.features);
    options_.model = GetParam().model;
    options_.layers = GetParam().layers;
    options_.hidden = GetParam().hidden;
    options_.threads = 1;
    options_.batch_nodes = kEveryNode;
  }
  SampledData Data(uint32_t block_rows) const {
    return {weights_, data_.attributes.features, data_.attributes, options_, torch::kCPU, GetParam().path, block_rows};
  }
  Stepping Sampled() const { return {{.features = data_.attributes.features.cols}, options_, data_.attributes}; }

  Dataset data_;
  LinkWeights weights_;
  TrainOptions options_;
};

std::vector<Case> Cases() {
  std::vector<Case> cases = {{Model::kMlp, Kind::kUnweighted}, {Model::kMlp, Kind::kUnweighted, {}, true}};
  for (const Model model : {Model::kGcn, Model::kGraphSage, Model::kGat}) {
    for (const Kind kind : {Kind::kUnweighted, Kind::kLinks, Kind::kDirected}) {
      cases.push_back({model, kind});
      cases.push_back({model, kind, OperatorPath::kTensorOperations});
    }
    cases.push_back({model, Kind::kUnweighted, OperatorPath::kAuto, true});
    cases.push_back({model, Kind::kLinks, OperatorPath::kAuto, false, 1});
    cases.push_back({model, Kind::kLinks, OperatorPath::kAuto, false, 3, 2});
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Models, SampledPass, ::testing::ValuesIn(Cases()));

TEST_P(SampledPass, WithAllLinksAndNodesHasTheLossesAndGradientsOfAFullEpoch) {
  options_.fan_out.assign(options_.layers, kEveryLink);
  Stepping full(MakeInput(weights_, data_.attributes.features, options_.model, torch::kCPU, 1, GetParam().path),
                options_, data_.attributes);
  Stepping sampled = Sampled();
  const auto of_full = MakeFullPass(full.trained());
  const auto of_sampled = MakeSampledPass(sampled.trained(), Data(1000));
  for (int epoch = 1; epoch <= 3; ++epoch) {
    EXPECT_NEAR(of_sampled->TrainEpoch(epoch).item<float>(), of_full->TrainEpoch(epoch).item<float>(), 1e-5);
    for (size_t k = 0; k < full.network.parameters().size(); ++k) {
      EXPECT_TRUE(torch::allclose(sampled.network.parameters()[k], full.network.parameters()[k], 1e-4, 1e-5))
          << "epoch " << epoch << ", parameter " << k;
    }
    EXPECT_TRUE(torch::allclose(of_sampled->Logits(), of_full->Logits(), 1e-4, 1e-5)) << "epoch " << epoch;
  }
}

TEST_P(SampledPass, EvaluatesTheSameWhateverTheBlocks) {
  options_.fan_out.assign(options_.layers, 1);  // of no account
  Stepping sampled = Sampled();
  const torch::Tensor whole = MakeSampledPass(sampled.trained(), Data(1000))->Logits();
  for (const uint32_t rows : {1u, 7u, 150u}) {
    EXPECT_TRUE(torch::allclose(MakeSampledPass(sampled.trained(), Data(rows))->Logits(), whole, 1e-5, 1e-6)) << rows;
  }
}

// The layers on a sample, as they are written.
torch::Tensor SlowLogits(const SampledGraph& graph, const LinkWeights& weights, const FeatureMatrix& features,
                         Model model, int layers, const std::vector<torch::Tensor>& p) {
  std::vector<int64_t> nodes(graph.nodes.begin(), graph.nodes.end());
  const torch::Tensor numbers = torch::tensor(nodes, torch::kInt64);
  const torch::Tensor sums = DenseWeights(weights).sum(1).index_select(0, numbers);  // of all links
  torch::Tensor x = DenseFeatures(features).index_select(0, numbers);
  const size_t per_layer = p.size() / layers;
  for (int layer = 0; layer < layers; ++layer) {
    const size_t hop = layers - 1 - layer;
    const int64_t rows = graph.hop_ends[hop], all = graph.hop_ends[hop + 1];
    torch::Tensor w = torch::zeros({all, all}, torch::kFloat64);
    for (int64_t i = 0; i < rows; ++i) {
      for (uint64_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
        w[i][graph.neighbours[k]] = (graph.values.empty() ? 1.0 : graph.values[k]) *
                                    (model == Model::kGat ? 1.0 : double{graph.links_drawn[i]});
      }
    }
    const torch::Tensor* q = &p[layer * per_layer];
    const torch::Tensor eye = torch::eye(all, torch::kFloat64), s = sums.narrow(0, 0, all);
    if (model == Model::kMlp) {
      x = x.mm(q[0]) + q[1];
    } else if (model == Model::kGcn) {
      const torch::Tensor scale = (s + 1).clamp_min(1).pow(-0.5);
      x = (scale.unsqueeze(1) * (w + eye) * scale.unsqueeze(0)).mm(x).mm(q[0]) + q[1];
    } else if (model == Model::kGraphSage) {
      x = (w / s.clamp_min(1).unsqueeze(1)).mm(x).mm(q[0]) + q[1] + x.mm(q[2]);
    } else {
      x = testing::DenseNetwork{model, 1, w, !weights.values.empty(), x}.Forward({q[0], q[1], q[2], q[3]});
    }
    x = x.narrow(0, 0, rows);
    if (layer + 1 < layers) x = torch::relu(x);
  }
  return x;
}

TEST_P(SampledPass, IsItsSlowTwinOnTheSameSamples) {
  options_.fan_out = {2, 1, 2};
  options_.fan_out.resize(options_.layers);
  options_.batch_nodes = 20;
  Stepping sampled = Sampled();
  const auto pass = MakeSampledPass(sampled.trained(), Data(1000));
  std::vector<torch::Tensor> parameters = Doubles(sampled.network.parameters());
  const float loss = pass->TrainEpoch(4).item<float>();

  const std::vector<int64_t> nodes = LabelledNodes(data_.attributes, Split::kTrain);
  const auto batches = DealBatches(nodes, 20, options_.seed, 4);
  ASSERT_GT(batches.size(), 2u);
  const LinkWeights none;
  NeighbourSampler sampler(options_.model == Model::kMlp ? none : weights_);
  double expected = 0;
  for (size_t k = 0; k < batches.size(); ++k) {
    const SampledGraph graph = sampler.Sample(batches[k], options_.fan_out, SampleSeed(options_.seed, 4, k));
    std::vector<int64_t> labels;
    for (const NodeIndex node : batches[k]) labels.push_back(data_.attributes.labels[node]);
    const torch::Tensor of_batch = CrossEntropy(
        SlowLogits(graph, weights_, data_.attributes.features, options_.model, options_.layers, parameters),
        torch::tensor(labels, torch::kInt64), {});
    of_batch.backward();
    expected += of_batch.item<double>() * static_cast<double>(batches[k].size()) / static_cast<double>(nodes.size());
    const torch::NoGradGuard no_gradients;
    for (torch::Tensor& parameter : parameters) {
      if (!parameter.grad().defined()) continue;
      parameter.sub_(parameter.grad());
      parameter.mutable_grad().zero_();
    }
  }
  EXPECT_NEAR(loss, expected, 1e-4);
  for (size_t k = 0; k < parameters.size(); ++k) {
    EXPECT_TRUE(torch::allclose(sampled.network.parameters()[k].to(torch::kFloat64), parameters[k], 1e-3, 1e-4)) << k;
  }
}

// ---- through Train ----

TrainOptions Quick(Model model = Model::kGcn) {
  TrainOptions options;
  options.model = model;
  options.learning_rate = 0.05;
  options.epochs = 15;
  options.device = "cpu";
  options.batch_nodes = 32;
  options.fan_out = {3, 2};
  return options;
}

TEST(TrainerOnSamples, LearnsTheClassesOfASmallGraph) {
  const Dataset data = testing::SmallDataset(400);
  for (const Model model : {Model::kGcn, Model::kGraphSage, Model::kGat, Model::kMlp}) {
    const auto result = Train(LinkWeights::Unweighted(data.graph), data.attributes, Quick(model));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_GT(result->test_accuracy, 0.5) << ModelName(model);  // chance is a third
    EXPECT_LT(result->train_losses.back(), result->train_losses.front());
    EXPECT_EQ(result->logits.size(), 1200u);
    EXPECT_FALSE(result->script_bytes.empty());
  }
}

TEST(TrainerOnSamples, SameSeedGivesTheSameBitsWithAnyNumberOfThreads) {
  const Dataset data = testing::SmallDataset(300);
  const LinkWeights weights = LinkWeights::Unweighted(data.graph);
  for (const Model model : {Model::kGcn, Model::kGraphSage, Model::kGat}) {
    TrainOptions options = Quick(model);
    const TrainResult first = Train(weights, data.attributes, options).value();
    EXPECT_TRUE(first.deterministic);
    options.threads = 3;
    const TrainResult again = Train(weights, data.attributes, options).value();
    EXPECT_EQ(first.logits, again.logits);
    EXPECT_EQ(first.train_losses, again.train_losses);
    EXPECT_EQ(first.model_bytes, again.model_bytes);
    options.seed = 2;
    EXPECT_NE(first.logits, Train(weights, data.attributes, options).value().logits);
  }
}

TEST(TrainerOnSamples, WithNothingLeftOutTrainsAsWithoutSamples) {
  const Dataset data = testing::SmallDataset(300);
  const LinkWeights weights = LinkWeights::Unweighted(data.graph);
  for (const NodeFeatures features : {NodeFeatures::kGiven, NodeFeatures::kIdentity, NodeFeatures::kGivenAndDegree}) {
    for (const bool balance : {false, true}) {
      TrainOptions options = Quick();
      options.dropout = 0;
      options.node_features = features;
      options.balance_classes = balance;
      options.batch_nodes = kEveryNode;
      options.fan_out = {kEveryLink, kEveryLink};
      const TrainResult sampled = Train(weights, data.attributes, options).value();
      options.batch_nodes = 0;
      options.fan_out.clear();
      const TrainResult full = Train(weights, data.attributes, options).value();
      for (size_t e = 0; e < full.train_losses.size(); ++e) {
        EXPECT_NEAR(sampled.train_losses[e], full.train_losses[e], 1e-3);
        EXPECT_NEAR(sampled.validation_losses[e], full.validation_losses[e], 1e-3);
      }
    }
  }
}

TEST(TrainerOnSamples, TheLossOfAnEpochWeighsItsNodesAsALossOfAllWould) {
  const Dataset data = testing::SmallDataset(300);
  TrainOptions options = Quick();
  options.balance_classes = true;
  options.learning_rate = 1e-9;  // the weights do not move between the batches
  options.dropout = 0;
  options.epochs = 1;
  options.fan_out = {kEveryLink, kEveryLink};
  const LinkWeights weights = LinkWeights::Unweighted(data.graph);
  const float in_batches = Train(weights, data.attributes, options).value().train_losses[0];
  options.batch_nodes = kEveryNode;
  EXPECT_NEAR(in_batches, Train(weights, data.attributes, options).value().train_losses[0], 1e-5);
}

TEST(TrainerOnSamples, GoesOnFromACheckpointToTheSameBits) {
  const Dataset data = testing::SmallDataset();
  const LinkWeights weights = LinkWeights::Unweighted(data.graph);
  TrainOptions options = Quick(Model::kGraphSage);
  options.dropout = 0.4;
  const TrainResult uninterrupted = Train(weights, data.attributes, options).value();
  options.checkpoint_file = ::testing::TempDir() + "/sampled_" + std::to_string(::getpid()) + ".checkpoint";
  options.checkpoint_every_s = 0;
  std::string half;
  options.progress = [&](int done, double) {
    if (done == 7) half = ReadFile(options.checkpoint_file, 1 << 24).value();
  };
  ASSERT_TRUE(Train(weights, data.attributes, options).ok());
  options.progress = nullptr;
  std::ofstream(options.checkpoint_file, std::ios::binary | std::ios::trunc) << half;
  const TrainResult resumed = Train(weights, data.attributes, options).value();
  EXPECT_EQ(resumed.resumed_from_epoch, 7);
  EXPECT_EQ(resumed.logits, uninterrupted.logits);
  EXPECT_EQ(resumed.train_losses, uninterrupted.train_losses);
  EXPECT_EQ(resumed.model_bytes, uninterrupted.model_bytes);
  for (const bool batches : {false, true}) {  // of another sampling it is of another training
    std::ofstream(options.checkpoint_file, std::ios::binary | std::ios::trunc) << half;
    TrainOptions other = options;
    batches ? static_cast<void>(other.batch_nodes = 31) : static_cast<void>(other.fan_out = {3, 3});
    EXPECT_EQ(Train(weights, data.attributes, other).value().resumed_from_epoch, 0);
  }
  std::filesystem::remove(options.checkpoint_file);
}

TEST(TrainerOnSamples, TakesNodesWithoutLinksAndAGraphWithoutAny) {
  Dataset data = testing::SmallDataset();
  const LinkWeights isolated = LinkWeights::Unweighted(CsrGraph::FromLinks(150, {{0, 1}, {1, 2}}).value());
  for (const Model model : {Model::kGcn, Model::kGraphSage, Model::kGat}) {
    EXPECT_TRUE(Train(isolated, data.attributes, Quick(model)).ok());
    EXPECT_TRUE(
        Train(LinkWeights::Unweighted(CsrGraph::FromLinks(150, {}).value()), data.attributes, Quick(model)).ok());
  }
}

TEST(TrainerOnSamples, RefusesWhatCannotBeSampled) {
  const Dataset data = testing::SmallDataset();
  const auto refused = [&](const LinkWeights& weights, const TrainOptions& options, const std::string& text) {
    const auto result = Train(weights, data.attributes, options);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(result.status().message()), HasSubstr(text));
  };
  for (const Kind soft : {Kind::kBackgroundAndLinks, Kind::kBackgroundAndOnes}) {
    refused(SmallWeights(soft, data.graph), Quick(), "every pair of nodes has a weight");
    EXPECT_TRUE(Train(SmallWeights(soft, data.graph), data.attributes, Quick(Model::kMlp)).ok()) << "it reads no link";
  }
  const LinkWeights weights = LinkWeights::Unweighted(data.graph);
  TrainOptions options = Quick();
  options.fan_out = {10};
  refused(weights, options, "fan_out has 1 number, but there are 2 layers");
  options.fan_out = {10, 0};
  refused(weights, options, "fan_out has 0, but each of its numbers must be in 1 .. 1,000,000");
  options.batch_nodes = 0;
  options.fan_out = {10, 10};
  refused(weights, options, "fan_out is set, but nothing is sampled without batches");
  options.batch_nodes = 10'000'001;
  refused(weights, options, "batch_nodes is 1e+07, but must be in 0 .. 10,000,000");
}

}  // namespace
}  // namespace blink
