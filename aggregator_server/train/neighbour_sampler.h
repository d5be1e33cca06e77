// Training on samples of the links: which nodes a step trains on, and which of their links it sees. As PyG's
// NeighborLoader: from the batch outwards, a number of links is drawn of every node, without replacement. No LibTorch
// type.
//
//   NeighbourSampler sampler(weights);
//   for (const auto& batch : DealBatches(train_nodes, 1024, seed, epoch)) {
//     const SampledGraph graph = sampler.Sample(batch, {25, 10}, SampleSeed(seed, epoch, ++number));
//     ...
//   }
//
// Everything follows from the seeds alone, so a training that goes on from a checkpoint draws what it would have drawn.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_NEIGHBOUR_SAMPLER_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_NEIGHBOUR_SAMPLER_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "aggregator_server/links/link_weights.h"
#include "common/graph/csr_graph.h"

namespace blink {

inline constexpr uint32_t kAllLinks = std::numeric_limits<uint32_t>::max();  // a fan-out

// A part of a graph, with numbers of its own for its nodes: the batch is 0 .. b - 1, then come the nodes that one step
// reaches, and so on.
struct SampledGraph {
  std::vector<NodeIndex> nodes;    // by their own numbers: the node of the whole graph
  std::vector<uint32_t> hop_ends;  // [steps + 1]: how many nodes so many steps reach; the first is b
  // Rows of the nodes that are not of the last step: the links that were drawn, ascending in own numbers. The links of
  // the first hop_ends[h] rows end at the first hop_ends[h + 1] nodes.
  std::vector<uint64_t> offsets;  // [hop_ends[steps - 1] + 1]
  std::vector<NodeIndex> neighbours;
  std::vector<float> values;       // their weights; empty: 1 each
  std::vector<float> links_drawn;  // [rows] links of the node divided by those that were drawn of it; 1 without links

  // The first hop_ends[hop] rows as weights over the first hop_ends[hop + 1] nodes, whose other rows are empty. The
  // links point one way: row i has j, and row j need not have i. `scaled`: each weight times links_drawn, so that the
  // sum of a row is that of the whole graph on average.
  LinkWeights RowsOf(size_t hop, bool scaled) const;
};

class NeighbourSampler {
 public:
  // `weights` have no background, and outlive the sampler. They may have no links at all, as of the MLP.
  explicit NeighbourSampler(const LinkWeights& weights);

  bool is_empty() const { return number_of_.empty(); }  // no links at all

  // One step for each number of `fan_out`. All links are drawn of a node that has no more than its step's number;
  // otherwise every set of so many is equally likely. A node is drawn from once, in the first step that reaches it.
  // `batch` has no node twice. Not thread-safe.
  SampledGraph Sample(absl::Span<const NodeIndex> batch, absl::Span<const uint32_t> fan_out, uint64_t seed);

 private:
  void AppendRow(NodeIndex node, uint32_t fan_out, uint64_t seed, SampledGraph& graph);

  const LinkWeights& weights_;
  std::vector<uint32_t> number_of_;  // [n] a node's own number in the sample that is being drawn; kNoNumber
  std::vector<uint32_t> chosen_;     // of AppendRow
};

// The seed of the links of one batch.
uint64_t SampleSeed(uint64_t seed, int epoch, size_t batch);

// `nodes` in another order each epoch, cut into batches of `batch_nodes`, of which the last may be smaller; each batch
// ascends.
std::vector<std::vector<NodeIndex>> DealBatches(absl::Span<const int64_t> nodes, uint32_t batch_nodes, uint64_t seed,
                                                int epoch);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_NEIGHBOUR_SAMPLER_H_
