// Tables of nodes with names in their headers: DGL's CSV data sets, and MUSAE's CSV with JSON.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "tools/dataset/import/csv_table.h"
#include "tools/dataset/import/formats.h"

namespace blink {
namespace {

bool Has(const FolderFile& file, absl::string_view column) {
  return std::find(file.header.begin(), file.header.end(), column) != file.header.end();
}

absl::Status Several(const Folder& folder, absl::string_view what, const FolderFile& a, const FolderFile& b) {
  return WrongFile(folder.path(), absl::StrCat("holds several files of ", what, " (", a.name, ", ", b.name,
                                               "): give a folder with the files of one graph"));
}

absl::StatusOr<std::vector<NodeColumn>> ReadTable(const Folder& folder, const FolderFile& file) {
  BLINK_ASSIGN_OR_RETURN(const std::string text, folder.Read(file));
  return ReadCsv(text, folder.PathOf(file));
}

absl::Status TakeLinks(const NodeColumn& from, const NodeColumn& to, const std::string& name, ImportedGraph& graph) {
  graph.edges.table.name = name;
  for (size_t k = 0; k < from.values.size(); ++k) {
    const std::optional<NodeIndex> a = graph.edges.ids.Find(from.values[k]), b = graph.edges.ids.Find(to.values[k]);
    if (!a || !b) {
      return WrongFile(absl::StrCat(name, ", row ", k + 1),
                       absl::StrCat("the node \"", (a ? to : from).values[k].substr(0, 40),
                                    "\" is not in the table of the nodes: add it there, or remove the row"));
    }
    BLINK_RETURN_IF_ERROR(AddLink(*a, *b, graph.edges, name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImportedGraph> ReadDglCsv(const Folder& folder, const ImportOptions& options) {
  const FolderFile *nodes_file = nullptr, *links_file = nullptr;
  for (const FolderFile& file : folder.files()) {
    if (Has(file, "src_id") && Has(file, "dst_id")) {
      if (links_file != nullptr) return Several(folder, "links", *links_file, file);
      links_file = &file;
    } else if (Has(file, "node_id")) {
      if (nodes_file != nullptr) return Several(folder, "nodes", *nodes_file, file);
      nodes_file = &file;
    }
    if (Has(file, "graph_id"))
      return WrongFile(folder.PathOf(file), "has a column graph_id, for many graphs: give the tables of one graph");
  }
  if (nodes_file == nullptr)
    return WrongFile(folder.path(), "holds no table of nodes: a CSV file with a column node_id");
  ImportedGraph graph;
  graph.format = "a CSV data set of DGL";
  BLINK_ASSIGN_OR_RETURN(std::vector<NodeColumn> nodes, ReadTable(folder, *nodes_file));
  const std::string nodes_name = folder.PathOf(*nodes_file);
  BLINK_ASSIGN_OR_RETURN(graph.edges.ids, NodesOf(TakeColumn(nodes, "node_id").values, nodes_name));
  BLINK_ASSIGN_OR_RETURN(std::vector<NodeColumn> links, ReadTable(folder, *links_file));
  const NodeColumn from = TakeColumn(links, "src_id"), to = TakeColumn(links, "dst_id");
  BLINK_RETURN_IF_ERROR(TakeLinks(from, to, folder.PathOf(*links_file), graph));
  const ColumnRules rules{.label_names = {"label", "labels", "y", "class", "target"}};
  BLINK_RETURN_IF_ERROR(TakeColumns(std::move(nodes), rules, options, nodes_name, graph));
  return graph;
}

absl::StatusOr<ImportedGraph> ReadMusae(const Folder& folder, const ImportOptions& options) {
  const FolderFile *nodes_file = nullptr, *links_file = nullptr, *features_file = nullptr;
  for (const FolderFile& file : folder.files()) {
    if (file.kind == FileKind::kJson) {
      if (features_file != nullptr) return Several(folder, "features", *features_file, file);
      features_file = &file;
    } else if (file.kind == FileKind::kText && (Has(file, "id") || Has(file, "new_id"))) {
      if (nodes_file != nullptr) return Several(folder, "nodes", *nodes_file, file);
      nodes_file = &file;
    } else if (file.kind == FileKind::kText && file.header.size() == 2 && absl::StrContains(file.name, "edge")) {
      if (links_file != nullptr) return Several(folder, "links", *links_file, file);
      links_file = &file;
    }
  }
  ImportedGraph graph;
  graph.format = features_file != nullptr ? "CSV and JSON of MUSAE" : "CSV of MUSAE";
  const std::string nodes_name = folder.PathOf(*nodes_file), links_name = folder.PathOf(*links_file);
  BLINK_ASSIGN_OR_RETURN(std::vector<NodeColumn> nodes, ReadTable(folder, *nodes_file));
  NodeColumn ids = TakeColumn(nodes, "new_id");  // of Twitch, whose column id is the account's
  if (ids.values.empty()) ids = TakeColumn(nodes, "id");
  BLINK_ASSIGN_OR_RETURN(graph.edges.ids, NodesOf(ids.values, nodes_name));
  BLINK_ASSIGN_OR_RETURN(const std::vector<NodeColumn> links, ReadTable(folder, *links_file));
  BLINK_RETURN_IF_ERROR(TakeLinks(links[0], links[1], links_name, graph));
  const ColumnRules rules{.label_names = {"target", "ml_target", "page_type", "mature", "label", "class"}};
  BLINK_RETURN_IF_ERROR(TakeColumns(std::move(nodes), rules, options, nodes_name, graph));
  if (features_file == nullptr) return graph;
  BLINK_ASSIGN_OR_RETURN(const std::string json, folder.Read(*features_file));
  BLINK_ASSIGN_OR_RETURN(graph.features, ReadJsonFeatures(json, folder.PathOf(*features_file)));
  return graph;
}

}  // namespace blink
