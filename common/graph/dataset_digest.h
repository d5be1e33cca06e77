// Digests by which a result names the data it was made from.
#ifndef BLINK_COMMON_GRAPH_DATASET_DIGEST_H_
#define BLINK_COMMON_GRAPH_DATASET_DIGEST_H_

#include "common/base/digest.h"
#include "common/graph/dataset.h"

namespace blink {

// SHA-256 of the features, labels and split as they are read, in the order of the nodes. Files that are written
// differently but hold the same have the same digest. Names of the folder, of nodes and of classes do not count.
Digest DigestOfAttributes(const NodeAttributes& attributes);

// The same with the links.
Digest DigestOfDataset(const Dataset& dataset);

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_DATASET_DIGEST_H_
