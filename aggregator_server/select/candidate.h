// One way to train: on which links, which model, and with which setting.
//
//   pair     a model and the links that it is trained on: a variant of the posterior under a prior
//   setting  learning rate, weight decay and dropout; under the attributed prior also the width of the layers
#ifndef BLINK_AGGREGATOR_SERVER_SELECT_CANDIDATE_H_
#define BLINK_AGGREGATOR_SERVER_SELECT_CANDIDATE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/train/train_options.h"
#include "blink/v1/operator.pb.h"

namespace blink {

struct Candidate {
  Prior prior = Prior::kBeta;      // of the posterior whose links the model gets
  std::optional<Variant> variant;  // absent: the model sees no estimate (MLP, feature-only classifier, a given graph)
  TrainOptions options;
  std::vector<std::string> members;  // of an ensemble: PairName of each member
};

// Examples: "gcn soft, learning rate 0.01, weight decay 0.0001, dropout 0.1"; under the attributed prior
// "gcn soft attributed, learning rate 0.01, weight decay 0.0005, dropout 0.5, hidden 64"; for an ensemble
// "mean of stacked soft attributed + gcn hard".
std::string CandidateName(const Candidate& candidate);
// Examples: "gcn soft", "gcn soft attributed".
std::string PairName(const Candidate& candidate);

// Whether the model knows anything of the reports: not the MLP, nor the feature-only classifier, nor a mean of these.
bool ReadsReports(const Candidate& candidate);

// Whether the model is trained on the links of a variant. The stacked model takes Soft alone.
bool TakesVariant(Model model);

// The candidate of a pair with the setting of `normal`, a normalised spec whose prior, model and variant are ignored.
Candidate MakeCandidate(const v1::TrainingSpec& normal, Prior prior, Model model, Variant variant);

// The one candidate of a spec that asks for no search. INVALID_ARGUMENT: the spec is out of range, or asks for a
// search.
absl::StatusOr<Candidate> CandidateFromSpec(const v1::TrainingSpec& spec);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SELECT_CANDIDATE_H_
