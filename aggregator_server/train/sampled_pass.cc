#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "aggregator_server/train/feature_rows.h"
#include "aggregator_server/train/labelled_nodes.h"
#include "aggregator_server/train/neighbour_sampler.h"
#include "aggregator_server/train/passes.h"

namespace blink {
namespace {

// Numbers of a block of rows in an evaluation, if one row has no more: each link may bring the row of another node.
// 64 MB.
constexpr uint64_t kBlockNumbers = uint64_t{1} << 24;

torch::Tensor Indices(const std::vector<NodeIndex>& nodes) {
  const std::vector<int64_t> wide(nodes.begin(), nodes.end());
  return torch::tensor(wide, torch::kInt64);
}

class SampledPass : public EpochPass {
 public:
  SampledPass(Trained trained, const SampledData& data)
      : trained_(std::move(trained)),
        data_(data),
        has_links_(data.options.model != Model::kMlp),
        sampler_(has_links_ ? data.weights : kNoLinks),
        features_(data.features, /*normalize=*/!data.options.features_as_they_are),
        train_nodes_(LabelledNodes(data.attributes, Split::kTrain)) {
    if (data.options.balance_classes) class_weights_ = BalancedClassWeights(data.attributes);
    if (has_links_) {
      const std::vector<float> sums = RowSums(data.weights, data.options.threads);
      row_sums_ = torch::tensor(sums, torch::kFloat32);
    }
    const uint64_t width = std::max<uint64_t>(data.options.hidden, data.attributes.class_count);
    const auto& offsets = data.weights.links.offsets();
    const uint32_t n = data.attributes.node_count;
    for (uint32_t first = 0; first < n; first = block_ends_.back()) {
      uint32_t end = first + 1;
      while (end < n && end - first < data.block_rows &&
             (sampler_.is_empty() || (offsets[end + 1] - offsets[first]) * width <= kBlockNumbers)) {
        ++end;
      }
      block_ends_.push_back(end);
    }
  }

  torch::Tensor TrainEpoch(int epoch) override {
    const TrainOptions& options = data_.options;
    torch::Tensor mean = torch::zeros({}, torch::TensorOptions(data_.device));
    const auto batches = DealBatches(train_nodes_, options.batch_nodes, options.seed, epoch);
    const double all = WeightOf({train_nodes_.begin(), train_nodes_.end()});
    for (size_t k = 0; k < batches.size(); ++k) {
      const torch::Tensor loss =
          Step(sampler_.Sample(batches[k], options.fan_out, SampleSeed(options.seed, epoch, k)), batches[k]);
      mean += loss * (WeightOf(batches[k]) / all);
    }
    return mean;
  }

  torch::Tensor Logits() override {
    const torch::NoGradGuard no_gradients;
    torch::Tensor x;  // [n, width], none before the first layer
    for (int layer = 0; layer < data_.options.layers; ++layer) {
      const Network::Transformed rows = TransformAll(layer, x);
      x = torch::Tensor();  // before there is another like it
      x = CombineAll(layer, rows);
    }
    return x;
  }

 private:
  static inline const LinkWeights kNoLinks;

  // Of the losses of these nodes in a mean over more.
  double WeightOf(const std::vector<NodeIndex>& nodes) const {
    if (class_weights_.empty()) return static_cast<double>(nodes.size());
    return std::accumulate(nodes.begin(), nodes.end(), 0.0, [&](double sum, NodeIndex node) {
      return sum + class_weights_[data_.attributes.labels[node]];
    });
  }

  torch::Tensor Step(const SampledGraph& graph, const std::vector<NodeIndex>& batch) {
    std::deque<LinkWeights> parts;  // what the operators refer to
    std::vector<SampledLinks> layers;
    for (size_t hop = graph.hop_ends.size() - 1; hop-- > 0;) {
      layers.push_back(LinksOf(graph, hop, /*for_gradient=*/true, parts));
    }
    const NetworkInput input =
        FeatureInput(features_.Gather(graph.nodes), data_.device, data_.options.threads, /*for_gradient=*/true);
    std::vector<int64_t> labels;
    for (const NodeIndex node : batch) labels.push_back(data_.attributes.labels[node]);
    trained_.optimizer.zero_grad();
    torch::Tensor loss = CrossEntropy(trained_.network.OnSample(input, layers, trained_.dropout),
                                      torch::tensor(labels, torch::kInt64).to(data_.device), trained_.train.weights);
    loss.backward();
    trained_.optimizer.step();
    return loss.detach();
  }

  // Attention is normalised over the links that are there, as PyG's; sums of GCN and GraphSAGE are scaled up to all.
  SampledLinks LinksOf(const SampledGraph& graph, size_t hop, bool for_gradient, std::deque<LinkWeights>& parts) const {
    SampledLinks sampled{.rows = graph.hop_ends[hop]};
    if (!has_links_) return sampled;
    const Model model = data_.options.model;
    const LinkWeights& part = parts.emplace_back(graph.RowsOf(hop, /*scaled=*/model != Model::kGat));
    sampled.links = MakeDirectedOperator(part, data_.device, data_.options.threads, for_gradient, data_.path);
    if (model == Model::kGat) return sampled;
    const torch::Tensor nodes = Indices(graph.nodes).narrow(0, 0, graph.hop_ends[hop + 1]);
    sampled.propagation = MakePropagation(row_sums_.index_select(0, nodes).to(data_.device), model);
    return sampled;
  }

  // ---- the evaluation ----

  template <typename Body>
  void InBlocks(const Body& body) const {
    uint32_t first = 0;
    for (const uint32_t end : block_ends_) {
      std::vector<NodeIndex> nodes(end - first);
      std::iota(nodes.begin(), nodes.end(), first);
      body(nodes);
      first = end;
    }
  }

  static void Put(const torch::Tensor& rows, uint32_t first, int64_t n, torch::Tensor& all) {
    if (!all.defined()) all = torch::empty({n, rows.size(1)}, torch::kFloat32);
    all.narrow(0, first, rows.size(0)).copy_(rows);
  }

  Network::Transformed TransformAll(int layer, const torch::Tensor& x) const {
    const int64_t n = data_.attributes.node_count;
    Network::Transformed all;
    InBlocks([&](const std::vector<NodeIndex>& nodes) {
      const NetworkInput in = layer == 0 ? FeatureInput(features_.Gather(nodes), data_.device, data_.options.threads,
                                                        /*for_gradient=*/false)
                                         : NetworkInput{.dense = x.narrow(0, nodes[0], nodes.size()).to(data_.device)};
      const Network::Transformed rows = trained_.network.TransformOf(layer, in);
      Put(rows.for_others, nodes[0], n, all.for_others);
      if (rows.own.defined()) Put(rows.own, nodes[0], n, all.own);
    });
    return all;
  }

  torch::Tensor CombineAll(int layer, const Network::Transformed& all) {
    const int64_t n = data_.attributes.node_count;
    torch::Tensor result = all.own;  // each block of it is read before it is overwritten
    InBlocks([&](const std::vector<NodeIndex>& nodes) {
      const SampledGraph graph = sampler_.Sample(nodes, {kAllLinks}, /*seed=*/0);
      std::deque<LinkWeights> parts;
      const SampledLinks sampled = LinksOf(graph, 0, /*for_gradient=*/false, parts);
      Network::Transformed rows{.for_others = all.for_others.index_select(0, Indices(graph.nodes)).to(data_.device)};
      if (all.own.defined()) rows.own = all.own.narrow(0, nodes[0], nodes.size()).to(data_.device);
      torch::Tensor out =
          trained_.network.Combine(layer, {.links = sampled.links, .propagation = sampled.propagation}, rows)
              .narrow(0, 0, sampled.rows);
      if (layer + 1 < data_.options.layers) out = torch::relu(out);
      Put(out, nodes[0], n, result);
    });
    return result;
  }

  const Trained trained_;
  const SampledData data_;
  const bool has_links_;
  NeighbourSampler sampler_;
  const FeatureRows features_;
  const std::vector<int64_t> train_nodes_;
  std::vector<float> class_weights_;  // [classes]; empty: 1 each
  torch::Tensor row_sums_;            // [n] of W
  std::vector<uint32_t> block_ends_;  // of an evaluation
};

}  // namespace

std::unique_ptr<EpochPass> MakeSampledPass(Trained trained, const SampledData& data) {
  return std::make_unique<SampledPass>(std::move(trained), data);
}

}  // namespace blink
