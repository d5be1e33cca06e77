// Whether a round could be trained at all, by what is public before the first report is drawn. A fleet cannot be asked
// twice, so a round that can only fail must fail when it is created.
//
// The aggregator asks when an operator creates a round, `blink simulate` before it draws, and Analyse before it
// estimates, since a worker may have other attributes or another machine. Needs no LibTorch.
#ifndef BLINK_AGGREGATOR_SERVER_SELECT_TRAINABLE_H_
#define BLINK_AGGREGATOR_SERVER_SELECT_TRAINABLE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "aggregator_server/select/candidate_grid.h"
#include "aggregator_server/train/gpus.h"
#include "blink/v1/operator.pb.h"
#include "common/graph/node_attributes.h"

namespace blink {

// What is public of the nodes, as far as it decides what can be trained.
struct TrainingFacts {
  uint32_t nodes = 0;
  uint32_t features = 0;        // columns; 0: there are none
  uint64_t feature_values = 0;  // stored ones
  // The attributed prior scales the features to dense ones, since they do not look like counts
  // (profiles/node_profiles.h), whatever the form of their file: every pair of nodes is compared by all columns, and
  // they take nodes x columns numbers.
  bool dense = false;
  uint32_t classes = 0;
  uint32_t labelled = 0;                                 // nodes that have a label
  uint32_t labelled_train = 0, labelled_validation = 0;  // those of them in a part of the split

  // Whether there is something to train on, and something to choose the best epoch by.
  bool has_labels_to_train() const { return labelled_train > 0 && labelled_validation > 0; }
};
TrainingFacts FactsOf(const NodeAttributes& attributes);

// Without reports and links: their flip probability and number are the caller's to add, where they are known.
ProblemSize SizeOf(const TrainingFacts& facts);

// Of dense scaled features: the estimate holds them a few times over.
inline constexpr double kScaledBytesMax = 4e9;

struct TrainingPlace {
  bool estimated = true;        // the links come from reports; false: they are given, and there are no variants
  double flip_probability = 0;  // of the reports
  std::optional<Gpus> gpus;     // of the machine that will train; absent: not known, and nothing is refused for it
};

// INVALID_ARGUMENT, naming the field ("training.model ...") and the remedy: a field out of range; features that the
// model cannot get; a cost that nobody insisted on (kNominalSecondsMax); a model that belongs to another
// prior; more pairs than the attributed prior can look at in kNominalSecondsMax, or
// features that it would make more than kScaledBytesMax of. FAILED_PRECONDITION: no labelled node to train on or to
// validate with; a GPU that is not there; for the attributed prior neither features nor labels. Of a search one pair
// that can be trained is enough. Of the model none the prior alone is checked, which needs no label where there are
// features.
absl::Status CheckTrainable(const v1::TrainingSpec& spec, const TrainingFacts& facts, const TrainingPlace& place);

// For links that are drawn from answers about groups: no pair has a posterior then. INVALID_ARGUMENT: the attributed
// prior.
absl::Status CheckNeedsNoPosterior(const v1::TrainingSpec& spec);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SELECT_TRAINABLE_H_
