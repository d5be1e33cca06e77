// What a program logs, as text, for as long as this lives: one line an event, "level text".
#ifndef BLINK_TESTS_TESTING_LOG_CAPTURE_H_
#define BLINK_TESTS_TESTING_LOG_CAPTURE_H_

#include <memory>
#include <sstream>
#include <string>

#include "common/base/logging.h"
#include "spdlog/sinks/ostream_sink.h"

namespace blink {

class LogCapture {
 public:
  LogCapture() : before_(spdlog::default_logger()) {
    auto logger = std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
    logger->set_pattern("%l %v");
    spdlog::set_default_logger(std::move(logger));
  }
  ~LogCapture() { spdlog::set_default_logger(before_); }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  std::string text() const { return text_.str(); }
  // The text since the last call.
  std::string Take() {
    std::string result = text_.str();
    text_.str("");
    return result;
  }

 private:
  const std::shared_ptr<spdlog::logger> before_;
  std::ostringstream text_;
};

}  // namespace blink

#endif  // BLINK_TESTS_TESTING_LOG_CAPTURE_H_
