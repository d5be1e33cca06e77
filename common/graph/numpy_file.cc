#include "common/graph/numpy_file.h"

#include <zip.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

static_assert(std::endian::native == std::endian::little, "the readers copy little-endian values");

constexpr uint64_t kFeatureFileBytesMax = uint64_t{16} << 30;
constexpr uint64_t kDeflateRatioMax = 1032;  // what deflate can expand at most
constexpr uint32_t kFeatureColumnsMax = 100'000'000;

absl::Status Malformed(const std::string& name, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      name, ": ", what,
      "; write it again with scipy.sparse.save_npz(path, scipy.sparse.csr_matrix(x)) or numpy.save(path, x)"));
}

// The text that follows `'key':` in the header's dictionary.
absl::StatusOr<absl::string_view> HeaderValue(absl::string_view header, absl::string_view key,
                                              const std::string& name) {
  for (const char quote : {'\'', '"'}) {
    const std::string pattern = absl::StrCat(std::string(1, quote), key, std::string(1, quote));
    const size_t at = header.find(pattern);
    if (at == absl::string_view::npos) continue;
    absl::string_view rest = absl::StripLeadingAsciiWhitespace(header.substr(at + pattern.size()));
    if (absl::ConsumePrefix(&rest, ":")) return absl::StripLeadingAsciiWhitespace(rest);
  }
  return Malformed(name, absl::StrCat("the array's header has no '", key, "'"));
}

absl::Status ParseShape(absl::string_view text, const std::string& name, NpyArray& array) {
  const size_t close = text.find(')');
  if (!absl::ConsumePrefix(&text, "(") || close == absl::string_view::npos)
    return Malformed(name, "the shape is unreadable");
  array.items = 1;
  for (absl::string_view part : absl::StrSplit(text.substr(0, close - 1), ',')) {
    part = absl::StripAsciiWhitespace(part);
    if (part.empty()) continue;  // (3,) and ()
    uint64_t extent = 0;
    if (!absl::SimpleAtoi(part, &extent) || extent > kFeatureFileBytesMax)
      return Malformed(name, "the shape is unreadable");
    if (extent != 0 && array.items > kFeatureFileBytesMax / extent)
      return Malformed(name, "the shape is implausibly large");
    array.shape.push_back(extent);
    array.items *= extent;
  }
  return absl::OkStatus();
}

template <typename T>
T Load(const NpyArray& array, uint64_t index) {
  T value;
  std::memcpy(&value, array.data.data() + index * sizeof(T), sizeof(T));
  return value;
}

absl::StatusOr<int64_t> IntegerAt(const NpyArray& array, uint64_t index, const std::string& name) {
  if (array.kind == 'i' && array.item_bytes == 4) return Load<int32_t>(array, index);
  if (array.kind == 'i' && array.item_bytes == 8) return Load<int64_t>(array, index);
  return Malformed(name, "the indices must be int32 or int64");
}

absl::StatusOr<std::vector<float>> Floats(const NpyArray& array, const std::string& name) {
  std::vector<float> values(array.items);
  for (uint64_t k = 0; k < array.items; ++k) {
    double value = 0;
    switch (array.kind * 16 + static_cast<int>(array.item_bytes)) {
      case 'f' * 16 + 4:
        value = Load<float>(array, k);
        break;
      case 'f' * 16 + 8:
        value = Load<double>(array, k);
        break;
      case 'i' * 16 + 1:
        value = Load<int8_t>(array, k);
        break;
      case 'i' * 16 + 2:
        value = Load<int16_t>(array, k);
        break;
      case 'i' * 16 + 4:
        value = Load<int32_t>(array, k);
        break;
      case 'i' * 16 + 8:
        value = static_cast<double>(Load<int64_t>(array, k));
        break;
      case 'b' * 16 + 1:
      case 'u' * 16 + 1:
        value = Load<uint8_t>(array, k);
        break;
      case 'u' * 16 + 2:
        value = Load<uint16_t>(array, k);
        break;
      case 'u' * 16 + 4:
        value = Load<uint32_t>(array, k);
        break;
      case 'u' * 16 + 8:
        value = static_cast<double>(Load<uint64_t>(array, k));
        break;
      default:
        return Malformed(name, "features must be float32, float64, integers or bool");
    }
    values[k] = static_cast<float>(value);
    if (!std::isfinite(values[k]))
      return Malformed(name, absl::StrCat("value ", k, " is not a finite number of float32"));
  }
  return values;
}

absl::StatusOr<FeatureMatrix> EmptyMatrix(uint64_t rows, uint64_t cols, const std::string& name) {
  if (rows > kNodesMax)
    return Malformed(name, absl::StrCat(rows, " rows are above the limit of ", kNodesMax, " nodes"));
  if (cols > kFeatureColumnsMax)
    return Malformed(name, absl::StrCat(cols, " columns are above the limit of ", kFeatureColumnsMax));
  return FeatureMatrix{.rows = static_cast<uint32_t>(rows), .cols = static_cast<uint32_t>(cols)};
}

// ---- zip ----

struct ZipDiscard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct ZipFileClose {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

absl::StatusOr<std::string> ReadMember(zip_t* archive, const std::string& path, const std::string& member) {
  zip_stat_t info;
  zip_stat_init(&info);
  const std::string name = absl::StrCat(path, " (", member, ")");
  if (zip_stat(archive, member.c_str(), 0, &info) != 0 || !(info.valid & ZIP_STAT_SIZE) ||
      !(info.valid & ZIP_STAT_COMP_SIZE)) {
    return Malformed(path, absl::StrCat("the archive has no member ", member));
  }
  if (info.size > kFeatureFileBytesMax || info.size / kDeflateRatioMax > info.comp_size + 64) {
    return Malformed(
        name, absl::StrCat("claims ", info.size, " bytes, which ", info.comp_size, " compressed bytes cannot hold"));
  }
  std::unique_ptr<zip_file_t, ZipFileClose> file(zip_fopen(archive, member.c_str(), 0));
  if (file == nullptr) return Malformed(name, zip_strerror(archive));
  std::string content;
  std::vector<char> buffer(1 << 20);
  while (true) {
    const zip_int64_t got = zip_fread(file.get(), buffer.data(), buffer.size());
    if (got < 0) return Malformed(name, absl::StrCat("is damaged (", zip_file_strerror(file.get()), ")"));
    if (got == 0) break;
    if (content.size() + got > info.size) return Malformed(name, "is longer than the archive says");
    content.append(buffer.data(), got);
  }
  if (content.size() != info.size) return Malformed(name, "is shorter than the archive says");
  return content;
}

// A row's columns ascend; SciPy does not promise it.
absl::Status SortRow(FeatureMatrix& features, uint32_t row, const std::string& path) {
  const int64_t begin = features.row_offsets[row], end = features.row_offsets[row + 1];
  auto columns = features.columns.begin();
  if (!std::is_sorted(columns + begin, columns + end)) {
    std::vector<std::pair<int32_t, float>> entries;
    for (int64_t k = begin; k < end; ++k) entries.emplace_back(features.columns[k], features.values[k]);
    std::sort(entries.begin(), entries.end());
    for (int64_t k = begin; k < end; ++k) std::tie(features.columns[k], features.values[k]) = entries[k - begin];
  }
  if (std::adjacent_find(columns + begin, columns + end) != columns + end) {
    return Malformed(path, absl::StrCat("row ", row, " holds a column twice (call sum_duplicates() before saving)"));
  }
  return absl::OkStatus();
}

absl::Status FillCsr(const NpyArray& indptr, const NpyArray& indices, const std::string& path,
                     FeatureMatrix& features) {
  if (indptr.items != uint64_t{features.rows} + 1) return Malformed(path, "indptr must hold rows + 1 offsets");
  if (indices.items != features.values.size()) return Malformed(path, "indices and data differ in length");
  features.sparse = true;
  features.row_offsets.resize(indptr.items);
  for (uint64_t i = 0; i < indptr.items; ++i) {
    BLINK_ASSIGN_OR_RETURN(features.row_offsets[i], IntegerAt(indptr, i, path));
    const int64_t before = i == 0 ? 0 : features.row_offsets[i - 1];
    if (features.row_offsets[i] < before || features.row_offsets[i] > static_cast<int64_t>(indices.items) ||
        (i == 0 && features.row_offsets[i] != 0)) {
      return Malformed(path, absl::StrCat("indptr[", i, "] is out of order"));
    }
  }
  if (features.row_offsets.back() != static_cast<int64_t>(indices.items))
    return Malformed(path, "indptr does not end at the last entry");
  features.columns.resize(indices.items);
  for (uint64_t k = 0; k < indices.items; ++k) {
    BLINK_ASSIGN_OR_RETURN(const int64_t column, IntegerAt(indices, k, path));
    if (column < 0 || column >= features.cols) return Malformed(path, absl::StrCat("indices[", k, "] is not a column"));
    features.columns[k] = static_cast<int32_t>(column);
  }
  for (uint32_t i = 0; i < features.rows; ++i) BLINK_RETURN_IF_ERROR(SortRow(features, i, path));
  return absl::OkStatus();
}

}  // namespace

std::string NpyBytes(absl::string_view descr, const std::vector<uint64_t>& shape, const void* data, uint64_t bytes) {
  std::string header = absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (",
                                    absl::StrJoin(shape, ", "), shape.size() == 1 ? ",), }" : "), }");
  header.append(63 - (10 + header.size()) % 64, ' ');  // the data begin at a multiple of 64
  header.push_back('\n');
  std::string out("\x93NUMPY\x01\x00", 8);
  out.push_back(static_cast<char>(header.size() & 255));
  out.push_back(static_cast<char>(header.size() >> 8));
  out.append(header);
  out.append(static_cast<const char*>(data), bytes);
  return out;
}

absl::StatusOr<NpyArray> ParseNpy(absl::string_view bytes, const std::string& name) {
  if (bytes.size() < 12 || bytes.substr(0, 6) != absl::string_view("\x93NUMPY", 6))
    return Malformed(name, "is not a NumPy array");
  const auto byte = [&](size_t at) { return static_cast<uint64_t>(static_cast<uint8_t>(bytes[at])); };
  const bool short_header = byte(6) == 1;
  if (byte(6) < 1 || byte(6) > 3)
    return Malformed(name, absl::StrCat("has the unknown NumPy format version ", byte(6)));
  const size_t start = short_header ? 10 : 12;
  const uint64_t length = byte(8) | byte(9) << 8 | (short_header ? 0 : byte(10) << 16 | byte(11) << 24);
  if (length > bytes.size() - start) return Malformed(name, "is cut off in its header");
  const absl::string_view header = bytes.substr(start, length);

  NpyArray array;
  BLINK_ASSIGN_OR_RETURN(absl::string_view descr, HeaderValue(header, "descr", name));
  BLINK_ASSIGN_OR_RETURN(const absl::string_view fortran, HeaderValue(header, "fortran_order", name));
  BLINK_ASSIGN_OR_RETURN(const absl::string_view shape, HeaderValue(header, "shape", name));
  descr = descr.substr(0, descr.find_first_of(descr.substr(0, 1), 1));
  if (descr.size() < 4 || descr[1] == '>' || absl::string_view("fiubS").find(descr[2]) == absl::string_view::npos ||
      !absl::SimpleAtoi(descr.substr(3), &array.item_bytes) || array.item_bytes == 0 || array.item_bytes > 64) {
    return Malformed(name,
                     absl::StrCat("has the type ", descr.substr(0, 16), "', which is not a little-endian number"));
  }
  array.kind = descr[2];
  BLINK_RETURN_IF_ERROR(ParseShape(shape, name, array));
  if (!absl::StartsWith(fortran, "False") && array.shape.size() > 1) {
    return Malformed(name, "is in Fortran order (use numpy.ascontiguousarray)");
  }
  array.data = bytes.substr(start + length);
  if (array.data.size() != array.items * array.item_bytes) {
    return Malformed(name, absl::StrCat("its shape needs ", array.items * array.item_bytes, " bytes, but ",
                                        array.data.size(), " follow"));
  }
  return array;
}

absl::StatusOr<FeatureMatrix> ReadDenseNpy(const std::string& path) {
  BLINK_ASSIGN_OR_RETURN(const std::string bytes, ReadRegularFile(path, kFeatureFileBytesMax));
  BLINK_ASSIGN_OR_RETURN(const NpyArray array, ParseNpy(bytes, path));
  if (array.shape.size() != 2) return Malformed(path, "features must have two dimensions, nodes and features");
  BLINK_ASSIGN_OR_RETURN(FeatureMatrix features, EmptyMatrix(array.shape[0], array.shape[1], path));
  BLINK_ASSIGN_OR_RETURN(features.values, Floats(array, path));
  return features;
}

absl::Status WriteDenseNpy(const FeatureMatrix& features, const std::string& path) {
  return WriteFileAtomically(path, NpyBytes("<f4", {features.rows, features.cols}, features.values.data(),
                                            features.values.size() * sizeof(float)));
}

absl::StatusOr<FeatureMatrix> ReadSparseNpz(const std::string& path) {
  // Missing files and rights get the same texts as everywhere; libzip only says "can't open".
  const absl::StatusOr<std::string> probe = ReadRegularFile(path, 0);
  if (!probe.ok() && probe.status().code() != absl::StatusCode::kOutOfRange) return probe.status();
  int error = 0;
  std::unique_ptr<zip_t, ZipDiscard> archive(zip_open(path.c_str(), ZIP_RDONLY, &error));
  if (archive == nullptr) return Malformed(path, "is not a readable zip archive");
  // An archive with dense members ("arr_0") comes from numpy.savez.
  BLINK_ASSIGN_OR_RETURN(const std::string format_bytes, ReadMember(archive.get(), path, "format.npy"));
  BLINK_ASSIGN_OR_RETURN(const NpyArray format, ParseNpy(format_bytes, absl::StrCat(path, " (format.npy)")));
  if (format.kind != 'S' || !absl::StartsWith(format.data, "csr")) {
    return Malformed(path, "holds a sparse matrix that is not in CSR form (call tocsr() before saving)");
  }
  BLINK_ASSIGN_OR_RETURN(const std::string shape_bytes, ReadMember(archive.get(), path, "shape.npy"));
  BLINK_ASSIGN_OR_RETURN(const std::string indptr_bytes, ReadMember(archive.get(), path, "indptr.npy"));
  BLINK_ASSIGN_OR_RETURN(const std::string indices_bytes, ReadMember(archive.get(), path, "indices.npy"));
  BLINK_ASSIGN_OR_RETURN(const std::string data_bytes, ReadMember(archive.get(), path, "data.npy"));
  BLINK_ASSIGN_OR_RETURN(const NpyArray shape, ParseNpy(shape_bytes, absl::StrCat(path, " (shape.npy)")));
  BLINK_ASSIGN_OR_RETURN(const NpyArray indptr, ParseNpy(indptr_bytes, absl::StrCat(path, " (indptr.npy)")));
  BLINK_ASSIGN_OR_RETURN(const NpyArray indices, ParseNpy(indices_bytes, absl::StrCat(path, " (indices.npy)")));
  BLINK_ASSIGN_OR_RETURN(const NpyArray data, ParseNpy(data_bytes, absl::StrCat(path, " (data.npy)")));
  if (shape.items != 2) return Malformed(path, "features must have two dimensions, nodes and features");
  BLINK_ASSIGN_OR_RETURN(const int64_t rows, IntegerAt(shape, 0, path));
  BLINK_ASSIGN_OR_RETURN(const int64_t cols, IntegerAt(shape, 1, path));
  if (rows < 0 || cols < 0) return Malformed(path, "has a negative shape");
  BLINK_ASSIGN_OR_RETURN(FeatureMatrix features, EmptyMatrix(rows, cols, path));
  BLINK_ASSIGN_OR_RETURN(features.values, Floats(data, path));
  BLINK_RETURN_IF_ERROR(FillCsr(indptr, indices, path, features));
  return features;
}

absl::Status WriteSparseNpz(const FeatureMatrix& features, const std::string& path,
                            const std::vector<std::pair<std::string, std::string>>& more) {
  const int64_t shape[2] = {features.rows, features.cols};
  const uint64_t entries = features.values.size();
  std::vector<std::pair<std::string, std::string>> members = {
      {"indices.npy", NpyBytes("<i4", {entries}, features.columns.data(), entries * sizeof(int32_t))},
      {"indptr.npy",
       NpyBytes("<i8", {features.row_offsets.size()}, features.row_offsets.data(), features.row_offsets.size() * 8)},
      {"format.npy", NpyBytes("|S3", {}, "csr", 3)},
      {"shape.npy", NpyBytes("<i8", {2}, shape, sizeof(shape))},
      {"data.npy", NpyBytes("<f4", {entries}, features.values.data(), entries * sizeof(float))},
  };
  for (const auto& [name, bytes] : more) members.emplace_back(absl::StrCat(name, ".npy"), bytes);
  const std::string temporary = absl::StrCat(path, ".tmp");
  int error = 0;
  std::unique_ptr<zip_t, ZipDiscard> archive(zip_open(temporary.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error));
  if (archive == nullptr) return FileError(errno, "create", temporary);
  for (const auto& [name, bytes] : members) {
    zip_source_t* source = zip_source_buffer(archive.get(), bytes.data(), bytes.size(), 0);
    if (source == nullptr)
      return absl::InternalError(absl::StrCat("cannot write ", temporary, ": ", zip_strerror(archive.get())));
    const zip_int64_t index = zip_file_add(archive.get(), name.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      return absl::InternalError(absl::StrCat("cannot write ", temporary, ": ", zip_strerror(archive.get())));
    }
    zip_file_set_mtime(archive.get(), index, 315532800, 0);  // 1980-01-01: the same data give the same file
  }
  if (zip_close(archive.get()) != 0) {
    zip_error_t* failed = zip_get_error(archive.get());
    if (zip_error_system_type(failed) == ZIP_ET_SYS)
      return FileError(zip_error_code_system(failed), "write", temporary);
    return absl::InternalError(absl::StrCat("cannot write ", temporary, ": ", zip_strerror(archive.get())));
  }
  archive.release();
  BLINK_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(temporary, kFeatureFileBytesMax));
  std::remove(temporary.c_str());
  return WriteFileAtomically(path, bytes);
}

}  // namespace blink
