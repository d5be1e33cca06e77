// The work of `blink simulate`, with what it prints.
#ifndef BLINK_TOOLS_SIMULATE_PERFORM_H_
#define BLINK_TOOLS_SIMULATE_PERFORM_H_

#include "tools/simulate/command.h"

namespace blink {

// Simulates, and prints the figures or why there are none. Interrupted, it prints the trials that are finished. Returns
// the exit code.
int PerformSimulation(const SimulateRequest& request);

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_PERFORM_H_
