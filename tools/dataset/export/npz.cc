#include <algorithm>
#include <numeric>

#include "common/graph/npy_array.h"
#include "common/graph/zip_archive.h"
#include "tools/dataset/export/export.h"

namespace blink {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

template <typename T>
void Add(Members& members, const std::string& name, const char* type, const std::vector<uint64_t>& shape,
         const std::vector<T>& values) {
  members.emplace_back(name + ".npy", NpyBytes(type, shape, values.data(), values.size() * sizeof(T)));
}
template <typename T>
void Add(Members& members, const std::string& name, const char* type, const std::vector<T>& values) {
  Add(members, name, type, {values.size()}, values);
}

// The characters of a text. A byte that is no UTF-8 becomes U+DC80 and up, as Python's "surrogateescape" has it.
std::vector<uint32_t> CharactersOf(absl::string_view text) {
  std::vector<uint32_t> characters;
  for (size_t k = 0; k < text.size();) {
    const auto first = static_cast<uint8_t>(text[k]);
    const int more = first < 0x80 ? 0 : first >= 0xf0 && first < 0xf8 ? 3 : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : -1;
    uint32_t code = more <= 0 ? first : first & (0x3f >> more);
    bool valid = more >= 0 && first < 0xf8 && k + more < text.size();
    for (int j = 1; j <= more && valid; ++j) {
      const auto next = static_cast<uint8_t>(text[k + j]);
      valid = (next & 0xc0) == 0x80;
      code = code << 6 | (next & 0x3f);
    }
    characters.push_back(valid ? code : 0xdc00 | first);
    k += valid ? more + 1 : 1;
  }
  return characters;
}

void AddTexts(Members& members, const std::string& name, const std::vector<std::string>& texts) {
  std::vector<std::vector<uint32_t>> rows;
  size_t width = 1;
  for (const std::string& text : texts) width = std::max(width, rows.emplace_back(CharactersOf(text)).size());
  std::vector<uint32_t> flat;
  for (std::vector<uint32_t>& row : rows) {
    row.resize(width);
    flat.insert(flat.end(), row.begin(), row.end());
  }
  Add(members, name, ("<U" + std::to_string(width)).c_str(), {texts.size()}, flat);
}

}  // namespace

absl::Status ExportNpz(const Dataset& dataset, const std::string& path) {
  const CsrGraph& graph = dataset.graph;
  const NodeAttributes& attributes = dataset.attributes;
  const std::vector<int64_t> shape = {graph.node_count(), graph.node_count()};
  Members members;
  Add(members, "adj_data", "<f4", std::vector<float>(graph.neighbours().size(), 1.0f));
  Add(members, "adj_indices", "<i4", std::vector<int32_t>(graph.neighbours().begin(), graph.neighbours().end()));
  Add(members, "adj_indptr", "<i8", std::vector<int64_t>(graph.offsets().begin(), graph.offsets().end()));
  Add(members, "adj_shape", "<i8", shape);
  const FeatureMatrix& features = attributes.features;
  if (features.cols > 0 && features.sparse) {
    Add(members, "attr_data", "<f4", features.values);
    Add(members, "attr_indices", "<i4", features.columns);
    Add(members, "attr_indptr", "<i8", features.row_offsets);
    Add(members, "attr_shape", "<i8", std::vector<int64_t>{features.rows, features.cols});
  } else if (features.cols > 0) {
    Add(members, "attr_matrix", "<f4", {features.rows, features.cols}, features.values);
  }
  if (attributes.has_labels())
    Add(members, "labels", "<i8", std::vector<int64_t>(attributes.labels.begin(), attributes.labels.end()));
  if (!attributes.class_names.empty()) AddTexts(members, "class_names", attributes.class_names);
  if (!attributes.ids.empty()) AddTexts(members, "node_names", attributes.ids);
  for (const auto& [name, part] : {std::pair("train_mask", Split::kTrain), std::pair("val_mask", Split::kValidation),
                                   std::pair("test_mask", Split::kTest)}) {
    std::vector<uint8_t> mask;
    for (const Split split : attributes.split) mask.push_back(split == part);
    Add(members, name, "|b1", mask);
  }
  return WriteZip(members, /*compressed=*/true, path);
}

}  // namespace blink
