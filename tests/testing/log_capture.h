// What a program logs, as text, for as long as this lives: one line an event, "level text".
#ifndef BLINK_TESTS_TESTING_LOG_CAPTURE_H_
#define BLINK_TESTS_TESTING_LOG_CAPTURE_H_

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "common/base/logging.h"
#include "spdlog/sinks/base_sink.h"

namespace blink {

class LogCapture {
 public:
  LogCapture() : before_(spdlog::default_logger()), sink_(std::make_shared<Sink>()) {
    auto logger = std::make_shared<spdlog::logger>("test", sink_);
    logger->set_pattern("%l %v");
    spdlog::set_default_logger(std::move(logger));
  }
  ~LogCapture() { spdlog::set_default_logger(before_); }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // Other threads may log meanwhile.
  std::string text() const { return sink_->Text(/*clear=*/false); }
  // The text since the last call.
  std::string Take() { return sink_->Text(/*clear=*/true); }

 private:
  class Sink final : public spdlog::sinks::base_sink<std::mutex> {
   public:
    std::string Text(bool clear) {
      const std::lock_guard<std::mutex> lock(mutex_);
      return clear ? std::exchange(text_, "") : text_;
    }

   private:
    void sink_it_(const spdlog::details::log_msg& message) override {
      spdlog::memory_buf_t line;
      formatter_->format(message, line);
      text_.append(line.data(), line.size());
    }
    void flush_() override {}

    std::string text_;
  };

  const std::shared_ptr<spdlog::logger> before_;
  const std::shared_ptr<Sink> sink_;
};

}  // namespace blink

#endif  // BLINK_TESTS_TESTING_LOG_CAPTURE_H_
