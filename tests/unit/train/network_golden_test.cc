// Logits and gradients of stock PyTorch Geometric layers, computed by golden/make_pyg_layers.py, under the names of its
// state dicts.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <fstream>
#include <map>
#include <sstream>

#include "aggregator_server/train/device.h"
#include "aggregator_server/train/network.h"
#include "tests/testing/places.h"

namespace blink {
namespace {

using Golden = std::map<std::string, torch::Tensor>;  // "<network> <tensor>"

std::string GoldenFile() { return testing::InSources("tests/unit/train/golden/pyg_layers.txt"); }

Golden ReadGolden() {
  std::ifstream file(GoldenFile());
  Golden golden;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string network, name, shape, size;
    words >> network >> name >> shape;
    std::istringstream sizes(shape);
    std::vector<int64_t> dimensions;
    while (std::getline(sizes, size, 'x')) dimensions.push_back(std::stoll(size));
    std::vector<float> values;
    for (float value = 0; words >> value;) values.push_back(value);
    golden[network + " " + name] = torch::tensor(values).view(dimensions);
  }
  return golden;
}

// As Network keeps it: weights transposed, attention vectors flat.
torch::Tensor AsParameter(const torch::Tensor& value) {
  if (value.dim() == 2) return value.t().contiguous();
  return value.view({-1}).contiguous();
}

struct Case {
  const char* name;
  Model model;
  bool weighted;
  OperatorPath path = OperatorPath::kAuto;
  friend void PrintTo(const Case& value, std::ostream* out) {
    *out << value.name << (value.path == OperatorPath::kAuto ? " by kernels" : " by tensor operations");
  }
};

class PygLayers : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    golden_ = ReadGolden();
    ASSERT_FALSE(golden_.empty()) << GoldenFile();
    const torch::Tensor x = golden_["data features"], links = golden_["data links"];
    std::vector<std::pair<NodeIndex, NodeIndex>> pairs;
    std::map<std::pair<NodeIndex, NodeIndex>, float> weight_of;
    for (int64_t k = 0; k < links.size(0); ++k) {
      const auto i = static_cast<NodeIndex>(links[k][0].item<float>()),
                 j = static_cast<NodeIndex>(links[k][1].item<float>());
      pairs.emplace_back(i, j);
      weight_of[{i, j}] = weight_of[{j, i}] = links[k][2].item<float>();
    }
    weights_ = LinkWeights::Unweighted(CsrGraph::FromLinks(static_cast<uint32_t>(x.size(0)), pairs).value());
    if (GetParam().weighted) {
      weights_.weighted = true;
      for (NodeIndex i = 0; i < weights_.node_count; ++i) {
        for (const NodeIndex j : weights_.links.NeighboursOf(i)) weights_.values.push_back(weight_of.at({i, j}));
      }
    }
    FeatureMatrix features{.rows = weights_.node_count, .cols = static_cast<uint32_t>(x.size(1))};
    features.values.assign(x.const_data_ptr<float>(), x.const_data_ptr<float>() + x.numel());
    torch::Generator generator = MakeGenerator(torch::kCPU, 1);
    network_ =
        std::make_unique<Network>(MakeInput(weights_, features, GetParam().model, torch::kCPU, 2, GetParam().path),
                                  NetworkShape{GetParam().model, 2, 4, 3}, generator, torch::kCPU);
    std::vector<torch::Tensor> values;
    for (const auto& [name, value] : network_->StateDict(network_->CopyParameters())) {
      names_.push_back(name);
      const auto stock = golden_.find(Key(name));
      ASSERT_NE(stock, golden_.end()) << "PyG has no " << name;
      ASSERT_EQ(stock->second.sizes(), value.sizes()) << name;
      values.push_back(AsParameter(stock->second));
    }
    network_->LoadParameters(values);
  }
  std::string Key(const std::string& tensor) const { return std::string(GetParam().name) + " " + tensor; }

  Golden golden_;
  LinkWeights weights_;
  std::unique_ptr<Network> network_;
  std::vector<std::string> names_;
};

TEST_P(PygLayers, GiveTheSameLogits) {
  const torch::Tensor logits = network_->Rest(network_->First());
  EXPECT_LT((logits - golden_[Key("logits")]).abs().max().item<double>(), 2e-6);
}

TEST_P(PygLayers, GiveTheSameGradients) {
  (network_->Rest(network_->First()) * golden_["data targets"]).sum().backward();
  for (size_t k = 0; k < names_.size(); ++k) {
    const torch::Tensor stock = AsParameter(golden_.at(Key("gradient:" + names_[k])));
    EXPECT_LT((network_->parameters()[k].grad() - stock).abs().max().item<double>(), 2e-5) << names_[k];
    if (names_[k] == "conv2.att_dst") continue;  // 0: all exponents of this small layer have one sign
    EXPECT_GT(stock.abs().max().item<double>(), 1e-4) << names_[k] << ": a gradient of zeros shows nothing";
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, PygLayers,
                         ::testing::Values(Case{"gcn", Model::kGcn, false}, Case{"gcn_weighted", Model::kGcn, true},
                                           Case{"graphsage", Model::kGraphSage, false}, Case{"gat", Model::kGat, false},
                                           Case{"gcn_weighted", Model::kGcn, true, OperatorPath::kTensorOperations},
                                           Case{"graphsage", Model::kGraphSage, false, OperatorPath::kTensorOperations},
                                           Case{"gat", Model::kGat, false, OperatorPath::kTensorOperations}));

}  // namespace
}  // namespace blink
