#include "tools/dataset/import/node_columns.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/list_text.h"
#include "common/base/status_macros.h"
#include "common/graph/dataset.h"
#include "tools/dataset/import/arrays.h"

namespace blink {
namespace {

constexpr uint64_t kCellsOfAnyFile = 10'000'000, kCellsMax = 100'000'000;

bool IsOneOf(absl::string_view name, const std::vector<absl::string_view>& words) {
  return std::find(words.begin(), words.end(), absl::AsciiStrToLower(name)) != words.end();
}

std::optional<bool> BoolOf(absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (lower == "true" || lower == "1" || lower == "1.0") return true;
  if (lower == "false" || lower == "0" || lower == "0.0" || lower.empty()) return false;
  return std::nullopt;
}

// Whether an attribute that is called "label" or "target" tells names, such as titles of pages, or amounts. MUSAE's
// Wikipedia has the traffic of a page as its target.
bool AreNoClasses(const std::vector<std::string>& values) {
  absl::flat_hash_set<absl::string_view> distinct;
  size_t known = 0;
  for (const std::string& value : values) {
    if (value.empty()) continue;
    ++known;
    distinct.insert(value);
    int64_t number = 0;
    if (absl::SimpleAtoi(value, &number) && number >= kClassesMax) return true;
  }
  return known > 100 && distinct.size() * 2 > known;
}

class ColumnTaker {
 public:
  ColumnTaker(std::vector<NodeColumn> columns, const ColumnRules& rules, const ImportOptions& options,
              const std::string& file, ImportedGraph& graph)
      : columns_(std::move(columns)),
        used_(columns_.size()),
        rules_(rules),
        options_(options),
        file_(file),
        graph_(graph) {}

  absl::Status Run() {
    BLINK_RETURN_IF_ERROR(TakeSplit());
    BLINK_RETURN_IF_ERROR(TakeFeatures());
    BLINK_RETURN_IF_ERROR(TakeLabels());
    std::vector<absl::string_view> unused;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (!used_[c]) unused.push_back(columns_[c].name);
    }
    if (!unused.empty()) {
      graph_.notes.push_back(
          absl::StrCat(file_, ": not used: ", ListText(unused, 200),
                       " (--label-attribute and --feature-attributes choose what the label and the features are)"));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Wrong(size_t column, size_t node, absl::string_view what) const {
    return WrongFile(file_, absl::StrCat("the attribute ", columns_[column].name, " of node ",
                                         graph_.edges.ids.TextOf(static_cast<NodeIndex>(node)), " is \"",
                                         columns_[column].values[node].substr(0, 40), "\", ", what));
  }

  absl::StatusOr<size_t> Chosen(absl::string_view name, absl::string_view flag) const {
    std::vector<absl::string_view> names;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].name == name) return c;
      names.push_back(columns_[c].name);
    }
    return WrongFile(file_, absl::StrCat("the nodes have no attribute \"", name, "\" (", flag, "); they have ",
                                         names.empty() ? "none" : ListText(names, 200)));
  }

  absl::Status TakeLabels() {
    std::optional<size_t> column;
    if (!options_.label_attribute.empty()) {
      BLINK_ASSIGN_OR_RETURN(column, Chosen(options_.label_attribute, "--label-attribute"));
    }
    for (const absl::string_view wanted : rules_.label_names) {
      for (size_t c = 0; c < columns_.size() && !column; ++c) {
        if (used_[c] || absl::AsciiStrToLower(columns_[c].name) != wanted) continue;
        if (!AreNoClasses(columns_[c].values)) {
          column = c;
          continue;
        }
        graph_.notes.push_back(absl::StrCat(file_, ": the attribute ", columns_[c].name,
                                            " holds names or amounts, and no classes, so it is not the label"));
      }
    }
    if (!column) return absl::OkStatus();
    used_[*column] = true;
    BLINK_ASSIGN_OR_RETURN(graph_.labels, LabelsOf(columns_[*column].values, RowsOfAllNodes(graph_.edges.ids, file_),
                                                   columns_[*column].name));
    if (std::all_of(graph_.labels.labels.begin(), graph_.labels.labels.end(), [](int32_t l) { return l < 0; })) {
      graph_.labels = {};  // an attribute without a value is as good as none
      return absl::OkStatus();
    }
    graph_.notes.push_back(absl::StrCat(file_, ": the attribute ", columns_[*column].name, " is the label"));
    return absl::OkStatus();
  }

  absl::Status TakeSplit() {
    const std::pair<Split, std::vector<absl::string_view>> masks[] = {
        {Split::kTrain, {"train_mask", "train"}},
        {Split::kValidation, {"val_mask", "valid_mask", "validation_mask", "val", "valid", "validation"}},
        {Split::kTest, {"test_mask", "test"}}};
    std::vector<Split> parts(graph_.edges.ids.size(), Split::kNone);
    bool found = false;
    for (const auto& [part, names] : masks) {
      for (size_t c = 0; c < columns_.size(); ++c) {
        if (!IsOneOf(columns_[c].name, names)) continue;
        found = used_[c] = true;
        for (size_t i = 0; i < parts.size(); ++i) {
          const std::optional<bool> in = BoolOf(columns_[c].values[i]);
          if (!in) return Wrong(c, i, "which is neither true nor false");
          if (!*in) continue;
          if (parts[i] != Split::kNone) return Wrong(c, i, "but the node is in another part already");
          parts[i] = part;
        }
      }
    }
    for (size_t c = 0; c < columns_.size() && !found; ++c) {
      if (!IsOneOf(columns_[c].name, {"split"})) continue;
      found = used_[c] = true;
      for (size_t i = 0; i < parts.size(); ++i) {
        const std::string part = absl::AsciiStrToLower(columns_[c].values[i]);
        if (part == "train")
          parts[i] = Split::kTrain;
        else if (part == "val" || part == "valid" || part == "validation")
          parts[i] = Split::kValidation;
        else if (part == "test")
          parts[i] = Split::kTest;
        else if (!part.empty() && part != "none")
          return Wrong(c, i, "which is none of train, val, test and none");
      }
    }
    if (!found) return absl::OkStatus();
    graph_.split.rows = RowsOfAllNodes(graph_.edges.ids, file_);
    graph_.split.parts = std::move(parts);
    return absl::OkStatus();
  }

  absl::Status TakeFeatures() {
    std::vector<size_t> chosen;
    for (const std::string& name : options_.feature_attributes) {
      BLINK_ASSIGN_OR_RETURN(chosen.emplace_back(), Chosen(name, "--feature-attributes"));
    }
    for (size_t c = 0; c < columns_.size() && options_.feature_attributes.empty(); ++c) {
      if (IsOneOf(columns_[c].name, {"features", "feature", "feat", "x", "attr"}) &&
          columns_[c].name != options_.label_attribute) {
        chosen.push_back(c);
      }
    }
    if (chosen.empty()) return absl::OkStatus();
    const size_t n = graph_.edges.ids.size();
    std::vector<int64_t> rows, columns;
    std::vector<float> values;
    uint64_t first = 0;  // of the columns that the attribute gets
    for (const size_t c : chosen) {
      used_[c] = true;
      uint64_t width = 0;
      std::optional<size_t> dense_width;
      for (size_t i = 0; i < n; ++i) {
        size_t count = 0;
        for (absl::string_view item :
             absl::StrSplit(columns_[c].values[i], absl::ByAnyChar(" ,;[]()\t\n"), absl::SkipEmpty())) {
          uint64_t place = count++;
          const size_t colon = item.find(':');
          const bool sparse = colon != absl::string_view::npos;
          if (sparse && !absl::SimpleAtoi(item.substr(0, colon), &place))
            return Wrong(c, i, "which is no list of numbers");
          if (sparse) item.remove_prefix(colon + 1);
          float value = 0;
          const std::optional<bool> truth = BoolOf(item);
          if (!absl::SimpleAtof(item, &value) && !truth) return Wrong(c, i, "which is no list of numbers");
          if (truth) value = *truth ? 1.0f : 0.0f;
          if (!std::isfinite(value)) return Wrong(c, i, "which holds a value that is not finite");
          if (place >= kImportedColumnsMax)
            return Wrong(c, i, absl::StrCat("which is above ", kImportedColumnsMax, " features"));
          if (!sparse) dense_width = dense_width.value_or(0);
          width = std::max(width, place + 1);
          if (value == 0) continue;
          rows.push_back(static_cast<int64_t>(i));
          columns.push_back(static_cast<int64_t>(first + place));
          values.push_back(value);
        }
        if (!dense_width) continue;
        if (i == 0 || *dense_width == 0) dense_width = count;
        if (count != 0 && count != *dense_width)
          return Wrong(c, i, absl::StrCat("which has ", count, " numbers, while others have ", *dense_width));
      }
      first += width;
    }
    const uint64_t cols = std::max<uint64_t>(first, rules_.features_min);
    BLINK_ASSIGN_OR_RETURN(
        RowsOfEntries sparse,
        SparseRowsOfEntries({static_cast<int64_t>(n), static_cast<int64_t>(cols)}, rows, columns, values, file_));
    BLINK_ASSIGN_OR_RETURN(graph_.features.matrix, FeaturesOf(std::move(sparse), file_));
    if (values.size() * 2 > n * cols) graph_.features.matrix = ToDense(graph_.features.matrix);
    graph_.features.rows.table.name = file_;
    return absl::OkStatus();
  }

  std::vector<NodeColumn> columns_;
  std::vector<bool> used_;
  const ColumnRules& rules_;
  const ImportOptions& options_;
  const std::string& file_;
  ImportedGraph& graph_;
};

}  // namespace

void NodeColumns::Set(absl::string_view name, size_t node, std::string value) {
  const auto [entry, inserted] = index_.try_emplace(name, columns_.size());
  if (inserted) columns_.push_back({std::string(name), {}});
  columns_[entry->second].values.emplace_back(node, std::move(value));
}

absl::StatusOr<std::vector<NodeColumn>> NodeColumns::Finish(size_t node_count, uint64_t file_bytes,
                                                            const std::string& file) {
  const uint64_t most = std::clamp(file_bytes, kCellsOfAnyFile, kCellsMax);
  if (columns_.size() * uint64_t{node_count} > most) {
    return WrongFile(file, absl::StrCat("has ", columns_.size(), " attributes of ", node_count, " nodes, above ", most,
                                        " values in all; write features as one attribute with a list of numbers"));
  }
  std::vector<NodeColumn> finished;
  for (Column& column : columns_) {
    NodeColumn& whole = finished.emplace_back();
    whole.name = std::move(column.name);
    whole.values.resize(node_count);
    for (auto& [node, value] : column.values) whole.values[node] = std::move(value);
    column.values = {};
  }
  return finished;
}

absl::Status TakeColumns(std::vector<NodeColumn> columns, const ColumnRules& rules, const ImportOptions& options,
                         const std::string& file, ImportedGraph& graph) {
  return ColumnTaker(std::move(columns), rules, options, file, graph).Run();
}

}  // namespace blink
