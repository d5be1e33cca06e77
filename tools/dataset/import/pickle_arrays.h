// What pickles of graph data sets hold: arrays of NumPy, matrices of SciPy, and adjacency lists.
#ifndef BLINK_TOOLS_DATASET_IMPORT_PICKLE_ARRAYS_H_
#define BLINK_TOOLS_DATASET_IMPORT_PICKLE_ARRAYS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/graph/node_attributes.h"
#include "common/graph/npy_array.h"
#include "tools/dataset/import/pickle.h"

namespace blink {

// All of them return INVALID_ARGUMENT, naming the file, when the value is something else. An array points into the
// pickle's bytes.
absl::StatusOr<NpyArray> ArrayOf(const PickleValue& value, const std::string& name);
// An integer of Python or NumPy.
absl::StatusOr<int64_t> IntegerOf(const PickleValue& value, const std::string& name);
// A matrix of SciPy in CSR, CSC or COO form, or an array of two dimensions. Sparse.
absl::StatusOr<FeatureMatrix> MatrixOf(const PickleValue& value, const std::string& name);
// {node: [neighbours]}: the entries (node, neighbour) in their order, and all nodes that are keys.
struct PickledLists {
  std::vector<int64_t> nodes;
  std::vector<std::pair<int64_t, int64_t>> entries;
};
absl::StatusOr<PickledLists> AdjacencyOf(const Pickle& pickle, const std::string& name);
// {k: "name"} or ["name", ..]: the names in the order of k. Also as an array of objects, which holds the names
// themselves, or one dictionary or list of them.
absl::StatusOr<std::vector<std::string>> NamesIn(const Pickle& pickle, const std::string& name);

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_IMPORT_PICKLE_ARRAYS_H_
