#include "common/cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/base/logging.h"
#include "common/cli/terminal.h"

namespace blink {
namespace {

constexpr absl::Duration kOnTerminal = absl::Milliseconds(100), kInLog = absl::Seconds(5);

// One that can be told to clear a line.
bool IsTerminal() {
  const char* const kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (kind == nullptr || std::strcmp(kind, "dumb") != 0);
}

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

std::unique_ptr<ProgressBar> ProgressBar::OfCount(std::string what, uint64_t total, TimeLeft time_left, bool enabled) {
  return std::unique_ptr<ProgressBar>(new ProgressBar(std::move(what), total, Unit::kCount, time_left, enabled));
}

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

std::string ProgressBar::DrawingOf(uint64_t done, const std::string& text, size_t columns) const {
  constexpr size_t kBarMax = 24, kBarMin = 8, kAroundBar = 3;  // "[" and "] "
  const size_t room = columns > 0 ? columns - 1 : 0;           // in the last column some terminals begin a new line
  const std::string line = LineOf(done, text);
  const size_t beside = std::min(DisplayColumns(line) + kAroundBar, room);
  const size_t bar = std::min(kBarMax, std::max(room - beside, kBarMin));
  if (room < 2 * (kBarMin + kAroundBar)) return CutToColumns(line, room);
  const size_t filled = total_ > 0 ? bar * std::min(done, total_) / total_ : 0;
  return absl::StrCat("[", std::string(filled, '#'), std::string(bar - filled, '.'), "] ",
                      CutToColumns(line, room - bar - kAroundBar));
}

void ProgressBar::Update(uint64_t done, const std::string& text) {
  if (!enabled_) return;
  const bool is_last = total_ > 0 && done >= total_;
  if (!limit_.LetThrough(is_last, absl::Now())) return;
  if (!on_terminal_) {
    spdlog::info("{}", LineOf(done, text));
    return;
  }
  std::fprintf(stderr, "\r\033[K%s", DrawingOf(done, text, TerminalColumns(STDERR_FILENO)).c_str());
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

ProgressBar& StageBars::ShowCount(const std::string& stage, uint64_t total, TimeLeft time_left) {
  if (Enter(stage)) bar_ = ProgressBar::OfCount(stage, total, time_left, enabled_);
  return *bar_;
}

ProgressBar& StageBars::ShowShares(const std::string& stage, TimeLeft time_left) {
  if (Enter(stage)) bar_ = ProgressBar::OfShares(stage, time_left, enabled_);
  return *bar_;
}

void StageBars::End() { bar_ = nullptr; }

}  // namespace blink
