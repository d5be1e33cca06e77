// Geom-GCN's text files (Pei et al. 2020): out1_graph_edges.txt, out1_node_feature_label.txt, and splits as .npz.
#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/graph/zip_archive.h"
#include "tools/dataset/import/arrays.h"
#include "tools/dataset/import/formats.h"
#include "tools/dataset/import/lines.h"

namespace blink {
namespace {

using Header = std::vector<std::string>;

struct Rows {
  std::vector<std::string> ids, labels;
  std::vector<std::vector<float>> features;
};

absl::StatusOr<Rows> ReadRows(absl::string_view text, const std::string& name) {
  Rows rows;
  Lines lines(text, name);
  lines.Next();  // the header
  while (lines.Next()) {
    if (lines.line().empty()) continue;
    const std::vector<absl::string_view> fields = absl::StrSplit(lines.line(), '\t');
    if (fields.size() != 3) return lines.Error("expected a node, its features and its label, with tabs between them");
    if (rows.ids.size() >= kNodesMax) return lines.Error(absl::StrCat("more than ", kNodesMax, " nodes"));
    rows.ids.emplace_back(fields[0]);
    rows.labels.emplace_back(fields[2]);
    std::vector<float>& values = rows.features.emplace_back();
    for (const absl::string_view field : absl::StrSplit(fields[1], ',', absl::SkipEmpty())) {
      float value = 0;
      if (!absl::SimpleAtof(field, &value) || !std::isfinite(value))
        return lines.Error(absl::StrCat("the feature \"", field.substr(0, 40), "\" is no number"));
      values.push_back(value);
    }
  }
  return rows;
}

// Actor (film) lists the numbers of the words that a node has; the other sets have one value for each feature.
bool AreWordNumbers(const Rows& rows) {
  const size_t width = rows.features.empty() ? 0 : rows.features[0].size();
  const bool equal =
      std::all_of(rows.features.begin(), rows.features.end(), [&](const auto& row) { return row.size() == width; });
  if (equal) return false;
  return std::all_of(rows.features.begin(), rows.features.end(), [](const auto& row) {
    return std::all_of(row.begin(), row.end(), [](float x) { return x >= 0 && x < 1e7f && x == std::floor(x); });
  });
}

absl::StatusOr<FeatureMatrix> FeaturesOfRows(const Rows& rows, const std::string& name) {
  const bool words = AreWordNumbers(rows);
  std::vector<int64_t> at, columns;
  std::vector<float> values;
  int64_t width = 0;
  for (size_t i = 0; i < rows.features.size(); ++i) {
    const std::vector<float>& row = rows.features[i];
    if (!words && row.size() != rows.features[0].size())
      return WrongFile(name, absl::StrCat("node ", rows.ids[i], " has ", row.size(), " features, the first node ",
                                          rows.features[0].size()));
    for (size_t k = 0; k < row.size(); ++k) {
      const int64_t column = words ? static_cast<int64_t>(row[k]) : static_cast<int64_t>(k);
      width = std::max(width, column + 1);
      if (!words && row[k] == 0) continue;
      at.push_back(static_cast<int64_t>(i));
      columns.push_back(column);
      values.push_back(words ? 1.0f : row[k]);
    }
  }
  BLINK_ASSIGN_OR_RETURN(RowsOfEntries sparse, SparseRowsOfEntries({static_cast<int64_t>(rows.ids.size()), width}, at,
                                                                   columns, values, name));
  BLINK_ASSIGN_OR_RETURN(FeatureMatrix matrix, FeaturesOf(std::move(sparse), name));
  if (words) std::fill(matrix.values.begin(), matrix.values.end(), 1.0f);  // a word that stands twice is there
  return matrix;
}

absl::StatusOr<std::vector<int64_t>> NodesOfMask(NpzArchive& archive, const char* mask, size_t nodes,
                                                 const std::string& name) {
  BLINK_ASSIGN_OR_RETURN(const NpyArray array, archive.Get(mask));
  BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> values, IntegersOf(array, name));
  if (values.size() != nodes)
    return WrongFile(name, absl::StrCat(mask, " has ", values.size(), " values for ", nodes, " nodes"));
  std::vector<int64_t> result;
  for (size_t i = 0; i < nodes; ++i) {
    if (values[i] != 0) result.push_back(static_cast<int64_t>(i));
  }
  return result;
}

absl::Status TakeSplit(const Folder& folder, ImportedGraph& graph) {
  std::vector<const FolderFile*> splits;
  for (const FolderFile& file : folder.files()) {
    if (file.kind == FileKind::kNumpyArchive && absl::StrContains(file.name, "split")) splits.push_back(&file);
  }
  if (splits.empty()) return absl::OkStatus();
  const std::string name = folder.PathOf(*splits[0]);
  BLINK_ASSIGN_OR_RETURN(const std::string bytes, folder.Read(*splits[0]));
  BLINK_ASSIGN_OR_RETURN(NpzArchive archive, NpzArchive::Open(bytes, name));
  const size_t n = graph.edges.ids.size();
  BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> train, NodesOfMask(archive, "train_mask", n, name));
  BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> validation, NodesOfMask(archive, "val_mask", n, name));
  BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> test, NodesOfMask(archive, "test_mask", n, name));
  // The masks go by the numbers of the nodes, which may stand in another order in the file.
  RowIds rows;
  rows.table.name = name;
  for (size_t i = 0; i < n; ++i) {
    rows.ids.push_back(absl::StrCat(i));
    rows.lines.push_back(i + 1);
  }
  BLINK_ASSIGN_OR_RETURN(graph.split, SplitOf(train, validation, test, std::move(rows)));
  if (splits.size() > 1)
    graph.notes.push_back(absl::StrCat(name, ": the first of ", splits.size(), " splits is taken"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImportedGraph> ReadGeomGcn(const Folder& folder) {
  ImportedGraph graph;
  graph.format = "the text files of Geom-GCN";
  std::string links, links_name;
  for (const FolderFile& file : folder.files()) {
    const bool nodes = file.header == Header{"node_id", "feature", "label"};
    if (!nodes && file.header != Header{"node_id", "node_id"}) continue;
    BLINK_ASSIGN_OR_RETURN(std::string text, folder.Read(file));
    const std::string name = folder.PathOf(file);
    if (!nodes) {
      if (!links_name.empty()) return WrongFile(folder.path(), "holds several data sets: give a folder with one");
      links = std::move(text);
      links_name = name;
      continue;
    }
    if (!graph.labels.labels.empty())
      return WrongFile(folder.path(), "holds several data sets: give a folder with one");
    BLINK_ASSIGN_OR_RETURN(const Rows rows, ReadRows(text, name));
    BLINK_ASSIGN_OR_RETURN(graph.edges.ids, NodesOf(rows.ids, name));
    BLINK_ASSIGN_OR_RETURN(graph.features.matrix, FeaturesOfRows(rows, name));
    graph.features.rows = RowsOfAllNodes(graph.edges.ids, name);
    BLINK_ASSIGN_OR_RETURN(graph.labels, LabelsOf(rows.labels, RowsOfAllNodes(graph.edges.ids, name), "label"));
  }
  if (links_name.empty())
    return WrongFile(folder.path(),
                     "the file of the links is missing: out1_graph_edges.txt with the header "
                     "node_id, tab, node_id");
  graph.edges.table.name = links_name;
  Lines lines(links, links_name);
  lines.Next();  // the header
  while (lines.Next()) {
    if (lines.line().empty()) continue;
    const std::vector<absl::string_view> ends = absl::StrSplit(lines.line(), '\t');
    if (ends.size() != 2) return lines.Error("expected two nodes, with a tab between them");
    const std::optional<NodeIndex> a = graph.edges.ids.Find(ends[0]), b = graph.edges.ids.Find(ends[1]);
    if (!a || !b)
      return lines.Error(absl::StrCat("the node \"", (a ? ends[1] : ends[0]).substr(0, 40), "\" has no features"));
    BLINK_RETURN_IF_ERROR(AddLink(*a, *b, graph.edges, links_name));
  }
  BLINK_RETURN_IF_ERROR(TakeSplit(folder, graph));
  return graph;
}

}  // namespace blink
