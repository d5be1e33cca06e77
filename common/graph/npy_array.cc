#include "common/graph/npy_array.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

static_assert(std::endian::native == std::endian::little, "the readers copy little-endian values");

constexpr double kWholeMax = 9007199254740992;  // 2^53: up to here a double tells integers apart
constexpr uint32_t kItemBytesMax = 4096;

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
  return MalformedArray(name, absl::StrCat("the array's header has no '", key, "'"));
}

absl::Status ParseShape(absl::string_view text, const std::string& name, NpyArray& array) {
  const size_t close = text.find(')');
  if (!absl::ConsumePrefix(&text, "(") || close == absl::string_view::npos)
    return MalformedArray(name, "the shape is unreadable");
  array.items = 1;
  for (absl::string_view part : absl::StrSplit(text.substr(0, close - 1), ',')) {
    part = absl::StripAsciiWhitespace(part);
    if (part.empty()) continue;  // (3,) and ()
    uint64_t extent = 0;
    if (!absl::SimpleAtoi(part, &extent) || extent > kFeatureFileBytesMax)
      return MalformedArray(name, "the shape is unreadable");
    if (extent != 0 && array.items > kFeatureFileBytesMax / extent)
      return MalformedArray(name, "the shape is implausibly large");
    array.shape.push_back(extent);
    array.items *= extent;
  }
  return absl::OkStatus();
}

template <typename T>
T Load(const NpyArray& array, uint64_t index) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, array.data.data() + index * sizeof(T), sizeof(T));
  if (array.big_endian) std::reverse(std::begin(bytes), std::end(bytes));
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

// Of text, as UTF-8.
absl::StatusOr<std::string> TextAt(const NpyArray& array, uint64_t index, const std::string& name) {
  std::string text;
  const uint64_t characters = array.item_bytes / 4;
  for (uint64_t k = index * characters; k < (index + 1) * characters; ++k) {
    const auto point = Load<uint32_t>(array, k);
    if (point == 0) break;
    if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) {
      return MalformedArray(name, absl::StrCat("item ", index, " (from 0) is no Unicode text"));
    }
    const auto append = [&](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
    const auto tail = [&](int shift) { append(0x80 | (point >> shift & 0x3F)); };
    if (point < 0x80) {
      append(point);
    } else if (point < 0x800) {
      append(0xC0 | point >> 6), tail(0);
    } else if (point < 0x10000) {
      append(0xE0 | point >> 12), tail(6), tail(0);
    } else {
      append(0xF0 | point >> 18), tail(12), tail(6), tail(0);
    }
  }
  return text;
}

// IEEE 754 half precision.
float FromHalf(uint16_t bits) {
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent == 31) return fraction != 0 ? std::nanf("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

// `descr`: with the mark that begins it, and without the one that ends it.
absl::Status OtherTypeError(const std::string& name, absl::string_view descr) {
  constexpr char kSave[] = ", which is not one kind of number: write it again with numpy.save(path, ";
  if (absl::StartsWith(descr, "[")) {
    return absl::InvalidArgumentError(absl::StrCat(name, " holds records of several fields", kSave,
                                                   "numpy.lib.recfunctions.structured_to_unstructured(x))"));
  }
  const bool is_object = absl::StartsWith(descr, "'|O");
  return absl::InvalidArgumentError(
      absl::StrCat(name, is_object ? " holds Python objects" : absl::StrCat(" has the type ", descr.substr(0, 40), "'"),
                   kSave, "x.astype('float32'))", is_object ? ", or as text with x.astype(str)" : ""));
}

constexpr int KindAndBytes(char kind, int bytes) { return kind * 16 + bytes; }

template <typename T>
void FillFloats(const NpyArray& array, std::vector<float>& values) {
  for (uint64_t k = 0; k < array.items; ++k) values[k] = static_cast<float>(Load<T>(array, k));
}

}  // namespace

absl::Status MalformedArray(const std::string& name, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      name, ": ", what,
      "; write it again with scipy.sparse.save_npz(path, scipy.sparse.csr_matrix(x)) or numpy.save(path, x)"));
}

absl::StatusOr<int64_t> IntegerAt(const NpyArray& array, uint64_t index, const std::string& name) {
  switch (KindAndBytes(array.kind, static_cast<int>(array.item_bytes))) {
    case KindAndBytes('i', 1):
      return Load<int8_t>(array, index);
    case KindAndBytes('u', 1):
      return Load<uint8_t>(array, index);
    case KindAndBytes('i', 2):
      return Load<int16_t>(array, index);
    case KindAndBytes('i', 4):
      return Load<int32_t>(array, index);
    case KindAndBytes('i', 8):
      return Load<int64_t>(array, index);
    case KindAndBytes('u', 2):
      return Load<uint16_t>(array, index);
    case KindAndBytes('u', 4):
      return Load<uint32_t>(array, index);
    case KindAndBytes('u', 8):  // a larger one is an index of nothing
      return static_cast<int64_t>(std::min<uint64_t>(Load<uint64_t>(array, index), INT64_MAX));
    default:
      return MalformedArray(name, "the indices must be integers");
  }
}

absl::StatusOr<std::vector<std::string>> IdsOf(const NpyArray& array, const std::string& name) {
  std::vector<std::string> ids(array.items);
  for (uint64_t k = 0; k < array.items; ++k) {
    std::string& id = ids[k];
    if (array.kind == 'S') {
      id = std::string(array.data.substr(k * array.item_bytes, array.item_bytes));
      id.resize(std::min(id.size(), id.find_last_not_of('\0') + 1));
    } else if (array.kind == 'U') {
      BLINK_ASSIGN_OR_RETURN(id, TextAt(array, k, name));
    } else if (array.kind == 'f' && array.item_bytes >= 4) {
      const double value = array.item_bytes == 4 ? Load<float>(array, k) : Load<double>(array, k);
      if (value != std::floor(value) || std::abs(value) > kWholeMax) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, ": item ", k, " (from 0) is ", value, ", which is no id: ids are integers or text"));
      }
      id = absl::StrCat(static_cast<int64_t>(value));
    } else if (array.kind == 'i' || array.kind == 'u') {
      BLINK_ASSIGN_OR_RETURN(const int64_t value, IntegerAt(array, k, name));
      id = absl::StrCat(value);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(name,
                                                     ": ids are integers or text: write it again with "
                                                     "numpy.save(path, ids.astype(str))"));
    }
  }
  return ids;
}

absl::StatusOr<std::vector<float>> FloatsOf(const NpyArray& array, const std::string& name) {
  std::vector<float> values(array.items);
  switch (KindAndBytes(array.kind, static_cast<int>(array.item_bytes))) {
    case KindAndBytes('f', 2):
      for (uint64_t k = 0; k < array.items; ++k) values[k] = FromHalf(Load<uint16_t>(array, k));
      return values;
    case KindAndBytes('f', 4):
      FillFloats<float>(array, values);
      return values;
    case KindAndBytes('f', 8):
      FillFloats<double>(array, values);
      return values;
    case KindAndBytes('i', 1):
      FillFloats<int8_t>(array, values);
      return values;
    case KindAndBytes('i', 2):
      FillFloats<int16_t>(array, values);
      return values;
    case KindAndBytes('i', 4):
      FillFloats<int32_t>(array, values);
      return values;
    case KindAndBytes('i', 8):
      FillFloats<int64_t>(array, values);
      return values;
    case KindAndBytes('b', 1):
    case KindAndBytes('u', 1):
      FillFloats<uint8_t>(array, values);
      return values;
    case KindAndBytes('u', 2):
      FillFloats<uint16_t>(array, values);
      return values;
    case KindAndBytes('u', 4):
      FillFloats<uint32_t>(array, values);
      return values;
    case KindAndBytes('u', 8):
      FillFloats<uint64_t>(array, values);
      return values;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat(name,
                       ": features must be float16, float32, float64, integers or bool: write it again with "
                       "numpy.save(path, x.astype('float32'))"));
  }
}

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

namespace {

// The header, and what follows it. `kinds` are the kinds of items that are taken.
absl::StatusOr<NpyArray> ParseHeader(absl::string_view bytes, absl::string_view kinds, const std::string& name) {
  if (bytes.size() < 12 || bytes.substr(0, 6) != absl::string_view("\x93NUMPY", 6))
    return MalformedArray(name, "is not a NumPy array");
  const auto byte = [&](size_t at) { return static_cast<uint64_t>(static_cast<uint8_t>(bytes[at])); };
  const bool short_header = byte(6) == 1;
  if (byte(6) < 1 || byte(6) > 3)
    return MalformedArray(name, absl::StrCat("has the unknown NumPy format version ", byte(6)));
  const size_t start = short_header ? 10 : 12;
  const uint64_t length = byte(8) | byte(9) << 8 | (short_header ? 0 : byte(10) << 16 | byte(11) << 24);
  if (length > bytes.size() - start) return MalformedArray(name, "is cut off in its header");
  const absl::string_view header = bytes.substr(start, length);

  NpyArray array;
  BLINK_ASSIGN_OR_RETURN(absl::string_view descr, HeaderValue(header, "descr", name));
  BLINK_ASSIGN_OR_RETURN(const absl::string_view fortran, HeaderValue(header, "fortran_order", name));
  BLINK_ASSIGN_OR_RETURN(const absl::string_view shape, HeaderValue(header, "shape", name));
  descr = descr.substr(0, descr.find_first_of(descr.substr(0, 1), 1));
  const bool objects = descr.size() == 3 && descr[2] == 'O';
  if (descr.size() < 3 || kinds.find(descr[2]) == absl::string_view::npos ||
      (!objects && (!absl::SimpleAtoi(descr.substr(3), &array.item_bytes) || array.item_bytes == 0))) {
    return OtherTypeError(name, descr);
  }
  array.kind = descr[2];
  if (array.item_bytes > kItemBytesMax)
    return MalformedArray(name, absl::StrCat("an item is longer than ", kItemBytesMax));
  if (array.kind == 'U') array.item_bytes *= 4;
  array.big_endian = descr[1] == '>';
  BLINK_RETURN_IF_ERROR(ParseShape(shape, name, array));
  array.by_columns = !absl::StartsWith(fortran, "False") && array.shape.size() > 1;
  array.data = bytes.substr(start + length);
  if (!objects && array.data.size() != array.items * array.item_bytes) {
    return MalformedArray(name, absl::StrCat("its shape needs ", array.items * array.item_bytes, " bytes, but ",
                                             array.data.size(), " follow"));
  }
  return array;
}

}  // namespace

absl::StatusOr<NpyArray> ParseNpy(absl::string_view bytes, const std::string& name) {
  return ParseHeader(bytes, "fiubSU", name);
}

absl::StatusOr<NpyArray> ParseNpyOfAnyKind(absl::string_view bytes, const std::string& name) {
  return ParseHeader(bytes, "fiubSUO", name);
}

}  // namespace blink
