#include "aggregator_server/train/node_features.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

// What NormalizeFeatures, which subtracts the smallest, must be able to hold.
absl::Status CheckSpan(const FeatureMatrix& features) {
  if (features.values.empty()) return absl::OkStatus();
  const auto [low, high] = std::minmax_element(features.values.begin(), features.values.end());
  const float smallest = features.sparse ? std::min(*low, 0.0f) : *low;  // what is not stored is 0
  if (std::isfinite(*high - smallest)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the node features span ", smallest, " to ", *high,
                                                 ", more than a float32 can hold: scale them, column by column"));
}

FeatureMatrix IdentityFeatures(uint32_t n) {
  FeatureMatrix features{.rows = n, .cols = n, .sparse = true, .row_offsets = {0}};
  for (uint32_t i = 0; i < n; ++i) {
    features.columns.push_back(static_cast<int32_t>(i));
    features.values.push_back(1);
    features.row_offsets.push_back(i + 1);
  }
  return features;
}

FeatureMatrix DegreeFeatures(const LinkWeights& weights, int threads) {
  const uint32_t n = weights.node_count;
  std::vector<float> degrees = RowSums(weights, threads);
  uint32_t bins = 1;
  const auto bin_of = [](float degree) { return static_cast<uint32_t>(std::log2(1.0 + degree)); };
  for (float& degree : degrees) {
    degree = std::max(degree, 0.0f);
    bins = std::max(bins, bin_of(degree) + 1);
  }
  FeatureMatrix features{.rows = n, .cols = 1 + bins, .sparse = true, .row_offsets = {0}};
  for (const float degree : degrees) {
    features.columns.push_back(0);
    features.values.push_back(static_cast<float>(std::log1p(degree) / std::log(static_cast<double>(std::max(n, 2u)))));
    features.columns.push_back(static_cast<int32_t>(1 + bin_of(degree)));
    features.values.push_back(1);
    features.row_offsets.push_back(static_cast<int64_t>(features.columns.size()));
  }
  return features;
}

// [left | right]; `right` is sparse.
FeatureMatrix Beside(const FeatureMatrix& left, const FeatureMatrix& right) {
  FeatureMatrix both{.rows = left.rows, .cols = left.cols + right.cols, .sparse = left.sparse};
  if (both.sparse) both.row_offsets = {0};
  for (uint32_t i = 0; i < left.rows; ++i) {
    const int64_t begin = left.sparse ? left.row_offsets[i] : static_cast<int64_t>(i) * left.cols;
    const int64_t end = left.sparse ? left.row_offsets[i + 1] : begin + left.cols;
    both.values.insert(both.values.end(), left.values.begin() + begin, left.values.begin() + end);
    if (left.sparse) {
      both.columns.insert(both.columns.end(), left.columns.begin() + begin, left.columns.begin() + end);
    } else {
      both.values.resize(both.values.size() + right.cols, 0.0f);
    }
    for (int64_t k = right.row_offsets[i]; k < right.row_offsets[i + 1]; ++k) {
      if (left.sparse) {
        both.columns.push_back(static_cast<int32_t>(left.cols) + right.columns[k]);
        both.values.push_back(right.values[k]);
      } else {
        both.values[both.values.size() - right.cols + right.columns[k]] = right.values[k];
      }
    }
    if (both.sparse) both.row_offsets.push_back(static_cast<int64_t>(both.columns.size()));
  }
  return both;
}

}  // namespace

NodeFeatures ResolveNodeFeatures(NodeFeatures asked, const NodeAttributes& attributes) {
  return ResolveNodeFeatures(asked, attributes.features.cols > 0, attributes.node_count);
}

absl::Status CheckGivenFeatures(const NodeAttributes& attributes, Model model) {
  BLINK_RETURN_IF_ERROR(
      CheckNodeFeatures(model, NodeFeatures::kGiven, attributes.features.cols > 0, attributes.node_count));
  return CheckSpan(attributes.features);
}

absl::StatusOr<FeatureMatrix> MakeNodeFeatures(const LinkWeights& weights, const NodeAttributes& attributes,
                                               NodeFeatures kind, Model model, int threads) {
  BLINK_RETURN_IF_ERROR(CheckNodeFeatures(model, kind, attributes.features.cols > 0, attributes.node_count));
  kind = ResolveNodeFeatures(kind, attributes);
  if (kind == NodeFeatures::kIdentity) return IdentityFeatures(attributes.node_count);
  if (kind == NodeFeatures::kDegree) return DegreeFeatures(weights, threads);
  BLINK_RETURN_IF_ERROR(CheckSpan(attributes.features));
  if (kind == NodeFeatures::kGiven) return attributes.features;
  return Beside(NormalizeFeatures(attributes.features), DegreeFeatures(weights, threads));
}

}  // namespace blink
