#include "aggregator_server/train/logistic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace blink {
namespace {

LogisticProblem RandomProblem(uint32_t rows, uint32_t width, uint32_t classes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  LogisticProblem problem{.width = width, .classes = classes, .ridge = 1e-2};
  for (uint32_t row = 0; row < rows; ++row) {
    const auto label = static_cast<int32_t>(row % classes);
    problem.labels.push_back(label);
    for (uint32_t f = 0; f < width; ++f)
      problem.rows.push_back(normal(random) + (static_cast<int32_t>(f) == label ? 1.0f : 0.0f));
  }
  return problem;
}

// The formula, term by term.
double SlowObjective(const LogisticProblem& problem, const std::vector<double>& parameters) {
  double loss = 0, squares = 0;
  for (size_t row = 0; row < problem.size(); ++row) {
    std::vector<double> scores;
    for (uint32_t c = 0; c < problem.classes; ++c) {
      double score = parameters[problem.width * problem.classes + c];
      for (uint32_t f = 0; f < problem.width; ++f)
        score += problem.rows[row * problem.width + f] * parameters[f * problem.classes + c];
      scores.push_back(score);
    }
    double sum = 0;
    for (const double score : scores) sum += std::exp(score);
    loss += (problem.weights.empty() ? 1 : problem.weights[row]) * (std::log(sum) - scores[problem.labels[row]]);
  }
  for (uint32_t k = 0; k < problem.width * problem.classes; ++k) squares += parameters[k] * parameters[k];
  return loss / static_cast<double>(problem.size()) + problem.ridge * squares;
}

// Plain descent with a step below the inverse of the largest curvature: slow and sure.
std::vector<double> SlowFit(const LogisticProblem& problem, int steps) {
  std::vector<double> parameters((problem.width + 1) * problem.classes, 0.0), gradient;
  for (int step = 0; step < steps; ++step) {
    LogisticObjective(problem, parameters, 1, &gradient);
    for (size_t k = 0; k < parameters.size(); ++k) parameters[k] -= 0.2 * gradient[k];
  }
  return parameters;
}

TEST(Logistic, TheObjectiveIsTheFormulaAndTheGradientItsSlope) {
  LogisticProblem problem = RandomProblem(60, 4, 3, 1);
  for (size_t row = 0; row < problem.size(); ++row) problem.weights.push_back(row % 2 == 0 ? 0.5 : 1.5);
  std::vector<double> parameters, gradient;
  for (int k = 0; k < 15; ++k) parameters.push_back(0.1 * (k % 7) - 0.3);
  EXPECT_NEAR(LogisticObjective(problem, parameters, 1, &gradient), SlowObjective(problem, parameters), 1e-12);
  for (size_t k = 0; k < parameters.size(); ++k) {
    std::vector<double> more = parameters, less = parameters;
    more[k] += 1e-5;
    less[k] -= 1e-5;
    EXPECT_NEAR(gradient[k], (SlowObjective(problem, more) - SlowObjective(problem, less)) / 2e-5, 1e-8) << k;
  }
}

TEST(Logistic, FindsWhatPlainDescentFinds) {
  const LogisticProblem problem = RandomProblem(120, 5, 3, 2);
  const LogisticFit fit = FitLogistic(problem, {});
  EXPECT_LE(fit.gradient_max, 1e-7);
  const std::vector<double> slow = SlowFit(problem, 20'000);
  EXPECT_LE(fit.objective, SlowObjective(problem, slow) + 1e-10);
  for (uint32_t k = 0; k < problem.width * problem.classes; ++k) EXPECT_NEAR(fit.parameters[k], slow[k], 1e-4) << k;
}

TEST(Logistic, EndsAtTheSamePlaceWhereverItBegins) {
  const LogisticProblem problem = RandomProblem(120, 5, 3, 3);
  const LogisticFit from_zero = FitLogistic(problem, {.gradient_max = 1e-9});
  const LogisticFit from_afar = FitLogistic(problem, {.gradient_max = 1e-9}, std::vector<double>(18, 5.0));
  EXPECT_NEAR(from_zero.objective, from_afar.objective, 1e-12);
  for (uint32_t k = 0; k < 15; ++k) EXPECT_NEAR(from_zero.parameters[k], from_afar.parameters[k], 1e-6);
}

TEST(Logistic, MoreRidgeMeansSmallerWeightsAndAWorseFit) {
  LogisticProblem problem = RandomProblem(120, 5, 3, 4);
  double before = INFINITY;
  for (const double ridge : {1e-4, 1e-2, 1.0}) {
    problem.ridge = ridge;
    const LogisticFit fit = FitLogistic(problem, {});
    double squares = 0;
    for (uint32_t k = 0; k < 15; ++k) squares += fit.parameters[k] * fit.parameters[k];
    EXPECT_LT(squares, before);
    before = squares;
  }
}

TEST(Logistic, IsTheSameOnAnyNumberOfThreads) {
  const LogisticProblem problem = RandomProblem(10'000, 3, 4, 5);
  const LogisticFit one = FitLogistic(problem, {.iterations_max = 20, .threads = 1});
  EXPECT_EQ(FitLogistic(problem, {.iterations_max = 20, .threads = 3}).parameters, one.parameters);
}

TEST(Logistic, TakesColumnsThatAreCopiesOfOneAnother) {
  LogisticProblem problem = RandomProblem(90, 2, 3, 6);
  LogisticProblem twice{.width = 4, .classes = 3, .labels = problem.labels, .ridge = 1e-4};
  for (size_t row = 0; row < problem.size(); ++row) {
    for (int copy = 0; copy < 2; ++copy) {
      for (uint32_t f = 0; f < 2; ++f) twice.rows.push_back(problem.rows[row * 2 + f]);
    }
  }
  const LogisticFit fit = FitLogistic(twice, {});
  EXPECT_LE(fit.gradient_max, 1e-7);
  for (uint32_t k = 0; k < 6; ++k)
    EXPECT_NEAR(fit.parameters[k], fit.parameters[6 + k], 1e-2) << "the ridge shares alike";
}

TEST(Logistic, EndsThoughItsIterationsDoNotSuffice) {
  const LogisticFit fit = FitLogistic(RandomProblem(120, 5, 3, 7), {.gradient_max = 0, .iterations_max = 3});
  EXPECT_LE(fit.iterations, 3);
  EXPECT_GT(fit.gradient_max, 0);
}

}  // namespace
}  // namespace blink
