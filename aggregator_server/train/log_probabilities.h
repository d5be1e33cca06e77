// Classifiers that are given as log-probabilities of every node: what they are worth, and the mean of several. No
// LibTorch type.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_LOG_PROBABILITIES_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_LOG_PROBABILITIES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "aggregator_server/train/trainer.h"
#include "common/graph/node_attributes.h"

namespace blink {

// Sum of e^(x - the largest) of a row: what the softmax of the largest is one over. At least one class.
double SumOfExponentials(const float* logits, size_t classes);

// Of each row of `classes` logits its logarithm of the softmax, in place. A row of zero columns stays as it is.
void LogSoftmaxRows(std::vector<float>& logits, uint32_t classes);

// Mean cross-entropy of the labelled nodes of a split; `class_weights` [classes], or empty: 1 each. NaN for an empty
// split.
double CrossEntropy(const std::vector<float>& log_probabilities, const NodeAttributes& attributes, Split split,
                    const std::vector<float>& class_weights);

// [n, classes] log of the mean of the members' probabilities; their logits need not be normalised. At least one member,
// all of one size.
std::vector<float> LogOfMeanProbabilities(absl::Span<const std::vector<float>* const> logits, uint32_t classes);

// A result with these logits: predictions (of equals the first class), the validation loss, accuracies, and all that
// the data set says of them. Of a training it says nothing (no curves, no model). `balance_classes` as TrainOptions.
TrainResult ResultOfLogProbabilities(std::vector<float> log_probabilities, const NodeAttributes& attributes,
                                     bool balance_classes);

// The largest number of classes of which a result keeps the confusion matrix.
inline constexpr uint32_t kConfusionClassesMax = 64;
// What every result says of its predictions: figures of the splits, confusion, names of the classes, and how many have
// no label.
void FillFigures(const NodeAttributes& attributes, TrainResult& result);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_LOG_PROBABILITIES_H_
