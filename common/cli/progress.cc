#include "common/cli/progress.h"

#include <unistd.h>

#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/base/logging.h"

namespace blink {

Progress::Progress(std::string what, uint64_t total, bool enabled)
    : what_(std::move(what)),
      total_(total),
      enabled_(enabled),
      terminal_(::isatty(STDERR_FILENO) == 1),
      started_(absl::Now()),
      shown_(absl::InfinitePast()) {}

std::unique_ptr<Progress> Progress::Percent(std::string what, bool enabled, bool tells_time) {
  auto progress = std::make_unique<Progress>(std::move(what), 100, enabled);
  progress->percent_ = true;
  progress->tells_time_ = tells_time;
  return progress;
}

std::string Progress::Text(uint64_t done, const std::string& detail) const {
  std::string text = percent_     ? absl::StrFormat("%s %d %%", what_, done)
                     : total_ > 0 ? absl::StrFormat("%s %d/%d", what_, done, total_)
                                  : absl::StrFormat("%s %d", what_, done);
  if (!detail.empty()) absl::StrAppend(&text, "  ", detail);
  const bool knows_better = absl::EndsWith(detail, " left");
  if (tells_time_ && total_ > 0 && done > 0 && done < total_ && !knows_better) {
    const absl::Duration left = (absl::Now() - started_) * (static_cast<double>(total_ - done) / done);
    if (left >= absl::Seconds(1))
      absl::StrAppend(&text, "  ", absl::FormatDuration(absl::Trunc(left, absl::Seconds(1))), " left");
  }
  return text;
}

void Progress::Update(uint64_t done, const std::string& detail) {
  if (!enabled_) return;
  const absl::Time now = absl::Now();
  const bool last = total_ > 0 && done >= total_;
  if (!last && now - shown_ < (terminal_ ? absl::Milliseconds(100) : absl::Seconds(5))) return;
  shown_ = now;
  const std::string text = Text(done, detail);
  if (!terminal_) {
    spdlog::info("{}", text);
    return;
  }
  constexpr int kWidth = 24;
  const int filled = total_ > 0 ? static_cast<int>(kWidth * std::min(done, total_) / total_) : 0;
  std::fprintf(stderr, "\r\033[K[%s%s] %s", std::string(filled, '#').c_str(), std::string(kWidth - filled, '.').c_str(),
               text.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

Progress::~Progress() {
  if (drawn_) std::fputc('\n', stderr);
}

}  // namespace blink
