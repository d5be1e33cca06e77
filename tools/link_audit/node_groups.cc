#include "tools/link_audit/node_groups.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

namespace blink {
namespace {

NodeGroup GroupOf(const CsrGraph& graph, std::string name, uint32_t degree_min, uint32_t degree_max) {
  NodeGroup group{.name = std::move(name), .degree_min = degree_max, .degree_max = degree_min};
  for (NodeIndex i = 0; i < graph.node_count(); ++i) {
    const uint32_t degree = graph.DegreeOf(i);
    if (degree < degree_min || degree > degree_max) continue;
    group.nodes.push_back(i);
    group.links += degree;
    group.degree_min = std::min(group.degree_min, degree);
    group.degree_max = std::max(group.degree_max, degree);
  }
  group.pairs = uint64_t{group.nodes.size()} * (graph.node_count() - 1);
  return group;
}

}  // namespace

std::array<NodeGroup, kGroups> MakeNodeGroups(const CsrGraph& graph) {
  std::vector<uint32_t> degrees;
  for (NodeIndex i = 0; i < graph.node_count(); ++i) {
    if (graph.DegreeOf(i) > 0) degrees.push_back(graph.DegreeOf(i));
  }
  std::sort(degrees.begin(), degrees.end());
  const size_t tenth = (degrees.size() - 1) / 10;
  constexpr uint32_t kMost = std::numeric_limits<uint32_t>::max();
  std::array<NodeGroup, kGroups> groups = {GroupOf(graph, "all", 0, kMost),
                                           GroupOf(graph, "low degree", 1, degrees[tenth]),
                                           GroupOf(graph, "high degree", degrees[degrees.size() - 1 - tenth], kMost)};
  groups[kEveryNode].links /= 2;
  groups[kEveryNode].pairs /= 2;
  return groups;
}

std::vector<NodeIndex> SampleNodes(absl::Span<const NodeIndex> nodes, size_t count, uint64_t seed) {
  std::vector<NodeIndex> sample(nodes.begin(), nodes.end());
  if (sample.size() <= count) return sample;
  std::mt19937_64 random(seed);
  for (size_t k = 0; k < count; ++k) std::swap(sample[k], sample[k + random() % (sample.size() - k)]);
  sample.resize(count);
  std::sort(sample.begin(), sample.end());
  return sample;
}

}  // namespace blink
