// The readers of this folder, one source each. Those of one file take its bytes. `name` is for messages. All return
// INVALID_ARGUMENT that names the file, the line or the member, and what to do.
#ifndef BLINK_TOOLS_DATASET_IMPORT_FORMATS_H_
#define BLINK_TOOLS_DATASET_IMPORT_FORMATS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/dataset/import/folder.h"
#include "tools/dataset/import/imported_graph.h"

namespace blink {

// The archives (.npz) of gnn-benchmark, SparseGraph and graph2gauss (adj_data, attr_data, labels, ..), of the
// heterophilous graphs (edges, node_features, node_labels, masks), of edge_index, x and y, and an adjacency matrix of
// scipy.sparse.save_npz.
absl::StatusOr<ImportedGraph> ReadNpzGraph(absl::string_view bytes, const std::string& name);
// A dictionary {node: [neighbours]}, such as ind.cora.graph.
absl::StatusOr<ImportedGraph> ReadPickledGraph(absl::string_view bytes, const std::string& name);
// A square matrix: each entry that is not 0 is a link.
absl::StatusOr<ImportedGraph> ReadMatrixMarketGraph(absl::string_view bytes, const std::string& name);
// GraphML (graphml.graphdrawing.org). Node attributes as node_columns.h has them.
absl::StatusOr<ImportedGraph> ReadGraphMl(absl::string_view bytes, const std::string& name,
                                          const ImportOptions& options);
// GML (Himsolt 1996), as NetworkX, igraph and Newman's collection write it.
absl::StatusOr<ImportedGraph> ReadGml(absl::string_view bytes, const std::string& name, const ImportOptions& options);
// A file of MATLAB with a square sparse matrix; of facebook100 (`A` and `local_info`) also the people's attributes. The
// label is the gender unless the options say otherwise; the other attributes become one-hot features.
absl::StatusOr<ImportedGraph> ReadMatlabGraph(absl::string_view bytes, const std::string& name,
                                              const ImportOptions& options);

// Folders. Which one it is: import.cc.
absl::StatusOr<ImportedGraph> ReadPlanetoid(const Folder& folder);
absl::StatusOr<ImportedGraph> ReadLinqs(const Folder& folder);
absl::StatusOr<ImportedGraph> ReadGeomGcn(const Folder& folder);
absl::StatusOr<ImportedGraph> ReadOgb(const Folder& folder);
absl::StatusOr<ImportedGraph> ReadDglCsv(const Folder& folder, const ImportOptions& options);
absl::StatusOr<ImportedGraph> ReadMusae(const Folder& folder, const ImportOptions& options);

// Features alone, for --features: {"id": [numbers of the features that the node has]}, and a matrix.
absl::StatusOr<FeatureTable> ReadJsonFeatures(absl::string_view bytes, const std::string& name);
absl::StatusOr<FeatureTable> ReadMatrixMarketFeatures(absl::string_view bytes, const std::string& name);

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_IMPORT_FORMATS_H_
