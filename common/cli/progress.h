// Progress of long work on standard error: a bar on a terminal, otherwise a log line every few seconds.
//
//   ProgressBar bar("reports", 60);
//   bar.Update(12);                                  // [####....................] reports 12/60  8s left
//
//   StageBars bars;                                  // work in stages has a bar for each
//   bars.ShowShares("estimating", TimeLeft::kFromPace).Update(37);
//   bars.ShowShares("training", TimeLeft::kInText).Update(5, "epoch 15 of 300, 8 s left");
#ifndef BLINK_COMMON_CLI_PROGRESS_H_
#define BLINK_COMMON_CLI_PROGRESS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"

namespace blink {

// Who says how much time is left. A bar never shows an estimate of its own beside another one.
enum class TimeLeft {
  kFromPace,  // the bar, from what is done and the time that it took
  kInText,    // the text of an update, as soon as it is known there
};

// Lets through the first of many updates, and then one each `interval`.
class UpdateLimit {
 public:
  explicit UpdateLimit(absl::Duration interval) : interval_(interval) {}
  // Whether this update is to be shown. `is_due`: it is, however soon it comes.
  bool LetThrough(bool is_due, absl::Time now);

 private:
  const absl::Duration interval_;
  absl::Time last_ = absl::InfinitePast();
};

class ProgressBar {
 public:
  // Counts `what` ("reports") to `total`, which is 0 when it is not known. `enabled` false: shows nothing.
  ProgressBar(std::string what, uint64_t total, bool enabled = true);
  // The same, of what comes by itself: its pace so far says nothing about the rest.
  static std::unique_ptr<ProgressBar> OfCount(std::string what, uint64_t total, TimeLeft time_left,
                                              bool enabled = true);
  // A bar of work that is measured in shares of the whole: `done` counts to 100, and is shown as "what 37 %".
  static std::unique_ptr<ProgressBar> OfShares(std::string what, TimeLeft time_left, bool enabled = true);
  ~ProgressBar();  // ends the line of the bar

  // `text` is for a person.
  void Update(uint64_t done, const std::string& text = "");
  // The line without its bar: "reports 12/60  text  3s left".
  std::string LineOf(uint64_t done, const std::string& text) const;
  // The bar with its line, in fewer than `columns` columns, so that no terminal wraps it. The bar shrinks first, then
  // the line is cut, and a very narrow terminal shows no bar.
  std::string DrawingOf(uint64_t done, const std::string& text, size_t columns) const;

 private:
  enum class Unit { kCount, kPercent };
  ProgressBar(std::string what, uint64_t total, Unit unit, TimeLeft time_left, bool enabled);

  const std::string what_;
  const uint64_t total_;
  const Unit unit_;
  const TimeLeft time_left_;
  const bool enabled_;
  const bool on_terminal_;
  const absl::Time started_;
  UpdateLimit limit_;
  bool drawn_ = false;
};

// One bar after another, for work in stages. A call returns the bar of its stage; the first call of a stage ends the
// line of the stage before.
class StageBars {
 public:
  explicit StageBars(bool enabled = true) : enabled_(enabled) {}
  ProgressBar& ShowCount(const std::string& stage, uint64_t total, TimeLeft time_left = TimeLeft::kFromPace);
  ProgressBar& ShowShares(const std::string& stage, TimeLeft time_left);
  void End();  // ends the line of the last bar

 private:
  // Whether `stage` is a new one, for which there is no bar yet.
  bool Enter(const std::string& stage);

  const bool enabled_;
  std::string stage_;
  std::unique_ptr<ProgressBar> bar_;
};

}  // namespace blink

#endif  // BLINK_COMMON_CLI_PROGRESS_H_
