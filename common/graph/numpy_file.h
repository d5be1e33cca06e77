// Feature matrices as NumPy and SciPy write them: .npy (dense) and .npz (scipy.sparse.save_npz: CSR, CSC or COO).
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
#include "common/graph/npy_array.h"

namespace blink {

// A dense matrix [rows, cols] of floats, integers or bools, in C or Fortran order. Every value must be finite.
absl::StatusOr<FeatureMatrix> ReadDenseNpy(const std::string& path);
absl::StatusOr<FeatureMatrix> ParseDenseNpy(absl::string_view bytes, const std::string& name);
absl::Status WriteDenseNpy(const FeatureMatrix& features, const std::string& path);

// A sparse matrix. Columns are sorted within each row. Entries of COO at the same place are added, as SciPy does; in
// the other forms they are refused.
absl::StatusOr<FeatureMatrix> ReadSparseNpz(const std::string& path);
absl::StatusOr<FeatureMatrix> ParseSparseNpz(absl::string_view bytes, const std::string& name);
// `more` are further members, which SciPy ignores: a name without ".npy", and the array as NpyBytes gives it.
absl::Status WriteSparseNpz(const FeatureMatrix& features, const std::string& path,
                            const std::vector<std::pair<std::string, std::string>>& more = {});

// Arrays as numpy.savez_compressed writes them, each a name without ".npy" and the array as NpyBytes gives it. The same
// arrays give the same file. The file appears under its name only when it is whole and on the disk.
absl::Status WriteNpz(std::vector<std::pair<std::string, std::string>> arrays, const std::string& path);

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_NUMPY_FILE_H_
