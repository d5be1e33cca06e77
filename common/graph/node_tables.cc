#include "common/graph/node_tables.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/graph/dataset.h"
#include "common/graph/npy_array.h"
#include "common/graph/numpy_file.h"

namespace blink {
namespace {

using absl::string_view;

bool IsOneOf(string_view lower, std::initializer_list<string_view> words) {
  return std::find(words.begin(), words.end(), lower) != words.end();
}

bool IsUnknown(string_view text) {
  return IsOneOf(absl::AsciiStrToLower(text), {"", "-1", "-1.0", "nan", "na", "n/a", "<na>", "null", "none", "?",
                                               "unknown", "unlabelled", "unlabeled"});
}

TableColumn IdColumn() {
  return {.is_id = true,
          .names = {"id", "node", "node_id", "nodeid", "node id", "paper_id", "paper", "user_id", "userid", "user",
                    "vertex", "vertex_id", "source_id", "name"},
          .is_value = nullptr};
}

absl::Status AddId(const TextTable& table, string_view id, RowIds& rows) {
  if (rows.ids.size() >= kNodesMax) return table.Error(absl::StrCat("more than ", kNodesMax, " rows"));
  if (const char* why = WhyNoName(id); why != nullptr) return table.Error(absl::StrCat("the id ", why));
  rows.ids.emplace_back(id);
  rows.lines.push_back(table.line());
  return absl::OkStatus();
}

// To be called after the last row.
absl::Status Close(const TextTable& table, RowIds& rows) {
  BLINK_RETURN_IF_ERROR(table.status());
  rows.table = table.report();
  if (!rows.lines.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(table.report().name, " holds no row: give one line for each node"));
}

// ---- labels ----

// A number, also one that pandas wrote as a float beside missing ones: "2.0".
std::optional<double> NumberOf(string_view text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool IsWhole(string_view text) {
  const std::optional<double> value = NumberOf(text);
  return value.has_value() && *value == std::floor(*value);
}

// The distinct labels of a table, and where each stands first.
struct Classes {
  std::vector<std::string> names;
  std::vector<uint64_t> lines;
};

// Sets `rank` [classes] to the number of each class, and returns whether the classes are called by their numbers.
absl::StatusOr<bool> RankClasses(const TextTable& table, const Classes& classes, std::vector<int32_t>& rank) {
  const size_t count = classes.names.size();
  bool numbers = true;
  std::vector<double> values(count);
  for (size_t c = 0; c < count; ++c) {
    const std::optional<double> value = NumberOf(classes.names[c]);
    const auto refuse = [&](string_view what) {
      return table.ErrorAt(classes.lines[c], absl::StrCat("the label ", classes.names[c], " ", what));
    };
    if (value && *value < 0) return refuse("is negative: a class is an integer from 0, or a name; -1 is for unknown");
    if (classes.names[c].size() > kClassNameBytesMax)
      return table.ErrorAt(classes.lines[c], absl::StrCat("the name of a class has more than ", kClassNameBytesMax,
                                                          " bytes: is this the column of the labels?"));
    numbers = numbers && value.has_value();
    values[c] = value.value_or(0);
  }
  for (size_t c = 0; c < count && numbers; ++c) {
    const auto refuse = [&](string_view what) {
      return table.ErrorAt(classes.lines[c], absl::StrCat("the label ", classes.names[c], " ", what));
    };
    if (values[c] != std::floor(values[c])) return refuse("is a fraction: a class is an integer from 0, or a name");
    if (values[c] >= kClassesMax)
      return refuse(absl::StrCat("is above ", kClassesMax - 1,
                                 ": is this the column of "
                                 "the labels?"));
  }
  std::vector<int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t x, int32_t y) {
    return numbers ? values[x] < values[y] : classes.names[x] < classes.names[y];
  });
  rank.resize(count);
  int32_t next = -1;
  double before = -1;
  bool called_by_numbers = numbers;
  for (size_t k = 0; k < count; ++k) {
    if (!numbers || values[order[k]] != before) ++next;  // "1" and "1.0" are one class
    before = values[order[k]];
    rank[order[k]] = next;
    called_by_numbers = called_by_numbers && before == next;
  }
  return called_by_numbers;
}

// ---- splits ----

std::optional<Split> SplitOf(string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (IsOneOf(lower, {"train", "training", "trn", "tr"})) return Split::kTrain;
  if (IsOneOf(lower, {"val", "valid", "validation", "validate", "dev", "development"})) return Split::kValidation;
  if (IsOneOf(lower, {"test", "testing", "tst", "te"})) return Split::kTest;
  if (IsOneOf(lower, {"", "none", "unused", "-", "nan", "na", "null", "unlabelled", "unlabeled"})) return Split::kNone;
  return std::nullopt;
}

std::optional<bool> BoolOf(string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (IsOneOf(lower, {"true", "t", "yes", "y", "1", "1.0"})) return true;
  if (IsOneOf(lower, {"false", "f", "no", "n", "0", "0.0", ""})) return false;
  return std::nullopt;
}

constexpr char kSplitWords[] = "a split is train, val, test or none (or training, valid, validation, dev)";

// The column "train_mask", "val", "is_test" or "test_mask_7" of a header; kNone for another one.
Split MaskOf(string_view header) {
  std::string word = absl::AsciiStrToLower(header);
  if (const size_t at = word.find("mask"); at != std::string::npos) {  // train_mask_3 of ten splits
    const bool is_numbered = word.find_first_not_of("_0123456789", at + 4) == std::string::npos;
    if (is_numbered) word.resize(at + 4);
  }
  for (const string_view suffix : {"_mask", "mask", "_idx"}) {
    if (word.size() > suffix.size() && word.substr(word.size() - suffix.size()) == suffix)
      word.resize(word.size() - suffix.size());
  }
  for (const string_view prefix : {"is_", "in_", "is", "in"}) {
    if (word.size() > prefix.size() && word.substr(0, prefix.size()) == prefix) word = word.substr(prefix.size());
  }
  return SplitOf(word).value_or(Split::kNone);
}

// ---- features ----

bool IsNumber(string_view text) {
  double ignored;
  return absl::SimpleAtod(text, &ignored) || BoolOf(text).value_or(false) || text == "False" || text == "false";
}

class FeatureRows {
 public:
  absl::Status Add(const TextTable& table, absl::Span<const string_view> fields) {
    if (matrix_.rows == 0) {
      matrix_.row_offsets.assign(1, 0);
      matrix_.cols = static_cast<uint32_t>(fields.size());
    }
    for (size_t k = 0; k < fields.size(); ++k) {
      float value = 0;
      if (!absl::SimpleAtof(fields[k], &value)) {
        const std::optional<bool> truth = fields[k].empty() ? std::nullopt : BoolOf(fields[k]);
        if (!truth) return Refuse(table, k, absl::StrCat("is \"", fields[k].substr(0, 40), "\", which is no number"));
        value = *truth ? 1.0f : 0.0f;
      }
      if (std::isnan(value)) return Refuse(table, k, "is NaN");
      if (std::isinf(value)) return Refuse(table, k, "is infinite or too large for float32");
      if (value == 0) continue;
      matrix_.columns.push_back(static_cast<int32_t>(k));
      matrix_.values.push_back(value);
    }
    matrix_.row_offsets.push_back(static_cast<int64_t>(matrix_.columns.size()));
    ++matrix_.rows;
    return absl::OkStatus();
  }

  // Sparse where that is smaller.
  FeatureMatrix Finish() {
    matrix_.sparse = true;
    const size_t entries = size_t{matrix_.rows} * matrix_.cols;
    return matrix_.values.size() * 2 <= entries ? std::move(matrix_) : ToDense(matrix_);
  }

 private:
  absl::Status Refuse(const TextTable& table, size_t k, string_view what) const {
    const size_t ids = table.fields().size() - matrix_.cols;
    const size_t column = table.layout().columns[ids + k] + 1;
    return table.Error(
        absl::StrCat("column ", column, " ", what, "; mend it, or choose the columns (--feature-columns)"));
  }

  FeatureMatrix matrix_;
};

}  // namespace

absl::Status RowIds::Error(size_t row, string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(table.name, ", line ", lines[row], ": ", what));
}

absl::StatusOr<LabelTable> ReadLabelTable(const std::string& path, const TableOptions& options) {
  BLINK_ASSIGN_OR_RETURN(const std::unique_ptr<TextTable> table, TextTable::Open(path, options, WantedContent::kRows));
  TableForm form;
  form.row = "an id and a label";
  form.flag = "--label-columns";
  form.columns = {IdColumn(),
                  {.is_id = false,
                   .names = {"label", "labels", "class", "classes", "class_label", "class_name", "category", "target",
                             "y", "type", "subject", "page_type", "group", "community"},
                   .is_value = IsWhole}};
  BLINK_RETURN_IF_ERROR(table->Choose(form));
  LabelTable labels;
  Classes classes;
  absl::flat_hash_map<std::string, int32_t> index;
  while (table->Next()) {
    BLINK_RETURN_IF_ERROR(AddId(*table, table->fields()[0], labels.rows));
    const string_view label = table->fields()[1];
    if (IsUnknown(label)) {
      labels.labels.push_back(-1);
      continue;
    }
    const auto [entry, inserted] = index.try_emplace(label, static_cast<int32_t>(classes.names.size()));
    if (inserted) {
      if (const char* why = WhyNoName(label); why != nullptr) return table->Error(absl::StrCat("the label ", why));
      classes.names.emplace_back(label);
      classes.lines.push_back(table->line());
      if (classes.names.size() > kClassesMax)
        return table->Error(absl::StrCat("more than ", kClassesMax,
                                         " classes: is this the column of the labels? "
                                         "--label-columns chooses another"));
    }
    labels.labels.push_back(entry->second);
  }
  BLINK_RETURN_IF_ERROR(Close(*table, labels.rows));
  std::vector<int32_t> rank;
  BLINK_ASSIGN_OR_RETURN(const bool called_by_numbers, RankClasses(*table, classes, rank));
  for (int32_t& label : labels.labels) label = label < 0 ? -1 : rank[label];
  if (called_by_numbers) return labels;
  labels.class_names.resize(rank.empty() ? 0 : *std::max_element(rank.begin(), rank.end()) + 1);
  for (size_t c = 0; c < rank.size(); ++c) labels.class_names[rank[c]] = classes.names[c];
  return labels;
}

absl::StatusOr<SplitTable> ReadSplitTable(const std::string& path, const TableOptions& options) {
  BLINK_ASSIGN_OR_RETURN(const std::unique_ptr<TextTable> table, TextTable::Open(path, options, WantedContent::kRows));
  TableForm form;
  form.row = "an id and a split";
  form.flag = "--split-columns";
  form.columns = {IdColumn()};
  std::vector<Split> masks;
  std::vector<std::string> mask_names;  // form.columns points into it
  const auto find_masks = [&](const std::vector<std::string>& columns, bool plain_words) {
    for (const std::string& name : columns) {
      const Split mask = MaskOf(name);
      if (mask == Split::kNone || SplitOf(name).has_value() != plain_words) continue;
      masks.push_back(mask);
      mask_names.push_back(absl::AsciiStrToLower(name));
    }
  };
  const std::vector<std::string> header = options.columns.empty() ? table->FirstRow() : options.columns;
  find_masks(header, false);
  if (masks.empty()) {  // "train", "val" and "test" are masks where several of them are columns
    find_masks(header, true);
    if (masks.size() == 1) masks.clear();
  }
  if (masks.empty()) {
    form.columns.push_back({.is_id = false,
                            .names = {"split", "set", "part", "partition", "subset", "fold"},
                            .is_value = [](string_view text) { return SplitOf(text).has_value(); }});
  } else {
    for (const std::string& name : mask_names) {
      form.columns.push_back({.is_id = false, .names = {name}, .is_value = nullptr});
    }
  }
  for (size_t k = 0; k < masks.size(); ++k) {
    const size_t first = std::find(masks.begin(), masks.end(), masks[k]) - masks.begin();
    if (first == k) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(table->report().name, ": the columns ", mask_names[first], " and ", mask_names[k],
                     " are of one part: choose the columns of one split, as --split-columns id,train_mask_0,"
                     "val_mask_0,test_mask_0"));
  }
  BLINK_RETURN_IF_ERROR(table->Choose(form));
  SplitTable split;
  while (table->Next()) {
    const absl::Span<const string_view> fields = table->fields();
    BLINK_RETURN_IF_ERROR(AddId(*table, fields[0], split.rows));
    Split& part = split.parts.emplace_back(Split::kNone);
    if (masks.empty()) {
      const std::optional<Split> told = SplitOf(fields[1]);
      if (!told) return table->Error(absl::StrCat("\"", fields[1].substr(0, 40), "\" is no split: ", kSplitWords));
      part = *told;
      continue;
    }
    for (size_t k = 1; k < fields.size(); ++k) {
      const std::optional<bool> in = BoolOf(fields[k]);
      if (!in) return table->Error(absl::StrCat("\"", fields[k].substr(0, 40), "\" is neither true nor false"));
      if (!*in) continue;
      if (part != Split::kNone)
        return table->Error(absl::StrCat("node ", fields[0], " is in two parts: a node is in one, or in none"));
      part = masks[k - 1];
    }
  }
  BLINK_RETURN_IF_ERROR(Close(*table, split.rows));
  return split;
}

absl::StatusOr<RowIds> ReadIdTable(const std::string& path, const TableOptions& options) {
  BLINK_ASSIGN_OR_RETURN(std::unique_ptr<Input> input, Input::Open(path));
  BLINK_ASSIGN_OR_RETURN(const string_view first, input->Peek());
  RowIds rows;
  if (KindOf(first) == FileKind::kNumpyArray) {
    rows.table.name = input->name();
    BLINK_ASSIGN_OR_RETURN(const std::string bytes, input->ReadAll(kFeatureFileBytesMax));
    BLINK_ASSIGN_OR_RETURN(const NpyArray array, ParseNpy(bytes, rows.table.name));
    if (std::count_if(array.shape.begin(), array.shape.end(), [](uint64_t extent) { return extent != 1; }) > 1) {
      return absl::InvalidArgumentError(absl::StrCat(rows.table.name, " has ", array.shape.size(),
                                                     " dimensions: ids are an array of one, such as x[:, 0]"));
    }
    if (array.items > kNodesMax)
      return absl::InvalidArgumentError(absl::StrCat(rows.table.name, ": more than ", kNodesMax, " ids"));
    BLINK_ASSIGN_OR_RETURN(rows.ids, IdsOf(array, rows.table.name));
    for (const std::string& id : rows.ids) {
      rows.lines.push_back(rows.lines.size() + 1);
      if (id.empty()) return rows.Error(rows.lines.size() - 1, "the id is empty");
      if (const char* why = WhyNoName(id); why != nullptr)
        return rows.Error(rows.lines.size() - 1, absl::StrCat("the id ", why));
    }
    return rows;
  }
  BLINK_ASSIGN_OR_RETURN(const std::unique_ptr<TextTable> table,
                         TextTable::Begin(std::move(input), options, WantedContent::kRows));
  TableForm form;
  form.row = "one id";
  form.flag = "--feature-id-column";
  form.columns = {IdColumn()};
  BLINK_RETURN_IF_ERROR(table->Choose(form));
  while (table->Next()) BLINK_RETURN_IF_ERROR(AddId(*table, table->fields()[0], rows));
  BLINK_RETURN_IF_ERROR(Close(*table, rows));
  return rows;
}

absl::StatusOr<FeatureTable> ReadFeatureTable(const std::string& path, const TableOptions& options, bool has_ids) {
  BLINK_ASSIGN_OR_RETURN(std::unique_ptr<Input> input, Input::Open(path));
  return ReadFeatureTable(std::move(input), options, has_ids);
}

absl::StatusOr<FeatureTable> ReadFeatureTable(std::unique_ptr<Input> input, const TableOptions& options, bool has_ids) {
  BLINK_ASSIGN_OR_RETURN(const string_view first, input->Peek());
  BLINK_RETURN_IF_ERROR(CheckIsTextOrNumpy(first, input->name()));
  FeatureTable features;
  const FileKind kind = KindOf(first);
  if (kind != FileKind::kText) {
    features.rows.table.name = input->name();
    BLINK_ASSIGN_OR_RETURN(const std::string bytes, input->ReadAll(kFeatureFileBytesMax));
    BLINK_ASSIGN_OR_RETURN(features.matrix, kind == FileKind::kNumpyArray
                                                ? ParseDenseNpy(bytes, features.rows.table.name)
                                                : ParseSparseNpz(bytes, features.rows.table.name));
    return features;
  }
  BLINK_ASSIGN_OR_RETURN(const std::unique_ptr<TextTable> table,
                         TextTable::Begin(std::move(input), options, WantedContent::kFeatures));
  TableForm form;
  form.row = has_ids ? "an id and numbers" : "numbers";
  form.flag = "--feature-columns";
  if (has_ids) form.columns = {IdColumn()};
  form.takes_the_rest = true;
  form.rest_is_value = IsNumber;
  BLINK_RETURN_IF_ERROR(table->Choose(form));
  FeatureRows rows;
  while (table->Next()) {
    absl::Span<const string_view> fields = table->fields();
    if (has_ids) {
      BLINK_RETURN_IF_ERROR(AddId(*table, fields[0], features.rows));
      fields.remove_prefix(1);
    } else {
      features.rows.lines.push_back(table->line());
    }
    BLINK_RETURN_IF_ERROR(rows.Add(*table, fields));
  }
  BLINK_RETURN_IF_ERROR(Close(*table, features.rows));
  features.matrix = rows.Finish();
  return features;
}

}  // namespace blink
