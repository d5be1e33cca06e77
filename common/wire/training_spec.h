// What a round is to train (TrainingSpec): the names of its choices, its ranges and its defaults.
#ifndef BLINK_COMMON_WIRE_TRAINING_SPEC_H_
#define BLINK_COMMON_WIRE_TRAINING_SPEC_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "blink/v1/operator.pb.h"

namespace blink {

// Checks the ranges and fills what is unset: variant hard, model gcn, learning rate 0.01, weight decay 1e-4, dropout
// 0.1, 300 epochs, 16 hidden, 2 layers, device auto, no patience, no balancing, no search. With candidates > 0 the
// first five stay unset: they are searched. Idempotent. INVALID_ARGUMENT naming the field and its range.
absl::StatusOr<v1::TrainingSpec> NormalizeTrainingSpec(v1::TrainingSpec spec);

// Names as the command line and the results have them; of an unset or unknown value "unspecified".
const char* VariantName(v1::Variant variant);         // hard, soft, hybrid
const char* ModelName(v1::Model model);               // mlp, gcn, graphsage, gat
const char* NodeFeaturesName(v1::NodeFeatures kind);  // given, degree, identity, given+degree

// Nothing when there is no such name.
std::optional<v1::Variant> VariantOfName(const std::string& name);
std::optional<v1::Model> ModelOfName(const std::string& name);
std::optional<v1::NodeFeatures> NodeFeaturesOfName(const std::string& name);

}  // namespace blink

#endif  // BLINK_COMMON_WIRE_TRAINING_SPEC_H_
