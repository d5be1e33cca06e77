// A graph with hubs, and what tests of mechanisms ask of it.
#ifndef BLINK_TESTS_UNIT_MECHANISMS_SMALL_GRAPH_H_
#define BLINK_TESTS_UNIT_MECHANISMS_SMALL_GRAPH_H_

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "aggregator_server/links/link_weights.h"
#include "common/graph/csr_graph.h"

namespace blink::testing {

inline CsrGraph GraphWithHubs(uint32_t n, uint64_t seed = 5) {
  std::mt19937_64 random(seed);
  std::vector<std::pair<NodeIndex, NodeIndex>> links;
  for (NodeIndex i = 0; i < n; ++i) {
    for (NodeIndex j = i + 1; j < n; ++j) {
      if (static_cast<double>(random() >> 11) * 0x1p-53 < 4.0 / n / std::sqrt((i + 1.0) / n)) links.emplace_back(i, j);
    }
  }
  return CsrGraph::FromLinks(n, std::move(links)).value();
}

// [n, n] row-major.
inline std::vector<float> Dense(const LinkWeights& weights) {
  const size_t n = weights.node_count;
  std::vector<float> dense(n * n);
  for (NodeIndex i = 0; i < n; ++i) FillRow(weights, i, &dense[i * n]);
  return dense;
}

inline std::string Message(const absl::Status& status) { return std::string(status.message()); }

// Deviations of a binomial count from its mean. Two-sided error of one comparison: 5: 6e-7; 5.5: 4e-8.
inline double Deviations(double count, double trials, double p) {
  return (count - trials * p) / std::sqrt(trials * p * (1 - p));
}

}  // namespace blink::testing

#endif  // BLINK_TESTS_UNIT_MECHANISMS_SMALL_GRAPH_H_
