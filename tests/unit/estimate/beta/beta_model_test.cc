// The beta-model against a slow twin, the paper's fixed point over nodes in long double, and at its extremes.
#include "aggregator_server/estimate/beta/beta_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/unit/estimate/beta/mle_exists.h"

namespace blink {
namespace {

// Algorithm 2 as it is written: beta_i <- log d_i - log sum_{j != i} 1 / (e^-beta_j + e^beta_i), over nodes. Empty when
// it has not come to rest.
std::vector<long double> FixedPoint(const std::vector<int64_t>& degrees, int iterations_max) {
  const size_t n = degrees.size();
  std::vector<long double> rising(n, 1.0L), falling(n, 1.0L), next(n), beta(n);  // e^beta, e^-beta
  for (int t = 0; t < iterations_max; ++t) {
    long double change = 0;
    for (size_t i = 0; i < n; ++i) {
      long double sum = 0;
      for (size_t j = 0; j < n; ++j) {
        if (j != i) sum += 1 / (falling[j] + rising[i]);
      }
      next[i] = static_cast<long double>(degrees[i]) / sum;
      change = std::max(change, std::abs(next[i] / rising[i] - 1));
    }
    rising = next;
    for (size_t i = 0; i < n; ++i) falling[i] = 1 / rising[i];
    if (change < 1e-13L) {
      for (size_t i = 0; i < n; ++i) beta[i] = std::log(rising[i]);
      return beta;
    }
  }
  return {};
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

// Degrees of a random graph whose links are the likelier, the smaller the numbers of their ends.
std::vector<int64_t> DegreesOfAGraph(int n, double density, double skew, std::mt19937_64& random) {
  std::vector<int64_t> degrees(n, 0);
  std::uniform_real_distribution<double> uniform;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) {
      const bool link = uniform(random) < density * std::pow((i + 1.0) * (j + 1.0) / n, -skew);
      degrees[i] += link;
      degrees[j] += link;
    }
  }
  return degrees;
}

TEST(FitBetaModel, AgreesWithTheFixedPointOfThePaper) {
  std::mt19937_64 random(7);
  int compared = 0, without_maximum = 0;
  for (int trial = 0; trial < 240; ++trial) {
    const int n = 3 + static_cast<int>(random() % 58);
    std::vector<int64_t> degrees = DegreesOfAGraph(n, 0.1 + 0.1 * (trial % 8), 0.2 * (trial % 4), random);
    if (trial % 3 == 0) {
      for (int64_t& d : degrees) d += static_cast<int64_t>(random() % 5) - 2;
    }
    for (int64_t& d : degrees) d = std::clamp<int64_t>(d, 1, n - 2);
    const DegreeClasses classes = ClassifyDegrees(degrees);
    const auto model = FitBetaModel(classes);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_LE(model->residual, 1e-8);
    if (!model->exists) {
      ++without_maximum;
      continue;
    }
    EXPECT_FALSE(model->regularised);
    EXPECT_LE(LargestResidual(classes, model->beta), 1e-8);
    const std::vector<long double> slow = FixedPoint(degrees, 20'000);
    if (slow.empty()) continue;  // near the boundary it crawls
    ++compared;
    for (int i = 0; i < n; ++i) {
      EXPECT_NEAR(model->beta[classes.class_of_node[i]], static_cast<double>(slow[i]), 1e-7) << "trial " << trial;
    }
  }
  EXPECT_GT(compared, 150);
  EXPECT_GT(without_maximum, 0);
}

TEST(FitBetaModel, AgreesWithTheFixedPointOnAllSequencesOfUpToSixNodes) {
  int compared = 0;
  for (int n = 3; n <= 6; ++n) {
    int codes = 1;
    for (int i = 0; i < n; ++i) codes *= n - 2;
    for (int code = 0; code < codes; ++code) {
      std::vector<int64_t> degrees;
      for (int i = 0, rest = code; i < n; ++i, rest /= n - 2) degrees.push_back(1 + rest % (n - 2));
      if (!std::is_sorted(degrees.begin(), degrees.end())) continue;
      const DegreeClasses classes = ClassifyDegrees(degrees);
      const auto model = FitBetaModel(classes);
      ASSERT_TRUE(model.ok()) << model.status();
      ASSERT_LE(model->residual, 1e-8);
      ASSERT_EQ(model->regularised, !model->exists);
      if (!model->exists) continue;
      const std::vector<long double> slow = FixedPoint(degrees, 20'000);
      ASSERT_FALSE(slow.empty()) << testing::PrintToString(degrees);
      for (int i = 0; i < n; ++i)
        ASSERT_NEAR(model->beta[classes.class_of_node[i]], static_cast<double>(slow[i]), 1e-7);
      ++compared;
    }
  }
  EXPECT_GT(compared, 60);
}

TEST(FitBetaModel, TurnsItsSignWithTheComplementOfTheGraph) {
  std::mt19937_64 random(8);
  for (int trial = 0; trial < 50; ++trial) {
    const int n = 20 + static_cast<int>(random() % 200);
    std::vector<int64_t> degrees = DegreesOfAGraph(n, 0.3, 0.3, random), complement;
    for (int64_t& d : degrees) {
      d = std::clamp<int64_t>(d, 1, n - 2);
      complement.push_back(n - 1 - d);
    }
    const DegreeClasses classes = ClassifyDegrees(degrees), turned = ClassifyDegrees(complement);
    const auto model = FitBetaModel(classes), other = FitBetaModel(turned);
    ASSERT_TRUE(model.ok() && other.ok());
    ASSERT_EQ(model->exists, other->exists);
    if (!model->exists) continue;
    for (int i = 0; i < n; ++i)
      EXPECT_NEAR(model->beta[classes.class_of_node[i]], -other->beta[turned.class_of_node[i]], 1e-8);
  }
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
    EXPECT_EQ(model->regularised, !model->exists);
    EXPECT_LE(model->residual, 1e-8);
    if (model->exists) {
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
    EXPECT_TRUE(model->regularised);
    EXPECT_LE(model->residual, 1e-8);  // of what was fitted
    EXPECT_GT(model->distance, 1e-3);  // from what was given
    EXPECT_LT(model->degree_share, 1);
    ASSERT_EQ(model->beta.size(), 2u);
    EXPECT_LT(model->beta[0], model->beta[1]);
    EXPECT_LT(std::abs(model->beta[0]), 100);
    EXPECT_LT(std::abs(model->beta[1]), 100);
  }
}

TEST(FitBetaModel, ExpectsOfEachNodeTheDegreeThatItsRuleStates) {  // where no maximum exists
  std::mt19937_64 random(12);
  int seen = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const int n = 30;
    std::vector<int64_t> degrees(n, 1);
    for (int i = 0; i < 6; ++i) degrees[i] = 5 + static_cast<int64_t>(random() % (n - 6));
    const DegreeClasses classes = ClassifyDegrees(degrees);
    const auto model = FitBetaModel(classes);
    ASSERT_TRUE(model.ok()) << model.status();
    if (model->exists) continue;
    ++seen;
    double distance = 0;
    for (int i = 0; i < n; ++i) {
      double expected = 0;
      for (int j = 0; j < n; ++j) {
        if (j != i)
          expected +=
              1 / (1 + std::exp(-model->beta[classes.class_of_node[i]] - model->beta[classes.class_of_node[j]]));
      }
      const double d = static_cast<double>(degrees[i]);
      EXPECT_NEAR(expected, 1 + model->degree_share * (d - 1), 1e-6);
      distance = std::max(distance, std::abs(expected - d) / d);
    }
    EXPECT_NEAR(model->distance, distance, 1e-6);
  }
  EXPECT_GT(seen, 20);
}

TEST(FitBetaModel, ChangesLittleWhereTheViolationIsSlight) {
  std::vector<int64_t> degrees(300, 1);  // a star with a second hub; the sum of both may not reach 300
  degrees[0] = 298;
  degrees[1] = 4;
  const auto model = FitBetaModel(ClassifyDegrees(degrees));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_FALSE(model->exists);
  EXPECT_GT(model->degree_share, 0.97);
  EXPECT_LT(model->distance, 0.03);
}

TEST(FitBetaModel, RegularisesAMaximumThatIsOutOfReach) {  // degrees of nearly a threshold graph: beta grows with n
  for (const int n : {300, 1000}) {
    std::vector<int64_t> degrees(n);
    for (int i = 0; i < n; ++i) degrees[i] = 1 + static_cast<int64_t>(i) * (n - 3) / (n - 1);
    const auto model = FitBetaModel(ClassifyDegrees(degrees));
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_TRUE(model->exists);
    EXPECT_TRUE(model->regularised);
    EXPECT_LE(model->residual, 1e-8);
    EXPECT_LT(model->distance, 0.05);
    EXPECT_TRUE(std::is_sorted(model->beta.begin(), model->beta.end()));
  }
}

TEST(FitBetaModel, SurvivesHugeNoise) {
  const int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
  std::mt19937_64 random(13);
  for (const int n : {3, 4, 5, 50, 2000}) {
    std::vector<int64_t> degrees(n);
    for (int i = 0; i < n; ++i)
      degrees[i] = i % 3 == 0 ? least : i % 3 == 1 ? most : static_cast<int64_t>(random() % n);
    const auto model = FitBetaModel(ClassifyDegrees(degrees));
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_LE(model->residual, 1e-8);
    for (const double beta : model->beta) EXPECT_LE(std::abs(beta), 50);
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

// Noise of scale 3,000 on 60,000 degrees.
DegreeClasses TenThousandClasses() {
  std::mt19937_64 random(14);
  std::exponential_distribution<double> noise(1.0 / 3000);
  std::vector<int64_t> degrees(60'000);
  for (int64_t& d : degrees) d = 5 + std::llround(noise(random) - noise(random));
  return ClassifyDegrees(degrees);
}

TEST(FitBetaModel, SolvesThousandsOfClassesTheSameWithAnyThreads) {
  const DegreeClasses classes = TenThousandClasses();
  EXPECT_GT(classes.degree.size(), 8000u);
  EXPECT_LT(classes.degree.size(), 20'000u);
  const auto one = FitBetaModel(classes, {.threads = 1}), three = FitBetaModel(classes, {.threads = 3});
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_TRUE(three.ok()) << three.status();
  EXPECT_LE(one->residual, 1e-8);
  EXPECT_EQ(one->beta, three->beta);
  EXPECT_EQ(one->residual, three->residual);
}

TEST(FitBetaModel, StopsWhenToldWhileItSolvesAndWhileItCertifies) {
  const DegreeClasses classes = TenThousandClasses();
  EXPECT_EQ(FitBetaModel(classes, {.keep_going = [](double) { return false; }}).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(FitBetaModel(classes, {.threads = 1, .keep_going = [](double done) { return done < 0.3; }}).status().code(),
            absl::StatusCode::kCancelled);
}

TEST(FitBetaModel, RefusesTwoNodes) {
  EXPECT_EQ(FitBetaModel(DegreeClasses{}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FitBetaModel(DegreeClasses{{0, 0}, {1}, {2}}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace blink
