// Links that somebody estimated elsewhere, to be trained on as they are: `blink simulate --links FILE.npz`.
#ifndef BLINK_TOOLS_SIMULATE_GIVEN_LINKS_H_
#define BLINK_TOOLS_SIMULATE_GIVEN_LINKS_H_

#include <string>

#include "absl/status/statusor.h"
#include "aggregator_server/links/link_weights.h"
#include "common/base/digest.h"
#include "common/graph/csr_graph.h"
#include "common/graph/node_attributes.h"
#include "tools/simulate/run.h"

namespace blink {

struct GivenLinks {
  LinkWeights weights;  // weighted where some value is not 1
  GivenFigures figures;
  Digest digest{};  // of the links and their weights
};

// The links of a matrix [n, n]. Entries that are 0 are no links. `name` is for messages. INVALID_ARGUMENT, naming the
// entry and the remedy: another n than the graph's, a link to the node itself, a weight that is negative, or one that
// differs between the two directions of a pair.
absl::StatusOr<GivenLinks> GivenLinksOf(FeatureMatrix matrix, const std::string& name, const CsrGraph& truth);

// The same from a file as scipy.sparse.save_npz or numpy.save writes it. Errors of reading it, too.
absl::StatusOr<GivenLinks> ReadGivenLinks(const std::string& path, const CsrGraph& truth);

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_GIVEN_LINKS_H_
