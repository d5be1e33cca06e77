// What the system says of processes and disks, for metrics.
#ifndef BLINK_AGGREGATOR_SERVER_TELEMETRY_PROCESS_STATS_H_
#define BLINK_AGGREGATOR_SERVER_TELEMETRY_PROCESS_STATS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace blink {

struct ProcessStats {
  uint64_t resident_bytes = 0;
  double cpu_seconds = 0;  // of all threads, in user and system
  double start_unix_seconds = 0;
};
// nullopt: there is no such process (any more), or /proc is not to be read.
std::optional<ProcessStats> ReadProcessStats(pid_t pid);

struct DescriptorStats {
  uint64_t open = 0;
  uint64_t limit = 0;
};
DescriptorStats ReadOwnDescriptors();  // the one that it takes to look is not counted

struct DiskStats {
  uint64_t free_bytes = 0;  // for this user
  uint64_t size_bytes = 0;
};
std::optional<DiskStats> ReadDiskStats(const std::string& path);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TELEMETRY_PROCESS_STATS_H_
