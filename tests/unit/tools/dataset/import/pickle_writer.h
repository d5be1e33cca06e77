// Pickles as Python 2 writes them in protocol 2, opcode by opcode, for tests.
#ifndef BLINK_TESTS_UNIT_TOOLS_DATASET_IMPORT_PICKLE_WRITER_H_
#define BLINK_TESTS_UNIT_TOOLS_DATASET_IMPORT_PICKLE_WRITER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace blink::pickled {

inline std::string LittleEndian(uint64_t value, int bytes) {
  std::string out;
  for (int k = 0; k < bytes; ++k) out.push_back(static_cast<char>(value >> (8 * k)));
  return out;
}
inline std::string Integer(int32_t value) { return "J" + LittleEndian(static_cast<uint32_t>(value), 4); }
inline std::string Text(const std::string& text) { return "T" + LittleEndian(text.size(), 4) + text; }
inline std::string Whole(const std::string& value) { return "\x80\x02" + value + "."; }

inline std::string List(const std::vector<int32_t>& values) {
  std::string out = "](";
  for (const int32_t value : values) out += Integer(value);
  return out + "e";
}
// {node: [neighbours]} as a defaultdict(list).
inline std::string Adjacency(const std::vector<std::pair<int32_t, std::vector<int32_t>>>& lists) {
  std::string out = "ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(";
  for (const auto& [node, neighbours] : lists) out += Integer(node) + List(neighbours);
  return out + "u";
}
inline std::string Type(const std::string& type, char order = '<') {
  return "cnumpy\ndtype\n(" + Text(type) + Integer(0) + Integer(1) + "tR(" + Integer(3) + Text(std::string(1, order)) +
         "NNN" + Integer(-1) + Integer(-1) + Integer(0) + "tb";
}
template <typename T>
std::string Array(const std::string& type, const std::vector<int32_t>& shape, const std::vector<T>& values,
                  bool by_columns = false) {
  std::string sizes = "(";
  for (const int32_t size : shape) sizes += Integer(size);
  const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(" + Integer(0) + "t" + Text("b") + "tR(" +
         Integer(1) + sizes + "t" + Type(type) + (by_columns ? "\x88" : "\x89") + Text(bytes) + "tb";
}
// A matrix of SciPy in CSR form, as Python 2 pickles an object with a __dict__.
inline std::string Csr(int32_t rows, int32_t cols, const std::vector<int32_t>& indptr,
                       const std::vector<int32_t>& indices, const std::vector<float>& data,
                       const std::string& type = "scipy.sparse.csr\ncsr_matrix") {
  return "ccopy_reg\n_reconstructor\n(c" + type + "\nc__builtin__\nobject\nNtR}(" + Text("_shape") + "(" +
         Integer(rows) + Integer(cols) + "t" + Text("indptr") +
         Array("i4", {static_cast<int32_t>(indptr.size())}, indptr) + Text("indices") +
         Array("i4", {static_cast<int32_t>(indices.size())}, indices) + Text("data") +
         Array("f4", {static_cast<int32_t>(data.size())}, data) + "ub";
}
// The same in COO form, as SciPy 1.13 and later keep the places of the entries.
inline std::string Coo(int32_t rows, int32_t cols, const std::vector<int32_t>& row, const std::vector<int32_t>& col,
                       const std::vector<float>& data) {
  const auto size = static_cast<int32_t>(data.size());
  return "cscipy.sparse._coo\ncoo_matrix\n)\x81}(" + Text("_shape") + "(" + Integer(rows) + Integer(cols) + "t" +
         Text("coords") + Array("i4", {size}, row) + Array("i4", {size}, col) + "\x86" + Text("data") +
         Array("f4", {size}, data) + "ub";
}

}  // namespace blink::pickled

#endif  // BLINK_TESTS_UNIT_TOOLS_DATASET_IMPORT_PICKLE_WRITER_H_
