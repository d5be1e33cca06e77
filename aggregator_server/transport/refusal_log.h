// Says in the log which calls and reports were refused, without letting a misled fleet or a full disk fill it.
//
// The first of a kind is written at once. After that, one line a minute counts the others of its kind. A kind is a code
// and a message whose numbers are left out. At level debug, every refusal is written.
//
//   [warning] refused ipv4:192.0.2.7:40112: RESOURCE_EXHAUSTED: cannot store reports: No space left on device
//   [warning] refused 310 more within 60 s, the last from ipv4:192.0.2.7:40112: RESOURCE_EXHAUSTED: cannot store ...
//
// May be called from any thread.
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_REFUSAL_LOG_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_REFUSAL_LOG_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/code_counts.h"

namespace blink {

class RefusalLog {
 public:
  static constexpr absl::Duration kQuiet = absl::Minutes(1);
  static constexpr size_t kKindsMax = 100;  // after that, all of one code are one kind

  explicit RefusalLog(Clock& clock = SystemClock()) : clock_(clock) {}

  void Report(const std::string& peer, const absl::Status& status);
  void Look();                                                  // once a second
  void Summarize();                                             // now
  CodeCounts::Counts counts() const { return counts_.Read(); }  // of all that were reported

 private:
  struct Kind {
    absl::Time since;  // the last line
    uint64_t left_out = 0;
    std::string last;
  };
  void WriteLocked(Kind& kind, absl::Time now);

  Clock& clock_;
  CodeCounts counts_;
  std::mutex mutex_;
  std::map<std::string, Kind> kinds_;
};

// Of this process.
RefusalLog& Refusals();

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRANSPORT_REFUSAL_LOG_H_
