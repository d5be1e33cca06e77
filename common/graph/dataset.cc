#include "common/graph/dataset.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/graph/csv_field.h"
#include "common/graph/numpy_file.h"

namespace blink {
namespace {

constexpr uint64_t kTextFileBytesMax = uint64_t{8} << 30;

absl::Status LineError(const std::string& path, uint64_t line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ", line ", line, ": ", what));
}

// Calls row(line number, first field, rest of the line) for the rows of a file with one header line.
template <typename F>
absl::Status ForEachRow(const std::string& path, absl::string_view header, F row) {
  BLINK_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kTextFileBytesMax));
  absl::string_view rest = text;
  absl::ConsumePrefix(&rest, "\xEF\xBB\xBF");
  for (uint64_t number = 1; number == 1 || !rest.empty(); ++number) {  // an empty file lacks its header
    const size_t end = std::min(rest.find('\n'), rest.size());
    absl::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    line = absl::StripAsciiWhitespace(line);
    if (number == 1) {
      if (line != header) return LineError(path, 1, absl::StrCat("the first line must be the header \"", header, "\""));
      continue;
    }
    if (line.empty()) continue;
    const size_t comma = line.find(',');
    if (comma == absl::string_view::npos) {
      return LineError(path, number, absl::StrCat("expected two values, \"", header, "\""));
    }
    BLINK_RETURN_IF_ERROR(row(number, absl::StripAsciiWhitespace(line.substr(0, comma)),
                              absl::StripAsciiWhitespace(line.substr(comma + 1))));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> ParseNode(const std::string& path, uint64_t line, absl::string_view text,
                                   uint64_t node_count) {
  uint32_t node = 0;
  if (!absl::SimpleAtoi(text, &node))
    return LineError(path, line, "a node is an integer from 0; use `blink dataset convert` for other ids");
  if (node >= node_count)
    return LineError(path, line, absl::StrCat("node ", node, " is not below the number of nodes, ", node_count));
  return node;
}

// Where the files of a folder say how many nodes there are: one line each in labels.csv, in nodes.csv, or in both.
absl::Status AgreeOnNodeCount(const std::string& path, size_t rows, NodeAttributes& attributes) {
  if (rows < kNodesMin)
    return LineError(path, 1, absl::StrCat("at least ", kNodesMin, " nodes are needed, one line each"));
  if (attributes.node_count != 0 && attributes.node_count != rows) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has ", rows, " nodes, but labels.csv has ",
                                                   attributes.node_count, ": both need one line for each node"));
  }
  attributes.node_count = static_cast<uint32_t>(rows);
  return absl::OkStatus();
}

absl::Status TwiceError(const std::string& path, uint64_t line, uint32_t node) {
  return LineError(path, line, absl::StrCat("node ", node, " stands twice: keep one line a node"));
}

absl::Status GapError(const std::string& path, uint64_t line, uint32_t node, size_t rows) {
  return LineError(path, line,
                   absl::StrCat("node ", node, " among ", rows, " lines: nodes are numbered from 0 without a gap"));
}

absl::Status ReadLabels(const std::string& path, NodeAttributes& attributes) {
  std::vector<std::pair<uint32_t, int32_t>> rows;
  std::vector<uint64_t> lines;
  BLINK_RETURN_IF_ERROR(
      ForEachRow(path, "node,label", [&](uint64_t line, absl::string_view a, absl::string_view b) -> absl::Status {
        BLINK_ASSIGN_OR_RETURN(const uint32_t node, ParseNode(path, line, a, kNodesMax));
        int32_t label = 0;
        if (!absl::SimpleAtoi(b, &label) || label < -1 || label >= kClassesMax) {
          return LineError(
              path, line,
              absl::StrCat("a label is an integer from 0 to ", kClassesMax - 1, ", or -1 where it is unknown"));
        }
        rows.emplace_back(node, label);
        lines.push_back(line);
        return absl::OkStatus();
      }));
  BLINK_RETURN_IF_ERROR(AgreeOnNodeCount(path, rows.size(), attributes));
  constexpr int32_t kUnset = -2;
  attributes.labels.assign(rows.size(), kUnset);
  for (size_t k = 0; k < rows.size(); ++k) {
    const auto [node, label] = rows[k];
    if (node >= rows.size()) return GapError(path, lines[k], node, rows.size());
    if (attributes.labels[node] != kUnset) return TwiceError(path, lines[k], node);
    attributes.labels[node] = label;
    attributes.class_count = std::max(attributes.class_count, static_cast<uint32_t>(label + 1));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ParseId(const std::string& path, uint64_t line, absl::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') {
    if (text.empty()) return LineError(path, line, "the id is empty");
    return std::string(text);
  }
  return absl::StrReplaceAll(text.substr(1, text.size() - 2), {{"\"\"", "\""}});
}

absl::Status CheckIdsDiffer(const std::string& path, const std::vector<std::pair<uint32_t, std::string>>& rows,
                            const std::vector<uint64_t>& lines) {
  absl::flat_hash_map<absl::string_view, uint32_t> node_of;
  for (size_t k = 0; k < rows.size(); ++k) {
    const auto& [node, id] = rows[k];
    const auto [entry, inserted] = node_of.try_emplace(id, node);
    if (inserted) continue;
    if (entry->second == node) return TwiceError(path, lines[k], node);
    return LineError(
        path, lines[k],
        absl::StrCat("the id \"", id, "\" is also that of node ", entry->second, ": give each node its own"));
  }
  return absl::OkStatus();
}

absl::Status ReadIds(const std::string& path, NodeAttributes& attributes) {
  std::vector<std::pair<uint32_t, std::string>> rows;
  std::vector<uint64_t> lines;
  bool numbers = true;
  BLINK_RETURN_IF_ERROR(
      ForEachRow(path, "node,id", [&](uint64_t line, absl::string_view a, absl::string_view b) -> absl::Status {
        BLINK_ASSIGN_OR_RETURN(const uint32_t node, ParseNode(path, line, a, kNodesMax));
        BLINK_ASSIGN_OR_RETURN(std::string id, ParseId(path, line, b));
        numbers = numbers && id == a;
        rows.emplace_back(node, std::move(id));
        lines.push_back(line);
        return absl::OkStatus();
      }));
  BLINK_RETURN_IF_ERROR(AgreeOnNodeCount(path, rows.size(), attributes));
  BLINK_RETURN_IF_ERROR(CheckIdsDiffer(path, rows, lines));
  attributes.ids.resize(rows.size());
  for (size_t k = 0; k < rows.size(); ++k) {
    auto& [node, id] = rows[k];
    if (node >= rows.size()) return GapError(path, lines[k], node, rows.size());
    if (!attributes.ids[node].empty()) return TwiceError(path, lines[k], node);
    attributes.ids[node] = std::move(id);
  }
  if (numbers) attributes.ids.clear();
  return absl::OkStatus();
}

absl::Status ReadSplit(const std::string& path, NodeAttributes& attributes) {
  std::vector<bool> seen(attributes.node_count, false);
  return ForEachRow(path, "node,split", [&](uint64_t line, absl::string_view a, absl::string_view b) -> absl::Status {
    BLINK_ASSIGN_OR_RETURN(const uint32_t node, ParseNode(path, line, a, attributes.node_count));
    if (seen[node]) return TwiceError(path, line, node);
    seen[node] = true;
    if (b == "train") {
      attributes.split[node] = Split::kTrain;
    } else if (b == "val" || b == "validation") {
      attributes.split[node] = Split::kValidation;
    } else if (b == "test") {
      attributes.split[node] = Split::kTest;
    } else if (b != "none") {
      return LineError(path, line, "a split is train, val, test or none");
    }
    return absl::OkStatus();
  });
}

absl::Status ReadClassNames(const std::string& path, NodeAttributes& attributes) {
  absl::StatusOr<std::string> text = ReadFile(path, 1 << 20);
  if (absl::IsNotFound(text.status())) return absl::OkStatus();
  BLINK_RETURN_IF_ERROR(text.status());
  absl::string_view rest = *text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    attributes.class_names.emplace_back(absl::StripAsciiWhitespace(rest.substr(0, end)));
    if (attributes.class_names.back().size() > kClassNameBytesMax) {
      return LineError(path, attributes.class_names.size(),
                       absl::StrCat("the name of a class has more than ", kClassNameBytesMax, " bytes: shorten it"));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  while (!attributes.class_names.empty() && attributes.class_names.back().empty()) attributes.class_names.pop_back();
  if (attributes.class_names.size() < attributes.class_count) {
    return LineError(path, attributes.class_names.size() + 1,
                     absl::StrCat("labels.csv knows ", attributes.class_count,
                                  " classes: name each on its line, or remove the file"));
  }
  if (attributes.class_names.size() > kClassesMax) return LineError(path, kClassesMax + 1, "too many classes");
  attributes.class_count = static_cast<uint32_t>(attributes.class_names.size());
  return absl::OkStatus();
}

// Also a link to nothing, or to what may not be read: a name that is there says that features were meant.
bool HasName(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::symlink_status(path, error));
}

absl::Status ReadFeatures(const std::string& folder, NodeAttributes& attributes) {
  const std::string sparse = folder + "/features.npz", dense = folder + "/features.npy";
  const bool has_sparse = HasName(sparse), has_dense = HasName(dense);
  if (has_sparse && has_dense) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, " holds both features.npz and features.npy: remove the one that is not meant"));
  }
  attributes.features.rows = attributes.node_count;
  if (!has_sparse && !has_dense) return absl::OkStatus();
  BLINK_ASSIGN_OR_RETURN(attributes.features, has_sparse ? ReadSparseNpz(sparse) : ReadDenseNpy(dense));
  if (attributes.features.rows != attributes.node_count) {
    return absl::InvalidArgumentError(absl::StrCat(has_sparse ? sparse : dense, " has ", attributes.features.rows,
                                                   " rows, but the data set has ", attributes.node_count,
                                                   " nodes: there must be one row for each node"));
  }
  return absl::OkStatus();
}

absl::StatusOr<NodeAttributes> ReadAttributesUnchecked(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    return absl::NotFoundError(absl::StrCat(folder, " is not a folder"));
  NodeAttributes attributes;
  const absl::Status labels = ReadLabels(folder + "/labels.csv", attributes);
  if (!labels.ok() && !absl::IsNotFound(labels)) return labels;
  const absl::Status ids = ReadIds(folder + "/nodes.csv", attributes);
  if (!ids.ok() && !absl::IsNotFound(ids)) return ids;
  if (absl::IsNotFound(labels) && absl::IsNotFound(ids)) {
    return Reworded(labels, absl::StrCat(labels.message(),
                                         ", and there is no nodes.csv. One of them must list the nodes; `blink dataset "
                                         "convert` makes both from an edge list and its labels"));
  }
  attributes.labels.resize(attributes.node_count, -1);
  attributes.split.assign(attributes.node_count, Split::kNone);
  BLINK_RETURN_IF_ERROR(ReadClassNames(folder + "/classes.txt", attributes));
  const absl::Status split = ReadSplit(folder + "/split.csv", attributes);
  if (!split.ok() && !absl::IsNotFound(split)) return split;
  BLINK_RETURN_IF_ERROR(ReadFeatures(folder, attributes));
  return attributes;
}

// By the name, wherever such a word stands in it: graph.edges, .edges.csv, adjacency.npz.
bool MayHoldLinks(const std::string& name) {
  const std::string lower = absl::AsciiStrToLower(name);
  for (const char* word : {"edge", "adjac", "neighb", "links"}) {
    if (absl::StrContains(lower, word)) return true;
  }
  return absl::StartsWith(lower, "adj") || lower == "orig" || lower == "lists" || lower == "lists.csv";
}

// What an earlier data set may have left in the folder would be read with this one.
absl::Status WriteOrRemove(bool write, const std::string& path, absl::string_view content) {
  if (write) return WriteFileAtomically(path, content);
  std::error_code error;
  std::filesystem::remove(path, error);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NodeAttributes> ReadAttributes(const std::string& folder) {
  std::error_code error;
  using Everything = std::filesystem::recursive_directory_iterator;
  constexpr auto kOptions = std::filesystem::directory_options::skip_permission_denied;
  for (Everything entry(folder, kOptions, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().lexically_relative(folder).string();
    if (MayHoldLinks(entry->path().filename().string())) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the attribute folder ", folder, " holds \"", name,
          "\": an aggregator must not be able to see links; remove it, or make the folder with `blink dataset shard`"));
    }
  }
  return ReadAttributesUnchecked(folder);
}

absl::StatusOr<Dataset> ReadDataset(const std::string& folder) {
  Dataset dataset;
  const std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  dataset.name = (path.has_filename() ? path : path.parent_path()).filename().string();
  BLINK_ASSIGN_OR_RETURN(dataset.attributes, ReadAttributesUnchecked(folder));
  const std::string edges = folder + "/edges.csv";
  const uint32_t n = dataset.attributes.node_count;
  std::vector<std::pair<NodeIndex, NodeIndex>> links;
  BLINK_RETURN_IF_ERROR(
      ForEachRow(edges, "source,target", [&](uint64_t line, absl::string_view a, absl::string_view b) -> absl::Status {
        BLINK_ASSIGN_OR_RETURN(const uint32_t source, ParseNode(edges, line, a, n));
        BLINK_ASSIGN_OR_RETURN(const uint32_t target, ParseNode(edges, line, b, n));
        if (source == target)
          return LineError(edges, line, absl::StrCat("node ", source, " is linked to itself: remove the line"));
        links.emplace_back(source, target);
        return absl::OkStatus();
      }));
  BLINK_ASSIGN_OR_RETURN(dataset.graph, CsrGraph::FromLinks(n, std::move(links)));
  return dataset;
}

absl::Status WriteAttributes(const NodeAttributes& attributes, const std::string& folder) {
  BLINK_RETURN_IF_ERROR(MakeDirectories(folder));
  std::string nodes = "node,id\n", labels = "node,label\n", split = "node,split\n", classes;
  bool has_split = false;
  for (uint32_t i = 0; i < attributes.node_count; ++i) {
    absl::StrAppend(&nodes, i, ",", attributes.ids.empty() ? absl::StrCat(i) : CsvField(attributes.ids[i]), "\n");
    absl::StrAppend(&labels, i, ",", attributes.labels[i], "\n");
    absl::StrAppend(&split, i, ",", SplitName(attributes.split[i]), "\n");
    has_split = has_split || attributes.split[i] != Split::kNone;
  }
  for (const std::string& name : attributes.class_names) absl::StrAppend(&classes, name, "\n");
  const bool has_labels = attributes.has_labels();
  BLINK_RETURN_IF_ERROR(WriteOrRemove(!attributes.ids.empty() || !has_labels, folder + "/nodes.csv", nodes));
  BLINK_RETURN_IF_ERROR(WriteOrRemove(has_labels, folder + "/labels.csv", labels));
  BLINK_RETURN_IF_ERROR(WriteOrRemove(has_split, folder + "/split.csv", split));
  BLINK_RETURN_IF_ERROR(WriteOrRemove(!classes.empty(), folder + "/classes.txt", classes));
  std::error_code error;
  for (const char* name : {"/features.npz", "/features.npy"}) std::filesystem::remove(folder + name, error);
  if (attributes.features.cols == 0) return absl::OkStatus();
  return attributes.features.sparse ? WriteSparseNpz(attributes.features, folder + "/features.npz")
                                    : WriteDenseNpy(attributes.features, folder + "/features.npy");
}

absl::Status WriteDataset(const Dataset& dataset, const std::string& folder) {
  BLINK_RETURN_IF_ERROR(WriteAttributes(dataset.attributes, folder));
  std::string edges = "source,target\n";
  for (NodeIndex i = 0; i < dataset.graph.node_count(); ++i) {
    for (const NodeIndex j : dataset.graph.NeighboursOf(i)) {
      if (i < j) absl::StrAppend(&edges, i, ",", j, "\n");
    }
  }
  return WriteFileAtomically(folder + "/edges.csv", edges);
}

}  // namespace blink
