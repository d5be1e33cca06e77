#include "aggregator_server/train/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

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

// ln p - ln(1 - p) of every class of a row of logits. It orders nodes as the probability p does, but still tells them
// apart where p is rounded to 1. In steps of 1e-9, so that rows which differ by the order of their sums are ties.
void WriteLogOdds(const float* logits, size_t classes, double* log_odds) {
  constexpr double kLowest = -std::numeric_limits<double>::infinity();
  const size_t top = std::max_element(logits, logits + classes) - logits;
  const double most = logits[top];
  double second = kLowest;
  for (size_t c = 0; c < classes; ++c) {
    if (c != top) second = std::max<double>(second, logits[c]);
  }
  double beside_second = 0, beside_most = 0;  // sums over all classes but the top one
  for (size_t c = 0; c < classes; ++c) {
    if (c == top) continue;
    beside_second += std::exp(logits[c] - second);
    beside_most += std::exp(logits[c] - most);
  }
  for (size_t c = 0; c < classes; ++c) {
    const double others = c == top ? second + std::log(beside_second)
                                   : most + std::log1p(std::max(0.0, beside_most - std::exp(logits[c] - most)));
    log_odds[c] = std::round((logits[c] - others) * 0x1p30) / 0x1p30;
    if (std::isnan(log_odds[c])) log_odds[c] = kLowest;  // of a logit that is no number
  }
}

// Of each entry: how good the model thinks it is, and whether it is.
struct Scored {
  double score = 0;
  bool positive = false;
};

// The area under the curve; ties count half. Nothing where all are positive, or none is.
std::optional<double> AreaUnderCurve(std::vector<Scored>& entries) {
  std::sort(entries.begin(), entries.end(), [](const Scored& a, const Scored& b) { return a.score < b.score; });
  double positives = 0, negatives = 0, ordered = 0;
  for (size_t begin = 0, end = 0; begin < entries.size(); begin = end) {
    double positives_here = 0;
    for (; end < entries.size() && entries[end].score == entries[begin].score; ++end) {
      positives_here += entries[end].positive ? 1 : 0;
    }
    const double negatives_here = static_cast<double>(end - begin) - positives_here;
    ordered += positives_here * (negatives + negatives_here / 2);
    positives += positives_here;
    negatives += negatives_here;
  }
  if (positives == 0 || negatives == 0) return std::nullopt;
  return ordered / positives / negatives;
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

double SplitFigures::Of(Measure measure) const {
  return measure == Measure::kMacroF1 ? macro_f1 : measure == Measure::kRocAuc ? roc_auc : accuracy;
}

double RocAuc(const std::vector<float>& logits, const NodeAttributes& attributes, Split split) {
  const size_t classes = attributes.class_count;
  std::vector<int32_t> labels;
  std::vector<double> log_odds;  // [labels, classes]
  ForEachLabelled(attributes, split, [&](uint32_t, int32_t label) { labels.push_back(label); });
  if (static_cast<double>(labels.size()) * static_cast<double>(classes) > kRocAucWorkMax) return kNaN;
  log_odds.resize(labels.size() * classes);
  size_t row = 0;
  ForEachLabelled(attributes, split, [&](uint32_t node, int32_t) {
    WriteLogOdds(&logits[node * classes], classes, &log_odds[row++ * classes]);
  });
  double sum = 0;
  int defined = 0;
  std::vector<Scored> entries(labels.size());
  for (size_t c = 0; c < classes; ++c) {
    for (size_t k = 0; k < labels.size(); ++k) {
      entries[k] = {log_odds[k * classes + c], labels[k] == static_cast<int32_t>(c)};
    }
    const std::optional<double> area = AreaUnderCurve(entries);
    if (!area) continue;
    sum += *area;
    ++defined;
  }
  return Quotient(sum, defined);
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
