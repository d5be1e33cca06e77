// The sums of the beta-model's solver, interpolated and direct, against sums over pairs in long double.
#include "aggregator_server/estimate/beta/logistic_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include "tests/testing/instruction_sets.h"

namespace blink {
namespace {

struct Sums {
  long double links = 0, gaps = 0, curvature = 0, product = 0;
};
Sums Slow(const std::vector<double>& beta, const std::vector<double>& size, const std::vector<double>& x, size_t a) {
  Sums sums;
  for (size_t b = 0; b < beta.size(); ++b) {
    const long double others = a == b ? size[b] - 1 : size[b],
                      e = std::exp(-static_cast<long double>(beta[a]) - beta[b]);
    sums.links += others / (1 + e);
    sums.gaps += others * e / (1 + e);
    sums.curvature += others * e / ((1 + e) * (1 + e));
    sums.product += others * e / ((1 + e) * (1 + e)) * x[b];
  }
  return sums;
}

struct Case {
  std::vector<double> beta, size, x;
};
Case RandomCase(size_t classes, double low, double high, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> value(low, high);
  Case c;
  for (size_t a = 0; a < classes; ++a) {
    c.beta.push_back(value(random));
    c.size.push_back(1.0 + static_cast<double>(random() % 1000));
    c.x.push_back(value(random));
  }
  return c;
}

void ExpectNear(double value, long double slow, double scale) {
  EXPECT_NEAR(value, static_cast<double>(slow), 1e-12 * scale + 1e-300);
}

TEST(LogisticSums, AgreeWithSumsOverPairs) {
  const std::vector<std::pair<double, double>> ranges = {{-1, 1}, {-8, 1}, {-20, 18}, {-50, 50}, {-9, -8.5}, {30, 31}};
  for (const size_t classes : {1, 2, 20, 21, 300, 1500}) {
    for (const auto& [low, high] : ranges) {
      const Case c = RandomCase(classes, low, high, classes);
      LogisticSums sums(c.size);
      ASSERT_TRUE(sums.MoveTo(c.beta));
      std::vector<double> y(classes);
      sums.Multiply(c.x, y);
      for (size_t a = 0; a < classes; a += 1 + classes / 50) {
        const Sums slow = Slow(c.beta, c.size, c.x, a);
        // What is left of a class that has only itself is rounding of the term that was taken out.
        const double own = 1 / (1 + std::exp(-2 * c.beta[a])), own_gap = 1 / (1 + std::exp(2 * c.beta[a]));
        ExpectNear(sums.links()[a], slow.links, static_cast<double>(slow.links) + own);
        ExpectNear(sums.gaps()[a], slow.gaps, static_cast<double>(slow.gaps) + own_gap);
        ExpectNear(sums.curvature()[a], slow.curvature, 10 * (static_cast<double>(slow.curvature) + own * own_gap));
        ExpectNear(y[a], slow.product, 50 * 10 * (static_cast<double>(slow.curvature) + own * own_gap));
      }
    }
  }
}

TEST(LogisticSums, NeedFewPointsHoweverManyClasses) {
  const Case c = RandomCase(200'000, -11, 3, 1);
  LogisticSums sums(c.size);
  ASSERT_TRUE(sums.MoveTo(c.beta));
  EXPECT_LE(sums.points(), 160u);
  const Case few = RandomCase(5, -11, 3, 1);
  LogisticSums of_few(few.size);
  ASSERT_TRUE(of_few.MoveTo(few.beta));
  EXPECT_EQ(of_few.points(), 5u);
}

TEST(LogisticSums, TakeEqualBetaInManyClasses) {
  Case c = RandomCase(100, -1, 1, 2);
  std::fill(c.beta.begin(), c.beta.end(), -0.25);
  LogisticSums sums(c.size);
  ASSERT_TRUE(sums.MoveTo(c.beta));
  for (size_t a = 0; a < 100; ++a) {
    const Sums slow = Slow(c.beta, c.size, c.x, a);
    ExpectNear(sums.links()[a], slow.links, static_cast<double>(slow.links));
  }
}

TEST(LogisticSums, RefuseABetaOutOfReachAndKeepWhatTheyHad) {
  LogisticSums sums({3, 4});
  ASSERT_TRUE(sums.MoveTo({-kBetaMax, kBetaMax}));
  ASSERT_TRUE(sums.MoveTo({-1, 1}));
  const std::vector<double> before = sums.links();
  for (const double bad : {kBetaMax * 1.001, -kBetaMax * 1.001, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_FALSE(sums.MoveTo({0, bad})) << bad;
    EXPECT_EQ(sums.links(), before);
  }
}

class DirectSumsOfEverySet : public testing::EveryInstructionSet {};

TEST_P(DirectSumsOfEverySet, AgreeWithSumsOverPairsOnBothSides) {
  for (const size_t classes : {1, 2, 15, 16, 17, 700, 2100}) {
    const Case c = RandomCase(classes, -30, 30, classes);
    std::vector<bool> gaps;
    for (size_t a = 0; a < classes; ++a) gaps.push_back(a % 2 == 1);
    const std::vector<double> sums = DirectSums(c.beta, c.size, gaps, 2, {});
    ASSERT_EQ(sums.size(), classes);
    for (size_t a = 0; a < classes; a += 1 + classes / 50) {
      const Sums slow = Slow(c.beta, c.size, c.x, a);
      const long double expected = gaps[a] ? slow.gaps : slow.links;
      ExpectNear(sums[a], expected,
                 static_cast<double>(expected) + 1 / (1 + std::exp(gaps[a] ? 2 * c.beta[a] : -2 * c.beta[a])));
    }
  }
}

TEST_P(DirectSumsOfEverySet, DoNotDependOnTheThreads) {
  const Case c = RandomCase(3000, -9, 2, 3);
  const std::vector<bool> gaps(3000, false);
  EXPECT_EQ(DirectSums(c.beta, c.size, gaps, 1, {}), DirectSums(c.beta, c.size, gaps, 5, {}));
}

BLINK_INSTANTIATE_FOR_INSTRUCTION_SETS(DirectSumsOfEverySet);

TEST(DirectSums, ReportProgressFromTheCallersThreadAndStopWhenTold) {
  const Case c = RandomCase(4000, -9, 2, 4);
  const std::vector<bool> gaps(4000, false);
  const auto caller = std::this_thread::get_id();
  int calls = 0;
  double last = -1;
  const auto watch = [&](double fraction) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_GT(fraction, last);
    EXPECT_LE(fraction, 1);
    last = fraction;
    ++calls;
    return true;
  };
  EXPECT_EQ(DirectSums(c.beta, c.size, gaps, 1, watch).size(), 4000u);
  EXPECT_GT(calls, 10);
  EXPECT_TRUE(DirectSums(c.beta, c.size, gaps, 1, [](double) { return false; }).empty());
}

}  // namespace
}  // namespace blink
