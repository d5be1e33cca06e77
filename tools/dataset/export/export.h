// `blink dataset export`: a data set in the forms that other programs read.
#ifndef BLINK_TOOLS_DATASET_EXPORT_EXPORT_H_
#define BLINK_TOOLS_DATASET_EXPORT_EXPORT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/graph/dataset.h"

namespace blink {

inline constexpr uint64_t kDenseValuesMax = uint64_t{1} << 32;  // 16 GiB of floats
// INVALID_ARGUMENT for features of more values than that.
absl::Status CheckDenseFeatures(const FeatureMatrix& features);

// All write links once in each direction, except ExportOgb and ExportGraphMl, which write each once. A label that is
// unknown is -1. Errors are those of common/base/durable_file.h. Returns INVALID_ARGUMENT where the form cannot hold
// the data set.

// One archive of NumPy arrays in the layout of gnn-benchmark and SparseGraph: adj_data, adj_indices, adj_indptr,
// adj_shape; attr_* (sparse) or attr_matrix (dense); labels, class_names, node_names; train_mask, val_mask, test_mask.
absl::Status ExportNpz(const Dataset& dataset, const std::string& path);

// GraphML with the attributes label (the class's name), split and features ("column:value ..") of each node. Returns
// INVALID_ARGUMENT for an id or a name of a class with a control character, and for one that is not UTF-8.
absl::Status ExportGraphMl(const Dataset& dataset, const std::string& path);

// A folder as OGB's raw data sets: raw/edge.csv.gz and so on, split/blink/train.csv.gz. `folder` must exist. Features
// are dense, so INVALID_ARGUMENT when they are more than kDenseValuesMax.
absl::Status ExportOgb(const Dataset& dataset, const std::string& folder);

// A dictionary of tensors that torch.load(path, weights_only=True) reads, with PyG's names: edge_index [2, 2 * links],
// x [n, d] float32, y [n] int64, train_mask, val_mask and test_mask [n] bool. Features are dense, as above.
absl::Status ExportTorch(const Dataset& dataset, const std::string& path);

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_EXPORT_EXPORT_H_
