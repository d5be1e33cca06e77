// What there is to choose of a training: its links, its model, what stands for the nodes, and the ranges of its
// numbers. Everything that names, maps or checks one of them takes it from here: the wire
// (common/wire/training_spec.h), the flags, the trainer.
#ifndef BLINK_COMMON_WIRE_TRAINING_CHOICES_H_
#define BLINK_COMMON_WIRE_TRAINING_CHOICES_H_

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace blink {

// What the aggregator believes about a pair before its bits: by the degrees alone (the beta-model), or also by what is
// public of the two nodes (aggregator_server/prior).
enum class Prior { kBeta, kAttributed };
// Which links of the posterior P: those with P > 1/2; all, P as weights; as many of the largest as are expected, P as
// weights.
enum class Variant { kHard, kSoft, kHybrid };
enum class Model {
  kMlp,
  kGcn,
  kGraphSage,
  kGat,
  kStacked,  // of the attributed prior: a logistic model on class probabilities and those of the likely neighbours
  kFeatureClassifier,  // of the attributed prior: the class probabilities themselves, from features alone
  kEnsemble            // the mean of several models that were trained, which only a search makes
};
// What stands for the nodes at the models' entrance.
enum class NodeFeatures {
  kAuto,  // the given ones; where there are none, identity, and of very large graphs the degree
  kGiven,
  kDegree,    // the estimated degree alone
  kIdentity,  // one feature per node
  kGivenAndDegree
};

// By the enumerator's number.
inline constexpr std::array<const char*, 2> kPriorNames = {"beta", "attributed"};
inline constexpr std::array<const char*, 3> kVariantNames = {"hard", "soft", "hybrid"};
inline constexpr std::array<const char*, 7> kModelNames = {"mlp",     "gcn",         "graphsage", "gat",
                                                           "stacked", "class-model", "mean"};
inline constexpr std::array<const char*, 5> kNodeFeaturesNames = {"auto", "given", "degree", "identity",
                                                                  "given+degree"};

// So many of the models, the first, can be asked for by name.
inline constexpr size_t kModelsToAskFor = 6;
// Those that there are with the attributed prior alone.
inline bool NeedsAttributedPrior(Model model) { return model >= Model::kStacked; }
// Those that are networks of layers; of the others Train (aggregator_server/train/trainer.h) knows nothing.
inline bool IsNetwork(Model model) { return model <= Model::kGat; }

inline const char* PriorName(Prior prior) { return kPriorNames[static_cast<size_t>(prior)]; }
inline const char* VariantName(Variant variant) { return kVariantNames[static_cast<size_t>(variant)]; }
inline const char* ModelName(Model model) { return kModelNames[static_cast<size_t>(model)]; }
inline const char* NodeFeaturesName(NodeFeatures kind) { return kNodeFeaturesNames[static_cast<size_t>(kind)]; }

// The numbers of a training, and what they are unless somebody says otherwise.
struct TrainingNumbers {
  double learning_rate = 0.01;  // [1e-9, 10]: smaller steps are lost in the rounding of a weight
  double weight_decay = 1e-4;   // [0, 1]
  double dropout = 0.1;         // [0, 1)
  int64_t epochs = 300;         // 1 .. 100,000
  int64_t hidden = 16;          // 1 .. 4096
  int64_t layers = 2;           // 1 .. 8
  int64_t patience = 0;         // 0 .. 100,000
};

// INVALID_ARGUMENT "<prefix>dropout is 1, but must be in [0, 1)" of the first that is out of range or NaN.
absl::Status CheckTrainingNumbers(const TrainingNumbers& numbers, absl::string_view prefix = "");

// Of larger graphs the first layer of identity features, `hidden` weights a node, would be larger than all the rest.
inline constexpr uint32_t kIdentityNodesMax = 100'000;

// kAuto as what it stands for: kGiven; where there are none kIdentity, which experiments/choices.md compares with the
// degree, and beyond kIdentityNodesMax nodes kDegree.
NodeFeatures ResolveNodeFeatures(NodeFeatures asked, bool given_exist, uint32_t nodes);

// INVALID_ARGUMENT, as "<prefix>node_features ..." with the remedy, where `model` cannot get features of this `kind`:
// given ones that do not exist, or a degree for the MLP, which sees no links.
absl::Status CheckNodeFeatures(Model model, NodeFeatures kind, bool given_exist, uint32_t nodes,
                               absl::string_view prefix = "");

}  // namespace blink

#endif  // BLINK_COMMON_WIRE_TRAINING_CHOICES_H_
