// Turns LibTorch's exceptions into statuses, and falls back to the CPU when a GPU's memory does not suffice. Internal
// to this folder.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_FAILURE_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_FAILURE_H_

#include <functional>

#include "absl/status/statusor.h"
#include "aggregator_server/train/device.h"
#include "aggregator_server/train/trainer.h"

namespace blink {

// For a catch (...) block: RESOURCE_EXHAUSTED for lack of memory, with what helps on this device; INTERNAL for anything
// else. One sentence, no stack trace.
absl::Status StatusFromCurrentException(const TrainDevice& device);

// run(device); when a GPU's memory did not suffice and `cpu_when_out_of_memory`, run(cpu) with fell_back_to_cpu set.
absl::StatusOr<TrainResult> RunWithFallback(const TrainDevice& device, bool cpu_when_out_of_memory,
                                            const std::function<absl::StatusOr<TrainResult>(const TrainDevice&)>& run);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_FAILURE_H_
