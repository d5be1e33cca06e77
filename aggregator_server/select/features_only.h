// The strongest model that reads no report. What a model on estimated links is worth is its accuracy beside this one's:
// where it is not above, the links gave nothing that the public features do not say.
#ifndef BLINK_AGGREGATOR_SERVER_SELECT_FEATURES_ONLY_H_
#define BLINK_AGGREGATOR_SERVER_SELECT_FEATURES_ONLY_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/select/search.h"
#include "aggregator_server/train/feature_classifier.h"
#include "blink/v1/operator.pb.h"
#include "common/graph/node_attributes.h"

namespace blink {

// The features as the attributed prior sees them, and what they say of every node's class.
struct FeatureView {
  NodeProfiles profiles;
  FeatureClassifier classifier;
};
absl::StatusOr<FeatureView> FitOnFeatures(const NodeAttributes& attributes, uint64_t seed, int threads,
                                          const Folds* folds = nullptr);

// The best, by the score of the search that `spec` asks for, of
//   - those of `search` that were trained and read no report;
//   - the MLP and the class-model, trained here where `search` has not tried them, because the spec is restricted to
//     other models or to the beta prior. They bound the choice and are no part of it.
// `folds`: those that the search trained on; null: none. The class-model is `fitted`, on the same folds. Null: it is
// fitted here, unless that takes more than kBesideSecondsMax. Nothing where no model can be trained on features alone.
// Errors of Train and of the fit that no other model could avoid.
absl::StatusOr<std::optional<Tried>> FindFeaturesOnly(const v1::TrainingSpec& spec, const std::vector<Tried>& search,
                                                      const NodeAttributes& attributes, const FeatureClassifier* fitted,
                                                      const Folds* folds, const TrainingOptions& options);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SELECT_FEATURES_ONLY_H_
