// Files of MATLAB, level 5 (save -v6 and -v7): the matrices of numbers in them, full or sparse.
//
// Own code and no library: matio reads paths alone, allocates what a header claims, and brings HDF5 along
// (docs/DATASETS.md). Here every size is compared with the bytes that are there. Source of the layout: "MAT-File
// Format", The MathWorks.
#ifndef BLINK_TOOLS_DATASET_IMPORT_MAT_FILE_H_
#define BLINK_TOOLS_DATASET_IMPORT_MAT_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace blink {

struct MatMatrix {
  std::string name;
  uint64_t rows = 0, cols = 0;
  bool sparse = false;
  std::vector<int64_t> offsets, indices;  // sparse: of the columns [cols + 1], and the rows of the entries [nnz]
  std::vector<double> values;             // sparse: [nnz]; full: [rows * cols], column by column
};

// Cells, structures, texts, complex numbers and arrays of more than two dimensions are left out. Returns
// INVALID_ARGUMENT, naming the variable, for a file that is damaged, of version 7.3, or of level 4.
absl::StatusOr<std::vector<MatMatrix>> ReadMatFile(absl::string_view bytes, const std::string& name);

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_IMPORT_MAT_FILE_H_
