#include "node_client/pacing.h"

#include <algorithm>

#include "absl/types/span.h"
#include "common/base/status_macros.h"

namespace blink {

absl::Duration StartQuantum(const KitConfig& kit) {
  const int64_t n = kit.node_count;
  return absl::Milliseconds(250) + absl::Nanoseconds(300) * n + absl::Nanoseconds(2) * (kit.hosted() * n);
}

absl::Duration PreparationQuantum(const KitConfig& kit, uint32_t groups) {
  const int64_t hosted = kit.hosted();
  return absl::Milliseconds(250) + absl::Nanoseconds(20) * (hosted * kit.node_count) +
         absl::Microseconds(2) * (hosted * groups);
}

void SleepToQuantum(Clock& clock, absl::Time started, absl::Duration quantum) {
  absl::Duration rest;  // a wall clock may have been set, by hours, in either direction
  absl::IDivDuration(std::max(absl::ZeroDuration(), clock.Now() - started), quantum, &rest);
  clock.SleepFor(quantum - rest);
}

absl::StatusOr<absl::Duration> DrawSendDelay(int64_t spread_seconds, RandomSource& random) {
  if (spread_seconds == 0) return absl::ZeroDuration();
  uint64_t value = 0;
  BLINK_RETURN_IF_ERROR(random.Fill(absl::MakeSpan(reinterpret_cast<uint8_t*>(&value), sizeof(value))));
  // The modulo's bias, below 2^-29, cannot matter to a time.
  return absl::Milliseconds(value % (static_cast<uint64_t>(spread_seconds) * 1000 + 1));
}

}  // namespace blink
