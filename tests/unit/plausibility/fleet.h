// Reports of a whole fleet over a random symmetric graph, drawn by the real mechanism from a seed; and nodes that lie.
#ifndef BLINK_TESTS_UNIT_PLAUSIBILITY_FLEET_H_
#define BLINK_TESTS_UNIT_PLAUSIBILITY_FLEET_H_

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "aggregator_server/reports/report_set.h"
#include "common/graph/csr_graph.h"
#include "common/privacy/privatizer.h"
#include "tests/testing/random_doubles.h"

namespace blink::testing {

// Cora's size and mean degree, with a heavy tail: an end of each link is drawn with probability growing towards node 0.
inline CsrGraph HeavyTailedGraph(uint32_t nodes, double mean_degree, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto any = [&] { return std::min(nodes - 1, static_cast<uint32_t>(nodes * uniform(random))); };
  const auto popular = [&] { return std::min(nodes - 1, static_cast<uint32_t>(nodes * std::pow(uniform(random), 3))); };
  std::vector<std::pair<NodeIndex, NodeIndex>> links;
  while (static_cast<double>(links.size()) < nodes * mean_degree / 2) {
    const NodeIndex a = any(), b = popular();
    if (a != b) links.emplace_back(a, b);
  }
  return CsrGraph::FromLinks(nodes, std::move(links)).value();
}

using List = std::vector<NodeIndex>;

// A node draws its noise as it should, for `list`.
inline PrivateReport Draw(const PrivacyParameters& parameters, NodeIndex self, const List& list, RandomSource& random) {
  return ApplyNoise(parameters, self, DrawNoise(parameters, self, random).value(), list).value();
}

// The lists that the nodes report for: the graph's, changed by `lie` for the nodes in `liars`.
using Lie = std::function<List(NodeIndex self, List list)>;

inline std::vector<PrivateReport> DrawFleet(const CsrGraph& graph, const PrivacyParameters& parameters, uint64_t seed,
                                            const List& liars = {}, const Lie& lie = nullptr) {
  SeededRandom random(seed);
  std::vector<PrivateReport> reports;
  for (NodeIndex i = 0; i < graph.node_count(); ++i) {
    List list(graph.NeighboursOf(i).begin(), graph.NeighboursOf(i).end());
    if (std::find(liars.begin(), liars.end(), i) != liars.end()) list = lie(i, std::move(list));
    reports.push_back(Draw(parameters, i, list, random));
  }
  return reports;
}

inline ReportSet Gather(const PrivacyParameters& parameters, const std::vector<PrivateReport>& reports) {
  ReportSet set(parameters);
  for (NodeIndex i = 0; i < reports.size(); ++i) {
    if (!set.Add(i, reports[i]).ok()) std::abort();
  }
  if (!set.Complete().ok()) std::abort();
  return set;
}

// `count` links more than the list has, to nodes chosen at random.
inline Lie Inflate(uint32_t nodes, uint32_t count, uint64_t seed) {
  return [=](NodeIndex self, List list) {
    std::mt19937_64 random(seed + self);
    for (uint32_t added = 0; added < count;) {
      const NodeIndex j = static_cast<NodeIndex>(random() % nodes);
      if (j == self || std::find(list.begin(), list.end(), j) != list.end()) continue;
      list.push_back(j);
      ++added;
    }
    return list;
  };
}

inline List HideAll(NodeIndex, List) { return {}; }

}  // namespace blink::testing

#endif  // BLINK_TESTS_UNIT_PLAUSIBILITY_FLEET_H_
