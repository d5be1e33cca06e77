// The slow twin of the networks: dense matrices of doubles and LibTorch's own gradients.
#ifndef BLINK_TESTS_UNIT_TRAIN_DENSE_NETWORK_H_
#define BLINK_TESTS_UNIT_TRAIN_DENSE_NETWORK_H_

#include <torch/torch.h>

#include <vector>

#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/train/trainer.h"

namespace blink::testing {

inline torch::Tensor DenseFeatures(const FeatureMatrix& features) {
  const FeatureMatrix normal = NormalizeFeatures(features);
  torch::Tensor dense = torch::zeros({normal.rows, normal.cols}, torch::kFloat64);
  double* const out = dense.data_ptr<double>();
  for (int64_t i = 0; i < normal.rows; ++i) {
    if (normal.sparse) {
      for (int64_t k = normal.row_offsets[i]; k < normal.row_offsets[i + 1]; ++k) {
        out[i * normal.cols + normal.columns[k]] = normal.values[k];
      }
    } else {
      for (int64_t j = 0; j < normal.cols; ++j) out[i * normal.cols + j] = normal.values[i * normal.cols + j];
    }
  }
  return dense;
}

inline torch::Tensor DenseWeights(const LinkWeights& weights) {
  const int64_t n = weights.node_count;
  torch::Tensor dense = torch::zeros({n, n});
  for (int64_t i = 0; i < n; ++i) FillRow(weights, static_cast<NodeIndex>(i), dense[i].data_ptr<float>());
  return dense.to(torch::kFloat64);
}

inline std::vector<torch::Tensor> Doubles(const std::vector<torch::Tensor>& parameters) {
  std::vector<torch::Tensor> result;
  for (const torch::Tensor& p : parameters)
    result.push_back(p.detach().to(torch::kFloat64).clone().set_requires_grad(true));
  return result;
}

struct DenseNetwork {
  Model model = Model::kGcn;
  int layers = 2;
  torch::Tensor w;  // [n, n]
  bool weighted = false;
  torch::Tensor features;  // [n, features]

  torch::Tensor Forward(const std::vector<torch::Tensor>& parameters) const {
    torch::Tensor x = features;
    const size_t per_layer = parameters.size() / layers;
    for (int layer = 0; layer < layers; ++layer) {
      x = Layer(x, &parameters[layer * per_layer]);
      if (layer + 1 < layers) x = torch::relu(x);
    }
    return x;
  }

 private:
  torch::Tensor Layer(const torch::Tensor& x, const torch::Tensor* p) const {
    if (model == Model::kMlp) return x.mm(p[0]) + p[1];
    const torch::Tensor eye = torch::eye(w.size(0), torch::kFloat64);
    if (model == Model::kGcn) {
      const torch::Tensor scale = (w.sum(1) + 1).clamp_min(1).pow(-0.5);
      return (scale.unsqueeze(1) * (w + eye) * scale.unsqueeze(0)).mm(x).mm(p[0]) + p[1];
    }
    if (model == Model::kGraphSage) {
      return (w / w.sum(1, true).clamp_min(1)).mm(x).mm(p[0]) + p[1] + x.mm(p[2]);
    }
    const torch::Tensor h = x.mm(p[0]), with_self = w + eye;
    const torch::Tensor e = torch::leaky_relu(h.mv(p[2]).unsqueeze(1) + h.mv(p[1]).unsqueeze(0), 0.2);
    const torch::Tensor unscaled = (e - e.max()).exp() * with_self;
    const torch::Tensor attention = unscaled / unscaled.sum(1, true);
    return (weighted ? attention * with_self : attention).mm(h) + p[3];
  }
};

}  // namespace blink::testing

#endif  // BLINK_TESTS_UNIT_TRAIN_DENSE_NETWORK_H_
