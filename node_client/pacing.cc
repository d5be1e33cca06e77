#include "node_client/pacing.h"

#include <algorithm>

#include "absl/types/span.h"
#include "common/base/status_macros.h"

namespace blink {

absl::Duration StartQuantum(const KitConfig& kit) {
  const int64_t n = kit.node_count;
  // 200 ns for each link that is hidden, of a node one in a hundred; and no kit holds more than so many.
  const int64_t hidden = std::min<int64_t>(int64_t{kit.hosted()} * n, 100 * int64_t{kKitEntriesMax});
  return absl::Milliseconds(250) + absl::Nanoseconds(300) * n + absl::Nanoseconds(2) * hidden;
}

uint32_t HiddenLinks(const KitConfig& kit) {
  if (!kit.is_gateway()) return kit.node_count - 1;
  const uint64_t links_max = kKitEntriesMax / kit.hosted();
  return static_cast<uint32_t>(std::max<uint64_t>(1, std::min<uint64_t>(kit.node_count / 100, links_max)));
}

absl::Duration PreparationQuantum(const KitConfig& kit, absl::Duration measured, bool takes_snapshot) {
  constexpr int64_t kTimesMeasured = 2;                                   // a load that comes after the measurement
  const absl::Duration disk = absl::Nanoseconds(10) * sizeof(NodeIndex);  // of a link: 100 MB a second
  const absl::Duration snapshot = disk * (int64_t{kit.hosted()} * HiddenLinks(kit));
  return absl::Milliseconds(250) + kTimesMeasured * measured + (takes_snapshot ? snapshot : absl::ZeroDuration());
}

void FillQuantum(Clock& clock, absl::Duration spent, absl::Duration quantum) {
  absl::Duration rest;
  absl::IDivDuration(std::max(absl::ZeroDuration(), spent), quantum, &rest);
  clock.SleepFor(quantum - rest);
}

void SleepToQuantum(Clock& clock, absl::Time started, absl::Duration quantum) {
  // A wall clock may have been set, by hours, in either direction.
  FillQuantum(clock, clock.Now() - started, quantum);
}

absl::StatusOr<absl::Duration> DrawSendDelay(int64_t spread_seconds, RandomSource& random) {
  if (spread_seconds == 0) return absl::ZeroDuration();
  uint64_t value = 0;
  BLINK_RETURN_IF_ERROR(random.Fill(absl::MakeSpan(reinterpret_cast<uint8_t*>(&value), sizeof(value))));
  // The modulo's bias, below 2^-29, cannot matter to a time.
  return absl::Milliseconds(value % (static_cast<uint64_t>(spread_seconds) * 1000 + 1));
}

}  // namespace blink
