// The links of a result as files: what the model saw.
#ifndef BLINK_AGGREGATOR_SERVER_RESULT_LINK_FILES_H_
#define BLINK_AGGREGATOR_SERVER_RESULT_LINK_FILES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "aggregator_server/links/link_weights.h"

namespace blink {

// links.csv, a pair once, source < target:
//   unweighted         source,target          the form of a data set's edges.csv
//   weighted (Hybrid)  source,target,weight
//   Soft               source,target,weight   of the pairs with P > 1/2, which `hard` holds
// `soft`: the weights are a Soft that is a list. A Soft with a background is known by it. `ids`: what the owner of the
// data calls each node, or empty. With them two columns follow, source_id and target_id.
std::string LinksCsv(const LinkWeights& weights, const CsrGraph& hard, bool soft = false,
                     const std::vector<std::string>& ids = {});

// The same form of links that need not go both ways: row v of `links` has the sources of the links to v.
std::string DirectedLinksCsv(const CsrGraph& links, const std::vector<std::string>& ids = {});

// A Soft's pairs are kept from this P on, doubled until no more than kSoftPairsMax (both directions counted) are left.
inline constexpr float kSoftThreshold = 1.0f / 1024;
inline constexpr size_t kSoftPairsMax = 8'000'000;

// links.npz: W [n, n] for scipy.sparse.load_npz, float32, symmetric.
//
// Soft has n^2 weights, which would be no file. It has the pairs from a threshold on, and three more arrays that
// numpy.load shows:
//   threshold       a number: a pair that is not listed weighs less
//   class_of_node   [n]
//   background      [classes, classes]: a pair without a one in its reports weighs exactly
//                   background[class_of_node[i], class_of_node[j]]
// A Soft that is a list of the pairs with P > soft_from has `threshold` alone: soft_from, or what it was doubled to.
absl::Status WriteLinksNpz(const LinkWeights& weights, int threads, const std::string& path,
                           size_t soft_pairs_max = kSoftPairsMax, float soft_from = 0);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_RESULT_LINK_FILES_H_
