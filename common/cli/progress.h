// Progress of long work: a bar on a terminal, a log line every few seconds otherwise. Written to standard error.
#ifndef BLINK_COMMON_CLI_PROGRESS_H_
#define BLINK_COMMON_CLI_PROGRESS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"

namespace blink {

class Progress {
 public:
  // `what` for a person ("reports", "epochs"); `total` may be 0 when it is not known. `enabled` false: silent.
  Progress(std::string what, uint64_t total, bool enabled = true);
  // Work that is measured in shares of the whole: `done` counts to 100, and is shown as "what 37 %". `tells_time`
  // false: the shares say too little of the time for an estimate of what remains of it.
  static std::unique_ptr<Progress> Percent(std::string what, bool enabled = true, bool tells_time = true);
  ~Progress();  // ends the line of the bar
  // A `detail` that ends with " left" has its own estimate of the time that remains: then no other is shown beside it.
  void Update(uint64_t done, const std::string& detail = "");
  // The line without its bar: "reports 12/60  detail  3s left".
  std::string Text(uint64_t done, const std::string& detail) const;

 private:
  const std::string what_;
  const uint64_t total_;
  const bool enabled_;
  const bool terminal_;
  const absl::Time started_;
  absl::Time shown_;
  bool drawn_ = false;
  bool percent_ = false;
  bool tells_time_ = true;
};

}  // namespace blink

#endif  // BLINK_COMMON_CLI_PROGRESS_H_
