#include "aggregator_server/main/attribute_facts.h"

#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"
#include "common/graph/dataset.h"

namespace blink {
namespace {

// Name, size and time of every file.
std::string ReadState(const std::string& folder) {
  std::set<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    files.insert(absl::StrCat(entry.path().filename().string(), "/", entry.file_size(error), "/",
                              entry.last_write_time(error).time_since_epoch().count()));
  }
  return absl::StrJoin(files, "\n");
}

absl::StatusOr<TrainingFacts> ReadFacts(const std::string& folder, uint32_t node_count) {
  if (folder.empty()) return FactsOf(NodeAttributes::OfNothing(node_count));
  const absl::StatusOr<NodeAttributes> read = ReadAttributes(folder);
  if (absl::IsNotFound(read.status())) {
    return Reworded(
        read.status(),
        absl::StrCat(read.status().message(), "; where nothing public is known of the nodes, leave out --attributes"));
  }
  BLINK_RETURN_IF_ERROR(read.status());
  const NodeAttributes& attributes = *read;
  if (attributes.node_count == node_count) return FactsOf(attributes);
  return absl::FailedPreconditionError(absl::StrCat(
      "the attribute folder ", folder, " describes ", attributes.node_count, " nodes, the roster (--roster) has ",
      node_count, ": a node that joins brings its row, a retired one keeps it"));
}

}  // namespace

absl::StatusOr<TrainingFacts> AttributeFacts::Get() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string state = ReadState(folder_);
  if (facts_.has_value() && state == state_) return *facts_;
  facts_ = ReadFacts(folder_, node_count_);
  state_ = std::move(state);
  return *facts_;
}

}  // namespace blink
