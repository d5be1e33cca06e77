#include "tools/dataset/import/import.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/graph/file_format.h"
#include "tools/dataset/import/folder.h"
#include "tools/dataset/import/formats.h"

namespace blink {
namespace {

bool IsGraph(FileKind kind) {
  switch (kind) {
    case FileKind::kNumpyArchive:
    case FileKind::kPickle:
    case FileKind::kXml:
    case FileKind::kGml:
    case FileKind::kMatrixMarket:
    case FileKind::kMatlab:
      return true;
    default:
      return false;
  }
}

absl::StatusOr<ImportedGraph> ReadByKind(FileKind kind, absl::string_view bytes, const std::string& name,
                                         const ImportOptions& options) {
  switch (kind) {
    case FileKind::kNumpyArchive:
      return ReadNpzGraph(bytes, name);
    case FileKind::kPickle:
      return ReadPickledGraph(bytes, name);
    case FileKind::kXml:
      return ReadGraphMl(bytes, name, options);
    case FileKind::kGml:
      return ReadGml(bytes, name, options);
    case FileKind::kMatrixMarket:
      return ReadMatrixMarketGraph(bytes, name);
    default:
      return ReadMatlabGraph(bytes, name, options);
  }
}

bool TakesAttributes(FileKind kind) {
  return kind == FileKind::kXml || kind == FileKind::kGml || kind == FileKind::kMatlab;
}

absl::Status CheckAttributes(bool taken, const ImportOptions& options, const std::string& name) {
  if (taken || (options.label_attribute.empty() && options.feature_attributes.empty())) return absl::OkStatus();
  return WrongFile(name, "has no attributes with names: leave --label-attribute and --feature-attributes out");
}

// Each row of features gets the id of its node; a graph without labels has no table of them.
absl::StatusOr<ImportedGraph> Complete(absl::StatusOr<ImportedGraph> graph) {
  BLINK_RETURN_IF_ERROR(graph.status());
  FeatureTable& features = graph->features;
  if (features.matrix.cols == 0) {
    features = {};
  } else if (features.rows.ids.empty()) {
    if (features.matrix.rows != graph->edges.ids.size())
      return WrongFile(features.rows.table.name, absl::StrCat("has ", features.matrix.rows, " rows of features for ",
                                                              graph->edges.ids.size(), " nodes"));
    features.rows = RowsOfAllNodes(graph->edges.ids, features.rows.table.name);
  }
  const std::vector<int32_t>& labels = graph->labels.labels;
  if (std::all_of(labels.begin(), labels.end(), [](int32_t label) { return label < 0; })) graph->labels = {};
  return graph;
}

bool HasHeader(const Folder& folder, std::initializer_list<absl::string_view> columns) {
  return std::any_of(folder.files().begin(), folder.files().end(), [&](const FolderFile& file) {
    return std::all_of(columns.begin(), columns.end(), [&](absl::string_view column) {
      return std::find(file.header.begin(), file.header.end(), column) != file.header.end();
    });
  });
}

bool EndsSo(const Folder& folder, absl::string_view end) {
  return std::any_of(folder.files().begin(), folder.files().end(), [&](const FolderFile& file) {
    return absl::EndsWith(file.name, end) || absl::EndsWith(file.name, absl::StrCat(end, ".gz"));
  });
}

bool IsMusae(const Folder& folder) {
  bool links = false, nodes = false;
  for (const FolderFile& file : folder.files()) {
    const bool named = std::find(file.header.begin(), file.header.end(), "id") != file.header.end() ||
                       std::find(file.header.begin(), file.header.end(), "new_id") != file.header.end();
    nodes = nodes || (named && file.header.size() > 1);
    links = links || (!named && file.header.size() == 2 && absl::StrContains(file.name, "edge"));
  }
  return links && nodes;
}

absl::StatusOr<ImportedGraph> ReadFolder(const Folder& folder, const ImportOptions& options) {
  const std::string& path = folder.path();
  if (EndsSo(folder, ".graph") && EndsSo(folder, ".allx")) {
    BLINK_RETURN_IF_ERROR(CheckAttributes(false, options, path));
    return ReadPlanetoid(folder);
  }
  if (folder.Find("edge.csv") != nullptr && folder.Find("num-node-list.csv") != nullptr) {
    BLINK_RETURN_IF_ERROR(CheckAttributes(false, options, path));
    return ReadOgb(folder);
  }
  if (EndsSo(folder, ".content") && EndsSo(folder, ".cites")) {
    BLINK_RETURN_IF_ERROR(CheckAttributes(false, options, path));
    return ReadLinqs(folder);
  }
  if (HasHeader(folder, {"node_id", "feature", "label"})) {
    BLINK_RETURN_IF_ERROR(CheckAttributes(false, options, path));
    return ReadGeomGcn(folder);
  }
  if (HasHeader(folder, {"src_id", "dst_id"})) return ReadDglCsv(folder, options);
  if (IsMusae(folder)) return ReadMusae(folder, options);
  if (folder.Find("edges.csv") != nullptr && HasHeader(folder, {"node", "label"}))
    return WrongFile(path, "is a data-set folder already");
  std::vector<const FolderFile*> graphs;
  std::vector<std::string> names;
  for (const FolderFile& file : folder.files()) {
    if (IsGraph(file.kind)) graphs.push_back(&file);
    names.push_back(file.name);
  }
  if (graphs.size() == 1) {
    BLINK_RETURN_IF_ERROR(CheckAttributes(TakesAttributes(graphs[0]->kind), options, path));
    BLINK_ASSIGN_OR_RETURN(const std::string bytes, folder.Read(*graphs[0]));
    return ReadByKind(graphs[0]->kind, bytes, folder.PathOf(*graphs[0]), options);
  }
  return WrongFile(
      path, absl::StrCat("is a folder with ", names.empty() ? "no files" : absl::StrJoin(names, ", ").substr(0, 200),
                         ", which is no data set that blink knows (Planetoid, LINQS, MUSAE, Geom-GCN, OGB, DGL "
                         "CSV): give the file of the links"));
}

}  // namespace

absl::StatusOr<std::optional<ImportedGraph>> ImportGraph(Input& input, const ImportOptions& options) {
  BLINK_ASSIGN_OR_RETURN(const absl::string_view first, input.Peek());
  const FileKind kind = KindOf(first);
  BLINK_RETURN_IF_ERROR(CheckAttributes(TakesAttributes(kind), options, input.name()));
  if (!IsGraph(kind)) return std::nullopt;
  BLINK_ASSIGN_OR_RETURN(const std::string bytes, input.ReadAll(kImportedBytesMax));
  BLINK_ASSIGN_OR_RETURN(ImportedGraph graph, Complete(ReadByKind(kind, bytes, input.name(), options)));
  return graph;
}

absl::StatusOr<ImportedGraph> ImportFolder(const std::string& path, const ImportOptions& options) {
  BLINK_ASSIGN_OR_RETURN(const Folder folder, Folder::Open(path));
  return Complete(ReadFolder(folder, options));
}

absl::StatusOr<std::optional<FeatureTable>> ImportFeatures(Input& input) {
  BLINK_ASSIGN_OR_RETURN(const absl::string_view first, input.Peek());
  const FileKind kind = KindOf(first);
  if (kind != FileKind::kJson && kind != FileKind::kMatrixMarket) return std::nullopt;
  BLINK_ASSIGN_OR_RETURN(const std::string bytes, input.ReadAll(kImportedBytesMax));
  absl::StatusOr<FeatureTable> features =
      kind == FileKind::kJson ? ReadJsonFeatures(bytes, input.name()) : ReadMatrixMarketFeatures(bytes, input.name());
  BLINK_RETURN_IF_ERROR(features.status());
  return *std::move(features);
}

}  // namespace blink
