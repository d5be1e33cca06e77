#include "aggregator_server/train/data_warnings.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace blink {
namespace {

std::string ClassName(const NodeAttributes& attributes, uint32_t index) {
  return attributes.class_names.empty() ? absl::StrCat(index)
                                        : absl::StrCat(index, " (", attributes.class_names[index], ")");
}

std::optional<std::string> AbsentClasses(const NodeAttributes& attributes) {
  constexpr size_t kNamesMax = 10;
  std::vector<bool> trained(attributes.class_count, false), labelled(attributes.class_count, false);
  for (uint32_t i = 0; i < attributes.node_count; ++i) {
    if (attributes.labels[i] < 0) continue;
    labelled[attributes.labels[i]] = true;
    if (attributes.split[i] == Split::kTrain) trained[attributes.labels[i]] = true;
  }
  std::vector<std::string> absent;
  for (uint32_t c = 0; c < attributes.class_count; ++c) {
    if (labelled[c] && !trained[c]) absent.push_back(ClassName(attributes, c));
  }
  if (absent.empty()) return std::nullopt;
  const size_t count = absent.size();
  absent.resize(std::min(count, kNamesMax));
  return absl::StrCat(count == 1 ? "class " : "classes ", absl::StrJoin(absent, ", "),
                      count > kNamesMax ? absl::StrCat(", and ", count - kNamesMax, " more,") : "",
                      " without a labelled node in the training split: no model learns to predict ",
                      count == 1 ? "it" : "them");
}

// A thousand classes, or more classes than nodes to learn them from, is rarely meant.
std::optional<std::string> ManyClasses(const NodeAttributes& attributes) {
  constexpr uint32_t kClassesMany = 1000;
  uint32_t train_nodes = 0;
  for (uint32_t i = 0; i < attributes.node_count; ++i) {
    train_nodes += attributes.labels[i] >= 0 && attributes.split[i] == Split::kTrain ? 1 : 0;
  }
  if (attributes.class_count < kClassesMany && attributes.class_count <= train_nodes) return std::nullopt;
  return absl::StrCat(
      attributes.class_count, " classes and ", train_nodes,
      " nodes to learn them from: labels must count the classes from 0; are they ids, or a number to be predicted?");
}

// `scaled`: as the attributed prior compares nodes, where a feature that is the same for all has become zero.
void AddEmptyFeatures(const FeatureMatrix& features, bool scaled, std::vector<std::string>& warnings) {
  std::vector<bool> row_filled(features.rows, false), column_filled(features.cols, false);
  for (uint32_t i = 0; i < features.rows; ++i) {
    const int64_t begin = features.sparse ? features.row_offsets[i] : static_cast<int64_t>(i) * features.cols;
    const int64_t end = features.sparse ? features.row_offsets[i + 1] : begin + features.cols;
    for (int64_t k = begin; k < end; ++k) {
      if (features.values[k] == 0) continue;
      row_filled[i] = true;
      column_filled[features.sparse ? features.columns[k] : k - begin] = true;
    }
  }
  const auto rows = std::count(row_filled.begin(), row_filled.end(), false);
  const auto columns = std::count(column_filled.begin(), column_filled.end(), false);
  if (rows > 0) {
    warnings.push_back(absl::StrCat(
        rows, " of ", features.rows,
        scaled ? " nodes have no feature in which nodes differ: " : " nodes have no feature that is not zero: ",
        "only their links say something about them"));
  }
  if (columns > 0) {
    warnings.push_back(absl::StrCat(columns, " of ", features.cols,
                                    scaled ? " features are the same for every node: they say nothing"
                                           : " features are zero for every node: they say nothing"));
  }
}

// What stands for features that a data set does not have.
std::optional<std::string> StandIn(const TrainOptions& options, NodeFeatures used) {
  if (used == NodeFeatures::kIdentity && options.model == Model::kMlp) {
    return "with one feature per node (identity) and no links, an MLP learns nothing about the nodes that it is not "
           "trained on";
  }
  if (options.node_features != NodeFeatures::kAuto || used == NodeFeatures::kGiven) return std::nullopt;
  if (used == NodeFeatures::kIdentity)
    return "the data set has no node features: one feature per node (identity) stands for them";
  return "the data set has no node features: the estimated degree stands for them, which says little; one feature per "
         "node "
         "(identity) is usually better, and takes the memory of a first layer as wide as the graph";
}

}  // namespace

std::vector<std::string> DataWarnings(const LinkWeights& weights, const NodeAttributes& attributes,
                                      const TrainOptions& options, NodeFeatures used) {
  std::vector<std::string> warnings;
  if (const auto warning = ManyClasses(attributes)) warnings.push_back(*warning);
  if (const auto warning = AbsentClasses(attributes)) warnings.push_back(*warning);
  if (used == NodeFeatures::kGiven || used == NodeFeatures::kGivenAndDegree) {
    AddEmptyFeatures(attributes.features, options.features_as_they_are, warnings);
  }
  if (const auto warning = StandIn(options, used)) warnings.push_back(*warning);
  if (options.model != Model::kMlp && !weights.has_background()) {
    uint64_t isolated = 0;
    for (NodeIndex i = 0; i < weights.node_count; ++i) isolated += weights.links.DegreeOf(i) == 0 ? 1 : 0;
    if (isolated > 0) {
      warnings.push_back(absl::StrCat(isolated, " of ", weights.node_count,
                                      " nodes have no link: they are predicted from their own features alone"));
    }
  }
  return warnings;
}

std::optional<std::string> OneClassWarning(const TrainResult& result, const NodeAttributes& attributes) {
  const bool of_test = result.test.nodes > 0;
  const SplitFigures& figures = of_test ? result.test : result.validation;
  if (figures.nodes == 0 || figures.classes.size() < 2) return std::nullopt;
  const auto all = std::find_if(figures.classes.begin(), figures.classes.end(),
                                [&](const ClassFigures& of_class) { return of_class.predicted == figures.nodes; });
  if (all == figures.classes.end()) return std::nullopt;
  return absl::StrFormat(
      "the model predicts class %s for every %s node: its accuracy, %.1f %%, is the share of that class and nothing "
      "more. See macro-F1 and ROC-AUC; to heed the other classes, search with --score macro-f1 or roc-auc, or train "
      "with --balance-classes",
      ClassName(attributes, static_cast<uint32_t>(all - figures.classes.begin())), of_test ? "test" : "validation",
      100 * figures.accuracy);
}

}  // namespace blink
