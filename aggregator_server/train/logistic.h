// Multinomial logistic regression: convex, so that its answer depends on nothing but the data. No LibTorch type.
//
//   minimise  F(W, b) = mean over rows of weight * -log softmax(W^T x + b)[label] + ridge |W|^2
//
// by L-BFGS (Nocedal and Wright, Numerical Optimization, algorithm 7.5) with steps that lower F.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_LOGISTIC_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_LOGISTIC_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace blink {

// What is fitted; the caller keeps the vectors' sizes right.
struct LogisticProblem {
  uint32_t width = 0, classes = 0;
  std::vector<float> rows;      // [m, width]
  std::vector<int32_t> labels;  // [m] 0 .. classes - 1; each class occurs, or its bias has no finite optimum
  std::vector<double> weights;  // [m], of mean 1; empty: 1 each
  double ridge = 0;
  size_t size() const { return labels.size(); }
};

struct LogisticFit {
  std::vector<double> parameters;  // [width + 1, classes]; the last row is the bias
  double objective = 0;
  double gradient_max = 0;  // largest absolute entry of the gradient
  int iterations = 0;
};

struct LogisticOptions {
  double gradient_max = 1e-7;  // ends below
  int iterations_max = 1000;
  int threads = 1;  // the result does not depend on it
};

// `start`: [width + 1, classes]; empty: zeros.
LogisticFit FitLogistic(const LogisticProblem& problem, const LogisticOptions& options, std::vector<double> start = {});

// F, and its gradient where `gradient` is given, at `parameters`.
double LogisticObjective(const LogisticProblem& problem, const std::vector<double>& parameters, int threads,
                         std::vector<double>* gradient);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_LOGISTIC_H_
