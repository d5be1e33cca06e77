// Training as a round's specification says: one model, or a search for the model that validates best.
//
// A search trains all candidates on the same links. No report is drawn anew, so a search costs no privacy. Test nodes
// decide nothing. Under the attributed prior, ensembles of what was trained are tried too (choice.h).
#ifndef BLINK_AGGREGATOR_SERVER_SELECT_SEARCH_H_
#define BLINK_AGGREGATOR_SERVER_SELECT_SEARCH_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/select/candidate_grid.h"
#include "aggregator_server/select/choice.h"
#include "aggregator_server/select/train_candidate.h"
#include "aggregator_server/train/trainer.h"

namespace blink {

struct TrainedModel {
  Candidate trained;
  TrainResult result;
  // In the order of the search, then the ensembles, then what was left out as too costly. Empty: there was no search.
  std::vector<Tried> search;
  std::optional<Tried> features_only;  // FindFeaturesOnly (features_only.h); neither Search nor TrainOne asks it
};

// What `tried` says of the training that ended with `result`, in a search that chooses by `score`.
void FillTried(const TrainResult& result, Measure score, Tried& tried);
// Whether a training that failed so says nothing of others: what one candidate cannot do, another may.
bool IsPassedOver(const absl::Status& status);

struct TrainingOptions {
  int threads = 0;  // 0: all cores. The result does not depend on it.
  std::function<void(double fraction, const std::string& text)> progress;
  // Where trainings keep their state, each in a file of its own (TrainOptions::checkpoint_file). A search that is
  // started again skips the candidates that it had trained. The folder is made where it is missing. Empty: nowhere.
  std::string checkpoint_folder;
  double checkpoint_every_s = 20;
};

// Errors of Train, and of the fits of the attributed prior's models.
absl::StatusOr<TrainedModel> TrainOne(const Candidate& candidate, const TrainingSources& sources,
                                      const TrainingOptions& options);

// The device is chosen once, before the first candidate. On a CPU and for a small graph, candidates are trained side by
// side, as many as fit into kSideBySideBytesMax together (TrainingBytes). Otherwise they are trained one after the
// other, each by all threads. A candidate that does not converge, or needs more memory than there is, is passed over.
// If all are passed over, the first one's error is returned. RESOURCE_EXHAUSTED: the search's own memory does not
// suffice. Throws nothing.
inline constexpr double kSideBySideBytesMax = 2e9;
absl::StatusOr<TrainedModel> Search(CandidateGrid grid, const ProblemSize& size, const TrainingSources& sources,
                                    const TrainingOptions& options);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SELECT_SEARCH_H_
