#include "aggregator_server/train/folds.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/train/labelled_nodes.h"
#include "aggregator_server/train/log_probabilities.h"

namespace blink {
namespace {

// The attributes with one split for all nodes in folds.
NodeAttributes AllAs(Split split, const NodeAttributes& attributes, const Folds& folds) {
  NodeAttributes result{.node_count = attributes.node_count,
                        .labels = attributes.labels,
                        .split = attributes.split,
                        .class_count = attributes.class_count};
  for (const int64_t node : NodesOf(folds)) result.split[node] = split;
  return result;
}

}  // namespace

Folds DealFolds(const NodeAttributes& attributes, uint64_t seed) {
  std::vector<std::vector<int64_t>> of_class(attributes.class_count);
  for (const Split split : {Split::kTrain, Split::kValidation}) {
    for (const int64_t node : LabelledNodes(attributes, split)) of_class[attributes.labels[node]].push_back(node);
  }
  Folds folds{.of = std::vector<int>(attributes.node_count, -1)};
  std::mt19937_64 random(seed ^ 0x666f6c6473u);
  int next = 0;  // goes on from class to class, so that the folds differ by one node at most
  for (std::vector<int64_t>& nodes : of_class) {
    std::sort(nodes.begin(), nodes.end());
    for (size_t k = nodes.size(); k > 1; --k) std::swap(nodes[k - 1], nodes[random() % k]);
    for (const int64_t node : nodes) folds.of[node] = next++ % kFolds;
  }
  return folds;
}

std::vector<int64_t> NodesOf(const Folds& folds, int begin, int end) {
  std::vector<int64_t> nodes;
  for (size_t i = 0; i < folds.of.size(); ++i) {
    if (folds.of[i] >= begin && folds.of[i] < end) nodes.push_back(static_cast<int64_t>(i));
  }
  return nodes;
}

NodeAttributes OfFold(const NodeAttributes& attributes, const Folds& folds, int fold) {
  NodeAttributes result = attributes;
  for (const int64_t node : NodesOf(folds)) {
    result.split[node] = folds.of[node] == fold ? Split::kValidation : Split::kTrain;
  }
  return result;
}

std::vector<float> JoinLogits(const std::vector<const std::vector<float>*>& logits, const Folds& folds,
                              uint32_t classes) {
  std::vector<float> joined = LogOfMeanProbabilities(logits, classes);
  for (const int64_t node : NodesOf(folds)) {
    const auto row = static_cast<int64_t>(node * classes);
    std::vector<float> own(logits[folds.of[node]]->begin() + row, logits[folds.of[node]]->begin() + row + classes);
    LogSoftmaxRows(own, classes);
    std::copy(own.begin(), own.end(), joined.begin() + row);
  }
  return joined;
}

std::vector<double> NodeScores(const std::vector<float>& log_probabilities, const Folds& folds,
                               const NodeAttributes& attributes, double loss_weight, int begin, int end) {
  std::vector<double> scores;
  for (const int64_t node : NodesOf(folds, begin, end)) {
    const float* row = &log_probabilities[node * attributes.class_count];
    const int32_t label = attributes.labels[node];
    const bool right = std::max_element(row, row + attributes.class_count) - row == label;
    scores.push_back((right ? 1.0 : 0.0) + loss_weight * row[label]);
  }
  return scores;
}

bool ExceedsLuck(const std::vector<double>& scores, const std::vector<double>& others) {
  const auto n = static_cast<double>(scores.size());
  double sum = 0, squares = 0;
  for (size_t k = 0; k < scores.size(); ++k) sum += scores[k] - others[k];
  for (size_t k = 0; k < scores.size(); ++k) squares += std::pow(scores[k] - others[k] - sum / n, 2);
  return n > 1 && sum / n > std::sqrt(squares / (n - 1) / n);
}

TrainResult ResultOfFolds(std::vector<float> log_probabilities, const Folds& folds, const NodeAttributes& attributes,
                          bool balance_classes) {
  TrainResult result = ResultOfLogProbabilities(std::move(log_probabilities), attributes, balance_classes);
  const NodeAttributes choosing = AllAs(Split::kValidation, attributes, folds);
  const std::vector<float> weights =
      balance_classes ? BalancedClassWeights(AllAs(Split::kTrain, attributes, folds)) : std::vector<float>();
  result.validation_loss = CrossEntropy(result.logits, choosing, Split::kValidation, weights);
  result.validation = EvaluateSplit(result.predictions, choosing, Split::kValidation);
  result.validation.roc_auc = RocAuc(result.logits, choosing, Split::kValidation);
  result.validation_accuracy = result.validation.accuracy;
  return result;
}

TrainResult JoinFolds(std::vector<TrainResult> results, const Folds& folds, const NodeAttributes& attributes,
                      bool balance_classes) {
  std::vector<const std::vector<float>*> logits;
  for (const TrainResult& result : results) logits.push_back(&result.logits);
  TrainResult joined =
      ResultOfFolds(JoinLogits(logits, folds, attributes.class_count), folds, attributes, balance_classes);
  joined.device = results[0].device;
  joined.node_features = results[0].node_features;
  joined.feature_count = results[0].feature_count;
  double epochs = 0;
  std::map<std::string, int> said;
  for (size_t fold = 0; fold < results.size(); ++fold) {
    TrainResult& result = results[fold];
    joined.deterministic &= result.deterministic;
    joined.fell_back_to_cpu |= result.fell_back_to_cpu;
    joined.pruned |= result.pruned;
    joined.resumed_from_epoch = std::max(joined.resumed_from_epoch, result.resumed_from_epoch);
    joined.epoch_ms_mean += result.epoch_ms_mean;
    epochs += result.best_epoch;
    for (NamedValues& values : result.state) {
      values.name = absl::StrCat("fold", fold + 1, ".", values.name);
      joined.state.push_back(std::move(values));
    }
    for (const std::string& warning : result.warnings) ++said[warning];
  }
  for (const auto& [warning, times] : said) {
    if (times > 1) joined.warnings.push_back(warning);
  }
  joined.best_epoch = static_cast<int>(std::lround(epochs / static_cast<double>(results.size())));
  return joined;
}

}  // namespace blink
