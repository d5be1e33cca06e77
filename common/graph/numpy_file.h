// Feature matrices as NumPy and SciPy write them: .npy (dense) and .npz (scipy.sparse.save_npz, CSR).
//
// Nothing is allocated on the word of a header: a member may not be larger than deflate could have made of its
// compressed bytes, and a shape has to agree with the bytes that follow it.
#ifndef BLINK_COMMON_GRAPH_NUMPY_FILE_H_
#define BLINK_COMMON_GRAPH_NUMPY_FILE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/graph/node_attributes.h"

namespace blink {

// One array. `data` points into the bytes that were parsed.
struct NpyArray {
  char kind = 0;  // 'f', 'i', 'u', 'b' (bool), 'S' (bytes)
  uint32_t item_bytes = 0;
  std::vector<uint64_t> shape;  // {} for a scalar
  uint64_t items = 0;
  absl::string_view data;  // items * item_bytes bytes, little endian, C order
};

// `name` is for the error texts. INVALID_ARGUMENT unless the bytes are exactly one array in C order, little endian,
// of a type above.
absl::StatusOr<NpyArray> ParseNpy(absl::string_view bytes, const std::string& name);

// Dense [rows, cols], float or integer or bool; every value finite.
absl::StatusOr<FeatureMatrix> ReadDenseNpy(const std::string& path);
absl::Status WriteDenseNpy(const FeatureMatrix& features, const std::string& path);

// Sparse CSR. Columns are sorted within a row; a column that stands twice in a row is refused.
absl::StatusOr<FeatureMatrix> ReadSparseNpz(const std::string& path);
// `more`: further members, of which SciPy takes no notice; a name without ".npy", and the array as from NpyBytes.
absl::Status WriteSparseNpz(const FeatureMatrix& features, const std::string& path,
                            const std::vector<std::pair<std::string, std::string>>& more = {});

// An array as a .npy file. `descr` such as "<f4"; `bytes` of `data` must be what the shape needs.
std::string NpyBytes(absl::string_view descr, const std::vector<uint64_t>& shape, const void* data, uint64_t bytes);

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_NUMPY_FILE_H_
