// The work of `blink dataset`: describes a data set, and cuts a graph into start-up kits.
#ifndef BLINK_TOOLS_DATASET_FILES_H_
#define BLINK_TOOLS_DATASET_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/graph/dataset.h"

namespace blink {

struct DatasetSummary {
  std::string name;
  uint32_t nodes = 0, features = 0, classes = 0;
  uint64_t links = 0;
  uint32_t degree_min = 0, degree_median = 0, degree_max = 0, isolated = 0;
  double degree_mean = 0;
  double homophily = 0;  // of the links with two known labels, the share with equal ones; NaN without such links
  uint32_t train = 0, validation = 0, test = 0, unlabelled = 0;
  double feature_density = 0;  // share of the entries that are not 0
  std::vector<std::string> warnings;
};
DatasetSummary SummariseDataset(const Dataset& dataset);

struct ShardReport {
  uint32_t kits = 0;
  uint32_t nodes = 0;  // hosted by the kits together
};
// Writes lists.csv (0600) into each kit of `out`/kits, and the attributes into `out`/aggregator/attributes. Checks
// everything before it writes the first file: returns INVALID_ARGUMENT when a kit was made for another number of nodes,
// or when two kits host the same node.
absl::StatusOr<ShardReport> ShardDataset(const Dataset& dataset, const std::string& out);

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_FILES_H_
