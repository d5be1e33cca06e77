// Which candidates a search trains, and in which order.
//
//   first batch    every pair once, in the order of candidate_table.h. The MLP comes first, so that no search ends
//                  below what the features alone give
//   later batches  other settings of the pairs that validated best, of fewer pairs each time
//
// So a small number of candidates covers the pairs, and a large one the whole grid. Under the attributed prior the
// first batch holds only a few pairs, which are cheap or strong: the later ones then have a score to reach. Ensembles
// are not counted here, because they are made of what was trained (choice.h).
#ifndef BLINK_AGGREGATOR_SERVER_SELECT_CANDIDATE_GRID_H_
#define BLINK_AGGREGATOR_SERVER_SELECT_CANDIDATE_GRID_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/select/candidate.h"
#include "aggregator_server/select/candidate_table.h"
#include "aggregator_server/select/training_cost.h"
#include "blink/v1/operator.pb.h"

namespace blink {

class CandidateGrid {
 public:
  // `spec` restricts the grid by what it sets. `estimated`: the links come from reports, so there are variants to
  // choose from. A pair that would take more than kNominalSecondsMax is left out, unless the spec insists on it. If all
  // pairs are too costly, the least costly one stays, but never one that attends to all pairs of nodes.
  // INVALID_ARGUMENT: the spec is out of range, asks for no search, or asks for what its prior does not have.
  static absl::StatusOr<CandidateGrid> Create(const v1::TrainingSpec& spec, bool estimated, const ProblemSize& size);

  // Decides anew which pairs are too costly, by a size of which more is known, such as the number of links. Before the
  // first batch.
  void CompleteCosts(const ProblemSize& size);

  // How many candidates will be trained at most. Pairs that the ranking of NextBatch leaves out get no other setting.
  int count() const { return count_; }
  Prior prior() const { return prior_; }
  // Whether candidates are to be trained on folds (train/folds.h): under the attributed prior where few nodes have a
  // label (HasFewLabels). Then there are half as many again, of other settings, and all networks have patience.
  bool cross_validates() const { return cross_validates_; }
  Measure score() const { return score_; }  // what the search chooses by, beside the loss
  // One candidate of each pair that will be tried, and of each that is too costly.
  const std::vector<Candidate>& pairs() const { return pairs_; }
  const std::vector<Candidate>& too_costly() const { return too_costly_; }
  // For a message: why a candidate of too_costly() is left out.
  std::string ExplainLeftOut(const Candidate& candidate, const ProblemSize& size) const;

  struct Entry {
    size_t pair = 0;
    Candidate candidate;
  };
  // The next candidates, which do not depend on each other; none at the end. `ranking`: the pairs that may get another
  // setting, best first, by all that was trained before.
  std::vector<Entry> NextBatch(const std::vector<size_t>& ranking);

 private:
  CandidateGrid() = default;
  void ListPairs(const v1::TrainingSpec& normal, bool estimated);
  void RestrictSettings(const v1::TrainingSpec& normal, Prior prior);
  void KeepTheLeastCostly(const ProblemSize& size);
  const std::vector<CandidateSetting>& SettingsOf(size_t pair) const;
  size_t CountSettings(size_t pair) const;  // 1 for a model that is no network
  Entry TakeNext(size_t pair);              // the candidate with the pair's next setting

  Prior prior_ = Prior::kBeta;  // of the search
  bool cross_validates_ = false;
  Measure score_ = Measure::kAccuracy;
  struct ListedPair {
    Candidate candidate;
    bool insisted = false;  // the spec asks for it, whatever it costs
  };
  std::vector<ListedPair> listed_;                                     // what the spec leaves of the table
  std::vector<Candidate> pairs_, too_costly_;                          // the listed pairs, by what they cost
  std::vector<CandidateSetting> beta_settings_, attributed_settings_;  // what the spec leaves of the table
  std::vector<size_t> taken_;                                          // [pairs] settings
  size_t count_max_ = 0;                                               // what the spec asks for
  int count_ = 0, given_ = 0;
  size_t next_pair_ = 0;  // the first that has not been tried
  int later_batches_ = 0;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SELECT_CANDIDATE_GRID_H_
