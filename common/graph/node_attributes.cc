#include "common/graph/node_attributes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace blink {

void DivideByRowSums(FeatureMatrix& features) {
  for (uint32_t i = 0; i < features.rows; ++i) {
    const int64_t begin = features.sparse ? features.row_offsets[i] : static_cast<int64_t>(i) * features.cols;
    const int64_t end = features.sparse ? features.row_offsets[i + 1] : begin + features.cols;
    double sum = 0;
    for (int64_t k = begin; k < end; ++k) sum += features.values[k];
    const double divisor = std::max(sum, 1.0);
    for (int64_t k = begin; k < end; ++k) features.values[k] = static_cast<float>(features.values[k] / divisor);
  }
}

FeatureMatrix ToDense(const FeatureMatrix& features) {
  FeatureMatrix dense{.rows = features.rows, .cols = features.cols};
  dense.values.assign(static_cast<size_t>(features.rows) * features.cols, 0.0f);
  for (uint32_t i = 0; i < features.rows; ++i) {
    for (int64_t k = features.row_offsets[i]; k < features.row_offsets[i + 1]; ++k) {
      dense.values[static_cast<size_t>(i) * features.cols + features.columns[k]] = features.values[k];
    }
  }
  return dense;
}

const char* SplitName(Split split) {
  constexpr const char* kNames[] = {"none", "train", "val", "test"};
  return kNames[static_cast<int>(split)];
}

float SmallestFeature(const FeatureMatrix& features) {
  if (features.values.empty()) return 0;
  const float minimum = *std::min_element(features.values.begin(), features.values.end());
  const bool has_zeros = features.sparse && features.values.size() < static_cast<size_t>(features.rows) * features.cols;
  return has_zeros ? std::min(minimum, 0.0f) : minimum;
}

FeatureMatrix NormalizeFeatures(const FeatureMatrix& features) {
  if (features.values.empty()) return features;
  const float minimum = SmallestFeature(features);
  FeatureMatrix normal = (features.sparse && minimum != 0.0f) ? ToDense(features) : features;
  if (minimum != 0.0f) {
    for (float& value : normal.values) value -= minimum;
  }
  DivideByRowSums(normal);
  return normal;
}

NodeAttributes NodeAttributes::OfNothing(uint32_t node_count) {
  NodeAttributes attributes{.node_count = node_count};
  attributes.features.rows = node_count;
  attributes.labels.assign(node_count, -1);
  attributes.split.assign(node_count, Split::kNone);
  return attributes;
}

bool NodeAttributes::has_labels() const {
  return std::any_of(labels.begin(), labels.end(), [](int32_t label) { return label >= 0; });
}

std::vector<std::string> LabelWarnings(const NodeAttributes& attributes) {
  std::vector<std::string> warnings;
  if (!attributes.has_labels()) return warnings;
  const int32_t any = *std::max_element(attributes.labels.begin(), attributes.labels.end());
  uint32_t other = 0, unlabelled = 0, training = 0;
  for (uint32_t i = 0; i < attributes.node_count; ++i) {
    const int32_t label = attributes.labels[i];
    other += label >= 0 && label != any;
    training += attributes.split[i] == Split::kTrain;
    unlabelled += attributes.split[i] == Split::kTrain && label < 0;
  }
  if (other == 0) warnings.push_back("all labelled nodes are of one class: every model is right about all of them");
  if (unlabelled > 0) {
    warnings.push_back(absl::StrCat(unlabelled, " of ", training,
                                    " nodes of the training split have no label: nothing is learned from them"));
  }
  return warnings;
}

absl::StatusOr<NodeAttributes> KeepFirstNodes(NodeAttributes attributes, uint32_t node_count) {
  if (node_count > attributes.node_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are attributes of ", attributes.node_count, " nodes, not of ", node_count));
  }
  FeatureMatrix& features = attributes.features;
  if (features.sparse) {
    features.row_offsets.resize(size_t{node_count} + 1);
    features.columns.resize(features.row_offsets.back());
    features.values.resize(features.row_offsets.back());
  } else {
    features.values.resize(size_t{node_count} * features.cols);
  }
  features.rows = node_count;
  attributes.node_count = node_count;
  attributes.labels.resize(node_count);
  attributes.split.resize(node_count);
  if (!attributes.ids.empty()) attributes.ids.resize(node_count);
  return attributes;
}

}  // namespace blink
