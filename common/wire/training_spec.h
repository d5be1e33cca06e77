// What a round is to train (TrainingSpec): its defaults, and how its choices stand for those of common/training.
#ifndef BLINK_COMMON_WIRE_TRAINING_SPEC_H_
#define BLINK_COMMON_WIRE_TRAINING_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "blink/v1/operator.pb.h"
#include "common/wire/training_choices.h"

namespace blink {

inline constexpr uint32_t kCandidatesMax = 1000;  // of a search
// --tune without a number, and the attributed prior where nobody says
inline constexpr uint32_t kCandidatesDefault = 24;

// Checks the ranges and fills what is unset: prior beta, variant hard, model gcn, device auto, no patience, no
// balancing, and the numbers of TrainingNumbers; no search, but with the attributed prior one of kCandidatesDefault.
// With candidates > 0 variant, model, learning rate, weight decay and dropout stay unset: they are searched; with the
// attributed prior the width of the layers too. Idempotent. INVALID_ARGUMENT naming the field and its range; a model
// that the prior does not have.
absl::StatusOr<v1::TrainingSpec> NormalizeTrainingSpec(v1::TrainingSpec spec);

// What `given` sets, over the spec that a round has already, to train again on its reports. A search (given.candidates
// > 0) is not bound by the round's own variant, model, learning rate, weight decay and dropout; candidates that are
// given as 0 end the round's search, and what it left open gets its default. Another prior than the round's is not
// bound by these five, nor by its candidates, which were for other links, nor by a width of the layers that is the
// default.
v1::TrainingSpec OverrideTrainingSpec(v1::TrainingSpec of_round, const v1::TrainingSpec& given);

// Nothing for an unset or unknown value; of the features an unset one is kAuto.
std::optional<Prior> FromProto(v1::Prior prior);
std::optional<Variant> FromProto(v1::Variant variant);
std::optional<Model> FromProto(v1::Model model);
std::optional<NodeFeatures> FromProto(v1::NodeFeatures kind);
v1::Prior ToProto(Prior prior);
v1::Variant ToProto(Variant variant);
v1::Model ToProto(Model model);
v1::NodeFeatures ToProto(NodeFeatures kind);

// Names as the command line and the results have them; of an unset or unknown value "unspecified".
const char* PriorName(v1::Prior prior);               // beta, attributed
const char* VariantName(v1::Variant variant);         // hard, soft, hybrid
const char* ModelName(v1::Model model);               // mlp, gcn, graphsage, gat, stacked, class-model
const char* NodeFeaturesName(v1::NodeFeatures kind);  // given, degree, identity, given+degree

// Nothing when there is no such name.
std::optional<v1::Prior> PriorOfName(const std::string& name);
std::optional<v1::Variant> VariantOfName(const std::string& name);
std::optional<v1::Model> ModelOfName(const std::string& name);
std::optional<v1::NodeFeatures> NodeFeaturesOfName(const std::string& name);

}  // namespace blink

#endif  // BLINK_COMMON_WIRE_TRAINING_SPEC_H_
