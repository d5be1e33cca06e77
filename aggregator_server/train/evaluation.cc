#include "aggregator_server/train/evaluation.h"

#include <algorithm>
#include <cmath>

namespace blink {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double Quotient(double part, double whole) { return whole == 0 ? kNaN : part / whole; }

template <typename Count>
void ForEachLabelled(const NodeAttributes& attributes, Split split, const Count& count) {
  for (uint32_t i = 0; i < attributes.node_count; ++i) {
    if (attributes.split[i] == split && attributes.labels[i] >= 0) count(i, attributes.labels[i]);
  }
}

}  // namespace

double ClassFigures::Recall() const { return Quotient(right, nodes); }
double ClassFigures::Precision() const { return Quotient(right, predicted); }
double ClassFigures::F1() const { return Quotient(2.0 * right, static_cast<double>(nodes) + predicted); }

SplitFigures EvaluateSplit(const std::vector<int32_t>& predictions, const NodeAttributes& attributes, Split split) {
  SplitFigures figures;
  figures.classes.resize(attributes.class_count);
  uint32_t right = 0;
  ForEachLabelled(attributes, split, [&](uint32_t node, int32_t label) {
    ++figures.nodes;
    ++figures.classes[label].nodes;
    ++figures.classes[predictions[node]].predicted;
    if (predictions[node] != label) return;
    ++figures.classes[label].right;
    ++right;
  });
  figures.accuracy = Quotient(right, figures.nodes);
  double sum = 0;
  int occurring = 0;
  for (const ClassFigures& of_class : figures.classes) {
    if (std::isnan(of_class.F1())) continue;
    sum += of_class.F1();
    ++occurring;
  }
  figures.macro_f1 = Quotient(sum, occurring);
  return figures;
}

std::vector<uint32_t> ConfusionMatrix(const std::vector<int32_t>& predictions, const NodeAttributes& attributes,
                                      Split split) {
  std::vector<uint32_t> counts(size_t{attributes.class_count} * attributes.class_count, 0);
  ForEachLabelled(attributes, split, [&](uint32_t node, int32_t label) {
    ++counts[static_cast<size_t>(label) * attributes.class_count + predictions[node]];
  });
  return counts;
}

std::pair<double, double> WilsonInterval(double share, uint32_t nodes) {
  if (nodes == 0) return {kNaN, kNaN};
  constexpr double kZ = 1.959963984540054;
  const double z2n = kZ * kZ / nodes;
  const double center = (share + z2n / 2) / (1 + z2n);
  const double half = kZ / (1 + z2n) * std::sqrt(share * (1 - share) / nodes + z2n / (4 * nodes));
  return {std::max(0.0, center - half), std::min(1.0, center + half)};
}

}  // namespace blink
