// How good predictions are on the labelled nodes of a split.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_EVALUATION_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_EVALUATION_H_

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "common/graph/node_attributes.h"
#include "common/wire/training_choices.h"

namespace blink {

struct ClassFigures {
  uint32_t nodes = 0;      // of this label
  uint32_t predicted = 0;  // of whatever label
  uint32_t right = 0;
  double Recall() const;     // the accuracy within the class; NaN without a node
  double Precision() const;  // NaN when it is never predicted
  double F1() const;         // 2 right / (nodes + predicted); NaN when both are 0
};

struct SplitFigures {
  uint32_t nodes = 0;  // labelled; of 0 the two figures below are NaN
  double accuracy = std::numeric_limits<double>::quiet_NaN();
  // Mean of F1 over the classes that occur among labels or predictions, as scikit-learn's f1_score(average="macro") has
  // it.
  double macro_f1 = std::numeric_limits<double>::quiet_NaN();
  double roc_auc = std::numeric_limits<double>::quiet_NaN();  // RocAuc; EvaluateSplit, which has no logits, leaves it
  std::vector<ClassFigures> classes;                          // [class_count]
  double Of(Measure measure) const;                           // NaN where it is not defined
};

// `predictions` [n], each below class_count.
SplitFigures EvaluateSplit(const std::vector<int32_t>& predictions, const NodeAttributes& attributes, Split split);

// The area under the ROC curve of each class against the others, by its probability; the mean over the classes that
// some of the split's labelled nodes have and some have not. As scikit-learn's roc_auc_score(multi_class="ovr",
// average="macro"), which wants every class to be there. `logits` [n, class_count]. NaN where there is no such class,
// and beyond kRocAucWorkMax labelled nodes x classes, since it sorts the nodes once a class.
double RocAuc(const std::vector<float>& logits, const NodeAttributes& attributes, Split split);
inline constexpr double kRocAucWorkMax = 1e8;

// [class_count, class_count] counts of the split's labelled nodes; row: the label, column: the prediction.
std::vector<uint32_t> ConfusionMatrix(const std::vector<int32_t>& predictions, const NodeAttributes& attributes,
                                      Split split);

// Wilson's score interval of 95 % for a share of `share` among `nodes`, as if the nodes were drawn independently.
std::pair<double, double> WilsonInterval(double share, uint32_t nodes);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_EVALUATION_H_
