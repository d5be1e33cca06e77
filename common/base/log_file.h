// A file as the place of a log. Somebody may move it away, as logrotate does: then a new one is made under its name.
//
// A line that cannot be written, to a full disk for example, is lost and counted. The next one that can be written
// comes after a line that says how many were lost. No program waits or ends for its log.
#ifndef BLINK_COMMON_BASE_LOG_FILE_H_
#define BLINK_COMMON_BASE_LOG_FILE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "spdlog/sinks/base_sink.h"

namespace blink {

class LogFile final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // Makes it (mode 0640) or goes on with it. INVALID_ARGUMENT: it is no regular file.
  static absl::StatusOr<std::shared_ptr<LogFile>> Open(const std::string& path);
  ~LogFile() override;

  void Reopen();  // now

 private:
  LogFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}
  bool Write(absl::string_view line);
  bool WasMoved() const;
  void ReopenLocked();

  const std::string path_;
  int fd_;
  uint64_t lost_ = 0;
  std::chrono::steady_clock::time_point next_look_{};
};

}  // namespace blink

#endif  // BLINK_COMMON_BASE_LOG_FILE_H_
