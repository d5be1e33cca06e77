#include "aggregator_server/train/stacked.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/train/labelled_nodes.h"
#include "aggregator_server/train/log_probabilities.h"
#include "aggregator_server/train/logistic.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

absl::Status CheckSizes(const StackedInput& input) {
  const size_t entries = size_t{input.classes->node_count} * input.classes->class_count;
  if (input.classes->class_count == 0 || input.classes->open.size() != entries ||
      input.classes->clamped.size() != entries ||
      (input.class_sums != nullptr && input.class_sums->size() != entries) ||
      input.kept->node_count != input.classes->node_count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the class probabilities are of ", input.classes->node_count, " nodes and ", input.classes->class_count,
        " classes, which the posterior's ", input.kept->node_count, " nodes and ",
        input.class_sums == nullptr ? entries : input.class_sums->size(), " sums do not fit"));
  }
  if (input.nearest != nullptr &&
      input.nearest->values.size() != size_t{input.nearest->width} * input.classes->node_count) {
    return absl::InvalidArgumentError("the shares of the nearest nodes are not of the class probabilities' nodes");
  }
  if (input.class_sums != nullptr && input.kept->has_background()) {
    return absl::InvalidArgumentError(
        "the stacked model takes a list of pairs beside sums over all pairs, not weights with a background");
  }
  return absl::OkStatus();
}

// [n] sums of the squares of the rows of K.
std::vector<float> SquareSums(const LinkWeights& kept, int threads) {
  const uint32_t n = kept.node_count;
  std::vector<float> sums(n);
  std::atomic<NodeIndex> next{0};
  RunOnThreads(threads, [&](int) {  // each row by one thread, in the order of its columns
    std::vector<float> row(n);
    for (NodeIndex i; (i = next.fetch_add(1)) < n;) {
      FillRow(kept, i, row.data());
      double sum = 0;
      for (const float value : row) sum += double{value} * value;
      sums[i] = static_cast<float>(sum);
    }
  });
  return sums;
}

// [n] the same of a list.
std::vector<float> SquareSumsOfList(const LinkWeights& kept) {
  std::vector<float> sums(kept.node_count);
  size_t entry = 0;
  for (NodeIndex i = 0; i < kept.node_count; ++i) {
    const size_t end = entry + kept.links.NeighboursOf(i).size();
    double sum = 0;
    for (; entry < end; ++entry) {
      const double value = kept.values.empty() ? 1 : kept.values[entry];
      sum += value * value;
    }
    sums[i] = static_cast<float>(sum);
  }
  return sums;
}

// Columns to mean 0 and deviation 1 on the training nodes; a column that does not vary there to 0.
struct Standard {
  std::vector<float> mean, scale;  // [width]

  Standard(const std::vector<float>& features, uint32_t width, const std::vector<int64_t>& nodes)
      : mean(width), scale(width) {
    for (uint32_t f = 0; f < width; ++f) {
      double sum = 0, squares = 0;
      for (const int64_t node : nodes) sum += features[node * width + f];
      const double of_column = sum / static_cast<double>(nodes.size());
      for (const int64_t node : nodes) squares += std::pow(features[node * width + f] - of_column, 2);
      const double deviation = std::sqrt(squares / static_cast<double>(nodes.size()));
      mean[f] = static_cast<float>(of_column);
      scale[f] = deviation > kVaries * (1 + std::abs(of_column)) ? static_cast<float>(1 / deviation) : 0.0f;
    }
  }
  std::vector<float> Rows(const std::vector<float>& features, const std::vector<int64_t>& nodes) const {
    const size_t width = mean.size();
    std::vector<float> rows;
    rows.reserve(nodes.size() * width);
    for (const int64_t node : nodes) {
      for (size_t f = 0; f < width; ++f) rows.push_back((features[node * width + f] - mean[f]) * scale[f]);
    }
    return rows;
  }

 private:
  static constexpr double kVaries = 1e-5;  // beyond float32's rounding
};

// Which classes the training nodes have, numbered without gaps.
struct Present {
  std::vector<int32_t> classes;    // [present]
  std::vector<int32_t> number_of;  // [all], -1: absent

  Present(const NodeAttributes& attributes, const std::vector<int64_t>& nodes) : number_of(attributes.class_count, -1) {
    for (const int64_t node : nodes) number_of[attributes.labels[node]] = 0;
    for (uint32_t c = 0; c < attributes.class_count; ++c) {
      if (number_of[c] < 0) continue;
      number_of[c] = static_cast<int32_t>(classes.size());
      classes.push_back(static_cast<int32_t>(c));
    }
  }
};

// Log-probabilities [n, classes] of standardised `rows` [n, width]; parameters as LogisticFit has them.
std::vector<float> LogProbabilities(const std::vector<double>& parameters, const std::vector<float>& rows,
                                    uint32_t width, uint32_t classes) {
  const size_t n = rows.size() / width;
  std::vector<float> result(n * classes);
  std::vector<double> scores(classes);
  for (size_t i = 0; i < n; ++i) {
    std::copy_n(&parameters[size_t{width} * classes], classes, scores.begin());
    for (uint32_t f = 0; f < width; ++f) {
      const double x = rows[i * width + f];
      for (uint32_t c = 0; c < classes; ++c) scores[c] += x * parameters[size_t{f} * classes + c];
    }
    std::copy(scores.begin(), scores.end(), &result[i * classes]);
  }
  LogSoftmaxRows(result, classes);
  return result;
}

// [width + 1, all classes]: parameters of the present classes, and for an absent one no weights and a bias that gives
// it at most 1 / (2 m): at the optimum the ridge has made the weights of each feature sum to 0, so the logarithm of the
// sum of the exponentials is nowhere below that of their geometric mean, ln(present) + mean bias.
std::vector<double> OfAllClasses(const LogisticFit& fit, const Present& present, const LogisticProblem& problem) {
  const size_t all = present.number_of.size(), some = present.classes.size();
  if (all == some) return fit.parameters;
  double least = std::log(static_cast<double>(some));
  for (size_t p = 0; p < some; ++p)
    least += fit.parameters[size_t{problem.width} * some + p] / static_cast<double>(some);
  std::vector<double> parameters((size_t{problem.width} + 1) * all, 0.0);
  for (size_t f = 0; f <= problem.width; ++f) {
    for (size_t p = 0; p < some; ++p) parameters[f * all + present.classes[p]] = fit.parameters[f * some + p];
  }
  for (size_t c = 0; c < all; ++c) {
    if (present.number_of[c] >= 0) continue;
    parameters[size_t{problem.width} * all + c] = least - std::log(2.0 * static_cast<double>(problem.size()));
  }
  return parameters;
}

std::vector<NamedValues> StateOf(const std::vector<double>& parameters, uint32_t classes, const Standard& standard,
                                 double ridge) {
  const size_t width = standard.mean.size();
  std::vector<float> weight(width * classes), bias(classes);
  for (size_t c = 0; c < classes; ++c) {
    for (size_t f = 0; f < width; ++f) weight[c * width + f] = static_cast<float>(parameters[f * classes + c]);
    bias[c] = static_cast<float>(parameters[width * classes + c]);
  }
  const auto columns = static_cast<int64_t>(width), rows = static_cast<int64_t>(classes);
  return {{"weight", {rows, columns}, std::move(weight)},
          {"bias", {rows}, std::move(bias)},
          {"mean", {columns}, standard.mean},
          {"scale", {columns}, standard.scale},
          {"ridge", {1}, {static_cast<float>(ridge)}}};
}

}  // namespace

absl::StatusOr<std::vector<float>> StackedFeatures(const StackedInput& input, int threads) {
  BLINK_RETURN_IF_ERROR(CheckSizes(input));
  const uint32_t n = input.classes->node_count, classes = input.classes->class_count, of_sums = 4 * classes;
  threads = ThreadsOrCores(threads);
  std::vector<float> own_sums;
  if (input.class_sums == nullptr) {
    own_sums.resize(size_t{n} * classes);
    Multiply(*input.kept, input.classes->clamped.data(), classes, threads, own_sums.data());
  }
  const std::vector<float>& first = input.class_sums == nullptr ? own_sums : *input.class_sums;
  std::vector<float> second(size_t{n} * classes);
  Multiply(*input.kept, first.data(), classes, threads, second.data());
  const std::vector<float> squares =
      input.kept->has_background() ? SquareSums(*input.kept, threads) : SquareSumsOfList(*input.kept);
  std::vector<float> sums(size_t{n} * of_sums);
  for (size_t i = 0; i < n; ++i) {
    float* row = &sums[i * of_sums];
    for (uint32_t c = 0; c < classes; ++c) {
      second[i * classes + c] -= squares[i] * input.classes->clamped[i * classes + c];
    }
    WriteLogShares(&first[i * classes], classes, row, row + classes);
    WriteLogShares(&second[i * classes], classes, row + 2 * size_t{classes}, row + 3 * size_t{classes});
  }
  std::vector<float> features = SideBySide(LogsOfOpen(*input.classes), classes, sums, of_sums);
  if (input.nearest != nullptr && input.nearest->width > 0) {
    features = SideBySide(features, classes + of_sums, input.nearest->values, input.nearest->width);
  }
  return features;
}

absl::StatusOr<TrainResult> FitStacked(const std::vector<float>& features, uint32_t width,
                                       const NodeAttributes& attributes, const StackedOptions& options) {
  const uint32_t n = attributes.node_count;
  if (width == 0 || features.size() != size_t{n} * width) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", features.size(), " numbers for ", n, " nodes of ", width));
  }
  const std::vector<int64_t> train = LabelledNodes(attributes, Split::kTrain);
  if (train.empty() || LabelledNodes(attributes, Split::kValidation).empty()) {
    return absl::InvalidArgumentError("no labelled node is in the training split, or none in the validation split");
  }
  const Standard standard(features, width, train);
  const Present present(attributes, train);
  const std::vector<float> balance = options.balance_classes ? BalancedClassWeights(attributes) : std::vector<float>();
  LogisticProblem problem{
      .width = width, .classes = static_cast<uint32_t>(present.classes.size()), .rows = standard.Rows(features, train)};
  for (const int64_t node : train) {
    problem.labels.push_back(present.number_of[attributes.labels[node]]);
    if (options.balance_classes) problem.weights.push_back(balance[attributes.labels[node]]);
  }
  std::vector<int64_t> everybody(n);
  std::iota(everybody.begin(), everybody.end(), int64_t{0});
  const std::vector<float> rows = standard.Rows(features, everybody);
  std::vector<double> ridges = options.ridges;
  std::sort(ridges.rbegin(), ridges.rend());  // each from the answer of the one before, which is close
  std::optional<TrainResult> best;
  LogisticFit fit;
  for (const double ridge : ridges) {
    problem.ridge = ridge;
    fit = FitLogistic(problem, {.threads = ThreadsOrCores(options.threads)}, std::move(fit.parameters));
    const std::vector<double> parameters = OfAllClasses(fit, present, problem);
    TrainResult result = ResultOfLogProbabilities(LogProbabilities(parameters, rows, width, attributes.class_count),
                                                  attributes, options.balance_classes);
    if (best && !(result.validation_loss < best->validation_loss)) continue;
    result.state = StateOf(parameters, attributes.class_count, standard, ridge);
    result.feature_count = width;
    best = std::move(result);
  }
  if (!best) return absl::InvalidArgumentError("no ridge is given");
  return *std::move(best);
}

}  // namespace blink
