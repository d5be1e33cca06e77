// The ways to train that a search tries, and in which order.
//
//   pair     a model and the links it is trained on: a variant of the posterior under a prior (the MLP has none)
//   setting  learning rate, weight decay, dropout; under the attributed prior the width of the layers too
//
// A first batch tries every pair once, in the order of kBetaPairs or kAttributedPairs: the MLP, so that no search ends
// below what the features alone give, then one strong pair of every variant and model, then the rest. Every later batch
// tries other settings of the pairs that validated best, of fewer pairs each time, until the candidates are used up: so
// a small number covers the pairs, and a large one the whole grid (under the attributed prior that of the pairs near
// the best).
//
// Under the attributed prior the beta prior's own pairs are candidates too, trained as they are alone, so that the
// choice is not much worse than theirs, as long as one of them does not take kBesideSecondsMax. The first batch is of a
// few pairs only, which cost little or are strong: what is tried after them has a score to reach (Searcher of
// search.cc). What is a mean of candidates is not counted here: it is made of what was trained (choice.h).
#ifndef BLINK_AGGREGATOR_SERVER_SELECT_CANDIDATES_H_
#define BLINK_AGGREGATOR_SERVER_SELECT_CANDIDATES_H_

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
  Prior prior = Prior::kBeta;  // of the posterior whose links they are
  std::optional<Variant>
      variant;  // absent: no estimate is used (the MLP, the feature-only classifier, or a graph that is given)
  TrainOptions options;
  std::vector<std::string> members;  // of a mean: PairName of each
};

// "gcn soft, learning rate 0.01, weight decay 0.0001, dropout 0.1"; under the attributed prior
// "gcn soft attributed, learning rate 0.01, weight decay 0.0005, dropout 0.5, hidden 64"; "mean of stacked soft
// attributed + gcn hard".
std::string CandidateName(const Candidate& candidate);
// "gcn soft", "gcn soft attributed"
std::string PairName(const Candidate& candidate);

// The one candidate of a spec that asks for no search. INVALID_ARGUMENT: the spec is out of range, or asks for one.
absl::StatusOr<Candidate> CandidateFromSpec(const v1::TrainingSpec& spec);

// What the cost of a training depends on.
struct ProblemSize {
  uint32_t nodes = 0;
  uint64_t feature_values = 0;  // stored ones
  uint64_t scaled_values = 0;   // of what networks on links of the attributed prior get for features
  uint32_t classes = 0;
  double flip_probability = 0;  // of the reports: how many pairs have a one; 0 without bits
  double links = 0;             // expected
  // Of the attributed posterior that classifiers are trained on: expected links, and pairs that Soft keeps.
  double attributed_links = 0, attributed_kept = 0;
};

// Seconds that a training takes on one nominal core, roughly. A matter of counting, never of measuring: what is tried
// or refused must depend on neither the machine nor its threads.
double NominalSeconds(const Candidate& candidate, const ProblemSize& size);

// Seconds of one nominal core that the estimate under the attributed prior takes, both posteriors, with at most two
// network rounds: it grows as n^2 * (latent + dense columns). `dense_columns`: of features that are not sparse.
double AttributedNominalSeconds(uint32_t nodes, uint32_t dense_columns, uint32_t classes);

// Bytes that a training takes beside what all trainings share (the links, the attributes), roughly and at most: copies
// of the features, the links of the model's own, the layers with their gradients.
double TrainingBytes(const Candidate& candidate, const ProblemSize& size);

// What takes longer is not done unless somebody insists: a search leaves out such a pair whose model and variant the
// spec does not both name; attention over all pairs of nodes (GAT on Soft), which alone grows as n^2 whatever the
// reports say, needs allow_slow_attention, named or not.
inline constexpr double kNominalSecondsMax = 3600;
bool AttendsAllPairs(const Candidate& candidate);
// A pair of the beta prior that takes longer is left out of a search under the attributed prior, unless model and
// variant are named.
inline constexpr double kBesideSecondsMax = 120;
// "it takes about 2.3 hours of one core ..." and what to do.
std::string WhyTooCostly(const Candidate& candidate, const ProblemSize& size);

class CandidateGrid {
 public:
  // What `spec` sets restricts the grid. `estimated`: there are variants to choose from; otherwise the links are given.
  // A pair that would take more than kNominalSecondsMax is not tried, unless the spec insists, or nothing
  // else is left and it is the least costly.
  // INVALID_ARGUMENT: the spec is out of range, asks for no search, or for what its prior does not have.
  static absl::StatusOr<CandidateGrid> Create(const v1::TrainingSpec& spec, bool estimated, const ProblemSize& size);

  // How many will be trained, at most: pairs that NextBatch is not told of get no other settings.
  int count() const { return count_; }
  Prior prior() const { return prior_; }
  // One of each pair that will be, and of each that is too costly.
  const std::vector<Candidate>& pairs() const { return pairs_; }
  const std::vector<Candidate>& too_costly() const { return too_costly_; }
  // Why one of too_costly() is.
  std::string WhyLeftOut(const Candidate& candidate, const ProblemSize& size) const;

  struct Entry {
    size_t pair = 0;
    Candidate candidate;
  };
  // The next candidates, independent of each other; none at the end. `ranking`: the pairs that may be tried with other
  // settings, the best first, according to all that was trained before.
  std::vector<Entry> NextBatch(const std::vector<size_t>& ranking);

 private:
  struct Setting {
    double learning_rate, weight_decay, dropout;
    int hidden = 0;  // 0: the specification's
    friend bool operator==(const Setting&, const Setting&) = default;
  };
  // The most promising first.
  static const std::vector<Setting>& Settings(Prior prior);
  CandidateGrid() = default;
  void AddPairs(const v1::TrainingSpec& normal, Prior prior, bool estimated, const ProblemSize& size);
  void RestrictSettings(const v1::TrainingSpec& normal, Prior prior);
  void TakeTheLeastCostly(const ProblemSize& size);
  // Those that the specification leaves of Settings; of what is no network none, since it has no setting.
  const std::vector<Setting>& SettingsOf(size_t pair) const;
  size_t CountOf(size_t pair) const;  // candidates of a pair
  Entry Take(size_t pair);            // its next setting

  Prior prior_ = Prior::kBeta;  // of the search
  std::vector<Candidate> pairs_, too_costly_;
  std::vector<Setting> beta_settings_, attributed_settings_;
  std::vector<size_t> taken_;  // [pairs] settings
  int count_ = 0, given_ = 0;
  size_t next_pair_ = 0;  // not tried so far
  int later_batches_ = 0;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SELECT_CANDIDATES_H_
