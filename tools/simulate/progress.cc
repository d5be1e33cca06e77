#include "tools/simulate/progress.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace blink {
namespace {

constexpr double kDrawing = 0.02, kEstimating = 0.10;  // shares of a trial

}  // namespace

TrialProgress::TrialProgress(int trials, bool enabled)
    : trials_(trials),
      bar_(ProgressBar::OfShares("simulating", TimeLeft::kInText, enabled)),
      started_(absl::Now()),
      trial_began_(started_) {}

// Of a million nodes it takes most of the time.
void TrialProgress::TellDrawing(int trial, double fraction) {
  const auto percent = static_cast<int>(100 * fraction);
  Update(trial, kDrawing * fraction, absl::StrCat("drawing reports (", percent, " %)"));
}

void TrialProgress::TellEstimating(int trial, double fraction, const std::string& text) {
  Update(trial, kDrawing + kEstimating * fraction, text);
}

void TrialProgress::TellTraining(int trial, double fraction, const std::string& text) {
  Update(trial, kDrawing + kEstimating + (1 - kDrawing - kEstimating) * fraction, text);
}

std::string TrialProgress::FormatText(int trial, int trials, absl::Duration before, absl::Duration now,
                                      const std::string& text) {
  std::string line = absl::StrCat("trial ", trial + 1, " of ", trials);
  if (trial > 0) {
    const absl::Duration one = before / trial;
    // a trial that takes longer than those before is soon done, for all that is known
    const absl::Duration left = std::max(one - now, absl::ZeroDuration()) + one * (trials - trial - 1);
    const absl::Duration seconds = absl::Ceil(left, absl::Seconds(1));
    if (seconds > absl::ZeroDuration()) absl::StrAppend(&line, " (", absl::FormatDuration(seconds), " left)");
  }
  return absl::StrCat(line, ": ", text);
}

void TrialProgress::Update(int trial, double part, const std::string& text) {
  const absl::Time now = absl::Now();
  if (trial != trial_) {
    trial_ = trial;
    trial_began_ = now;
  }
  bar_->Update(static_cast<uint64_t>(100 * (trial + part) / trials_),
               FormatText(trial, trials_, trial_began_ - started_, now - trial_began_, text));
}

}  // namespace blink
