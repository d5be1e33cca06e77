#include "aggregator_server/plausibility/tails.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace blink::tails {
namespace {

double Mass(int64_t k, int64_t n, double p) {
  if (k < 0 || k > n) return 0;
  double choose = 1;
  for (int64_t i = 1; i <= k; ++i) choose = choose * static_cast<double>(n - k + i) / static_cast<double>(i);
  return choose * std::pow(p, k) * std::pow(1 - p, n - k);
}

// The slow twin of DegreeTail: the exact tail for a list of `degree` links, as the double sum that it is.
double ExactDegreeTail(int64_t n, int64_t degree, double p, double epsilon, double t, int sign) {
  std::vector<double> ones(static_cast<size_t>(n + 1), 0);
  for (int64_t a = 0; a <= degree; ++a) {
    for (int64_t b = 0; b <= n - degree; ++b)
      ones[static_cast<size_t>(a + b)] += Mass(a, degree, 1 - p) * Mass(b, n - degree, p);
  }
  const double mean = static_cast<double>(degree) * (1 - p) + static_cast<double>(n - degree) * p;
  double tail = 0;
  for (int64_t y = -400; y <= 400; ++y) {
    const double mass = std::tanh(epsilon / 2) * std::exp(-epsilon * std::abs(static_cast<double>(y)));
    for (int64_t k = 0; k <= n; ++k) {
      const double value = static_cast<double>(k) - mean - (1 - 2 * p) * static_cast<double>(y);
      if (sign * value >= t - 1e-9) tail += mass * ones[static_cast<size_t>(k)];
    }
  }
  return tail;
}

TEST(Tails, OfTheBinomialAreSumsOfItsMasses) {
  for (const double p : {0.0, 1e-5, 0.01, 0.3, 0.5, 0.9, 1.0}) {
    double below = 0;
    for (int64_t k = 0; k <= 30; ++k) {
      const double mass = Mass(k, 30, p);
      EXPECT_NEAR(BinomialAtLeast(k, 30, p), 1 - below, 1e-12);
      below += mass;
      EXPECT_NEAR(BinomialAtMost(k, 30, p), below, 1e-12);
    }
  }
  EXPECT_EQ(BinomialAtMost(-1, 30, 0.5), 0);
  EXPECT_EQ(BinomialAtLeast(31, 30, 0.5), 0);
  EXPECT_EQ(BinomialAtLeast(0, 0, 0.5), 1);
  EXPECT_NEAR(BinomialAtLeast(30, 30, 1e-4) / 1e-120, 1, 1e-9) << "relative accuracy far out";
}

TEST(Tails, OfASumOfTwoBinomialsAreTheDoubleSum) {
  for (const double pa : {1e-6, 0.02, 0.4, 0.98, 1.0}) {
    for (const double pb : {1e-6, 0.02, 0.4}) {
      for (int64_t count = -1; count <= 20; ++count) {
        double sum = 0;
        for (int64_t a = 0; a <= 12; ++a) {
          for (int64_t b = 0; b <= 7; ++b) sum += a + b >= count ? Mass(a, 12, pa) * Mass(b, 7, pb) : 0;
        }
        EXPECT_NEAR(SumAtLeast(count, 12, pa, 7, pb), sum, 1e-11) << pa << " " << pb << " " << count;
      }
    }
  }
  EXPECT_EQ(SumAtLeast(3, 0, 0.5, 5, 0.1), BinomialAtLeast(3, 5, 0.1));
  EXPECT_EQ(SumAtLeast(3, 5, 0.1, 0, 0.5), BinomialAtLeast(3, 5, 0.1));
}

TEST(Tails, OfTheDiscreteLaplaceAreSumsOfItsMasses) {
  for (const double epsilon : {0.05, 0.6, 5.0}) {
    for (const int t : {-30, -1, 0, 1, 2, 30}) {
      double sum = 0;
      for (int y = t; y <= 5000; ++y) sum += std::tanh(epsilon / 2) * std::exp(-epsilon * std::abs(y));
      EXPECT_NEAR(DiscreteLaplaceAtLeast(t, epsilon), sum, 1e-12);
    }
  }
  EXPECT_EQ(DiscreteLaplaceAtLeast(9.2e18, 0.5), 0);
  EXPECT_EQ(DiscreteLaplaceAtLeast(-9.2e18, 0.5), 1);
}

TEST(DegreeTail, BoundsBothTailsForEveryDegree) {
  for (const double p : {0.01, 0.1, 0.3, 0.45}) {
    for (const double epsilon : {0.1, 0.6, 3.0}) {
      const DegreeTail tail(24, p, 1 - 2 * p, epsilon);
      ASSERT_TRUE(tail.Usable());
      for (const double t : {0.0, 0.7, 2.0, 5.3, 11.0, 30.0}) {
        double worst = 0;
        for (int64_t degree = 0; degree <= 24; ++degree) {
          for (const int sign : {-1, 1}) worst = std::max(worst, ExactDegreeTail(24, degree, p, epsilon, t, sign));
        }
        EXPECT_GE(tail.AtLeast(t), worst) << p << " " << epsilon << " " << t;
        EXPECT_LE(tail.AtLeast(t), std::min(1.0, 12 * std::exp(epsilon) * worst))
            << "and is not much larger: " << p << " " << epsilon << " " << t;
      }
    }
  }
}

TEST(DegreeTail, FallsForEverAndNeverRises) {
  const DegreeTail tail(2707, 0.0046, 1 - 2 * 0.0046, 0.6);
  double before = 1;
  for (double t = 0; t < 1e4; t = t * 1.01 + 0.3) {
    EXPECT_LE(tail.AtLeast(t), before);
    before = tail.AtLeast(t);
  }
  EXPECT_LT(before, 1e-290);
  EXPECT_LT(tail.AtLeast(1e19), 1e-290);
}

TEST(DegreeTail, HasNoTableForBitsThatSayNextToNothing) {
  EXPECT_FALSE(DegreeTail(22469, 0.4999999, 2e-7, 0.1).Usable());
  EXPECT_FALSE(DegreeTail(22469, 0.5, 0, 0.1).Usable());
}

TEST(ZScore, IsThatOfTheNormalDistribution) {
  EXPECT_NEAR(ZScore(1, 0.024997895), 1.96, 1e-6);
  EXPECT_NEAR(ZScore(0.024997895, 1), -1.96, 1e-6);
  EXPECT_NEAR(UpperQuantile(2.866515719e-7), 5, 1e-6);
  EXPECT_EQ(ZScore(0.6, 0.7), 0);
  EXPECT_EQ(ZScore(0.5, 0.5), 0);
  EXPECT_GT(ZScore(1, 0), 37);
  EXPECT_LT(ZScore(1, 0), 37.1);
  EXPECT_EQ(ZScore(0, 1), -ZScore(1, 0));
}

}  // namespace
}  // namespace blink::tails
