#include "tools/dataset/import/pickle_arrays.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "tools/dataset/import/arrays.h"
#include "tools/dataset/import/imported_graph.h"

namespace blink {
namespace {

using absl::string_view;
using Kind = PickleValue::Kind;

bool IsCallOf(const PickleValue& value, string_view name) {
  return value.kind == Kind::kCall && absl::EndsWith(value.callee->text, name);
}

const PickleValue* Find(const PickleValue* dict, string_view key) {
  if (dict == nullptr || dict->kind != Kind::kDict) return nullptr;
  for (size_t k = 0; k + 1 < dict->items.size(); k += 2) {
    if (dict->items[k]->is_string() && dict->items[k]->text == key) return dict->items[k + 1];
  }
  return nullptr;
}

// numpy.dtype('f8', 0, 1) with the state (3, '<', ..).
absl::Status TakeType(const PickleValue& value, const std::string& name, NpyArray& array) {
  if (!IsCallOf(value, "numpy.dtype") || value.items.empty() || !value.items[0]->is_string())
    return WrongFile(name, "an array has no type");
  const string_view type = value.items[0]->text;
  uint32_t size = 0;
  if (type.size() < 2 || !absl::SimpleAtoi(type.substr(1), &size) ||
      string_view("fiubSU").find(type[0]) == string_view::npos || size == 0 || size > 4096) {
    return WrongFile(name, absl::StrCat("an array holds items of the type ", type.substr(0, 20),
                                        ", which are not numbers or texts"));
  }
  array.kind = type[0];
  array.item_bytes = array.kind == 'U' ? 4 * size : size;
  if (value.state != nullptr && value.state->items.size() > 1 && value.state->items[1]->is_string())
    array.big_endian = value.state->items[1]->text == ">";
  return absl::OkStatus();
}

absl::Status TakeShape(const PickleValue& value, const std::string& name, NpyArray& array) {
  if (value.kind != Kind::kTuple || value.items.size() > 8) return WrongFile(name, "the shape of an array is no tuple");
  array.items = 1;
  for (const PickleValue* extent : value.items) {
    BLINK_ASSIGN_OR_RETURN(const int64_t size, IntegerOf(*extent, name));
    if (size < 0 || static_cast<uint64_t>(size) > kImportedLinksMax ||
        (size > 0 && array.items > 64 * kImportedLinksMax / static_cast<uint64_t>(size)))
      return WrongFile(name, "the shape of an array is implausibly large");
    array.shape.push_back(size);
    array.items *= size;
  }
  return absl::OkStatus();
}

absl::Status TakeData(const PickleValue& value, const std::string& name, NpyArray& array) {
  if (!value.is_string()) return WrongFile(name, "an array has no data");
  array.data = value.text;
  if (array.data.size() != array.items * array.item_bytes)
    return WrongFile(name, absl::StrCat("the shape of an array needs ", array.items * array.item_bytes,
                                        " bytes, but it holds ", array.data.size()));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int64_t> IntegerOf(const PickleValue& value, const std::string& name) {
  if (value.kind == Kind::kInteger || value.kind == Kind::kBool) return value.integer;
  if (IsCallOf(value, "multiarray.scalar") && value.items.size() == 2) {
    NpyArray array;
    array.items = 1;
    BLINK_RETURN_IF_ERROR(TakeType(*value.items[0], name, array));
    BLINK_RETURN_IF_ERROR(TakeData(*value.items[1], name, array));
    BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> integers, IntegersOf(array, name));
    return integers[0];
  }
  return WrongFile(name,
                   "holds something else where an integer is expected; number the nodes from 0, or write "
                   "the links as text, two ids a line");
}

absl::StatusOr<NpyArray> ArrayOf(const PickleValue& value, const std::string& name) {
  NpyArray array;
  if (IsCallOf(value, "numeric._frombuffer") && value.items.size() == 4) {  // (data, type, shape, order)
    BLINK_RETURN_IF_ERROR(TakeType(*value.items[1], name, array));
    BLINK_RETURN_IF_ERROR(TakeShape(*value.items[2], name, array));
    BLINK_RETURN_IF_ERROR(TakeData(*value.items[0], name, array));
    array.by_columns = value.items[3]->text == "F" && array.shape.size() > 1;
    return array;
  }
  if (!IsCallOf(value, "multiarray._reconstruct") || value.state == nullptr || value.state->items.size() != 5)
    return WrongFile(name, "holds something else where an array of NumPy is expected");
  const auto& state = value.state->items;  // (version, shape, type, in Fortran order, data)
  BLINK_RETURN_IF_ERROR(TakeShape(*state[1], name, array));
  BLINK_RETURN_IF_ERROR(TakeType(*state[2], name, array));
  BLINK_RETURN_IF_ERROR(TakeData(*state[4], name, array));
  array.by_columns = state[3]->integer != 0 && array.shape.size() > 1;
  return array;
}

absl::StatusOr<FeatureMatrix> MatrixOf(const PickleValue& value, const std::string& name) {
  if (value.kind != Kind::kCall || value.state == nullptr || value.state->kind != Kind::kDict) {
    BLINK_ASSIGN_OR_RETURN(const NpyArray array, ArrayOf(value, name));
    BLINK_ASSIGN_OR_RETURN(const FeatureMatrix dense, FeaturesOf(array, name));
    return ToSparse(dense);
  }
  // copy_reg._reconstructor(class, object, None), or the class itself
  const PickleValue* type = value.callee;
  if (absl::EndsWith(type->text, "._reconstructor") && !value.items.empty()) type = value.items[0];
  const PickleValue* shape = Find(value.state, "_shape");
  const PickleValue* data = Find(value.state, "data");
  if (shape == nullptr || shape->items.size() != 2 || data == nullptr)
    return WrongFile(name, "holds something else where a matrix of SciPy is expected");
  std::vector<int64_t> sizes;
  for (const PickleValue* size : shape->items) {
    BLINK_ASSIGN_OR_RETURN(sizes.emplace_back(), IntegerOf(*size, name));
  }
  BLINK_ASSIGN_OR_RETURN(const NpyArray data_array, ArrayOf(*data, name));
  BLINK_ASSIGN_OR_RETURN(std::vector<float> values, FloatsOf(data_array, name));
  const auto integers_at = [&](string_view key) -> absl::StatusOr<std::vector<int64_t>> {
    const PickleValue* found = Find(value.state, key);
    if (const PickleValue* coords = Find(value.state, "coords");  // (row, col), since SciPy 1.13
        found == nullptr && coords != nullptr && coords->items.size() == 2 && (key == "row" || key == "col")) {
      found = coords->items[key == "row" ? 0 : 1];
    }
    if (found == nullptr) return WrongFile(name, absl::StrCat("a matrix of SciPy has no ", key));
    BLINK_ASSIGN_OR_RETURN(const NpyArray array, ArrayOf(*found, name));
    return IntegersOf(array, name);
  };
  RowsOfEntries rows;
  if (absl::StrContains(type->text, "coo_")) {
    BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> row, integers_at("row"));
    BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> col, integers_at("col"));
    BLINK_ASSIGN_OR_RETURN(rows, SparseRowsOfEntries(sizes, row, col, values, name));
  } else {
    BLINK_ASSIGN_OR_RETURN(std::vector<int64_t> offsets, integers_at("indptr"));
    BLINK_ASSIGN_OR_RETURN(std::vector<int64_t> indices, integers_at("indices"));
    const bool by_columns = absl::StrContains(type->text, "csc_");
    BLINK_ASSIGN_OR_RETURN(
        rows, SparseRowsOf(sizes, std::move(offsets), std::move(indices), std::move(values), by_columns, name));
  }
  return FeaturesOf(std::move(rows), name);
}

absl::StatusOr<PickledLists> AdjacencyOf(const Pickle& pickle, const std::string& name) {
  const PickleValue& value = pickle.root();
  if (value.kind != Kind::kDict)
    return WrongFile(name,
                     "holds something else than neighbours {0: [1, 2], ..} by integers; in Python write the links as "
                     "text, two ids a line");
  PickledLists lists;
  for (size_t k = 0; k + 1 < value.items.size(); k += 2) {
    BLINK_ASSIGN_OR_RETURN(const int64_t node, IntegerOf(*value.items[k], name));
    lists.nodes.push_back(node);
    const PickleValue& neighbours = *value.items[k + 1];
    if (neighbours.kind != Kind::kList && neighbours.kind != Kind::kTuple)
      return WrongFile(name, absl::StrCat("the neighbours of node ", node,
                                          " are no list; in Python write the links as text, two ids a line"));
    if (lists.entries.size() + neighbours.items.size() > std::min<uint64_t>(pickle.byte_count(), kImportedLinksMax))
      return WrongFile(name,
                       "the lists of neighbours hold more links than the file has bytes: many nodes share a list");
    for (const PickleValue* item : neighbours.items) {
      BLINK_ASSIGN_OR_RETURN(const int64_t neighbour, IntegerOf(*item, name));
      lists.entries.emplace_back(node, neighbour);
    }
  }
  return lists;
}

absl::StatusOr<std::vector<std::string>> NamesIn(const Pickle& pickle, const std::string& name) {
  const PickleValue* value = &pickle.root();
  if (value->kind == Kind::kCall && value->state != nullptr && value->state->items.size() == 5) {
    const PickleValue& objects = *value->state->items[4];  // where other arrays have their bytes
    const bool one = value->state->items[1]->items.empty() && objects.items.size() == 1;
    value = one ? objects.items[0] : &objects;
  }
  const bool numbered = value->kind == Kind::kDict;
  if (!numbered && value->kind != Kind::kList && value->kind != Kind::kTuple)
    return WrongFile(name, "holds something else where names are expected");
  std::vector<std::string> names(numbered ? value->items.size() / 2 : value->items.size());
  std::vector<bool> seen(names.size());
  size_t bytes = 0;
  for (size_t k = 0; k < names.size(); ++k) {
    auto index = static_cast<int64_t>(k);
    if (numbered) {
      BLINK_ASSIGN_OR_RETURN(index, IntegerOf(*value->items[2 * k], name));
    }
    if (index < 0 || index >= static_cast<int64_t>(names.size()) || seen[index])
      return WrongFile(name, absl::StrCat("the names are not numbered from 0 to ", names.size() - 1));
    const PickleValue& text = *value->items[numbered ? 2 * k + 1 : k];
    if (!text.is_string()) return WrongFile(name, "holds something else where names are expected");
    bytes += text.text.size();
    if (bytes > pickle.byte_count()) return WrongFile(name, "the names are longer than the file: many share a text");
    seen[index] = true;
    names[index] = std::string(text.text);
  }
  return names;
}

}  // namespace blink
