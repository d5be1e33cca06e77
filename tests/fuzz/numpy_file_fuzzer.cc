// .npy and .npz. What is accepted is a valid matrix, and written again it reads as the same one.
//
// Input: kind (u8), then
//   kind 0   an array as it is (ParseNpy, and as features.npy)
//   kind 1   a zip archive as it is
//   kind 2   the five members of a sparse matrix (u16 length each): format, shape, indptr, indices, data; they are put
//            into an archive with the right checksums
#include <zlib.h>

#include <cmath>

#include "common/graph/numpy_file.h"
#include "tests/fuzz/fuzzing.h"

namespace blink {
namespace {

constexpr uint64_t kEntriesMax = 1 << 16;  // larger matrices only cost time

template <typename T>
void Put(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
}

// The fields that a local header and an entry of the directory have in common: stored, not compressed.
void PutEntry(std::string& out, absl::string_view name, absl::string_view content) {
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
  for (const uint16_t field : {20, 0, 0, 0, 33}) Put<uint16_t>(out, field);  // version, flags, method, time, date
  Put<uint32_t>(out, static_cast<uint32_t>(crc));
  Put<uint32_t>(out, content.size());
  Put<uint32_t>(out, content.size());
  Put<uint16_t>(out, name.size());
  Put<uint16_t>(out, 0);  // extra field
}

std::string Archive(fuzzing::Input input) {
  std::string file, directory;
  uint16_t entries = 0;
  for (const absl::string_view name : {"format.npy", "shape.npy", "indptr.npy", "indices.npy", "data.npy"}) {
    const absl::string_view content = input.TakePiece();
    directory += "PK\x01\x02";
    Put<uint16_t>(directory, 20);
    PutEntry(directory, name, content);
    directory.append(10, '\0');  // comment, disk, attributes
    Put<uint32_t>(directory, file.size());
    directory.append(name.data(), name.size());
    file += "PK\x03\x04";
    PutEntry(file, name, content);
    file.append(name.data(), name.size());
    file.append(content.data(), content.size());
    ++entries;
  }
  const uint32_t start = file.size();
  file += directory + "PK\x05\x06";
  Put<uint32_t>(file, 0);  // disks
  Put<uint16_t>(file, entries);
  Put<uint16_t>(file, entries);
  Put<uint32_t>(file, directory.size());
  Put<uint32_t>(file, start);
  Put<uint16_t>(file, 0);  // comment
  return file;
}

bool Same(const FeatureMatrix& a, const FeatureMatrix& b) {
  return a.rows == b.rows && a.cols == b.cols && a.sparse == b.sparse && a.row_offsets == b.row_offsets &&
         a.columns == b.columns && a.values == b.values;
}

void CheckDense(const fuzzing::Folder& folder, const std::string& path) {
  const absl::StatusOr<FeatureMatrix> read = ReadDenseNpy(path);
  if (!read.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(read.status()));
    return;
  }
  FUZZ_CHECK(!read->sparse && read->values.size() == uint64_t{read->rows} * read->cols);
  for (const float value : read->values) FUZZ_CHECK(std::isfinite(value));
  if (read->values.size() > kEntriesMax) return;
  FUZZ_CHECK(WriteDenseNpy(*read, folder / "again.npy").ok());
  const absl::StatusOr<FeatureMatrix> again = ReadDenseNpy(folder / "again.npy");
  FUZZ_CHECK(again.ok() && Same(*read, *again));
}

void CheckSparse(const fuzzing::Folder& folder, const std::string& path) {
  const absl::StatusOr<FeatureMatrix> read = ReadSparseNpz(path);
  if (!read.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(read.status()));
    return;
  }
  FUZZ_CHECK(read->sparse && read->row_offsets.size() == uint64_t{read->rows} + 1);
  FUZZ_CHECK(read->columns.size() == read->values.size());
  FUZZ_CHECK(read->row_offsets.front() == 0 && read->row_offsets.back() == static_cast<int64_t>(read->values.size()));
  for (uint32_t row = 0; row < read->rows; ++row) {
    for (int64_t k = read->row_offsets[row]; k < read->row_offsets[row + 1]; ++k) {
      FUZZ_CHECK(read->columns[k] >= 0 && static_cast<uint32_t>(read->columns[k]) < read->cols);
      FUZZ_CHECK(std::isfinite(read->values[k]));
      FUZZ_CHECK(k == read->row_offsets[row] || read->columns[k - 1] < read->columns[k]);
    }
  }
  if (read->rows > kEntriesMax || read->values.size() > kEntriesMax) return;
  FUZZ_CHECK(WriteSparseNpz(*read, folder / "again.npz").ok());
  const absl::StatusOr<FeatureMatrix> again = ReadSparseNpz(folder / "again.npz");
  FUZZ_CHECK(again.ok() && Same(*read, *again));
}

}  // namespace
}  // namespace blink

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace blink;
  static const fuzzing::Folder folder;
  fuzzing::Input input(data, size);
  const auto kind = input.Get<uint8_t>() % 3;
  if (kind == 0) {
    const absl::StatusOr<NpyArray> array = ParseNpy(input.rest(), "array");
    if (array.ok()) FUZZ_CHECK(array->data.size() == array->items * array->item_bytes);
    CheckDense(folder, folder.Write("features.npy", input.rest()));
  } else {
    CheckSparse(folder, folder.Write("features.npz", kind == 1 ? std::string(input.rest()) : Archive(input)));
  }
  return 0;
}
