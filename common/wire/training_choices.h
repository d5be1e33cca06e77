// The choices of a training: its prior, links, model and node features, and the ranges of its numbers. All code that
// names, maps or checks them uses this header: the wire (training_spec.h), the flags and the trainer.
#ifndef BLINK_COMMON_WIRE_TRAINING_CHOICES_H_
#define BLINK_COMMON_WIRE_TRAINING_CHOICES_H_

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace blink {

// What the aggregator believes about a pair of nodes before it sees their bits.
enum class Prior {
  kBeta,       // from the degrees alone (the beta-model)
  kAttributed  // also from the public attributes of the two nodes (aggregator_server/estimate/attributed)
};
// Which pairs become links, by their posterior probability P.
enum class Variant {
  kHard,   // those with P > 1/2
  kSoft,   // all, with P as weights
  kHybrid  // the largest P, as many as links are expected, with P as weights
};
enum class Model {
  kMlp,
  kGcn,
  kGraphSage,
  kGat,
  kStacked,  // attributed prior only: a logistic model on a node's class probabilities and its likely neighbours'
  kFeatureClassifier,  // attributed prior only: the class probabilities themselves, from features alone
  kNone,               // nothing is trained: the links and degrees themselves are wanted, and no label is needed
  kEnsemble            // the mean of several trained models; only a search makes one
};
// The input of the models for each node.
enum class NodeFeatures {
  kAuto,  // see ResolveNodeFeatures
  kGiven,
  kDegree,    // the estimated degree alone
  kIdentity,  // one feature per node
  kGivenAndDegree
};
// How good predictions are on the labelled nodes of a split. A search chooses by one of them.
enum class Measure { kAccuracy, kMacroF1, kRocAuc };

// Names, indexed by the enumerator's number.
inline constexpr std::array<const char*, 2> kPriorNames = {"beta", "attributed"};
inline constexpr std::array<const char*, 3> kVariantNames = {"hard", "soft", "hybrid"};
inline constexpr std::array<const char*, 8> kModelNames = {"mlp",     "gcn",         "graphsage", "gat",
                                                           "stacked", "class-model", "none",      "mean"};
inline constexpr std::array<const char*, 5> kNodeFeaturesNames = {"auto", "given", "degree", "identity",
                                                                  "given+degree"};
inline constexpr std::array<const char*, 3> kMeasureNames = {"accuracy", "macro-f1", "roc-auc"};

// The first so many models can be asked for by name.
inline constexpr size_t kModelsToAskFor = 7;
// Whether the model exists only with the attributed prior.
inline bool NeedsAttributedPrior(Model model) {
  return model == Model::kStacked || model == Model::kFeatureClassifier || model == Model::kEnsemble;
}
// Whether the model is a network of layers. Train (aggregator_server/train/trainer.h) trains only these.
inline bool IsNetwork(Model model) { return model <= Model::kGat; }

inline const char* PriorName(Prior prior) { return kPriorNames[static_cast<size_t>(prior)]; }
inline const char* VariantName(Variant variant) { return kVariantNames[static_cast<size_t>(variant)]; }
inline const char* ModelName(Model model) { return kModelNames[static_cast<size_t>(model)]; }
inline const char* NodeFeaturesName(NodeFeatures kind) { return kNodeFeaturesNames[static_cast<size_t>(kind)]; }
inline const char* MeasureName(Measure measure) { return kMeasureNames[static_cast<size_t>(measure)]; }

// The numbers of a training, with their defaults and ranges.
struct TrainingNumbers {
  double learning_rate = 0.01;  // [1e-9, 10]; smaller steps are lost in the rounding of a weight
  double weight_decay = 1e-4;   // [0, 1]
  double dropout = 0.1;         // [0, 1)
  int64_t epochs = 300;         // 1 .. 100,000
  int64_t hidden = 16;          // 1 .. 4096
  int64_t layers = 2;           // 1 .. 8
  int64_t patience = 0;         // 0 .. 100,000
  int64_t batch_nodes = 0;      // 0 .. 10,000,000; 0: a step an epoch, on all nodes
};

// Links that are drawn of a node where nobody says how many.
inline constexpr uint32_t kFanOutDefault = 10;

// Returns INVALID_ARGUMENT for the first number that is out of range or NaN, such as "<prefix>dropout is 1, but must be
// in [0, 1)".
absl::Status CheckTrainingNumbers(const TrainingNumbers& numbers, absl::string_view prefix = "");

// Returns INVALID_ARGUMENT, as "<prefix>fan_out ..." with the remedy, unless there is a number for each layer, each in
// 1 .. 1,000,000, where there are batches, and none where there are no batches.
absl::Status CheckFanOut(absl::Span<const uint64_t> fan_out, int64_t batch_nodes, int64_t layers,
                         absl::string_view prefix = "");

// The largest graph for which kAuto may mean identity features. Their first layer has `hidden` weights for each node,
// and would be larger than the rest of the model on larger graphs.
inline constexpr uint32_t kIdentityNodesMax = 100'000;

// Replaces kAuto by its meaning: kGiven where features are given; otherwise kIdentity for up to kIdentityNodesMax
// nodes, and kDegree for more. experiments/choices.md compares identity features with the degree.
NodeFeatures ResolveNodeFeatures(NodeFeatures asked, bool given_exist, uint32_t nodes);

// Returns INVALID_ARGUMENT, as "<prefix>node_features ..." with the remedy, when `model` cannot get features of this
// `kind`: given ones that do not exist, or a degree for the MLP, which sees no links.
absl::Status CheckNodeFeatures(Model model, NodeFeatures kind, bool given_exist, uint32_t nodes,
                               absl::string_view prefix = "");

}  // namespace blink

#endif  // BLINK_COMMON_WIRE_TRAINING_CHOICES_H_
