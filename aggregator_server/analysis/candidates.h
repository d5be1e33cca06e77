// The ways to train that a search tries, and in which order.
//
//   pair     a model and the links it is trained on (the MLP has none)
//   setting  learning rate, weight decay, dropout
//
// A first batch tries every pair once, in the order of kPairs: the MLP, so that no search ends below what the features
// alone give, then one strong pair of every variant and model, then the rest. Every later batch tries other settings of
// the pairs that validated best, of fewer pairs each time, until the candidates are used up: so a small number covers
// the pairs, and a large one the whole grid.
#ifndef BLINK_AGGREGATOR_SERVER_ANALYSIS_CANDIDATES_H_
#define BLINK_AGGREGATOR_SERVER_ANALYSIS_CANDIDATES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/train/train_options.h"
#include "blink/v1/operator.pb.h"

namespace blink {

// One way to train: on which links, and how.
struct Candidate {
  Prior prior = Prior::kBeta;      // of the posterior whose links they are
  std::optional<Variant> variant;  // absent: no estimate is used (the MLP, or a graph that is given)
  TrainOptions options;
};

// "gcn soft, learning rate 0.01, weight decay 0.0001, dropout 0.1"
std::string CandidateName(const Candidate& candidate);
// "gcn soft"
std::string PairName(const Candidate& candidate);

// The one candidate of a spec that asks for no search. INVALID_ARGUMENT: the spec is out of range, or asks for one.
absl::StatusOr<Candidate> CandidateFromSpec(const v1::TrainingSpec& spec);

// What the cost of a training depends on.
struct ProblemSize {
  uint32_t nodes = 0;
  uint64_t feature_values = 0;  // stored ones
  uint32_t classes = 0;
  double flip_probability = 0;  // of the reports: how many pairs have a one; 0 without bits
  double links = 0;             // expected
};

// Seconds that a training takes on one nominal core, roughly. A matter of counting, never of measuring: what is tried or refused must
// depend on neither the machine nor its threads.
double NominalSeconds(const Candidate& candidate, const ProblemSize& size);

// Bytes that a training takes beside what all trainings share (the links, the attributes), roughly and at most: copies of
// the features, the links of the model's own, the layers with their gradients.
double TrainingBytes(const Candidate& candidate, const ProblemSize& size);

// What takes longer is not done unless somebody insists: a search leaves out such a pair whose model and variant the spec does not
// both name; attention over all pairs of nodes (GAT on Soft), which alone grows as n^2 whatever the reports say, needs
// allow_slow_attention, named or not.
inline constexpr double kNominalSecondsMax = 3600;
bool AttendsAllPairs(const Candidate& candidate);
// "it takes about 2.3 hours of one core ..." and what to do.
std::string WhyTooCostly(const Candidate& candidate, const ProblemSize& size);

class CandidateGrid {
 public:
  // What `spec` sets restricts the grid. `estimated`: there are variants to choose from; otherwise the links are given.
  // A pair that would take more than kNominalSecondsMax is not tried, unless the spec insists, or nothing
  // else is left and it is the least costly.
  // INVALID_ARGUMENT: the spec is out of range, or asks for no search.
  static absl::StatusOr<CandidateGrid> Create(const v1::TrainingSpec& spec, bool estimated, const ProblemSize& size);

  // How many will be trained.
  int count() const { return count_; }
  // One of each pair that will be, and of each that is too costly.
  const std::vector<Candidate>& pairs() const { return pairs_; }
  const std::vector<Candidate>& too_costly() const { return too_costly_; }

  struct Entry {
    size_t pair = 0;
    Candidate candidate;
  };
  // The next candidates, independent of each other; none at the end. `ranking`: the pairs, the best first, according to
  // all that was trained before.
  std::vector<Entry> NextBatch(const std::vector<size_t>& ranking);

 private:
  struct Setting {
    double learning_rate, weight_decay, dropout;
    friend bool operator==(const Setting&, const Setting&) = default;
  };
  static const Setting kSettings[18];  // the most promising first
  CandidateGrid() = default;
  void TakeTheLeastCostly(const ProblemSize& size);
  Entry Take(size_t pair);  // its next setting

  std::vector<Candidate> pairs_, too_costly_;
  std::vector<Setting> settings_;  // those of kSettings that are left
  std::vector<size_t> taken_;      // [pairs] settings
  int count_ = 0, given_ = 0, batch_ = 0;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ANALYSIS_CANDIDATES_H_
