// Links of two models that know no classes, for graphs unlike those of the block model. Internal to this folder.
//
//   R-MAT (Chakrabarti, Zhan, Faloutsos, SDM 2004): a link falls into one quadrant of the adjacency matrix by the
//   shares a, b, c, d, then into one of that quadrant, and so on down to one entry. With L levels, p = a + b and
//   b = c, a node whose id has z zeros expects 2 m p^z (1 - p)^(L - z) links.
//   Chung-Lu (PNAS 2002), drawn as by Pinar, Seshadhri and Kolda (SDM 2012): both ends of a link by weights whose tail
//   is a power law. A node expects links in proportion to its weight.
//
// Both draw until `wanted` different links are there, so loops and repetitions are no links. Where the heaviest nodes
// are linked to most others, they get fewer than expected.
#ifndef BLINK_COMMON_GRAPH_CLASSLESS_LINKS_H_
#define BLINK_COMMON_GRAPH_CLASSLESS_LINKS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/graph/csr_graph.h"
#include "common/graph/data_random.h"
#include "common/graph/dataset.h"

namespace blink {

using LinkList = std::vector<std::pair<NodeIndex, NodeIndex>>;

// Returns INVALID_ARGUMENT for shares that are none, and an exponent that gives no such graph.
absl::Status CheckLinkModel(const SyntheticOptions& options);

// Of LinkModel::kRmat or kChungLu. Returns INVALID_ARGUMENT when so many different links are not found: too few pairs
// are likely.
absl::StatusOr<LinkList> DrawClasslessLinks(const SyntheticOptions& options, uint64_t wanted, SplitMix64& random);

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_CLASSLESS_LINKS_H_
