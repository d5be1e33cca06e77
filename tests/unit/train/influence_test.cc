// How far predictions depend on the features of one node, beside dense matrices of doubles.
#include "aggregator_server/train/influence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>

#include "tests/unit/train/dense_network.h"
#include "tests/unit/train/small_data.h"
#include "tests/unit/train/small_weights.h"

namespace blink {
namespace {

using testing::DenseNetwork;
using ::testing::HasSubstr;
using testing::Kind;

struct Trained {
  Dataset dataset = testing::SmallDataset(60);
  LinkWeights weights;
  TrainOptions options;
  TrainResult result;
};

Trained TrainSmall(Model model, Kind kind, int layers = 2) {
  Trained trained;
  trained.weights = testing::SmallWeights(kind, trained.dataset.graph);
  trained.options = {.model = model, .epochs = 20, .layers = layers, .device = "cpu"};
  trained.result = Train(trained.weights, trained.dataset.attributes, trained.options).value();
  return trained;
}

absl::StatusOr<std::vector<float>> Measure(const Trained& trained, const std::vector<NodeIndex>& nodes) {
  return MeasureInfluence(trained.weights, trained.dataset.attributes, trained.options, trained.result.state, nodes,
                          nullptr);
}

// [n] of one node, from the definition.
torch::Tensor SlowInfluence(const Trained& trained, NodeIndex node) {
  std::vector<torch::Tensor> parameters;
  for (const NamedValues& named : trained.result.state) {
    const torch::Tensor value = torch::tensor(named.values).view(named.shape).to(torch::kFloat64);
    parameters.push_back(value.dim() == 2 ? value.t() : value.reshape({-1}));
  }
  DenseNetwork network{.model = trained.options.model,
                       .layers = trained.options.layers,
                       .w = testing::DenseWeights(trained.weights),
                       .weighted = trained.weights.weighted,
                       .features = testing::DenseFeatures(trained.dataset.attributes.features)};
  const torch::Tensor before = network.Forward(parameters);
  network.features[node] *= 1 + kInfluenceChange;
  return ((network.Forward(parameters) - before) / kInfluenceChange).norm(2, 1);
}

class InfluenceTest : public ::testing::TestWithParam<Model> {};

TEST_P(InfluenceTest, IsTheChangeOfTheLogitsForEveryKindOfLinks) {
  for (const Kind kind : {Kind::kUnweighted, Kind::kLinks, Kind::kBackgroundAndOnes}) {
    const Trained trained = TrainSmall(GetParam(), kind);
    const std::vector<NodeIndex> nodes = {7, 0, 31};
    const std::vector<float> influence = Measure(trained, nodes).value();
    ASSERT_EQ(influence.size(), nodes.size() * 60);
    for (size_t k = 0; k < nodes.size(); ++k) {
      const torch::Tensor slow = SlowInfluence(trained, nodes[k]);
      for (int64_t j = 0; j < 60; ++j) {
        EXPECT_NEAR(influence[k * 60 + j], slow[j].item<double>(), 1e-3) << testing::KindName(kind) << ", node " << j;
      }
    }
  }
}

TEST_P(InfluenceTest, OfOneLayerReachesTheNeighboursAlone) {
  const Trained trained = TrainSmall(GetParam(), Kind::kUnweighted, /*layers=*/1);
  const std::vector<float> influence = Measure(trained, {5}).value();
  for (NodeIndex j = 0; j < 60; ++j) {
    if (j == 5) continue;
    EXPECT_EQ(influence[j] > 0, trained.dataset.graph.HasLink(5, j)) << j;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, InfluenceTest, ::testing::Values(Model::kGcn, Model::kGraphSage, Model::kGat),
                         [](const auto& info) { return std::string(ModelName(info.param)); });

TEST(MeasureInfluence, OfAnMlpReachesNoOtherNode) {
  const Trained trained = TrainSmall(Model::kMlp, Kind::kUnweighted);
  const std::vector<float> influence = Measure(trained, {5}).value();
  EXPECT_GT(influence[5], 0);
  for (NodeIndex j = 0; j < 60; ++j) {
    if (j == 5) continue;
    EXPECT_EQ(influence[j], 0);
  }
}

TEST(MeasureInfluence, TellsItsProgress) {
  const Trained trained = TrainSmall(Model::kGcn, Kind::kUnweighted);
  std::vector<double> told;
  ASSERT_TRUE(MeasureInfluence(trained.weights, trained.dataset.attributes, trained.options, trained.result.state,
                               {1, 2}, [&](double fraction) { told.push_back(fraction); })
                  .ok());
  EXPECT_EQ(told, (std::vector<double>{0.5, 1}));
}

TEST(MeasureInfluence, RefusesANodeThatIsNone) {
  const auto refused = Measure(TrainSmall(Model::kGcn, Kind::kUnweighted), {60});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("node 60 is none of the 60 nodes"));
}

TEST(MeasureInfluence, RefusesAModelThatIsNoNetwork) {
  Trained trained = TrainSmall(Model::kGcn, Kind::kUnweighted);
  trained.options.model = Model::kStacked;
  const auto refused = Measure(trained, {1});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("stacked is no network"));
}

TEST(MeasureInfluence, FailsWithTheStateOfAnotherNetwork) {
  Trained trained = TrainSmall(Model::kGcn, Kind::kUnweighted);
  trained.options.hidden = 3;
  EXPECT_EQ(Measure(trained, {1}).status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace blink
