// Training as a round's specification says: one model, or a search for the one that validates best.
//
// The search tries candidates on the same links. Nothing is drawn anew, and test nodes decide nothing, so however many
// are tried, the privacy is that of the reports. Under the attributed prior means of what was trained are tried too
// (choice.h).
#ifndef BLINK_AGGREGATOR_SERVER_SELECT_SEARCH_H_
#define BLINK_AGGREGATOR_SERVER_SELECT_SEARCH_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/select/candidates.h"
#include "aggregator_server/select/choice.h"
#include "aggregator_server/select/train_candidate.h"
#include "aggregator_server/train/trainer.h"

namespace blink {

struct TrainedModel {
  Candidate trained;
  TrainResult result;
  std::vector<Tried> search;  // in the order of the search, means last; empty: there was none
};

struct TrainingOptions {
  int threads = 0;  // 0: all cores. The result does not depend on it
  std::function<void(double fraction, const std::string& text)> progress;
  // Where trainings keep their state (TrainOptions::checkpoint_file), each in a file of its own: a search that is ended
  // and started again skips the candidates that it had trained. Empty: nowhere. The folder is made.
  std::string checkpoint_folder;
  double checkpoint_every_s = 20;
};

// Errors of Train, and of the fits of the attributed prior's models.
absl::StatusOr<TrainedModel> TrainOne(const Candidate& candidate, const TrainingSources& sources,
                                      const TrainingOptions& options);

// Which device trains is decided once, before the first candidate. On a CPU the candidates for a small graph are
// trained side by side, as many as have kSideBySideBytesMax together (TrainingBytes); otherwise, and on a GPU always,
// one after the other, each by all threads. A candidate that does not converge, or for which the memory does not
// suffice, is passed over; when all are, the first one's error is returned. Throws nothing: RESOURCE_EXHAUSTED where
// the search's own memory does not suffice.
inline constexpr double kSideBySideBytesMax = 2e9;
absl::StatusOr<TrainedModel> Search(CandidateGrid grid, const ProblemSize& size, const TrainingSources& sources,
                                    const TrainingOptions& options);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SELECT_SEARCH_H_
