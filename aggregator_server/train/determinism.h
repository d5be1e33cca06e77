// LibTorch's deterministic algorithms on a GPU, and an honest word on whether they sufficed. Internal to this folder.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_DETERMINISM_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_DETERMINISM_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "aggregator_server/train/trainer.h"

namespace blink {

// Calls run() with LibTorch's deterministic algorithms. If an operation has none, run() is called once more without
// that demand: the result's `deterministic` is then false, and a warning names the operation. The setting holds for the
// whole process, so no other training may run on a GPU meanwhile (Search trains one at a time there). Otherwise throws
// what `run` throws.
absl::StatusOr<TrainResult> RunDeterministically(const std::string& device,
                                                 absl::FunctionRef<absl::StatusOr<TrainResult>()> run);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_DETERMINISM_H_
