// The noisy reports of all nodes of a data set as plain arrays, for an estimator of one's own. One process sees every
// list here, so this is for research.
#ifndef BLINK_TOOLS_PRIVATISE_PRIVATISE_H_
#define BLINK_TOOLS_PRIVATISE_PRIVATISE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/graph/csr_graph.h"
#include "common/privacy/parameters.h"
#include "common/privacy/random_source.h"

namespace blink {

struct PrivatisedGraph {
  PrivacyParameters parameters;
  uint32_t row_bytes = 0;        // ceil(n / 8)
  std::vector<uint8_t> bits;     // [n, row_bytes]: bit j % 8 of byte j / 8 is the noisy bit of j; empty for share 1
  std::vector<int64_t> degrees;  // [n] noisy, may be negative; empty for share 0
};

// The double nearest to it: 0.05 of 50,000, as everybody writes it. (A product with 1e-6 is another one.)
inline double FromMillionths(uint64_t millionths) { return static_cast<double>(millionths) / 1e6; }

// Draws the noise of each node and applies it, as a node does (common/privacy/privatizer.h). UNAVAILABLE when the
// random source fails.
absl::StatusOr<PrivatisedGraph> Privatise(const CsrGraph& graph, const PrivacyParameters& parameters,
                                          RandomSource& random);

// The arrays of the file, for WriteNpz:
//   bits              uint8 [n, ceil(n / 8)]: numpy.unpackbits(bits, axis=1, count=n, bitorder="little"); share < 1
//   degrees           int64 [n]; share > 0
//   epsilon, epsilon_per_link, degree_share, epsilon_list, epsilon_degree, flip_probability      float64 numbers
std::vector<std::pair<std::string, std::string>> ArraysOf(const PrivatisedGraph& graph);

}  // namespace blink

#endif  // BLINK_TOOLS_PRIVATISE_PRIVATISE_H_
