// How much memory this process may take, as the system says it at this moment.
#ifndef BLINK_COMMON_BASE_MACHINE_MEMORY_H_
#define BLINK_COMMON_BASE_MACHINE_MEMORY_H_

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"

namespace blink {

struct MachineMemory {
  uint64_t total = std::numeric_limits<uint64_t>::max();      // bytes that it could ever take
  uint64_t available = std::numeric_limits<uint64_t>::max();  // that it can take now, beside what others hold
  std::string total_of, available_of;  // what limits them: "this machine", "the control group", "ulimit -v"
};

// The least of the machine's memory without its swap, of the control groups that the process is in (as a container
// sets them, version 1 or 2) and of its limit on address space. What the system does not tell limits nothing. `root`:
// a folder with proc/ and sys/, for tests.
MachineMemory FindMachineMemory(const std::string& root = "");

// "11.9 GB", with a unit that leaves one to three digits before the point.
std::string FormatBytes(double bytes);

}  // namespace blink

#endif  // BLINK_COMMON_BASE_MACHINE_MEMORY_H_
