#include "aggregator_server/train/cross_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/train/labelled_nodes.h"
#include "aggregator_server/train/log_probabilities.h"
#include "aggregator_server/train/stacked.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

// The training nodes, dealt by the seed as evenly as can be, whatever their labels.
Folds DealTrainingNodes(const NodeAttributes& attributes, uint64_t seed) {
  const std::vector<int64_t> train = LabelledNodes(attributes, Split::kTrain);
  const size_t nodes = train.size();
  std::vector<size_t> order(nodes);
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937_64 random(seed ^ 0x636c6173736d6f64u);
  for (size_t k = nodes; k > 1; --k)
    std::swap(order[k - 1], order[random() % k]);  // the same with every standard library
  Folds folds{.of = std::vector<int>(attributes.node_count, -1)};
  for (size_t k = 0; k < nodes; ++k) folds.of[train[order[k]]] = static_cast<int>(k % kFolds);
  return folds;
}

// What is trained, and which nodes validate.
class Problem {
 public:
  Problem(const NodeAttributes& attributes, const FeatureClassifierOptions& options)
      : attributes_{.node_count = attributes.node_count,
                    .labels = attributes.labels,
                    .split = attributes.split,
                    .class_count = attributes.class_count},
        all_validate_(options.folds != nullptr),
        folds_(all_validate_ ? *options.folds : DealTrainingNodes(attributes, options.seed)),
        train_(NodesOf(folds_)) {}

  const NodeAttributes& attributes() const { return attributes_; }  // without features
  const Folds& folds() const { return folds_; }
  const std::vector<int64_t>& train() const { return train_; }

  // The attributes for model `fold`.
  NodeAttributes Of(int fold) const {
    if (all_validate_) return OfFold(attributes_, folds_, fold);
    NodeAttributes result = attributes_;
    for (const int64_t node : train_) {
      if (folds_.of[node] == fold) result.split[node] = Split::kNone;
    }
    return result;
  }
  // The attributes by whose validation split the temperature is chosen.
  NodeAttributes ForTemperature() const {
    NodeAttributes result = attributes_;
    if (!all_validate_) return result;
    for (const int64_t node : train_) result.split[node] = Split::kValidation;
    return result;
  }

 private:
  const NodeAttributes attributes_;
  const bool all_validate_;
  const Folds folds_;
  const std::vector<int64_t> train_;
};

// The temperature in [0.3, 3] whose log-probabilities validate best.
double BestTemperature(const std::vector<float>& logits, const NodeAttributes& attributes) {
  constexpr int kSteps = 41;
  double best = 1, best_loss = INFINITY;
  for (int step = 0; step < kSteps; ++step) {
    const double temperature = 0.3 * std::pow(10.0, step / (kSteps - 1.0));
    std::vector<float> scaled = logits;
    for (float& value : scaled) value = static_cast<float>(value / temperature);
    LogSoftmaxRows(scaled, attributes.class_count);
    const double loss = CrossEntropy(scaled, attributes, Split::kValidation, {});
    if (!(loss < best_loss)) continue;
    best_loss = loss;
    best = temperature;
  }
  return best;
}

// `open`, with the labels of the training nodes.
std::vector<float> Clamp(std::vector<float> open, const NodeAttributes& attributes, const std::vector<int64_t>& train) {
  const size_t classes = attributes.class_count;
  for (const int64_t node : train) {
    std::fill_n(&open[node * classes], classes, 0.0f);
    open[node * classes + attributes.labels[node]] = 1;
  }
  return open;
}

FeatureClassifier FrequencyModel(const NodeAttributes& attributes, const std::vector<int64_t>& train) {
  const uint32_t classes = attributes.class_count;
  std::vector<float> frequencies(classes, 1.0f);
  for (const int64_t node : train) ++frequencies[attributes.labels[node]];
  for (float& frequency : frequencies) frequency /= static_cast<float>(train.size() + classes);
  FeatureClassifier model;
  model.probabilities = {.node_count = attributes.node_count, .class_count = classes};
  for (uint32_t i = 0; i < attributes.node_count; ++i) {
    model.probabilities.open.insert(model.probabilities.open.end(), frequencies.begin(), frequencies.end());
  }
  model.probabilities.clamped = Clamp(model.probabilities.open, attributes, train);
  model.state = {{"frequencies", {classes}, std::move(frequencies)}};
  return model;
}

absl::Status CheckData(const NodeAttributes& attributes, const NodeProfiles& profiles) {
  const uint32_t n = attributes.node_count;
  if (attributes.class_count == 0 || attributes.labels.size() != n || attributes.split.size() != n ||
      (profiles.scaled.cols > 0 && profiles.scaled.rows != n)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the attributes disagree: ", n, " nodes, ", attributes.class_count, " classes, ", attributes.labels.size(),
        " labels, ", attributes.split.size(), " entries of the split, ", profiles.scaled.rows, " rows of features"));
  }
  if (LabelledNodes(attributes, Split::kTrain).empty() || LabelledNodes(attributes, Split::kValidation).empty()) {
    return absl::InvalidArgumentError("no labelled node is in the training split, or none in the validation split");
  }
  return absl::OkStatus();
}

// The probabilities of a stage from those of its folds, in place of an earlier stage's.
void AddStage(const Problem& problem, std::vector<TrainResult> results, const std::string& prefix,
              FeatureClassifier& model) {
  const uint32_t classes = problem.attributes().class_count;
  std::vector<float> logits(results[0].logits.size(), 0.0f);
  for (const TrainResult& fold : results) {
    for (size_t k = 0; k < logits.size(); ++k) logits[k] += fold.logits[k] / kFolds;
  }
  for (const int64_t node : problem.train()) {
    const size_t row = node * classes;
    std::copy_n(&results[problem.folds().of[node]].logits[row], classes, &logits[row]);
  }
  model.temperature = BestTemperature(logits, problem.ForTemperature());
  for (float& value : logits) value = static_cast<float>(value / model.temperature);
  LogSoftmaxRows(logits, classes);
  for (float& value : logits) value = std::exp(value);
  model.probabilities = {
      .node_count = problem.attributes().node_count, .class_count = classes, .open = std::move(logits)};
  model.probabilities.clamped = Clamp(model.probabilities.open, problem.attributes(), problem.train());
  for (int fold = 0; fold < kFolds; ++fold) {
    for (NamedValues& values : results[fold].state) {
      values.name = absl::StrCat(prefix, "fold", fold + 1, ".", values.name);
      model.state.push_back(std::move(values));
    }
  }
  model.state.push_back({prefix + "temperature", {1}, {static_cast<float>(model.temperature)}});
}

absl::StatusOr<std::vector<TrainResult>> FitSecondStage(const Problem& problem, const ClassProbabilities& first,
                                                        const NearestShares& shares,
                                                        const FeatureClassifierOptions& options) {
  const std::vector<float> features = SideBySide(LogsOfOpen(first), first.class_count, shares.values, shares.width);
  std::vector<TrainResult> results;
  for (int fold = 0; fold < kFolds; ++fold) {
    BLINK_ASSIGN_OR_RETURN(results.emplace_back(), FitStacked(features, first.class_count + shares.width,
                                                              problem.Of(fold), {.threads = options.threads}));
    if (options.progress) options.progress(kFirstStageShare + (1 - kFirstStageShare) * (fold + 1) / kFolds);
  }
  return results;
}

}  // namespace

absl::StatusOr<FeatureClassifier> CrossFit(const NodeAttributes& attributes, const NodeProfiles& profiles,
                                           const FeatureClassifierOptions& options, const FirstStage& first_stage) {
  BLINK_RETURN_IF_ERROR(CheckData(attributes, profiles));
  const Problem problem(attributes, options);
  const std::vector<int64_t>& train = problem.train();
  if (profiles.scaled.cols == 0 || train.size() < kFolds) return FrequencyModel(attributes, train);
  FeatureClassifier model;
  BLINK_ASSIGN_OR_RETURN(std::vector<TrainResult> first, first_stage([&](int fold) { return problem.Of(fold); }));
  AddStage(problem, std::move(first), "", model);
  if (options.nearest == nullptr) return model;
  model.nearest = NearestSharesOf(*options.nearest, model.probabilities);
  // Numbers of a second stage's problem times its classes: beyond, as with hundreds of classes, it would take longer
  // than all else.
  constexpr double kSecondStageMax = 5e6;
  const double of_stage =
      static_cast<double>(train.size()) * attributes.class_count * (attributes.class_count + model.nearest.width);
  if (model.nearest.width == 0 || of_stage > kSecondStageMax) return model;
  BLINK_ASSIGN_OR_RETURN(std::vector<TrainResult> second,
                         FitSecondStage(problem, model.probabilities, model.nearest, options));
  AddStage(problem, std::move(second), "nearest.", model);
  return model;
}

absl::StatusOr<FeatureClassifier> FitLinearFeatureClassifier(const NodeAttributes& attributes,
                                                             const NodeProfiles& profiles,
                                                             const FeatureClassifierOptions& options) {
  return CrossFit(
      attributes, profiles, options, [&](const AttributesOfFold& of_fold) -> absl::StatusOr<std::vector<TrainResult>> {
        std::vector<TrainResult> folds;
        for (int fold = 0; fold < kFolds; ++fold) {
          BLINK_ASSIGN_OR_RETURN(folds.emplace_back(), FitStacked(profiles.latent, profiles.latent_width, of_fold(fold),
                                                                  {.threads = options.threads}));
          if (options.progress) options.progress(kFirstStageShare * (fold + 1) / kFolds);
        }
        return folds;
      });
}

}  // namespace blink
