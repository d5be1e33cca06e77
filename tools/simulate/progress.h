// The bar of a simulation. There is one bar for all trials, and a trial draws (2 %), estimates (10 %) and trains.
//
// How long each of these takes depends on the graph, the prior and the search, so no share of a trial says when it
// ends. Whole trials do. From the second trial on the bar says how long the rest takes, at the pace of those before.
#ifndef BLINK_TOOLS_SIMULATE_PROGRESS_H_
#define BLINK_TOOLS_SIMULATE_PROGRESS_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/cli/progress.h"

namespace blink {

class TrialProgress {
 public:
  TrialProgress(int trials, bool enabled);
  // `trial` from 0, ascending; `fraction` of the stage, 0 .. 1; `text` for a person.
  void TellDrawing(int trial, double fraction);
  void TellEstimating(int trial, double fraction, const std::string& text);
  void TellTraining(int trial, double fraction, const std::string& text);

  // "trial 2 of 5 (40s left): epoch 3 of 300": the trials before took `before` together, this one has begun `now` ago.
  static std::string FormatText(int trial, int trials, absl::Duration before, absl::Duration now,
                                const std::string& text);

 private:
  void Update(int trial, double part, const std::string& text);

  const int trials_;
  const std::unique_ptr<ProgressBar> bar_;
  const absl::Time started_;
  int trial_ = 0;
  absl::Time trial_began_;
};

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_PROGRESS_H_
