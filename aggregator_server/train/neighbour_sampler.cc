#include "aggregator_server/train/neighbour_sampler.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace blink {
namespace {

constexpr uint32_t kNoNumber = std::numeric_limits<uint32_t>::max();

// SplitMix64 (Steele, Lea, Flood 2014). Samples have nothing to hide: the links are the aggregator's own estimate.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() { return Mix(state_ += 0x9e3779b97f4a7c15u); }
  // Each of 0 .. bound - 1 equally likely (Lemire 2019).
  uint32_t Below(uint32_t bound) {
    uint64_t product = (Next() >> 32) * bound;
    const uint32_t rest = (0u - bound) % bound;
    while (static_cast<uint32_t>(product) < rest) product = (Next() >> 32) * bound;
    return static_cast<uint32_t>(product >> 32);
  }
  static uint64_t Mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

uint64_t Combine(uint64_t seed, uint64_t with) { return Random::Mix(Random::Mix(seed) + with + 1); }

// `count` of 0 .. size - 1, ascending, every set equally likely (Floyd: Bentley 1987).
void Choose(uint32_t count, uint32_t size, Random& random, std::vector<uint32_t>& chosen) {
  chosen.clear();
  for (uint32_t last = size - count; last < size; ++last) {
    const uint32_t drawn = random.Below(last + 1);
    const auto place = std::lower_bound(chosen.begin(), chosen.end(), drawn);
    if (place == chosen.end() || *place != drawn) {
      chosen.insert(place, drawn);
    } else {
      chosen.push_back(last);
    }
  }
}

}  // namespace

NeighbourSampler::NeighbourSampler(const LinkWeights& weights)
    : weights_(weights), number_of_(weights.links.node_count(), kNoNumber) {}

void NeighbourSampler::AppendRow(NodeIndex node, uint32_t fan_out, uint64_t seed, SampledGraph& graph) {
  const auto row = weights_.links.NeighboursOf(node);
  const uint32_t count = std::min<uint32_t>(fan_out, static_cast<uint32_t>(row.size()));
  if (count < row.size()) {
    Random random(Combine(seed, node));
    Choose(count, static_cast<uint32_t>(row.size()), random, chosen_);
  } else {
    chosen_.resize(count);
    std::iota(chosen_.begin(), chosen_.end(), 0u);
  }
  const size_t first = graph.neighbours.size();
  for (const uint32_t place : chosen_) {
    uint32_t& number = number_of_[row[place]];
    if (number == kNoNumber) {
      number = static_cast<uint32_t>(graph.nodes.size());
      graph.nodes.push_back(row[place]);
    }
    graph.neighbours.push_back(number);
  }
  // The row ascends in the numbers of the whole graph, and now has to in those of its own.
  if (!weights_.values.empty()) {
    const float* const values = weights_.values.data() + weights_.links.offsets()[node];
    const NodeIndex* const numbers = graph.neighbours.data() + first;
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return numbers[a] < numbers[b]; });
    for (const uint32_t k : order) graph.values.push_back(values[chosen_[k]]);
  }
  std::sort(graph.neighbours.begin() + static_cast<ptrdiff_t>(first), graph.neighbours.end());
  graph.offsets.push_back(graph.neighbours.size());
  graph.links_drawn.push_back(count == 0 ? 1.0f : static_cast<float>(row.size()) / static_cast<float>(count));
}

SampledGraph NeighbourSampler::Sample(absl::Span<const NodeIndex> batch, absl::Span<const uint32_t> fan_out,
                                      uint64_t seed) {
  if (number_of_.empty()) {  // no graph: the batch alone, and no link
    SampledGraph graph{.nodes = {batch.begin(), batch.end()}, .offsets = {0}};
    graph.hop_ends.assign(fan_out.size() + 1, static_cast<uint32_t>(batch.size()));
    graph.offsets.resize(batch.size() + 1, 0);
    graph.links_drawn.assign(batch.size(), 1.0f);
    return graph;
  }
  SampledGraph graph{.nodes = {batch.begin(), batch.end()}, .offsets = {0}};
  for (uint32_t k = 0; k < batch.size(); ++k) number_of_[batch[k]] = k;
  graph.hop_ends.push_back(static_cast<uint32_t>(batch.size()));
  for (const uint32_t links : fan_out) {
    const size_t first = graph.offsets.size() - 1, end = graph.nodes.size();
    for (size_t k = first; k < end; ++k) AppendRow(graph.nodes[k], links, seed, graph);
    graph.hop_ends.push_back(static_cast<uint32_t>(graph.nodes.size()));
  }
  for (const NodeIndex node : graph.nodes) number_of_[node] = kNoNumber;
  return graph;
}

LinkWeights SampledGraph::RowsOf(size_t hop, bool scaled) const {
  const uint32_t rows = hop_ends[hop];
  LinkWeights part{.node_count = hop_ends[hop + 1]};
  std::vector<uint64_t> part_offsets(offsets.begin(), offsets.begin() + rows + 1);
  const auto links = static_cast<ptrdiff_t>(part_offsets.back());
  part_offsets.resize(size_t{part.node_count} + 1, part_offsets.back());
  scaled = scaled && std::any_of(links_drawn.begin(), links_drawn.begin() + rows, [](float of) { return of != 1; });
  if (!values.empty()) {
    part.weighted = true;
    part.values.assign(values.begin(), values.begin() + links);
  } else if (scaled) {
    part.values.assign(static_cast<size_t>(links), 1.0f);
  }
  for (uint32_t i = 0; i < rows && scaled; ++i) {
    for (uint64_t k = offsets[i]; k < offsets[i + 1]; ++k) part.values[k] *= links_drawn[i];
  }
  part.links = CsrGraph::FromRows(std::move(part_offsets), {neighbours.begin(), neighbours.begin() + links}).value();
  return part;
}

uint64_t SampleSeed(uint64_t seed, int epoch, size_t batch) {
  return Combine(Combine(seed ^ 0x6c696e6b73u, static_cast<uint64_t>(epoch)), batch);
}

std::vector<std::vector<NodeIndex>> DealBatches(absl::Span<const int64_t> nodes, uint32_t batch_nodes, uint64_t seed,
                                                int epoch) {
  std::vector<NodeIndex> order(nodes.begin(), nodes.end());
  Random random(Combine(seed ^ 0x62617463686573u, static_cast<uint64_t>(epoch)));
  for (size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[random.Below(static_cast<uint32_t>(left))]);
  }
  std::vector<std::vector<NodeIndex>> batches;
  for (size_t first = 0; first < order.size(); first += batch_nodes) {
    const size_t count = std::min<size_t>(batch_nodes, order.size() - first);
    const auto begin = order.begin() + static_cast<ptrdiff_t>(first);
    std::vector<NodeIndex>& batch = batches.emplace_back(begin, begin + static_cast<ptrdiff_t>(count));
    std::sort(batch.begin(), batch.end());
  }
  return batches;
}

}  // namespace blink
