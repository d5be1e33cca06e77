// {"id": [3, 17, ..], ..}: the numbers of the features that each node has, as MUSAE's data sets have them.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"
#include "tools/dataset/import/arrays.h"
#include "tools/dataset/import/formats.h"

namespace blink {
namespace {

class FeatureHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit FeatureHandler(const std::string& name) { table_.rows.table.name = name; }

  bool start_object(size_t) override {
    if (depth_ != 0) return Refuse("an object within an object");
    ++depth_;
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool key(string_t& id) override {
    if (table_.rows.ids.size() >= kNodesMax) return Refuse(absl::StrCat("more than ", kNodesMax, " nodes"));
    if (!known_.insert(id).second) return Refuse("the node a second time");
    table_.rows.ids.push_back(id);
    table_.rows.lines.push_back(table_.rows.ids.size());
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ != 1) return Refuse("a list at a place where none is expected");
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ != 2) return Refuse("a number that is in no list");
    if (value >= kImportedColumnsMax) return Refuse(absl::StrCat(value, ", which is above the limit of features"));
    rows_.push_back(static_cast<int64_t>(table_.rows.ids.size()) - 1);
    columns_.push_back(static_cast<int64_t>(value));
    return true;
  }
  bool number_integer(number_integer_t value) override { return Refuse(absl::StrCat(value, ", which is negative")); }
  bool number_float(number_float_t value, const string_t&) override {
    return Refuse(absl::StrCat(value, ", which is no number of a feature"));
  }
  bool null() override { return Refuse("null"); }
  bool boolean(bool) override { return Refuse("true or false"); }
  bool string(string_t&) override { return Refuse("a text"); }
  bool binary(binary_t&) override { return Refuse("binary data"); }
  bool parse_error(size_t byte, const std::string&, const nlohmann::detail::exception&) override {
    status_ = WrongFile(table_.rows.table.name,
                        absl::StrCat("is no valid JSON at byte ", byte, "; fetch or make the file again"));
    return false;
  }

  absl::StatusOr<FeatureTable> Finish() && {
    BLINK_RETURN_IF_ERROR(status_);
    const std::string& name = table_.rows.table.name;
    if (table_.rows.ids.empty()) return WrongFile(name, "holds no node");
    const int64_t cols = columns_.empty() ? 0 : *std::max_element(columns_.begin(), columns_.end()) + 1;
    BLINK_ASSIGN_OR_RETURN(RowsOfEntries sparse,
                           SparseRowsOfEntries({static_cast<int64_t>(table_.rows.ids.size()), cols}, rows_, columns_,
                                               std::vector<float>(columns_.size(), 1.0f), name));
    BLINK_ASSIGN_OR_RETURN(table_.matrix, FeaturesOf(std::move(sparse), name));
    // A number that stands twice in a list is one feature.
    std::fill(table_.matrix.values.begin(), table_.matrix.values.end(), 1.0f);
    return std::move(table_);
  }

 private:
  bool Refuse(absl::string_view what) {
    status_ = WrongFile(
        table_.rows.table.name,
        absl::StrCat(
            table_.rows.ids.empty() ? "" : absl::StrCat("node \"", table_.rows.ids.back().substr(0, 40), "\": "),
            "found ", what, "; expected an object {\"id\": [numbers of the node's features], ..}"));
    return false;
  }

  int depth_ = 0;
  absl::flat_hash_set<std::string> known_;
  std::vector<int64_t> rows_, columns_;
  FeatureTable table_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<FeatureTable> ReadJsonFeatures(absl::string_view bytes, const std::string& name) {
  FeatureHandler handler(name);
  nlohmann::json::sax_parse(bytes.begin(), bytes.end(), &handler);
  return std::move(handler).Finish();
}

}  // namespace blink
