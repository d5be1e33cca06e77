// One array as NumPy writes it (.npy). The reader trusts no header: a shape must agree with the bytes that follow it.
#ifndef BLINK_COMMON_GRAPH_NPY_ARRAY_H_
#define BLINK_COMMON_GRAPH_NPY_ARRAY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace blink {

// Of a file of features, labels or ids.
inline constexpr uint64_t kFeatureFileBytesMax = uint64_t{16} << 30;

// `data` points into the bytes that were parsed.
struct NpyArray {
  char kind = 0;  // 'f', 'i', 'u', 'b' (bool), 'S' (bytes), 'U' (text, four bytes a character)
  uint32_t item_bytes = 0;
  bool big_endian = false;
  bool by_columns = false;      // Fortran order: the first index runs fastest
  std::vector<uint64_t> shape;  // {} for a scalar
  uint64_t items = 0;
  absl::string_view data;  // items * item_bytes bytes
};

// Parses one array. Returns INVALID_ARGUMENT unless the bytes are exactly one array of a kind that NpyArray lists.
// `name` is for messages.
absl::StatusOr<NpyArray> ParseNpy(absl::string_view bytes, const std::string& name);
// The same, also for objects ('O'), whose data are a pickle of any length.
absl::StatusOr<NpyArray> ParseNpyOfAnyKind(absl::string_view bytes, const std::string& name);

// The item at `index` of the data, of an array of integers. INVALID_ARGUMENT for another kind.
absl::StatusOr<int64_t> IntegerAt(const NpyArray& array, uint64_t index, const std::string& name);

// The items as ids: text without the zeros that fill it up, or integers, also those of floats. INVALID_ARGUMENT for
// another kind, a fraction, and text that is no Unicode.
absl::StatusOr<std::vector<std::string>> IdsOf(const NpyArray& array, const std::string& name);

// All items in the order of the data, as float32. An item that float32 cannot hold becomes NaN or infinity. Returns
// INVALID_ARGUMENT for another kind than floats of 2, 4 or 8 bytes, integers and bools.
absl::StatusOr<std::vector<float>> FloatsOf(const NpyArray& array, const std::string& name);

// INVALID_ARGUMENT that says how features are written.
absl::Status MalformedArray(const std::string& name, absl::string_view what);

// An array as a .npy file. `descr` is its type, such as "<f4". `bytes` is the size of `data`, and must fit the shape.
std::string NpyBytes(absl::string_view descr, const std::vector<uint64_t>& shape, const void* data, uint64_t bytes);

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_NPY_ARRAY_H_
