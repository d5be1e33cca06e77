#include "common/wire/training_spec.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr size_t kDeviceDigitsMax = 3;
constexpr uint32_t kLayersMax = 8;
constexpr char kUnspecified[] = "unspecified";

// The wire's numbers: those of Prior, Variant and Model plus 1, for UNSPECIFIED; those of NodeFeatures, whose kAuto is
// UNSPECIFIED.
static_assert(v1::PRIOR_BETA == static_cast<int>(Prior::kBeta) + 1);
static_assert(v1::PRIOR_ATTRIBUTED == static_cast<int>(Prior::kAttributed) + 1);
static_assert(v1::Prior_ARRAYSIZE == kPriorNames.size() + 1);
static_assert(v1::VARIANT_HARD == static_cast<int>(Variant::kHard) + 1);
static_assert(v1::VARIANT_SOFT == static_cast<int>(Variant::kSoft) + 1);
static_assert(v1::VARIANT_HYBRID == static_cast<int>(Variant::kHybrid) + 1);
static_assert(v1::Variant_ARRAYSIZE == kVariantNames.size() + 1);
static_assert(v1::MODEL_MLP == static_cast<int>(Model::kMlp) + 1);
static_assert(v1::MODEL_GCN == static_cast<int>(Model::kGcn) + 1);
static_assert(v1::MODEL_GRAPHSAGE == static_cast<int>(Model::kGraphSage) + 1);
static_assert(v1::MODEL_GAT == static_cast<int>(Model::kGat) + 1);
static_assert(v1::MODEL_STACKED == static_cast<int>(Model::kStacked) + 1);
static_assert(v1::MODEL_CLASS_MODEL == static_cast<int>(Model::kFeatureClassifier) + 1);
static_assert(v1::MODEL_NONE == static_cast<int>(Model::kNone) + 1);
static_assert(v1::Model_ARRAYSIZE == kModelsToAskFor + 1);
static_assert(v1::NODE_FEATURES_UNSPECIFIED == static_cast<int>(NodeFeatures::kAuto));
static_assert(v1::NODE_FEATURES_GIVEN == static_cast<int>(NodeFeatures::kGiven));
static_assert(v1::NODE_FEATURES_DEGREE == static_cast<int>(NodeFeatures::kDegree));
static_assert(v1::NODE_FEATURES_IDENTITY == static_cast<int>(NodeFeatures::kIdentity));
static_assert(v1::NODE_FEATURES_GIVEN_AND_DEGREE == static_cast<int>(NodeFeatures::kGivenAndDegree));
static_assert(v1::NodeFeatures_ARRAYSIZE == kNodeFeaturesNames.size());
static_assert(v1::MEASURE_ACCURACY == static_cast<int>(Measure::kAccuracy) + 1);
static_assert(v1::MEASURE_MACRO_F1 == static_cast<int>(Measure::kMacroF1) + 1);
static_assert(v1::MEASURE_ROC_AUC == static_cast<int>(Measure::kRocAuc) + 1);
static_assert(v1::Measure_ARRAYSIZE == kMeasureNames.size() + 1);

template <typename Wire, typename Choice>
std::optional<Wire> WireOfName(absl::Span<const char* const> names, size_t first, const std::string& name) {
  for (size_t choice = first; choice < names.size(); ++choice) {
    if (name == names[choice]) return ToProto(static_cast<Choice>(choice));
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

// Names of enumerators that a newer peer may know and this one does not.
absl::Status ValidateChoices(const v1::TrainingSpec& spec) {
  if (!v1::Prior_IsValid(spec.prior())) {
    return absl::InvalidArgumentError(
        absl::StrCat("training.prior is ", static_cast<int>(spec.prior()), ", which this version does not know"));
  }
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
  if (!v1::Measure_IsValid(spec.score())) {
    return absl::InvalidArgumentError(
        absl::StrCat("training.score is ", static_cast<int>(spec.score()), ", which this version does not know"));
  }
  return absl::OkStatus();
}

absl::Status CheckModelOfPrior(const v1::TrainingSpec& spec) {
  const std::optional<Model> model = FromProto(spec.model());
  if (model && NeedsAttributedPrior(*model) && spec.prior() != v1::PRIOR_ATTRIBUTED) {
    return absl::InvalidArgumentError(absl::StrCat("training.model is ", ModelName(*model),
                                                   ", which the attributed prior alone has: choose "
                                                   "that prior, or another model"));
  }
  if (model == Model::kStacked && spec.variant() != v1::VARIANT_UNSPECIFIED && spec.variant() != v1::VARIANT_SOFT) {
    return absl::InvalidArgumentError(
        absl::StrCat("training.variant is ", VariantName(spec.variant()),
                     ", but the model stacked takes all links as weights: choose soft, or leave out the variant"));
  }
  return absl::OkStatus();
}

// A score that is not what holds without it.
bool HasScore(const v1::TrainingSpec& spec) { return FromProto(spec.score()) != Measure::kAccuracy; }

// Beside the model none, anything about a training is a mistake.
absl::Status CheckTrainsNothing(const v1::TrainingSpec& spec) {
  const std::pair<const char*, bool> fields[] = {
      {"candidates", spec.candidates() > 0},
      {"score", HasScore(spec)},
      {"learning_rate", spec.learning_rate() != 0},
      {"weight_decay", spec.has_weight_decay()},
      {"dropout", spec.has_dropout()},
      {"epochs", spec.epochs() != 0},
      {"hidden", spec.hidden() != 0},
      {"layers", spec.layers() != 0},
      {"patience", spec.has_patience()},
      {"balance_classes", spec.balance_classes()},
      {"batch_nodes", spec.has_batch_nodes()},
      {"fan_out", spec.fan_out_size() > 0},
      {"node_features", spec.node_features() != v1::NODE_FEATURES_UNSPECIFIED},
      {"deterministic", spec.deterministic()},
      {"allow_slow_attention", spec.allow_slow_attention()},
      {"device", spec.device() != "auto" && spec.device() != "cpu"},
  };
  for (const auto& [name, is_set] : fields) {
    if (!is_set) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("training.", name, " is set, but the model none trains nothing: leave out one of the two"));
  }
  return absl::OkStatus();
}

void FillDefaults(v1::TrainingSpec& spec) {
  const TrainingNumbers defaults;
  if (spec.prior() == v1::PRIOR_UNSPECIFIED) spec.set_prior(v1::PRIOR_BETA);
  if (spec.device().empty()) spec.set_device("auto");
  if (spec.out_of_memory() == v1::OUT_OF_MEMORY_UNSPECIFIED) spec.set_out_of_memory(v1::OUT_OF_MEMORY_FAIL);
  if (spec.model() == v1::MODEL_NONE) {
    if (!spec.has_candidates()) spec.set_candidates(0);
    if (spec.variant() == v1::VARIANT_UNSPECIFIED) spec.set_variant(v1::VARIANT_HYBRID);
    return;
  }
  if (spec.prior() == v1::PRIOR_ATTRIBUTED && !spec.has_candidates()) spec.set_candidates(kCandidatesDefault);
  if (spec.candidates() == 0) {
    if (spec.variant() == v1::VARIANT_UNSPECIFIED) {
      spec.set_variant(spec.model() == v1::MODEL_STACKED ? v1::VARIANT_SOFT : v1::VARIANT_HARD);
    }
    if (spec.model() == v1::MODEL_UNSPECIFIED) spec.set_model(v1::MODEL_GCN);
    if (spec.learning_rate() == 0.0) spec.set_learning_rate(defaults.learning_rate);
    if (!spec.has_weight_decay()) spec.set_weight_decay(defaults.weight_decay);
    if (!spec.has_dropout()) spec.set_dropout(defaults.dropout);
  }
  if (spec.epochs() == 0) spec.set_epochs(static_cast<uint32_t>(defaults.epochs));
  // A search under the attributed prior tries several widths where none is said.
  const bool searches_width = spec.prior() == v1::PRIOR_ATTRIBUTED && spec.candidates() > 0;
  if (spec.hidden() == 0 && !searches_width) spec.set_hidden(static_cast<uint32_t>(defaults.hidden));
  if (spec.layers() == 0) spec.set_layers(static_cast<uint32_t>(defaults.layers));
  if (spec.batch_nodes() > 0 && spec.fan_out_size() == 0) {
    for (uint32_t layer = 0; layer < std::min(spec.layers(), kLayersMax); ++layer) spec.add_fan_out(kFanOutDefault);
  }
  if (spec.score() == v1::MEASURE_ACCURACY) spec.clear_score();  // as rounds of older versions have it
}

absl::Status CheckNumbers(const v1::TrainingSpec& spec) {
  TrainingNumbers numbers{
      .epochs = spec.epochs(), .layers = spec.layers(), .patience = spec.patience(), .batch_nodes = spec.batch_nodes()};
  if (spec.hidden() > 0) numbers.hidden = spec.hidden();  // else searched
  const bool searched = spec.candidates() > 0 && spec.learning_rate() == 0;
  if (!searched) numbers.learning_rate = spec.learning_rate();
  if (spec.has_weight_decay()) numbers.weight_decay = spec.weight_decay();
  if (spec.has_dropout()) numbers.dropout = spec.dropout();
  return CheckTrainingNumbers(numbers, "training.");
}

// A batch is of networks, and of links that are a list.
absl::Status CheckSampling(const v1::TrainingSpec& spec) {
  const std::vector<uint64_t> fan_out(spec.fan_out().begin(), spec.fan_out().end());
  BLINK_RETURN_IF_ERROR(CheckFanOut(fan_out, spec.batch_nodes(), spec.layers(), "training."));
  if (spec.batch_nodes() == 0) return absl::OkStatus();
  const std::optional<Model> model = FromProto(spec.model());
  if (model && !IsNetwork(*model)) {
    return absl::InvalidArgumentError(
        absl::StrCat("training.batch_nodes is ", spec.batch_nodes(), ", but the model ", ModelName(*model),
                     " is no network and knows no batches: choose gcn, graphsage or gat, or leave out the batches"));
  }
  if (spec.variant() == v1::VARIANT_SOFT && model != Model::kMlp) {
    return absl::InvalidArgumentError(
        absl::StrCat("training.batch_nodes is ", spec.batch_nodes(),
                     ", but on soft links every node is a neighbour of all others, and none can be sampled by its "
                     "links: choose hard or hybrid links (--variant hard), or no batches (--batch-nodes 0)"));
  }
  return absl::OkStatus();
}

absl::Status CheckScore(const v1::TrainingSpec& spec) {
  if (spec.candidates() > 0 || !HasScore(spec)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("training.score is ", MeasureName(FromProto(spec.score())),
                   ", but one training has nothing to choose from: ask for a search (--tune), or leave out the score"));
}

}  // namespace

absl::StatusOr<v1::TrainingSpec> NormalizeTrainingSpec(v1::TrainingSpec spec) {
  BLINK_RETURN_IF_ERROR(ValidateChoices(spec));
  FillDefaults(spec);
  BLINK_RETURN_IF_ERROR(CheckModelOfPrior(spec));
  BLINK_RETURN_IF_ERROR(spec.model() == v1::MODEL_NONE ? CheckTrainsNothing(spec) : CheckNumbers(spec));
  if (spec.model() != v1::MODEL_NONE) BLINK_RETURN_IF_ERROR(CheckSampling(spec));
  BLINK_RETURN_IF_ERROR(CheckScore(spec));
  if (spec.candidates() > kCandidatesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("training.candidates is ", spec.candidates(), ", but must be in 0 .. 1,000"));
  }
  if (!IsDevice(spec.device())) {
    return absl::InvalidArgumentError("training.device must be \"auto\", \"cpu\" or \"cuda:<index>\"");
  }
  return spec;
}

v1::TrainingSpec OverrideTrainingSpec(v1::TrainingSpec of_round, const v1::TrainingSpec& given) {
  const auto prior_of = [](const v1::TrainingSpec& spec) {
    return spec.prior() == v1::PRIOR_UNSPECIFIED ? v1::PRIOR_BETA : spec.prior();
  };
  const bool decides_model = given.model() != v1::MODEL_UNSPECIFIED || given.candidates() > 0;
  if (decides_model && (of_round.model() == v1::MODEL_NONE) != (given.model() == v1::MODEL_NONE)) {
    v1::TrainingSpec kept;
    kept.set_prior(of_round.prior());
    kept.set_seed(of_round.seed());
    kept.set_out_of_memory(of_round.out_of_memory());
    of_round = std::move(kept);
  }
  if (of_round.model() == v1::MODEL_NONE) {
    of_round.MergeFrom(given);
    return of_round;
  }
  const bool other_prior = given.prior() != v1::PRIOR_UNSPECIFIED && given.prior() != prior_of(of_round);
  if (other_prior) {
    of_round.clear_candidates();
    // Of the width, which a search under the attributed prior tries as well, only one that somebody chose holds.
    if (of_round.hidden() == TrainingNumbers().hidden) of_round.clear_hidden();
  }
  if (other_prior || given.candidates() > 0) {
    of_round.clear_variant();
    of_round.clear_model();
    of_round.clear_learning_rate();
    of_round.clear_weight_decay();
    of_round.clear_dropout();
  }
  // A fan-out is replaced, not continued, and holds only for as many layers as it has.
  const bool other_layers = given.layers() > 0 && given.layers() != of_round.layers();
  if (given.fan_out_size() > 0 || other_layers || (given.has_batch_nodes() && given.batch_nodes() == 0)) {
    of_round.clear_fan_out();
  }
  const v1::Measure of_rounds_search = of_round.score();
  of_round.clear_score();
  of_round.MergeFrom(given);
  const bool searches =
      of_round.has_candidates() ? of_round.candidates() > 0 : prior_of(of_round) == v1::PRIOR_ATTRIBUTED;
  if (searches && given.score() == v1::MEASURE_UNSPECIFIED) of_round.set_score(of_rounds_search);
  return of_round;
}

std::optional<Prior> FromProto(v1::Prior prior) {
  if (prior == v1::PRIOR_UNSPECIFIED || !v1::Prior_IsValid(prior)) return std::nullopt;
  return static_cast<Prior>(prior - 1);
}
std::optional<Variant> FromProto(v1::Variant variant) {
  if (variant == v1::VARIANT_UNSPECIFIED || !v1::Variant_IsValid(variant)) return std::nullopt;
  return static_cast<Variant>(variant - 1);
}
std::optional<Model> FromProto(v1::Model model) {
  if (model == v1::MODEL_UNSPECIFIED || !v1::Model_IsValid(model)) return std::nullopt;
  return static_cast<Model>(model - 1);
}
std::optional<NodeFeatures> FromProto(v1::NodeFeatures kind) {
  if (!v1::NodeFeatures_IsValid(kind)) return std::nullopt;
  return static_cast<NodeFeatures>(kind);
}
Measure FromProto(v1::Measure measure) {
  if (measure == v1::MEASURE_UNSPECIFIED || !v1::Measure_IsValid(measure)) return Measure::kAccuracy;
  return static_cast<Measure>(measure - 1);
}
v1::Prior ToProto(Prior prior) { return static_cast<v1::Prior>(static_cast<int>(prior) + 1); }
v1::Variant ToProto(Variant variant) { return static_cast<v1::Variant>(static_cast<int>(variant) + 1); }
v1::Model ToProto(Model model) { return static_cast<v1::Model>(static_cast<int>(model) + 1); }
v1::NodeFeatures ToProto(NodeFeatures kind) { return static_cast<v1::NodeFeatures>(kind); }
v1::Measure ToProto(Measure measure) { return static_cast<v1::Measure>(static_cast<int>(measure) + 1); }

const char* PriorName(v1::Prior prior) {
  const std::optional<Prior> known = FromProto(prior);
  return known ? PriorName(*known) : kUnspecified;
}
const char* VariantName(v1::Variant variant) {
  const std::optional<Variant> known = FromProto(variant);
  return known ? VariantName(*known) : kUnspecified;
}
const char* ModelName(v1::Model model) {
  const std::optional<Model> known = FromProto(model);
  return known ? ModelName(*known) : kUnspecified;
}
const char* NodeFeaturesName(v1::NodeFeatures kind) {
  const std::optional<NodeFeatures> known = FromProto(kind);
  return known && *known != NodeFeatures::kAuto ? NodeFeaturesName(*known) : kUnspecified;
}

std::optional<v1::Prior> PriorOfName(const std::string& name) {
  return WireOfName<v1::Prior, Prior>(kPriorNames, 0, name);
}
std::optional<v1::Variant> VariantOfName(const std::string& name) {
  return WireOfName<v1::Variant, Variant>(kVariantNames, 0, name);
}
std::optional<v1::Model> ModelOfName(const std::string& name) {
  return WireOfName<v1::Model, Model>(absl::MakeSpan(kModelNames).subspan(0, kModelsToAskFor), 0, name);
}
std::optional<v1::NodeFeatures> NodeFeaturesOfName(const std::string& name) {
  return WireOfName<v1::NodeFeatures, NodeFeatures>(kNodeFeaturesNames, 1,
                                                    name);  // "auto" has no name: it is what is unset
}
std::optional<v1::Measure> MeasureOfName(const std::string& name) {
  return WireOfName<v1::Measure, Measure>(kMeasureNames, 0, name);
}

}  // namespace blink
