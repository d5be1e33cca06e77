#include "common/wire/training_spec.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr uint32_t kEpochsMax = 100'000;
constexpr uint32_t kHiddenMax = 4096;
constexpr uint32_t kLayersMax = 8;
constexpr uint32_t kCandidatesMax = 1000;
constexpr size_t kDeviceDigitsMax = 3;

// By the enumerator's number; 0 is UNSPECIFIED.
constexpr const char* kVariantNames[] = {"unspecified", "hard", "soft", "hybrid"};
constexpr const char* kModelNames[] = {"unspecified", "mlp", "gcn", "graphsage", "gat"};
constexpr const char* kNodeFeaturesNames[] = {"unspecified", "given", "degree", "identity", "given+degree"};

template <size_t kCount>
const char* NameOf(const char* const (&names)[kCount], int value) {
  return names[value > 0 && value < static_cast<int>(kCount) ? value : 0];
}

template <typename Enum, size_t kCount>
std::optional<Enum> OfName(const char* const (&names)[kCount], const std::string& name) {
  for (size_t value = 1; value < kCount; ++value) {
    if (name == names[value]) return static_cast<Enum>(value);
  }
  return std::nullopt;
}

bool IsDevice(absl::string_view device) {
  if (device == "auto" || device == "cpu") return true;
  constexpr absl::string_view kCuda = "cuda:";
  if (device.substr(0, kCuda.size()) != kCuda) return false;
  device.remove_prefix(kCuda.size());
  if (device.empty() || device.size() > kDeviceDigitsMax) return false;
  if (device.size() > 1 && device.front() == '0') return false;
  return std::all_of(device.begin(), device.end(), [](char c) { return c >= '0' && c <= '9'; });
}

absl::Status OutOfRange(absl::string_view field, double value, absl::string_view range) {
  return absl::InvalidArgumentError(absl::StrCat("training.", field, " is ", value, ", but must be in ", range));
}

// Names of enumerators that a newer peer may know and this one does not.
absl::Status ValidateChoices(const v1::TrainingSpec& spec) {
  if (!v1::Variant_IsValid(spec.variant())) {
    return absl::InvalidArgumentError(
        absl::StrCat("training.variant is ", static_cast<int>(spec.variant()), ", which this version does not know"));
  }
  if (!v1::Model_IsValid(spec.model())) {
    return absl::InvalidArgumentError(
        absl::StrCat("training.model is ", static_cast<int>(spec.model()), ", which this version does not know"));
  }
  if (!v1::OutOfMemory_IsValid(spec.out_of_memory())) {
    return absl::InvalidArgumentError(absl::StrCat("training.out_of_memory is ", static_cast<int>(spec.out_of_memory()),
                                                   ", which this version does not know"));
  }
  if (!v1::NodeFeatures_IsValid(spec.node_features())) {
    return absl::InvalidArgumentError(absl::StrCat("training.node_features is ", static_cast<int>(spec.node_features()),
                                                   ", which this version does not know"));
  }
  return absl::OkStatus();
}

void FillDefaults(v1::TrainingSpec& spec) {
  if (spec.candidates() == 0) {
    if (spec.variant() == v1::VARIANT_UNSPECIFIED) spec.set_variant(v1::VARIANT_HARD);
    if (spec.model() == v1::MODEL_UNSPECIFIED) spec.set_model(v1::MODEL_GCN);
    if (spec.learning_rate() == 0.0) spec.set_learning_rate(0.01);
    if (!spec.has_weight_decay()) spec.set_weight_decay(1e-4);
    if (!spec.has_dropout()) spec.set_dropout(0.1);
  }
  if (spec.out_of_memory() == v1::OUT_OF_MEMORY_UNSPECIFIED) spec.set_out_of_memory(v1::OUT_OF_MEMORY_FAIL);
  if (spec.epochs() == 0) spec.set_epochs(300);
  if (spec.hidden() == 0) spec.set_hidden(16);
  if (spec.layers() == 0) spec.set_layers(2);
  if (spec.device().empty()) spec.set_device("auto");
}

}  // namespace

absl::StatusOr<v1::TrainingSpec> NormalizeTrainingSpec(v1::TrainingSpec spec) {
  BLINK_RETURN_IF_ERROR(ValidateChoices(spec));
  FillDefaults(spec);
  // Written so that NaN fails.
  const bool searched = spec.candidates() > 0 && spec.learning_rate() == 0;
  if (!searched && !(spec.learning_rate() > 0 && spec.learning_rate() <= 10)) {
    return OutOfRange("learning_rate", spec.learning_rate(), "(0, 10]");
  }
  if (!(spec.weight_decay() >= 0 && spec.weight_decay() <= 1)) {
    return OutOfRange("weight_decay", spec.weight_decay(), "[0, 1]");
  }
  if (!(spec.dropout() >= 0 && spec.dropout() < 1)) return OutOfRange("dropout", spec.dropout(), "[0, 1)");
  if (spec.epochs() > kEpochsMax) return OutOfRange("epochs", spec.epochs(), "1 .. 100,000");
  if (spec.hidden() > kHiddenMax) return OutOfRange("hidden", spec.hidden(), "1 .. 4096");
  if (spec.layers() > kLayersMax) return OutOfRange("layers", spec.layers(), "1 .. 8");
  if (spec.patience() > kEpochsMax) return OutOfRange("patience", spec.patience(), "0 .. 100,000");
  if (spec.candidates() > kCandidatesMax) return OutOfRange("candidates", spec.candidates(), "0 .. 1,000");
  if (!IsDevice(spec.device())) {
    return absl::InvalidArgumentError("training.device must be \"auto\", \"cpu\" or \"cuda:<index>\"");
  }
  return spec;
}

const char* VariantName(v1::Variant variant) { return NameOf(kVariantNames, variant); }
const char* ModelName(v1::Model model) { return NameOf(kModelNames, model); }
const char* NodeFeaturesName(v1::NodeFeatures kind) { return NameOf(kNodeFeaturesNames, kind); }

std::optional<v1::Variant> VariantOfName(const std::string& name) { return OfName<v1::Variant>(kVariantNames, name); }
std::optional<v1::Model> ModelOfName(const std::string& name) { return OfName<v1::Model>(kModelNames, name); }
std::optional<v1::NodeFeatures> NodeFeaturesOfName(const std::string& name) {
  return OfName<v1::NodeFeatures>(kNodeFeaturesNames, name);
}

}  // namespace blink
