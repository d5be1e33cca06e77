// What `blink dataset convert` reads, before it becomes a graph.
#ifndef BLINK_TOOLS_DATASET_CONVERT_INPUTS_H_
#define BLINK_TOOLS_DATASET_CONVERT_INPUTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/graph/edge_list.h"
#include "common/graph/node_tables.h"
#include "tools/dataset/convert.h"

namespace blink {

struct ConvertInputs {
  std::string format;  // as in ConvertReport
  EdgeList edges;
  LabelTable labels;  // without rows where nothing is known; so are the next two
  SplitTable split;
  FeatureTable features;
  std::vector<std::string> notes;  // what was skipped or left out, one sentence each
};

// Reads the links, or the whole graph, and the companions, which replace what the graph holds itself. Returns
// INVALID_ARGUMENT, naming the file and mostly the line, for what cannot be read.
absl::StatusOr<ConvertInputs> ReadConvertInputs(const ConvertOptions& options);

// "1 node", "2 nodes".
std::string CountText(size_t count, absl::string_view noun, absl::string_view plural = "s");

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_CONVERT_INPUTS_H_
