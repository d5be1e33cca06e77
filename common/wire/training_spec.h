// What a round trains (TrainingSpec): its defaults, and the mapping of its enums to those of training_choices.h.
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
// of --tune without a number, and of the attributed prior by default
inline constexpr uint32_t kCandidatesDefault = 24;

// Checks the ranges, and fills what is unset:
//   prior beta, variant hard, model gcn, device auto, no patience, no balancing, the numbers of TrainingNumbers
//   of the model none: variant hybrid, and none of those numbers
//   candidates: 0 (no search) with the beta prior, kCandidatesDefault with the attributed one
// A search (candidates > 0) leaves what it searches unset: variant, model, learning rate, weight decay and dropout, and
// with the attributed prior also the width of the layers. The score is unset where it is accuracy. A second call
// changes nothing.
//
// Returns INVALID_ARGUMENT, naming the field and its range; also for a model that the prior does not have, for a score
// without a search, and for anything about a training beside the model none.
absl::StatusOr<v1::TrainingSpec> NormalizeTrainingSpec(v1::TrainingSpec spec);

// The spec of another training on the reports of a round: the round's own spec, with what `given` sets in its place.
//
// Some fields of the round do not carry over:
// - When `given` asks for a search (candidates > 0), the round's variant, model, learning rate, weight decay and
//   dropout do not bind it.
// - When `given` sets candidates to 0, the round's search ends, and the fields that the search left open get their
//   defaults. The round's score, by which the search would choose, ends with it.
// - When `given` sets another prior, neither these five fields carry over nor the round's candidates, which were chosen
//   for other links, nor a width of the layers that is the default. Its score holds where a search follows.
// - When one of the two trains nothing (model none) and `given` asks for the other, only the prior, the seed and what
//   happens when memory is short carry over.
v1::TrainingSpec OverrideTrainingSpec(v1::TrainingSpec of_round, const v1::TrainingSpec& given);

// Return nothing for an unset or unknown value. Exception: unset node features are kAuto.
std::optional<Prior> FromProto(v1::Prior prior);
std::optional<Variant> FromProto(v1::Variant variant);
std::optional<Model> FromProto(v1::Model model);
std::optional<NodeFeatures> FromProto(v1::NodeFeatures kind);
Measure FromProto(v1::Measure measure);  // of an unset or unknown value kAccuracy
v1::Prior ToProto(Prior prior);
v1::Variant ToProto(Variant variant);
v1::Model ToProto(Model model);
v1::NodeFeatures ToProto(NodeFeatures kind);
v1::Measure ToProto(Measure measure);

// Names as in the command line and in results. An unset or unknown value is "unspecified".
const char* PriorName(v1::Prior prior);               // beta, attributed
const char* VariantName(v1::Variant variant);         // hard, soft, hybrid
const char* ModelName(v1::Model model);               // mlp, gcn, graphsage, gat, stacked, class-model, none
const char* NodeFeaturesName(v1::NodeFeatures kind);  // given, degree, identity, given+degree

// Return nothing for an unknown name.
std::optional<v1::Prior> PriorOfName(const std::string& name);
std::optional<v1::Variant> VariantOfName(const std::string& name);
std::optional<v1::Model> ModelOfName(const std::string& name);
std::optional<v1::NodeFeatures> NodeFeaturesOfName(const std::string& name);
std::optional<v1::Measure> MeasureOfName(const std::string& name);

}  // namespace blink

#endif  // BLINK_COMMON_WIRE_TRAINING_SPEC_H_
