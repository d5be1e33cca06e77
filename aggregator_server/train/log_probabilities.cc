#include "aggregator_server/train/log_probabilities.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "aggregator_server/train/labelled_nodes.h"

namespace blink {
namespace {

// ln sum exp of a row.
double LogSum(const float* row, uint32_t classes) {
  return *std::max_element(row, row + classes) + std::log(SumOfExponentials(row, classes));
}

}  // namespace

double SumOfExponentials(const float* logits, size_t classes) {
  const float top = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (size_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(logits[c]) - top);
  return sum;
}

void LogSoftmaxRows(std::vector<float>& logits, uint32_t classes) {
  if (classes == 0) return;
  for (size_t row = 0; row + classes <= logits.size(); row += classes) {
    const double log_sum = LogSum(&logits[row], classes);
    for (uint32_t c = 0; c < classes; ++c) logits[row + c] = static_cast<float>(logits[row + c] - log_sum);
  }
}

double CrossEntropy(const std::vector<float>& log_probabilities, const NodeAttributes& attributes, Split split,
                    const std::vector<float>& class_weights) {
  double loss = 0, weights = 0;
  for (const int64_t node : LabelledNodes(attributes, split)) {
    const int32_t label = attributes.labels[node];
    const double weight = class_weights.empty() ? 1.0 : class_weights[label];
    loss -= weight * log_probabilities[static_cast<size_t>(node) * attributes.class_count + label];
    weights += weight;
  }
  return weights > 0 ? loss / weights : std::numeric_limits<double>::quiet_NaN();
}

std::vector<float> LogOfMeanProbabilities(absl::Span<const std::vector<float>* const> logits, uint32_t classes) {
  std::vector<double> sum(logits[0]->size(), 0.0);
  for (const std::vector<float>* member : logits) {
    std::vector<float> normalised = *member;
    LogSoftmaxRows(normalised, classes);
    for (size_t k = 0; k < sum.size(); ++k) sum[k] += std::exp(static_cast<double>(normalised[k]));
  }
  // A probability that float32 rounds to 0 in every member is still a number in the loss.
  constexpr double kLeast = 1e-12;
  std::vector<float> result(sum.size());
  for (size_t k = 0; k < sum.size(); ++k) {
    result[k] = static_cast<float>(std::log(sum[k] / static_cast<double>(logits.size()) + kLeast));
  }
  return result;
}

void FillFigures(const NodeAttributes& attributes, TrainResult& result) {
  result.train = EvaluateSplit(result.predictions, attributes, Split::kTrain);
  result.validation = EvaluateSplit(result.predictions, attributes, Split::kValidation);
  result.test = EvaluateSplit(result.predictions, attributes, Split::kTest);
  // Not of the training nodes: it takes a while, and nothing is chosen or claimed by it.
  result.validation.roc_auc = RocAuc(result.logits, attributes, Split::kValidation);
  result.test.roc_auc = RocAuc(result.logits, attributes, Split::kTest);
  result.train_accuracy = result.train.accuracy;
  result.validation_accuracy = result.validation.accuracy;
  result.test_accuracy = result.test.accuracy;
  if (attributes.class_count <= kConfusionClassesMax) {
    result.test_confusion = ConfusionMatrix(result.predictions, attributes, Split::kTest);
  }
  result.class_names = attributes.class_names;
  result.unlabelled = static_cast<uint32_t>(std::count(attributes.labels.begin(), attributes.labels.end(), -1));
}

TrainResult ResultOfLogProbabilities(std::vector<float> log_probabilities, const NodeAttributes& attributes,
                                     bool balance_classes) {
  TrainResult result;
  result.device = "cpu";
  result.deterministic = true;
  result.logits = std::move(log_probabilities);
  result.predictions.resize(attributes.node_count);
  for (uint32_t i = 0; i < attributes.node_count; ++i) {
    const auto row = result.logits.begin() + static_cast<int64_t>(i) * attributes.class_count;
    result.predictions[i] = static_cast<int32_t>(std::max_element(row, row + attributes.class_count) - row);
  }
  const std::vector<float> weights = balance_classes ? BalancedClassWeights(attributes) : std::vector<float>();
  result.validation_loss = CrossEntropy(result.logits, attributes, Split::kValidation, weights);
  FillFigures(attributes, result);
  return result;
}

}  // namespace blink
