// The file format of torch.save since PyTorch 1.6: a zip archive, not compressed, with a pickle data.pkl and the bytes
// of each storage in data/K. Source: torch/serialization.py. The pickle holds a dictionary whose values are calls of
// torch._utils._rebuild_tensor_v2, which torch.load allows with weights_only=True.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/graph/zip_archive.h"
#include "tools/dataset/export/export.h"

namespace blink {
namespace {

class TensorFile {
 public:
  TensorFile() { pickle_ = absl::StrCat("\x80\x02", "}("); }  // protocol 2, an empty dictionary, a mark

  // A tensor in row order. `storage` is "FloatStorage", "LongStorage" or "BoolStorage".
  template <typename T>
  void Add(absl::string_view name, absl::string_view storage, const std::vector<uint64_t>& shape,
           const std::vector<T>& values) {
    const std::string key = absl::StrCat(storages_.size());
    PutText(name);
    absl::StrAppend(&pickle_, "ctorch._utils\n_rebuild_tensor_v2\n((");  // the name, its arguments, the storage's id
    PutText("storage");
    absl::StrAppend(&pickle_, "ctorch\n", storage, "\n");
    PutText(key);
    PutText("cpu");
    PutInteger(values.size());
    absl::StrAppend(&pickle_, "tQ");  // a tuple, which names what lies outside of the pickle
    PutInteger(0);                    // where the tensor begins
    std::vector<uint64_t> strides(shape.size(), 1);
    for (size_t k = shape.size(); k-- > 1;) strides[k - 1] = strides[k] * std::max<uint64_t>(shape[k], 1);
    for (const std::vector<uint64_t>& numbers : {shape, strides}) {
      pickle_.push_back('(');
      for (const uint64_t number : numbers) PutInteger(number);
      pickle_.push_back('t');
    }
    // no gradient, no hooks; the arguments end, and the call
    absl::StrAppend(&pickle_, "\x89", "ccollections\nOrderedDict\n)RtR");
    storages_.emplace_back(absl::StrCat("graph/data/", key),
                           std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
  }

  absl::Status Write(const std::string& path) && {
    absl::StrAppend(&pickle_, "u.");  // all items into the dictionary; the end
    std::vector<std::pair<std::string, std::string>> members = {{"graph/data.pkl", std::move(pickle_)},
                                                                {"graph/byteorder", "little"}};
    for (auto& storage : storages_) members.push_back(std::move(storage));
    members.emplace_back("graph/version", "3\n");
    return WriteZip(members, /*compressed=*/false, path);
  }

 private:
  void PutText(absl::string_view text) {
    pickle_.push_back('X');
    PutBytes(text.size(), 4);
    pickle_.append(text.data(), text.size());
  }
  void PutInteger(uint64_t value) {
    if (value < uint64_t{1} << 31) {
      pickle_.push_back('J');
      return PutBytes(value, 4);
    }
    absl::StrAppend(&pickle_, "\x8a\x08");
    PutBytes(value, 8);
  }
  void PutBytes(uint64_t value, int bytes) {
    for (int k = 0; k < bytes; ++k) pickle_.push_back(static_cast<char>(value >> (8 * k) & 0xff));
  }

  std::string pickle_;
  std::vector<std::pair<std::string, std::string>> storages_;
};

}  // namespace

absl::Status ExportTorch(const Dataset& dataset, const std::string& path) {
  const CsrGraph& graph = dataset.graph;
  const NodeAttributes& attributes = dataset.attributes;
  const uint64_t n = graph.node_count();
  const FeatureMatrix& features = attributes.features;
  BLINK_RETURN_IF_ERROR(CheckDenseFeatures(features));
  TensorFile file;
  std::vector<int64_t> ends;
  ends.reserve(2 * graph.neighbours().size());
  for (NodeIndex i = 0; i < n; ++i) ends.insert(ends.end(), graph.DegreeOf(i), i);
  ends.insert(ends.end(), graph.neighbours().begin(), graph.neighbours().end());
  file.Add("edge_index", "LongStorage", {2, ends.size() / 2}, ends);
  if (features.cols > 0)
    file.Add("x", "FloatStorage", {n, features.cols}, features.sparse ? ToDense(features).values : features.values);
  file.Add("y", "LongStorage", {n}, std::vector<int64_t>(attributes.labels.begin(), attributes.labels.end()));
  for (const auto& [name, part] : {std::pair("train_mask", Split::kTrain), std::pair("val_mask", Split::kValidation),
                                   std::pair("test_mask", Split::kTest)}) {
    std::vector<uint8_t> mask;
    for (const Split split : attributes.split) mask.push_back(split == part);
    file.Add(name, "BoolStorage", {n}, mask);
  }
  return std::move(file).Write(path);
}

}  // namespace blink
