// Times as text, always in UTC.
#ifndef BLINK_COMMON_BASE_TIME_TEXT_H_
#define BLINK_COMMON_BASE_TIME_TEXT_H_

#include <string>

#include "absl/time/time.h"

namespace blink {

// For messages: 2026-11-28 10:00:00 UTC.
inline std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone());
}

// For files and tables: 2026-11-28T10:00:00Z.
inline constexpr char kIsoTimeFormat[] = "%Y-%m-%dT%H:%M:%SZ";
inline std::string IsoTimeText(absl::Time time) { return absl::FormatTime(kIsoTimeFormat, time, absl::UTCTimeZone()); }

}  // namespace blink

#endif  // BLINK_COMMON_BASE_TIME_TEXT_H_
