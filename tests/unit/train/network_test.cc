// The networks against their slow twin: dense matrices of doubles, written as the formulas of network.h read.
#include "aggregator_server/train/network.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "aggregator_server/train/device.h"
#include "tests/unit/train/dense_network.h"
#include "tests/unit/train/small_data.h"
#include "tests/unit/train/small_weights.h"

namespace blink {
namespace {

using testing::DenseFeatures;
using testing::DenseNetwork;
using testing::DenseWeights;
using testing::Doubles;
using testing::Kind;
using testing::KindName;
using testing::SmallWeights;

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
  Kind kind;
  OperatorPath path = OperatorPath::kAuto;
  bool dense_features = false;
  int layers = 2;
  int64_t hidden = 5;

  friend void PrintTo(const Case& value, std::ostream* out) {
    *out << ModelName(value.model) << ", " << KindName(value.kind)
         << (value.path == OperatorPath::kAuto ? ", kernels" : ", tensor operations")
         << (value.dense_features ? ", dense features, " : ", sparse features, ") << value.layers << " layers of "
         << value.hidden;
  }
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const bool dense : {false, true}) cases.push_back({Model::kMlp, Kind::kUnweighted, OperatorPath::kAuto, dense});
  for (const Model model : {Model::kGcn, Model::kGraphSage, Model::kGat}) {
    for (const Kind kind : {Kind::kUnweighted, Kind::kLinks, Kind::kBackgroundAndLinks, Kind::kBackgroundAndOnes}) {
      for (const OperatorPath path : {OperatorPath::kAuto, OperatorPath::kTensorOperations}) {
        cases.push_back({model, kind, path});
      }
      cases.push_back({model, kind, OperatorPath::kAuto, /*dense_features=*/true});
    }
    cases.push_back({model, Kind::kLinks, OperatorPath::kAuto, false, /*layers=*/1});
    cases.push_back({model, Kind::kLinks, OperatorPath::kAuto, true, /*layers=*/4, /*hidden=*/2});
    cases.push_back({model, Kind::kBackgroundAndOnes, OperatorPath::kAuto, false, /*layers=*/3, /*hidden=*/37});
  }
  return cases;
}

class NetworkCase : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr uint32_t kNodes = 80;

  NetworkCase() : data_(testing::SmallDataset(kNodes)), weights_(SmallWeights(GetParam().kind, data_.graph)) {
    if (GetParam().dense_features) data_.attributes.features = AsDense(data_.attributes.features);
    torch::manual_seed(3);
    torch::Generator generator = MakeGenerator(torch::kCPU, 9);
    NetworkInput input =
        MakeInput(weights_, data_.attributes.features, GetParam().model, torch::kCPU, 2, GetParam().path);
    network_ = std::make_unique<Network>(input, NetworkShape{GetParam().model, GetParam().layers, GetParam().hidden, 3},
                                         generator, torch::kCPU);
    const torch::NoGradGuard no_gradients;
    for (torch::Tensor p : network_->parameters()) p.add_(torch::rand(p.sizes()) * 0.2 - 0.1);  // biases too
    twin_ = {GetParam().model, GetParam().layers, DenseWeights(weights_), weights_.weighted,
             DenseFeatures(data_.attributes.features)};
    targets_ = torch::rand({kNodes, 3}, torch::kFloat64);
  }
  // A scalar to differentiate that weighs every logit differently.
  torch::Tensor Loss() const { return (network_->Rest(network_->First()) * targets_.to(torch::kFloat32)).sum(); }
  torch::Tensor TwinLoss(const std::vector<torch::Tensor>& parameters) const {
    return (twin_.Forward(parameters) * targets_).sum();
  }

  Dataset data_;
  LinkWeights weights_;
  std::unique_ptr<Network> network_;
  DenseNetwork twin_;
  torch::Tensor targets_;
};

TEST_P(NetworkCase, ForwardEqualsTheDenseTwin) {
  const torch::Tensor slow = twin_.Forward(Doubles(network_->parameters()));
  const double scale = slow.abs().max().item<double>();
  const torch::Tensor fast = network_->Rest(network_->First()).to(torch::kFloat64);
  EXPECT_LT((fast - slow).abs().max().item<double>() / scale, 1e-5);
  const torch::NoGradGuard no_gradients;  // attention then takes another way
  const torch::Tensor evaluated = network_->Rest(network_->First()).to(torch::kFloat64);
  EXPECT_LT((evaluated - slow).abs().max().item<double>() / scale, 1e-5);
}

TEST_P(NetworkCase, GradientsEqualTheDenseTwins) {
  Loss().backward();
  const std::vector<torch::Tensor> twins = Doubles(network_->parameters());
  TwinLoss(twins).backward();
  for (size_t k = 0; k < twins.size(); ++k) {
    const torch::Tensor fast = network_->parameters()[k].grad().to(torch::kFloat64);
    const double scale = twins[k].grad().abs().max().item<double>() + 1e-3;
    EXPECT_LT((fast - twins[k].grad()).abs().max().item<double>() / scale, 1e-4) << "parameter " << k;
  }
}

TEST_P(NetworkCase, GradientsEqualCentralDifferencesOfTheTwin) {
  Loss().backward();
  std::vector<torch::Tensor> twins = Doubles(network_->parameters());
  const torch::NoGradGuard no_gradients;
  constexpr double kStep = 1e-6;
  for (size_t k = 0; k < twins.size(); ++k) {
    torch::Tensor flat = twins[k].view({-1});
    const torch::Tensor gradient = network_->parameters()[k].grad().view({-1});
    const double scale = gradient.abs().max().item<double>() + 1e-3;
    const int64_t stride = flat.size(0) / 12 + 1;
    for (int64_t e = 0; e < flat.size(0); e += stride) {
      const double kept = flat[e].item<double>();
      flat[e] = kept + kStep;
      const double above = TwinLoss(twins).item<double>();
      flat[e] = kept - kStep;
      const double below = TwinLoss(twins).item<double>();
      flat[e] = kept;
      EXPECT_NEAR(gradient[e].item<double>() / scale, (above - below) / (2 * kStep) / scale, 1e-3) << "parameter " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, NetworkCase, ::testing::ValuesIn(Cases()));

}  // namespace
}  // namespace blink
