#include "tools/dataset/import/mat_file.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/graph/input.h"
#include "tools/dataset/import/imported_graph.h"

namespace blink {
namespace {

constexpr size_t kHeaderBytes = 128;
constexpr uint64_t kInflatedBytesMax = uint64_t{4} << 30;  // of all variables
constexpr uint64_t kDenseNumbersMax = uint64_t{1} << 28;   // which take 8 bytes each

// The types of data elements.
enum Type : uint32_t { kMatrix = 14, kCompressed = 15 };
// The classes of arrays.
enum Class : uint8_t { kSparse = 5, kDouble = 6, kUint64 = 15 };
constexpr uint32_t kComplexFlag = 0x0800;

struct Element {
  uint32_t type = 0;
  absl::string_view data;
};

class Reader {
 public:
  Reader(absl::string_view bytes, bool big_endian, const std::string& name)
      : rest_(bytes), big_endian_(big_endian), name_(name) {}

  bool empty() const { return rest_.empty(); }

  template <typename T>
  T Load(absl::string_view bytes) const {
    char copy[sizeof(T)];
    std::memcpy(copy, bytes.data(), sizeof(T));
    if (big_endian_) std::reverse(std::begin(copy), std::end(copy));
    T value;
    std::memcpy(&value, copy, sizeof(T));
    return value;
  }

  absl::Status Damaged(absl::string_view what) const {
    return WrongFile(name_, absl::StrCat("is damaged (", what, "); fetch or make the file again"));
  }

  // The next element. One of at most four bytes lies within its tag; others are padded to eight bytes.
  absl::StatusOr<Element> Next(bool padded) {
    if (rest_.size() < 8) return Damaged("an element is cut off");
    const auto first = Load<uint32_t>(rest_);
    if (first >> 16 != 0) {
      const uint32_t size = first >> 16;
      if (size > 4) return Damaged("a small element has more than 4 bytes");
      const Element element{first & 0xffff, rest_.substr(4, size)};
      rest_.remove_prefix(8);
      return element;
    }
    const auto size = Load<uint32_t>(rest_.substr(4));
    rest_.remove_prefix(8);
    if (size > rest_.size()) return Damaged("an element is cut off");
    const Element element{first, rest_.substr(0, size)};
    rest_.remove_prefix(std::min<size_t>(padded ? (size_t{size} + 7) / 8 * 8 : size, rest_.size()));
    return element;
  }

  absl::StatusOr<std::vector<double>> Numbers(const Element& element) const {
    switch (element.type) {
      case 1:
        return NumbersAs<int8_t>(element.data);
      case 2:
        return NumbersAs<uint8_t>(element.data);
      case 3:
        return NumbersAs<int16_t>(element.data);
      case 4:
        return NumbersAs<uint16_t>(element.data);
      case 5:
        return NumbersAs<int32_t>(element.data);
      case 6:
        return NumbersAs<uint32_t>(element.data);
      case 7:
        return NumbersAs<float>(element.data);
      case 9:
        return NumbersAs<double>(element.data);
      case 12:
        return NumbersAs<int64_t>(element.data);
      case 13:
        return NumbersAs<uint64_t>(element.data);
      default:
        return Damaged(absl::StrCat("numbers of the unknown type ", element.type));
    }
  }
  absl::StatusOr<std::vector<int64_t>> Integers(const Element& element) const {
    BLINK_ASSIGN_OR_RETURN(const std::vector<double> numbers, Numbers(element));
    std::vector<int64_t> integers;
    for (const double number : numbers) {
      if (!(number >= 0 && number <= 9e15)) return Damaged("an index is no integer from 0");
      integers.push_back(static_cast<int64_t>(number));
    }
    return integers;
  }

 private:
  template <typename T>
  std::vector<double> NumbersAs(absl::string_view data) const {
    std::vector<double> numbers(data.size() / sizeof(T));
    for (size_t k = 0; k < numbers.size(); ++k)
      numbers[k] = static_cast<double>(Load<T>(data.substr(k * sizeof(T), sizeof(T))));
    return numbers;
  }

  absl::string_view rest_;
  bool big_endian_;
  const std::string& name_;
};

absl::StatusOr<std::string> Inflate(absl::string_view packed, uint64_t bytes_max, const std::string& name) {
  const auto damaged = [&] {
    return WrongFile(name, "a compressed variable is damaged; fetch or make the file again");
  };
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK) return absl::ResourceExhaustedError("zlib has no memory");
  struct End {
    z_stream* stream;
    ~End() { inflateEnd(stream); }
  } end{&stream};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string out, buffer(1 << 20, '\0');
  while (true) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    const int code = inflate(&stream, Z_NO_FLUSH);
    out.append(buffer.data(), buffer.size() - stream.avail_out);
    if (out.size() > bytes_max)
      return WrongFile(name, absl::StrCat("its variables have more than ", kInflatedBytesMax, " bytes: save fewer"));
    if (GrowsImplausibly(packed.size(), out.size()))
      return WrongFile(name,
                       "a compressed variable grows to more than 200 times its size, as in files that are made to "
                       "fill the memory; if you trust its source, save it with -v6, which does not compress");
    if (code == Z_STREAM_END) return out;
    if (code != Z_OK || (stream.avail_in == 0 && stream.avail_out > 0)) return damaged();
  }
}

// The content of a miMATRIX element. Without a name: something that is left out.
absl::StatusOr<MatMatrix> ReadMatrix(absl::string_view bytes, bool big_endian, const std::string& file) {
  MatMatrix matrix;
  if (bytes.empty()) return matrix;
  Reader reader(bytes, big_endian, file);
  BLINK_ASSIGN_OR_RETURN(const Element flags, reader.Next(true));
  if (flags.data.size() < 8) return reader.Damaged("the flags of a variable");
  const auto word = reader.Load<uint32_t>(flags.data);
  const auto kind = static_cast<uint8_t>(word & 0xff);
  BLINK_ASSIGN_OR_RETURN(const Element sizes, reader.Next(true));
  BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, reader.Integers(sizes));
  BLINK_ASSIGN_OR_RETURN(const Element name, reader.Next(true));
  matrix.sparse = kind == kSparse;
  if (shape.size() != 2 || (word & kComplexFlag) != 0 || !(matrix.sparse || (kind >= kDouble && kind <= kUint64)))
    return matrix;
  matrix.name = std::string(name.data.substr(0, 63));
  const std::string where = absl::StrCat(file, " (", matrix.name, ")");
  matrix.rows = shape[0];
  matrix.cols = shape[1];
  if (matrix.rows > kImportedLinksMax || matrix.cols > kImportedLinksMax)
    return WrongFile(where, "is implausibly large");
  if (!matrix.sparse) {
    if (matrix.rows * matrix.cols > kDenseNumbersMax)
      return WrongFile(
          where, absl::StrCat("has more than ", kDenseNumbersMax, " numbers; save it as sparse(", matrix.name, ")"));
    BLINK_ASSIGN_OR_RETURN(const Element data, reader.Next(true));
    BLINK_ASSIGN_OR_RETURN(matrix.values, reader.Numbers(data));
    if (matrix.values.size() != matrix.rows * matrix.cols)
      return WrongFile(where, absl::StrCat("holds ", matrix.values.size(), " numbers for ", matrix.rows, " rows and ",
                                           matrix.cols, " columns"));
    return matrix;
  }
  BLINK_ASSIGN_OR_RETURN(const Element indices, reader.Next(true));
  BLINK_ASSIGN_OR_RETURN(matrix.indices, reader.Integers(indices));
  BLINK_ASSIGN_OR_RETURN(const Element offsets, reader.Next(true));
  BLINK_ASSIGN_OR_RETURN(matrix.offsets, reader.Integers(offsets));
  if (matrix.offsets.size() != matrix.cols + 1 || matrix.offsets[0] != 0 ||
      !std::is_sorted(matrix.offsets.begin(), matrix.offsets.end()))
    return WrongFile(where, "the offsets of the columns are damaged; fetch or make the file again");
  const auto entries = static_cast<uint64_t>(matrix.offsets.back());
  if (entries > matrix.indices.size()) return WrongFile(where, "holds fewer entries than its columns need");
  matrix.indices.resize(entries);  // MATLAB keeps room for more
  for (const int64_t row : matrix.indices) {
    if (row >= static_cast<int64_t>(matrix.rows)) return WrongFile(where, "an entry is beyond the shape");
  }
  BLINK_ASSIGN_OR_RETURN(const Element data, reader.Next(true));
  BLINK_ASSIGN_OR_RETURN(matrix.values, reader.Numbers(data));
  if (matrix.values.size() < entries) return WrongFile(where, "holds fewer values than entries");
  matrix.values.resize(entries);
  return matrix;
}

}  // namespace

absl::StatusOr<std::vector<MatMatrix>> ReadMatFile(absl::string_view bytes, const std::string& name) {
  if (absl::StartsWith(bytes, "MATLAB 7.3")) {
    return WrongFile(name,
                     "is a file of MATLAB 7.3, which is HDF5; write it in the older form: in MATLAB save('graph.mat', "
                     "'A', '-v7'), in Python scipy.io.savemat('graph.mat', {'A': A}) after reading it with h5py");
  }
  const absl::string_view mark = bytes.size() < kHeaderBytes ? absl::string_view() : bytes.substr(126, 2);
  if (mark != "IM" && mark != "MI") return WrongFile(name, "is no MATLAB file of level 5 (save -v7)");
  const bool big_endian = mark == "MI";
  Reader reader(bytes.substr(kHeaderBytes), big_endian, name);
  std::vector<MatMatrix> matrices;
  uint64_t inflated_left = kInflatedBytesMax;
  while (!reader.empty()) {
    BLINK_ASSIGN_OR_RETURN(Element element, reader.Next(false));
    std::string inflated;
    if (element.type == kCompressed) {
      BLINK_ASSIGN_OR_RETURN(inflated, Inflate(element.data, inflated_left, name));
      inflated_left -= inflated.size();
      BLINK_ASSIGN_OR_RETURN(element, Reader(inflated, big_endian, name).Next(true));
    }
    if (element.type != kMatrix) continue;
    BLINK_ASSIGN_OR_RETURN(MatMatrix matrix, ReadMatrix(element.data, big_endian, name));
    if (!matrix.name.empty()) matrices.push_back(std::move(matrix));
  }
  return matrices;
}

}  // namespace blink
