#include "aggregator_server/train/logistic.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <utility>

#include "common/base/run_on_threads.h"

namespace blink {
namespace {

using Vector = std::vector<double>;

constexpr size_t kBlockRows = 4096;  // summed apart, so that the sum does not depend on the threads

double Dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

double LargestOf(const Vector& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// Adds the loss of the rows [begin, end), and its gradient.
double AddRows(const LogisticProblem& problem, const Vector& parameters, size_t begin, size_t end, Vector* gradient) {
  const uint32_t width = problem.width, classes = problem.classes;
  const double* bias = &parameters[size_t{width} * classes];
  Vector scores(classes);
  double loss = 0;
  for (size_t row = begin; row < end; ++row) {
    const float* x = &problem.rows[row * width];
    std::copy(bias, bias + classes, scores.begin());
    for (uint32_t f = 0; f < width; ++f) {
      const double* of_feature = &parameters[size_t{f} * classes];
      for (uint32_t c = 0; c < classes; ++c) scores[c] += x[f] * of_feature[c];
    }
    const double top = *std::max_element(scores.begin(), scores.end());
    const int32_t label = problem.labels[row];
    const double weight = problem.weights.empty() ? 1 : problem.weights[row];
    const double of_label = scores[label];
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - top);
    loss += weight * (top + std::log(sum) - of_label);
    if (gradient == nullptr) continue;
    for (double& score : scores) score *= weight / sum;
    scores[label] -= weight;
    for (uint32_t f = 0; f < width; ++f) {
      double* of_feature = &(*gradient)[size_t{f} * classes];
      for (uint32_t c = 0; c < classes; ++c) of_feature[c] += x[f] * scores[c];
    }
    double* of_bias = &(*gradient)[size_t{width} * classes];
    for (uint32_t c = 0; c < classes; ++c) of_bias[c] += scores[c];
  }
  return loss;
}

// The last steps and changes of the gradient: an approximation of the inverse Hessian.
class Memory {
 public:
  void Add(Vector step, Vector change) {
    const double product = Dot(step, change);
    if (!(product > 1e-14 * Dot(change, change))) return;  // no curvature to learn from, but rounding
    pairs_.push_back({std::move(step), std::move(change), 1 / product});
    if (pairs_.size() > kPairs) pairs_.pop_front();
  }
  void Clear() { pairs_.clear(); }
  bool empty() const { return pairs_.empty(); }

  // minus the inverse Hessian times the gradient
  Vector Direction(Vector q) const {
    Vector alphas(pairs_.size());
    for (size_t k = pairs_.size(); k-- > 0;) {
      alphas[k] = pairs_[k].inverse_product * Dot(pairs_[k].step, q);
      for (size_t i = 0; i < q.size(); ++i) q[i] -= alphas[k] * pairs_[k].change[i];
    }
    const double scale =
        pairs_.empty() ? 1 : 1 / (pairs_.back().inverse_product * Dot(pairs_.back().change, pairs_.back().change));
    for (double& value : q) value *= scale;
    for (size_t k = 0; k < pairs_.size(); ++k) {
      const double beta = pairs_[k].inverse_product * Dot(pairs_[k].change, q);
      for (size_t i = 0; i < q.size(); ++i) q[i] += (alphas[k] - beta) * pairs_[k].step[i];
    }
    for (double& value : q) value = -value;
    return q;
  }

 private:
  static constexpr size_t kPairs = 20;
  struct Pair {
    Vector step, change;
    double inverse_product;
  };
  std::deque<Pair> pairs_;
};

}  // namespace

double LogisticObjective(const LogisticProblem& problem, const Vector& parameters, int threads, Vector* gradient) {
  const size_t m = problem.size(), blocks = (m + kBlockRows - 1) / kBlockRows;
  Vector losses(blocks);
  std::vector<Vector> gradients(gradient == nullptr ? 0 : blocks);
  std::atomic<size_t> next{0};
  RunOnThreads(std::max(1, std::min(threads, static_cast<int>(blocks))), [&](int) {
    for (size_t block = next++; block < blocks; block = next++) {
      Vector* of_block = nullptr;
      if (gradient != nullptr) {
        of_block = &gradients[block];
        of_block->assign(parameters.size(), 0.0);
      }
      losses[block] = AddRows(problem, parameters, block * kBlockRows, std::min(m, (block + 1) * kBlockRows), of_block);
    }
  });
  const size_t without_bias = size_t{problem.width} * problem.classes;
  double objective = 0, squares = 0;
  for (const double loss : losses) objective += loss / static_cast<double>(m);
  for (size_t k = 0; k < without_bias; ++k) squares += parameters[k] * parameters[k];
  if (gradient != nullptr) {
    gradient->assign(parameters.size(), 0.0);
    for (const Vector& of_block : gradients) {
      for (size_t k = 0; k < gradient->size(); ++k) (*gradient)[k] += of_block[k] / static_cast<double>(m);
    }
    for (size_t k = 0; k < without_bias; ++k) (*gradient)[k] += 2 * problem.ridge * parameters[k];
  }
  return objective + problem.ridge * squares;
}

LogisticFit FitLogistic(const LogisticProblem& problem, const LogisticOptions& options, Vector start) {
  constexpr double kSufficient = 1e-4;  // of the decrease that the slope promises
  constexpr int kHalvingsMax = 40;
  LogisticFit fit;
  fit.parameters = std::move(start);
  fit.parameters.resize((size_t{problem.width} + 1) * problem.classes, 0.0);
  Vector gradient, next_gradient, next(fit.parameters.size());
  fit.objective = LogisticObjective(problem, fit.parameters, options.threads, &gradient);
  Memory memory;
  while ((fit.gradient_max = LargestOf(gradient)) > options.gradient_max && fit.iterations < options.iterations_max) {
    const Vector direction = memory.Direction(gradient);
    const double slope = Dot(direction, gradient);
    double step = memory.empty() ? 1 / std::max(1.0, std::sqrt(Dot(gradient, gradient))) : 1, objective = 0;
    int halvings = 0;
    for (; halvings < kHalvingsMax; ++halvings, step /= 2) {
      for (size_t k = 0; k < next.size(); ++k) next[k] = fit.parameters[k] + step * direction[k];
      objective = LogisticObjective(problem, next, options.threads, &next_gradient);
      if (objective <= fit.objective + kSufficient * step * slope) break;
    }
    if (halvings == kHalvingsMax) {  // as low as rounding allows, or what was learnt of the curvature misleads
      if (memory.empty()) break;
      memory.Clear();
      continue;
    }
    ++fit.iterations;
    Vector moved(next.size()), change(next.size());
    for (size_t k = 0; k < next.size(); ++k) {
      moved[k] = next[k] - fit.parameters[k];
      change[k] = next_gradient[k] - gradient[k];
    }
    memory.Add(std::move(moved), std::move(change));
    fit.parameters.swap(next);
    gradient.swap(next_gradient);
    fit.objective = objective;
  }
  return fit;
}

}  // namespace blink
