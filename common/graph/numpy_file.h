// Feature matrices as NumPy and SciPy write them: .npy (dense) and .npz (scipy.sparse.save_npz, CSR).
//
// The readers trust no header. Before memory is allocated, a member's size is compared with the most that its
// compressed bytes can inflate to. A shape must agree with the bytes that follow it.
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

// Parses one array. Returns INVALID_ARGUMENT unless the bytes are exactly one little-endian array in C order, of a kind
// that NpyArray lists. `name` is for messages.
absl::StatusOr<NpyArray> ParseNpy(absl::string_view bytes, const std::string& name);

// A dense matrix [rows, cols] of floats, integers or bools. Every value must be finite.
absl::StatusOr<FeatureMatrix> ReadDenseNpy(const std::string& path);
absl::Status WriteDenseNpy(const FeatureMatrix& features, const std::string& path);

// A sparse matrix in CSR form. Columns are sorted within each row. A row with the same column twice is refused.
absl::StatusOr<FeatureMatrix> ReadSparseNpz(const std::string& path);
// `more` are further members, which SciPy ignores: a name without ".npy", and the array as NpyBytes gives it.
absl::Status WriteSparseNpz(const FeatureMatrix& features, const std::string& path,
                            const std::vector<std::pair<std::string, std::string>>& more = {});

// An array as a .npy file. `descr` is its type, such as "<f4". `bytes` is the size of `data`, and must fit the shape.
std::string NpyBytes(absl::string_view descr, const std::vector<uint64_t>& shape, const void* data, uint64_t bytes);

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_NUMPY_FILE_H_
