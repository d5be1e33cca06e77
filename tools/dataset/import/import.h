// Recognises, by content, what people have, and reads it. What is no format of this folder is an edge list.
#ifndef BLINK_TOOLS_DATASET_IMPORT_IMPORT_H_
#define BLINK_TOOLS_DATASET_IMPORT_IMPORT_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/graph/input.h"
#include "tools/dataset/import/imported_graph.h"

namespace blink {

// Reads an input that holds a whole graph. Nothing, with the input still to be read, where it is text with one link a
// line, or something that the reader of edge lists refuses with a remedy. Errors are those of formats.h.
absl::StatusOr<std::optional<ImportedGraph>> ImportGraph(Input& input, const ImportOptions& options);

// Reads a folder that holds the files of one data set. Returns INVALID_ARGUMENT, naming what the folder holds, when
// they are of no format that is known.
absl::StatusOr<ImportedGraph> ImportFolder(const std::string& path, const ImportOptions& options);

// Features that only a reader of this folder knows: JSON and Matrix Market. Nothing for others, as above.
absl::StatusOr<std::optional<FeatureTable>> ImportFeatures(Input& input);

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_IMPORT_IMPORT_H_
