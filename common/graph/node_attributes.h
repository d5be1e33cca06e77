// The public attributes of the nodes: ids, features, labels and the split. Never a link.
#ifndef BLINK_COMMON_GRAPH_NODE_ATTRIBUTES_H_
#define BLINK_COMMON_GRAPH_NODE_ATTRIBUTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace blink {

// A matrix [rows, cols] of float32, either sparse (CSR) or dense (row-major). Only the fields of one form are filled.
struct FeatureMatrix {
  uint32_t rows = 0;
  uint32_t cols = 0;
  bool sparse = false;
  std::vector<int64_t> row_offsets;  // sparse: [rows + 1]
  std::vector<int32_t> columns;      // sparse: [nnz], ascending in a row
  std::vector<float> values;         // sparse: [nnz]; dense: [rows * cols]
};

FeatureMatrix ToDense(const FeatureMatrix& sparse);

// PyG's NormalizeFeatures: subtracts the minimum of the matrix, then divides each row by max(row sum, 1). A sparse
// matrix stays sparse when its minimum is 0, and becomes dense when it has negative values.
FeatureMatrix NormalizeFeatures(const FeatureMatrix& features);
// Its two steps: the minimum of the matrix, in which what is not stored is 0; and the division, in place.
float SmallestFeature(const FeatureMatrix& features);
void DivideByRowSums(FeatureMatrix& features);

enum class Split : uint8_t { kNone = 0, kTrain = 1, kValidation = 2, kTest = 3 };
const char* SplitName(Split split);  // as split.csv has it: none, train, val, test

struct NodeAttributes {
  uint32_t node_count = 0;
  FeatureMatrix features;       // as on disk, not normalised; cols may be 0
  std::vector<int32_t> labels;  // [n], 0 .. class_count-1, or -1: unknown
  std::vector<Split> split;     // [n]
  uint32_t class_count = 0;
  std::vector<std::string> class_names;  // [class_count] or empty
  std::vector<std::string> ids;          // [n] what the owner of the data calls each node; empty: the numbers 0 .. n-1

  // Nodes of which nothing is known.
  static NodeAttributes OfNothing(uint32_t node_count);

  // Whether any node has a label. Without labels nothing can be trained, but links and degrees can be estimated.
  bool has_labels() const;
};

// What makes a training pointless or smaller than it looks: one class, training nodes without a label.
std::vector<std::string> LabelWarnings(const NodeAttributes& attributes);

// Keeps the attributes of the nodes 0 .. node_count - 1. These are the nodes of an earlier roster, since rosters only
// ever add ids. Returns INVALID_ARGUMENT when there are fewer.
absl::StatusOr<NodeAttributes> KeepFirstNodes(NodeAttributes attributes, uint32_t node_count);

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_NODE_ATTRIBUTES_H_
