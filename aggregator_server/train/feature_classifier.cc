#include "aggregator_server/train/feature_classifier.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "aggregator_server/train/cross_fit.h"
#include "aggregator_server/train/failure.h"
#include "aggregator_server/train/log_probabilities.h"
#include "aggregator_server/train/training.h"
#include "common/base/run_on_threads.h"

namespace blink {
namespace {

constexpr int kEpochs = 200;
constexpr int kPatience = 40;  // the loss of so small a model turns once

TrainOptions FoldOptions(uint64_t seed, int fold) {
  TrainOptions options;
  options.model = Model::kMlp;
  options.hidden = 64;
  options.learning_rate = 0.01;
  options.weight_decay = 5e-4;
  options.dropout = 0.5;
  options.epochs = kEpochs;
  options.patience = kPatience;
  options.features_as_they_are = true;
  options.device = "cpu";
  options.threads = 1;
  options.seed = seed * kFolds + static_cast<uint64_t>(fold);
  return options;
}

// Trains the folds side by side; the first error, by fold.
absl::StatusOr<std::vector<TrainResult>> TrainFolds(const AttributesOfFold& of_fold, const FeatureMatrix& features,
                                                    const FeatureClassifierOptions& options) {
  std::vector<absl::StatusOr<TrainResult>> results(kFolds, absl::UnknownError(""));
  std::mutex mutex;
  int next = 0, epochs_done = 0;
  const auto train_next = [&] {
    int fold = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (next == kFolds) return false;
      fold = next++;
    }
    TrainOptions fold_options = FoldOptions(options.seed, fold);
    int told = 0;
    const auto tell = [&](int epoch) {
      const std::lock_guard<std::mutex> lock(mutex);
      epochs_done += epoch - told;
      told = epoch;
      const double share = options.nearest == nullptr ? 1 : kFirstStageShare;
      if (options.progress) options.progress(share * epochs_done / (kFolds * kEpochs));
    };
    fold_options.progress = [&](int epoch, double) { tell(epoch); };
    try {
      const LinkWeights no_links;
      results[fold] = RunTraining(no_links, features, of_fold(fold), fold_options, TrainDevice{});
    } catch (...) {
      results[fold] = StatusFromCurrentException(TrainDevice{});
    }
    tell(kEpochs);
    return true;
  };
  at::set_num_threads(1);  // as Train: nothing may depend on the threads
  RunOnThreads(std::min(kFolds, ThreadsOrCores(options.threads)), [&](int) {
    while (train_next()) {
    }
  });
  std::vector<TrainResult> folds;
  for (absl::StatusOr<TrainResult>& result : results) {
    if (!result.ok()) return result.status();
    folds.push_back(*std::move(result));
  }
  return folds;
}

}  // namespace

absl::StatusOr<FeatureClassifier> FitFeatureClassifier(const NodeAttributes& attributes, const NodeProfiles& profiles,
                                                       const FeatureClassifierOptions& options) {
  return CrossFit(attributes, profiles, options,
                  [&](const AttributesOfFold& of_fold) { return TrainFolds(of_fold, profiles.scaled, options); });
}

TrainResult ResultOfFeatureClassifier(const FeatureClassifier& model, const NodeAttributes& attributes,
                                      bool balance_classes) {
  constexpr float kLeast = 1e-12f;
  std::vector<float> log_probabilities = model.probabilities.open;
  for (float& value : log_probabilities) value = std::log(std::max(value, kLeast));
  TrainResult result = ResultOfLogProbabilities(std::move(log_probabilities), attributes, balance_classes);
  result.state = model.state;
  return result;
}

}  // namespace blink
