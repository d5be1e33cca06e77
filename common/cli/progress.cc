#include "common/cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/base/logging.h"

namespace blink {
namespace {

constexpr absl::Duration kOnTerminal = absl::Milliseconds(100), kInLog = absl::Seconds(5);

bool IsTerminal() { return ::isatty(STDERR_FILENO) == 1; }

}  // namespace

bool UpdateLimit::LetThrough(bool is_due, absl::Time now) {
  const bool is_soon = now >= last_ && now - last_ < interval_;  // a clock that was set back must not silence it
  if (is_soon && !is_due) return false;
  last_ = now;
  return true;
}

ProgressBar::ProgressBar(std::string what, uint64_t total, bool enabled)
    : ProgressBar(std::move(what), total, Unit::kCount, TimeLeft::kFromPace, enabled) {}

ProgressBar::ProgressBar(std::string what, uint64_t total, Unit unit, TimeLeft time_left, bool enabled)
    : what_(std::move(what)),
      total_(total),
      unit_(unit),
      time_left_(time_left),
      enabled_(enabled),
      on_terminal_(IsTerminal()),
      started_(absl::Now()),
      limit_(on_terminal_ ? kOnTerminal : kInLog) {}

std::unique_ptr<ProgressBar> ProgressBar::OfShares(std::string what, TimeLeft time_left, bool enabled) {
  return std::unique_ptr<ProgressBar>(new ProgressBar(std::move(what), 100, Unit::kPercent, time_left, enabled));
}

std::string ProgressBar::LineOf(uint64_t done, const std::string& text) const {
  std::string line = unit_ == Unit::kPercent ? absl::StrFormat("%s %d %%", what_, done)
                     : total_ > 0            ? absl::StrFormat("%s %d/%d", what_, done, total_)
                                             : absl::StrFormat("%s %d", what_, done);
  if (!text.empty()) absl::StrAppend(&line, "  ", text);
  if (time_left_ == TimeLeft::kFromPace && done > 0 && done < total_) {
    const absl::Duration left = (absl::Now() - started_) * (static_cast<double>(total_ - done) / done);
    if (left >= absl::Seconds(1)) {
      absl::StrAppend(&line, "  ", absl::FormatDuration(absl::Trunc(left, absl::Seconds(1))), " left");
    }
  }
  return line;
}

void ProgressBar::Update(uint64_t done, const std::string& text) {
  if (!enabled_) return;
  const bool is_last = total_ > 0 && done >= total_;
  if (!limit_.LetThrough(is_last, absl::Now())) return;
  const std::string line = LineOf(done, text);
  if (!on_terminal_) {
    spdlog::info("{}", line);
    return;
  }
  constexpr int kWidth = 24;
  const int filled = total_ > 0 ? static_cast<int>(kWidth * std::min(done, total_) / total_) : 0;
  std::fprintf(stderr, "\r\033[K[%s%s] %s", std::string(filled, '#').c_str(), std::string(kWidth - filled, '.').c_str(),
               line.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputc('\n', stderr);
}

bool StageBars::Enter(const std::string& stage) {
  if (bar_ != nullptr && stage == stage_) return false;
  End();  // its line ends before the next one begins
  stage_ = stage;
  return true;
}

ProgressBar& StageBars::ShowCount(const std::string& stage, uint64_t total) {
  if (Enter(stage)) bar_ = std::make_unique<ProgressBar>(stage, total, enabled_);
  return *bar_;
}

ProgressBar& StageBars::ShowShares(const std::string& stage, TimeLeft time_left) {
  if (Enter(stage)) bar_ = ProgressBar::OfShares(stage, time_left, enabled_);
  return *bar_;
}

void StageBars::End() { bar_ = nullptr; }

}  // namespace blink
