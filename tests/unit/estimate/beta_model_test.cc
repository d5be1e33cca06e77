// The beta-model against slow twins: the paper's fixed point, and a brute force over all graphs for the existence of
// the MLE.
#include "aggregator_server/estimate/beta_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>

namespace blink {
namespace {

// Algorithm 2 as it is written: beta_i <- log d_i - log sum_{j != i} 1 / (e^-beta_j + e^beta_i), over nodes.
std::vector<double> FixedPoint(const std::vector<double>& degrees, int iterations) {
  const size_t n = degrees.size();
  std::vector<double> beta(n, 0.0), next(n);
  for (int t = 0; t < iterations; ++t) {
    for (size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (size_t j = 0; j < n; ++j) {
        if (j != i) sum += 1.0 / (std::exp(-beta[j]) + std::exp(beta[i]));
      }
      next[i] = std::log(degrees[i]) - std::log(sum);
    }
    beta = next;
  }
  return beta;
}

double LargestResidual(const DegreeClasses& classes, const std::vector<double>& beta) {
  double largest = 0;
  const size_t n = classes.class_of_node.size();
  for (size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (size_t j = 0; j < n; ++j) {
      if (j != i) sum += 1.0 / (1.0 + std::exp(-beta[classes.class_of_node[i]] - beta[classes.class_of_node[j]]));
    }
    const double d = classes.degree[classes.class_of_node[i]];
    largest = std::max(largest, std::abs(sum - d) / d);
  }
  return largest;
}

// Whether d lies in the interior of the convex hull of the degree sequences: no non-trivial (S, T) may reach
// sum_S d - sum_T d >= |S| (n - 1 - |T|), the facets of Mahadev and Peled, over all disjoint S and T.
bool InteriorByAllPairsOfSets(const std::vector<int64_t>& d) {
  const int n = static_cast<int>(d.size());
  int codes = 1;
  for (int i = 0; i < n; ++i) codes *= 3;
  for (int code = 1; code < codes; ++code) {
    int64_t sum = 0;
    int s = 0, t = 0;
    for (int i = 0, rest = code; i < n; ++i, rest /= 3) {
      if (rest % 3 == 1) sum += d[i], ++s;
      if (rest % 3 == 2) sum -= d[i], ++t;
    }
    if (sum >= static_cast<int64_t>(s) * (n - 1 - t)) return false;
  }
  return true;
}

TEST(ClassifyDegrees, ClipsAndGroups) {
  const DegreeClasses classes = ClassifyDegrees({-5, 0, 1, 3, 3, 99});
  EXPECT_EQ(classes.degree, (std::vector<uint32_t>{1, 3, 4}));
  EXPECT_EQ(classes.size, (std::vector<uint32_t>{3, 2, 1}));
  EXPECT_EQ(classes.class_of_node, (std::vector<uint32_t>{0, 0, 0, 1, 1, 2}));
}

TEST(ClassifyDegrees, SurvivesHugeNoise) {
  const DegreeClasses classes =
      ClassifyDegrees({std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), 2, 2});
  EXPECT_EQ(classes.degree, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(classes.size, (std::vector<uint32_t>{1, 3}));
}

TEST(MleExists, AgreesWithEveryFacetOnSmallGraphs) {
  for (int n = 3; n <= 7; ++n) {
    std::mt19937_64 random(n);
    for (int trial = 0; trial < 150; ++trial) {
      std::vector<int64_t> d(n);
      for (int64_t& x : d) x = 1 + static_cast<int64_t>(random() % (n - 2));
      EXPECT_EQ(MleExists(ClassifyDegrees(d)), InteriorByAllPairsOfSets(d)) << "n " << n << " trial " << trial;
    }
  }
}

TEST(MleExists, KnowsTheExtremes) {
  EXPECT_FALSE(MleExists(ClassifyDegrees({1, 1, 1, 5, 5, 5, 1, 5})));  // half 1, half n-2
  for (int n = 4; n <= 10; ++n) {
    EXPECT_TRUE(MleExists(ClassifyDegrees(std::vector<int64_t>(n, 1)))) << n;
    EXPECT_TRUE(MleExists(ClassifyDegrees(std::vector<int64_t>(n, n - 2)))) << n;
  }
}

TEST(FitBetaModel, IsExactForARegularGraph) {
  for (int n = 3; n <= 10; ++n) {
    for (int64_t d = 1; d <= n - 2; ++d) {
      const auto model = FitBetaModel(ClassifyDegrees(std::vector<int64_t>(n, d)));
      ASSERT_TRUE(model.ok()) << model.status();
      EXPECT_TRUE(model->exists);
      EXPECT_NEAR(model->beta[0], 0.5 * std::log(d / (n - 1.0 - d)), 1e-9);
      EXPECT_LE(model->residual, 1e-8);
    }
  }
}

TEST(FitBetaModel, AgreesWithTheFixedPointOfThePaper) {
  std::mt19937_64 random(7);
  int compared = 0;
  for (int trial = 0; trial < 30; ++trial) {
    const int n = 10 + static_cast<int>(random() % 60);
    std::vector<int64_t> degrees(n);
    for (int64_t& d : degrees) d = 1 + static_cast<int64_t>(random() % (n / 2));
    const DegreeClasses classes = ClassifyDegrees(degrees);
    const auto model = FitBetaModel(classes);
    ASSERT_TRUE(model.ok()) << model.status();
    if (!model->exists) continue;
    ++compared;
    EXPECT_LE(LargestResidual(classes, model->beta), 1e-8);
    const std::vector<double> slow = FixedPoint(std::vector<double>(degrees.begin(), degrees.end()), 3000);
    for (int i = 0; i < n; ++i) EXPECT_NEAR(model->beta[classes.class_of_node[i]], slow[i], 1e-5);
  }
  EXPECT_GT(compared, 15);
}

TEST(FitBetaModel, IsFiniteAndCertifiedOrRegularisedOnAnySmallInput) {
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 3000; ++trial) {
    const int n = 3 + static_cast<int>(random() % 8);
    std::vector<int64_t> degrees(n);
    for (int64_t& d : degrees) d = static_cast<int64_t>(random() % (3 * n)) - n;
    const DegreeClasses classes = ClassifyDegrees(degrees);
    const auto model = FitBetaModel(classes);
    ASSERT_TRUE(model.ok()) << model.status();
    for (const double beta : model->beta) EXPECT_TRUE(std::isfinite(beta));
    EXPECT_EQ(model->exists, MleExists(classes));
    if (model->exists) {
      EXPECT_LE(model->residual, 1e-8);
      EXPECT_LE(LargestResidual(classes, model->beta), 1e-8);
    }
  }
}

TEST(FitBetaModel, AnswersWhereNoMleExists) {
  for (const int n : {4, 10, 100, 3000}) {
    std::vector<int64_t> degrees(n, 1);
    for (int i = 0; i < n / 2; ++i) degrees[i] = n - 2;
    const auto model = FitBetaModel(ClassifyDegrees(degrees));
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_FALSE(model->exists);
    ASSERT_EQ(model->beta.size(), 2u);
    EXPECT_LT(model->beta[0], model->beta[1]);
    EXPECT_LT(std::abs(model->beta[0]), 100);
    EXPECT_LT(std::abs(model->beta[1]), 100);
  }
}

TEST(FitBetaModel, HandlesHeavyTailsAndStars) {
  for (const int n : {50, 500, 5000}) {
    std::vector<int64_t> degrees(n);
    for (int i = 0; i < n; ++i) degrees[i] = 1 + n / (i + 2);
    const auto tail = FitBetaModel(ClassifyDegrees(degrees));
    ASSERT_TRUE(tail.ok()) << tail.status();
    std::fill(degrees.begin(), degrees.end(), 1);
    degrees[0] = n - 2;
    const auto star = FitBetaModel(ClassifyDegrees(degrees));
    ASSERT_TRUE(star.ok()) << star.status();
    EXPECT_EQ(star->exists, MleExists(ClassifyDegrees(degrees)));
  }
}

TEST(FitBetaModel, SolvesAThousandClassesOfAMillionNodes) {
  std::vector<int64_t> degrees(1'000'000);
  for (size_t i = 0; i < degrees.size(); ++i)
    degrees[i] = 1 + static_cast<int64_t>(30.0 / std::pow(1.0 - (i + 0.5) / degrees.size(), 0.5)) % 1500;
  const DegreeClasses classes = ClassifyDegrees(degrees);
  EXPECT_GT(classes.degree.size(), 900u);
  const auto model = FitBetaModel(classes);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_LE(model->residual, 1e-8);
  RecordProperty("seconds", std::to_string(model->seconds));
  RecordProperty("steps", model->iterations);
}

TEST(FitBetaModel, RefusesTwoNodes) {
  EXPECT_EQ(FitBetaModel(DegreeClasses{{0, 0}, {1}, {2}}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace blink
