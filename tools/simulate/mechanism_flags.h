// Which flags of `blink simulate` the other mechanisms take. Needs no LibTorch.
#ifndef BLINK_TOOLS_SIMULATE_MECHANISM_FLAGS_H_
#define BLINK_TOOLS_SIMULATE_MECHANISM_FLAGS_H_

#include "absl/status/status.h"
#include "tools/simulate/options.h"

namespace blink {

// INVALID_ARGUMENT, naming the flag and the remedy: a flag that the mechanism fixes, has no use for or does not
// support. Of blink itself it refuses the flags of solitude alone.
absl::Status ValidateMechanismOptions(const SimulateOptions& options);

// The options with what the names none and mlp stand for: --graph true and --model mlp.
SimulateOptions ResolveMechanism(SimulateOptions options);

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_MECHANISM_FLAGS_H_
