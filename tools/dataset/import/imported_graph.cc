#include "tools/dataset/import/imported_graph.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/graph/dataset.h"
#include "common/graph/table_fields.h"

namespace blink {
namespace {

bool IsUnknown(absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  for (const char* word : {"", "-1", "-1.0", "nan", "na", "n/a", "<na>", "null", "none", "?"}) {
    if (lower == word) return true;
  }
  return false;
}

std::optional<double> NumberOf(absl::string_view text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) return std::nullopt;
  return value;
}

absl::Status WrongLabel(const RowIds& rows, size_t row, absl::string_view what, absl::string_view label,
                        absl::string_view why) {
  return WrongFile(rows.table.name, absl::StrCat("the ", what, " of node ", rows.ids[row], " is \"",
                                                 label.substr(0, 40), "\", which ", why));
}

absl::Status CheckClassName(const RowIds& rows, size_t row, absl::string_view what, absl::string_view label) {
  if (label.size() > kClassNameBytesMax)
    return WrongLabel(rows, row, what, label,
                      absl::StrCat("has more than ", kClassNameBytesMax, " bytes: is that the class?"));
  if (const char* why = WhyNoName(label); why != nullptr) return WrongLabel(rows, row, what, label, why);
  return absl::OkStatus();
}

}  // namespace

absl::Status WrongFile(absl::string_view name, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", what));
}

absl::Status CheckNodeCount(uint64_t count, absl::string_view name) {
  if (count <= kNodesMax) return absl::OkStatus();
  return WrongFile(name, absl::StrCat(count, " nodes are above the limit of ", kNodesMax));
}

NodeIds NumberedNodes(uint32_t n) {
  NodeIds ids(true);
  for (uint32_t i = 0; i < n; ++i) ids.AddInteger(i);
  return ids;
}

absl::StatusOr<NodeIds> NodesOf(const std::vector<std::string>& ids, const std::string& name) {
  BLINK_RETURN_IF_ERROR(CheckNodeCount(ids.size(), name));
  int64_t ignored;
  NodeIds nodes(!ids.empty() &&
                std::all_of(ids.begin(), ids.end(), [&](const auto& id) { return ParseInteger(id, &ignored); }));
  for (const std::string& id : ids) {
    if (id.empty()) return WrongFile(name, absl::StrCat("node ", nodes.size(), " (from 0) has no id"));
    if (const char* why = WhyNoName(id); why != nullptr)
      return WrongFile(name, absl::StrCat("the id of node ", nodes.size(), " (from 0) ", why));
    const size_t before = nodes.size();
    BLINK_RETURN_IF_ERROR(nodes.Add(id).status());
    if (nodes.size() == before)
      return WrongFile(name, absl::StrCat("the node \"", id.substr(0, 40), "\" stands twice: remove one of them"));
  }
  return nodes;
}

absl::StatusOr<NodeIds> NodesInOrder(const std::vector<std::string>& ids, const std::string& name) {
  BLINK_ASSIGN_OR_RETURN(NodeIds nodes, NodesOf(ids, name));
  if (!nodes.are_integers() || nodes.size() == 0) return nodes;
  const auto [least, most] = std::minmax_element(nodes.integers().begin(), nodes.integers().end());
  if (*least == 0 && *most == static_cast<int64_t>(nodes.size()) - 1) return nodes;
  NodeIds names(false);
  for (const std::string& id : ids) names.AddName(id);
  return names;
}

absl::Status AddLink(NodeIndex a, NodeIndex b, EdgeList& edges, absl::string_view name) {
  if (edges.table.lines >= kImportedLinksMax)
    return WrongFile(name, absl::StrCat("more than ", kImportedLinksMax, " links"));
  ++edges.table.lines;
  if (a == b) {
    ++edges.self_loops_dropped;
  } else {
    edges.links.emplace_back(a, b);
  }
  return absl::OkStatus();
}

RowIds RowsOfAllNodes(const NodeIds& ids, const std::string& name) {
  RowIds rows;
  rows.table.name = name;
  for (NodeIndex i = 0; i < ids.size(); ++i) {
    rows.ids.push_back(ids.TextOf(i));
    rows.lines.push_back(uint64_t{i} + 1);
  }
  return rows;
}

absl::StatusOr<LabelTable> LabelsOf(const std::vector<std::string>& values, RowIds rows, absl::string_view what) {
  LabelTable table;
  table.rows = std::move(rows);
  absl::flat_hash_map<absl::string_view, size_t> first_row;  // of each class
  bool numbers = true;
  for (size_t k = 0; k < values.size(); ++k) {
    if (IsUnknown(values[k]) || !first_row.try_emplace(values[k], k).second) continue;
    BLINK_RETURN_IF_ERROR(CheckClassName(table.rows, k, what, values[k]));
    if (first_row.size() > kClassesMax) {
      return WrongFile(table.rows.table.name, absl::StrCat("the ", what, " has more than ", kClassesMax,
                                                           " values: is that the class? --label-attribute chooses "
                                                           "another"));
    }
    numbers = numbers && NumberOf(values[k]).has_value();
  }
  // Classes in their order; "1" and "1.0" are one class.
  std::map<std::pair<double, absl::string_view>, std::vector<absl::string_view>> ordered;
  for (const auto& [label, row] : first_row) {
    const double value = numbers ? *NumberOf(label) : 0;
    if (numbers && value < 0) return WrongLabel(table.rows, row, what, label, "is negative; -1 is for unknown");
    if (numbers && value != std::floor(value))
      return WrongLabel(table.rows, row, what, label, "is a fraction: a class is an integer from 0, or a name");
    if (numbers && value >= kClassesMax)
      return WrongLabel(table.rows, row, what, label,
                        absl::StrCat("is above ", kClassesMax - 1,
                                     ": is that the class? --label-attribute chooses "
                                     "another"));
    ordered[{value, numbers ? absl::string_view() : label}].push_back(label);
  }
  absl::flat_hash_map<absl::string_view, int32_t> index;
  bool called_by_numbers = numbers;
  for (const auto& [key, labels] : ordered) {
    const auto next = static_cast<int32_t>(table.class_names.size());
    called_by_numbers = called_by_numbers && key.first == next;
    table.class_names.emplace_back(*std::min_element(labels.begin(), labels.end()));
    for (const absl::string_view label : labels) index[label] = next;
  }
  if (called_by_numbers) table.class_names.clear();
  for (const std::string& value : values) {
    const auto found = index.find(value);
    table.labels.push_back(found == index.end() ? -1 : found->second);
  }
  return table;
}

absl::StatusOr<LabelTable> LabelsOf(const std::vector<int64_t>& values, RowIds rows,
                                    std::vector<std::string> class_names, absl::string_view what) {
  if (class_names.empty()) {
    std::vector<std::string> texts;
    for (const int64_t value : values) texts.push_back(value < 0 ? std::string() : absl::StrCat(value));
    return LabelsOf(texts, std::move(rows), what);
  }
  LabelTable table;
  table.rows = std::move(rows);
  if (class_names.size() > kClassesMax)
    return WrongFile(table.rows.table.name, absl::StrCat("more than ", kClassesMax, " names of classes"));
  for (const std::string& name : class_names) BLINK_RETURN_IF_ERROR(CheckClassName(table.rows, 0, what, name));
  for (size_t k = 0; k < values.size(); ++k) {
    if (values[k] >= static_cast<int64_t>(class_names.size()))
      return WrongLabel(table.rows, k, what, absl::StrCat(values[k]),
                        absl::StrCat("has no name: there are ", class_names.size(), " names of classes"));
    table.labels.push_back(values[k] < 0 ? -1 : static_cast<int32_t>(values[k]));
  }
  table.class_names = std::move(class_names);
  return table;
}

absl::StatusOr<SplitTable> SplitOf(const std::vector<int64_t>& train, const std::vector<int64_t>& validation,
                                   const std::vector<int64_t>& test, RowIds rows) {
  SplitTable split;
  split.rows = std::move(rows);
  split.parts.assign(split.rows.ids.size(), Split::kNone);
  for (const auto& [nodes, part] :
       {std::pair(&train, Split::kTrain), std::pair(&validation, Split::kValidation), std::pair(&test, Split::kTest)}) {
    for (const int64_t node : *nodes) {
      if (node < 0 || node >= static_cast<int64_t>(split.parts.size()))
        return WrongFile(split.rows.table.name,
                         absl::StrCat("node ", node, " is not one of the ", split.parts.size(), " nodes"));
      if (split.parts[node] != Split::kNone)
        return WrongFile(split.rows.table.name,
                         absl::StrCat("node ", node, " stands twice in the split: a node is in one part, or in none"));
      split.parts[node] = part;
    }
  }
  return split;
}

}  // namespace blink
