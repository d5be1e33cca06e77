// What is public of the nodes, as the aggregator's attribute folder is now.
#ifndef BLINK_AGGREGATOR_SERVER_MAIN_ATTRIBUTE_FACTS_H_
#define BLINK_AGGREGATOR_SERVER_MAIN_ATTRIBUTE_FACTS_H_

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "aggregator_server/select/trainable.h"

namespace blink {

// Reads the folder once, and again when a file in it has come, gone or changed. Thread-safe.
class AttributeFacts {
 public:
  AttributeFacts(std::string folder, uint32_t node_count) : folder_(std::move(folder)), node_count_(node_count) {}

  // If the folder's name is empty, nothing is known of the nodes. FAILED_PRECONDITION: the folder holds edges, or has
  // another n than the roster. Otherwise as ReadAttributes.
  absl::StatusOr<TrainingFacts> Get();

 private:
  const std::string folder_;
  const uint32_t node_count_;
  std::mutex mutex_;
  std::string state_;  // of the folder that facts_ were read from
  std::optional<absl::StatusOr<TrainingFacts>> facts_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_MAIN_ATTRIBUTE_FACTS_H_
