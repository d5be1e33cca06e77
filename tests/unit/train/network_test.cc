// The network against its slow twin: dense matrices of doubles, written as the formula reads.
#include "aggregator_server/train/network.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "aggregator_server/train/device.h"
#include "tests/unit/train/small_data.h"

namespace blink {
namespace {

torch::Tensor DenseFeatures(const FeatureMatrix& features) {
  const FeatureMatrix normal = NormalizeFeatures(features);
  torch::Tensor dense = torch::zeros({normal.rows, normal.cols}, torch::kFloat64);
  for (int64_t i = 0; i < normal.rows; ++i) {
    if (normal.sparse) {
      for (int64_t k = normal.row_offsets[i]; k < normal.row_offsets[i + 1]; ++k) {
        dense[i][normal.columns[k]] = normal.values[k];
      }
    } else {
      for (int64_t j = 0; j < normal.cols; ++j) dense[i][j] = normal.values[i * normal.cols + j];
    }
  }
  return dense;
}

torch::Tensor DenseAdjacency(const CsrGraph& graph) {
  const int64_t n = graph.node_count();
  torch::Tensor a = torch::eye(n, torch::kFloat64);
  for (int64_t i = 0; i < n; ++i) {
    for (const NodeIndex j : graph.NeighboursOf(i)) a[i][j] = 1.0;
  }
  const torch::Tensor d = a.sum(1).pow(-0.5);
  return d.unsqueeze(1) * a * d.unsqueeze(0);
}

torch::Tensor SlowForward(const torch::Tensor& a, const torch::Tensor& x, const std::vector<torch::Tensor>& w) {
  const torch::Tensor hidden = torch::relu(a.mm(x.mm(w[0])) + w[1]);
  return a.mm(hidden.mm(w[2])) + w[3];
}

std::vector<torch::Tensor> Doubles(const std::vector<torch::Tensor>& parameters) {
  std::vector<torch::Tensor> result;
  for (const torch::Tensor& p : parameters) result.push_back(p.detach().to(torch::kFloat64).set_requires_grad(true));
  return result;
}

FeatureMatrix AsDense(const FeatureMatrix& sparse) {
  FeatureMatrix dense{.rows = sparse.rows, .cols = sparse.cols};
  dense.values.assign(static_cast<size_t>(sparse.rows) * sparse.cols, 0.0f);
  for (uint32_t i = 0; i < sparse.rows; ++i) {
    for (int64_t k = sparse.row_offsets[i]; k < sparse.row_offsets[i + 1]; ++k) {
      dense.values[static_cast<size_t>(i) * sparse.cols + sparse.columns[k]] = sparse.values[k];
    }
  }
  return dense;
}

struct Case {
  Model model;
  bool dense_features;

  friend void PrintTo(const Case& value, std::ostream* out) {
    PrintTo(value.model, out);
    *out << (value.dense_features ? ", dense features" : ", sparse features");
  }
};

class NetworkCase : public ::testing::TestWithParam<Case> {
 protected:
  NetworkCase() : data_(testing::SmallDataset(80)), generator_(MakeGenerator(torch::kCPU, 9)) {
    if (GetParam().dense_features) data_.attributes.features = AsDense(data_.attributes.features);
    network_ = std::make_unique<Network>(MakeInput(data_.graph, data_.attributes.features, GetParam().model, torch::kCPU, 2),
                                         GetParam().model, 5, 3, generator_, torch::kCPU);
    const torch::NoGradGuard no_gradients;
    for (torch::Tensor& p : parameters_ = network_->parameters()) p.add_(torch::rand(p.sizes()) * 0.1);  // biases too
    adjacency_ = GetParam().model == Model::kGcn ? DenseAdjacency(data_.graph) : torch::eye(80, torch::kFloat64);
    features_ = DenseFeatures(data_.attributes.features);
    targets_ = torch::rand({80, 3}, torch::kFloat64);
  }
  // A scalar to differentiate that weighs every logit differently.
  torch::Tensor Loss() const {
    return (network_->SecondLayer(network_->FirstLayer()) * targets_.to(torch::kFloat32)).sum();
  }

  Dataset data_;
  torch::Generator generator_;
  std::unique_ptr<Network> network_;
  std::vector<torch::Tensor> parameters_;
  torch::Tensor adjacency_, features_, targets_;
};

TEST_P(NetworkCase, ForwardEqualsTheDenseTwin) {
  const torch::Tensor fast = network_->SecondLayer(network_->FirstLayer()).to(torch::kFloat64);
  const torch::Tensor slow = SlowForward(adjacency_, features_, Doubles(parameters_));
  EXPECT_LT((fast - slow).abs().max().item<double>(), 1e-5);
}

TEST_P(NetworkCase, GradientsEqualTheDenseTwins) {
  Loss().backward();
  std::vector<torch::Tensor> twins = Doubles(parameters_);
  (SlowForward(adjacency_, features_, twins) * targets_).sum().backward();
  for (size_t k = 0; k < twins.size(); ++k) {
    const double scale = twins[k].grad().abs().max().item<double>() + 1e-12;
    EXPECT_LT((parameters_[k].grad().to(torch::kFloat64) - twins[k].grad()).abs().max().item<double>() / scale, 1e-4)
        << "parameter " << k;
  }
}

TEST_P(NetworkCase, GradientsEqualCentralDifferencesOfTheTwin) {
  Loss().backward();
  std::vector<torch::Tensor> twins = Doubles(parameters_);
  const torch::NoGradGuard no_gradients;
  constexpr double kStep = 1e-6;
  for (size_t k = 0; k < twins.size(); ++k) {
    torch::Tensor flat = twins[k].view({-1});
    const double scale = parameters_[k].grad().abs().max().item<double>() + 1e-12;
    for (int64_t e = 0; e < flat.size(0); e += 7) {
      const double kept = flat[e].item<double>();
      const auto loss_at = [&](double value) {
        flat[e] = value;
        return (SlowForward(adjacency_, features_, twins) * targets_).sum().item<double>();
      };
      const double numeric = (loss_at(kept + kStep) - loss_at(kept - kStep)) / (2 * kStep);
      flat[e] = kept;
      EXPECT_NEAR(parameters_[k].grad().view({-1})[e].item<double>() / scale, numeric / scale, 1e-4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, NetworkCase,
                         ::testing::Values(Case{Model::kGcn, false}, Case{Model::kGcn, true}, Case{Model::kMlp, false},
                                           Case{Model::kMlp, true}));

TEST(Network, InitialWeightsOfGcnAreGlorotUniformWithZeroBias) {
  const Dataset data = testing::SmallDataset(80);
  torch::Generator generator = MakeGenerator(torch::kCPU, 1);
  const Network network(MakeInput(data.graph, data.attributes.features, Model::kGcn, torch::kCPU, 2), Model::kGcn, 64, 3,
                        generator, torch::kCPU);
  const double bound = std::sqrt(6.0 / (60 + 64));
  const double largest = network.parameters()[0].abs().max().item<double>();
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.98 * bound);  // 3,840 weights: fails with probability 0.98^3840 < 1e-33 over seeds; the seed is fixed
  EXPECT_EQ(network.parameters()[1].abs().max().item<double>(), 0.0);
}

TEST(Network, InitialWeightsOfTheMlpAreThoseOfTorchLinear) {
  const Dataset data = testing::SmallDataset(80);
  torch::Generator generator = MakeGenerator(torch::kCPU, 1);
  const Network network(MakeInput(data.graph, data.attributes.features, Model::kMlp, torch::kCPU, 2), Model::kMlp, 64, 3,
                        generator, torch::kCPU);
  const double bound = 1.0 / std::sqrt(60.0);
  EXPECT_LE(network.parameters()[0].abs().max().item<double>(), bound);
  EXPECT_GT(network.parameters()[0].abs().max().item<double>(), 0.98 * bound);
  EXPECT_LE(network.parameters()[1].abs().max().item<double>(), bound);
  EXPECT_GT(network.parameters()[1].abs().max().item<double>(), 0.0);
}

TEST(Network, SparseProductRefusesAnotherShape) {
  const Dataset data = testing::SmallDataset(80);
  const NetworkInput input = MakeInput(data.graph, data.attributes.features, Model::kGcn, torch::kCPU, 2);
  EXPECT_ANY_THROW(input.propagation->Multiply(torch::zeros({79, 4})));
  EXPECT_ANY_THROW(input.propagation->Multiply(torch::zeros({80, 4}, torch::kFloat64)));
}

}  // namespace
}  // namespace blink
