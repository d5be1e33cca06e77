// Arrays of NumPy and compressed matrices of SciPy, as an archive or a pickle holds them, in the forms that blink uses.
#ifndef BLINK_TOOLS_DATASET_IMPORT_ARRAYS_H_
#define BLINK_TOOLS_DATASET_IMPORT_ARRAYS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/graph/node_attributes.h"
#include "common/graph/npy_array.h"

namespace blink {

// Integers and bools, and floats that are whole numbers. NaN becomes -1: an unknown label. INVALID_ARGUMENT for others.
absl::StatusOr<std::vector<int64_t>> IntegersOf(const NpyArray& array, const std::string& name);
// The items of an array of texts ('U', 'S') or integers.
absl::StatusOr<std::vector<std::string>> TextsOf(const NpyArray& array, const std::string& name);
// The label of each row: integers, or a row of a one-hot matrix, in which a row of zeros is class 0 as argmax has it.
// Returns INVALID_ARGUMENT for several labels in a row.
absl::StatusOr<std::vector<int64_t>> LabelNumbersOf(const NpyArray& array, const std::string& name);

// Entries by rows: those of row i are offsets[i] to offsets[i + 1].
struct RowsOfEntries {
  uint64_t rows = 0, cols = 0;
  std::vector<int64_t> offsets;  // [rows + 1]
  std::vector<int64_t> columns;  // [nnz]
  std::vector<float> values;     // [nnz]
};
// Checks that the parts fit each other. `by_columns`: they are a matrix in CSC form. Returns INVALID_ARGUMENT.
absl::StatusOr<RowsOfEntries> SparseRowsOf(const std::vector<int64_t>& shape, std::vector<int64_t> offsets,
                                           std::vector<int64_t> indices, std::vector<float> values, bool by_columns,
                                           const std::string& name);
// The same from the coordinates of the entries.
absl::StatusOr<RowsOfEntries> SparseRowsOfEntries(const std::vector<int64_t>& shape, const std::vector<int64_t>& rows,
                                                  const std::vector<int64_t>& columns, const std::vector<float>& values,
                                                  const std::string& name);

// Columns ascend; entries at one place are added. Returns INVALID_ARGUMENT for more rows or columns than blink takes,
// and for a value that is not finite.
absl::StatusOr<FeatureMatrix> FeaturesOf(RowsOfEntries rows, const std::string& name);
// An array of two dimensions, also in Fortran order.
absl::StatusOr<FeatureMatrix> FeaturesOf(const NpyArray& array, const std::string& name);
// INVALID_ARGUMENT, naming row and column, for a value that is not finite.
absl::Status CheckFinite(const FeatureMatrix& features, const std::string& name);

// The rows of `top`, then those of `bottom`. Both are sparse.
absl::StatusOr<FeatureMatrix> Stacked(FeatureMatrix top, const FeatureMatrix& bottom, const std::string& name);
// A matrix without zeros. A sparse one stays as it is.
FeatureMatrix ToSparse(const FeatureMatrix& dense);

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_IMPORT_ARRAYS_H_
