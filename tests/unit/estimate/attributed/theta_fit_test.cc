#include "aggregator_server/estimate/attributed/theta_fit.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <numeric>

#include "aggregator_server/estimate/attributed/theta_sums.h"
#include "tests/testing/instruction_sets.h"
#include "tests/unit/estimate/attributed/theta_sample.h"

namespace blink {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double Softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

// The formulas of theta_sums.h, one pair at a time; `sizes` are sums of absolute values, to which errors are compared.
struct SlowSums {
  ThetaSums sums, sizes;
};
SlowSums SumSlowly(const PairSample& sample, const std::vector<double>& theta, Curvature kind = Curvature::kOuter) {
  const size_t width = sample.width;
  SlowSums slow;
  for (ThetaSums* sums : {&slow.sums, &slow.sizes}) {
    sums->gradient.assign(width, 0);
    sums->links_slope.assign(width, 0);
    sums->curvature.assign(width * width, 0);
  }
  const auto add = [&](auto member, size_t k, double value) {
    member(slow.sums)[k] += value;
    member(slow.sizes)[k] += std::abs(value);
  };
  for (size_t m = 0; m < sample.size(); ++m) {
    const float* phi = &sample.features[m * width];
    double eta = sample.base[m];
    for (size_t k = 0; k < width; ++k) eta += theta[k] * phi[k];
    const double weight = sample.weights[m], after = eta + sample.evidence[m];
    const double pi = Sigma(eta), r = Sigma(after) - pi;
    const double h = kind == Curvature::kOuter ? r * r : pi * (1 - pi) - Sigma(after) * (1 - Sigma(after));
    add([](ThetaSums& s) { return &s.likelihood; }, 0, weight * (Softplus(after) - Softplus(eta)));
    add([](ThetaSums& s) { return &s.links; }, 0, weight * pi);
    for (size_t k = 0; k < width; ++k) {
      add([](ThetaSums& s) { return s.gradient.data(); }, k, weight * r * phi[k]);
      add([](ThetaSums& s) { return s.links_slope.data(); }, k, weight * pi * (1 - pi) * phi[k]);
      for (size_t l = 0; l < width; ++l)
        add([](ThetaSums& s) { return s.curvature.data(); }, k * width + l, weight * h * phi[k] * phi[l]);
    }
  }
  return slow;
}

void ExpectNear(const std::vector<double>& found, const std::vector<double>& expected,
                const std::vector<double>& sizes) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], expected[k], 2e-6 * sizes[k] + 1e-300) << k;
}

class ThetaSumsOf : public testing::EveryInstructionSet {};

TEST_P(ThetaSumsOf, AreThoseOfTheFormulas) {
  for (const uint32_t width : {1u, 2u, 5u, 14u, 17u}) {
    for (const size_t pairs : {1u, 255u, 256u, 257u, 3000u}) {
      std::vector<double> theta(width);
      for (uint32_t k = 0; k < width; ++k) theta[k] = 0.3 * k - 0.5;
      PairSample sample = DrawSample(pairs, theta, 0.2, 17 * pairs + width);
      for (size_t m = 0; m < pairs; ++m) sample.weights[m] = static_cast<float>(1 + m % 7 * 10);
      for (const Curvature kind : {Curvature::kOuter, Curvature::kHessian}) {
        const SlowSums slow = SumSlowly(sample, theta, kind);
        const ThetaSums sums = SumPairs(sample, theta, 2, kind);
        EXPECT_NEAR(sums.likelihood, slow.sums.likelihood, 1e-10 * slow.sizes.likelihood);
        EXPECT_NEAR(sums.links, slow.sums.links, 1e-10 * slow.sizes.links);
        ExpectNear(sums.gradient, slow.sums.gradient, slow.sizes.gradient);
        ExpectNear(sums.links_slope, slow.sums.links_slope, slow.sizes.links_slope);
        ExpectNear(sums.curvature, slow.sums.curvature, slow.sizes.curvature);
      }
    }
  }
}

TEST_P(ThetaSumsOf, AreFiniteAtTheExtremes) {
  for (const float base : {-1e30f, -2000.0f, -700.0f, -88.0f, 0.0f, 88.0f, 700.0f, 2000.0f, 1e30f}) {
    for (const float evidence : {-2000.0f, -90.0f, 0.0f, 90.0f, 2000.0f}) {
      const PairSample sample{1, {1.0f}, {base}, {evidence}, {3.0f}};
      const SlowSums slow = SumSlowly(sample, {0.5});
      const ThetaSums sums = SumPairs(sample, std::vector<double>{0.5}, 1);
      const double size = 3 * (Softplus(base + 0.5) + Softplus(base + 0.5 + evidence));
      EXPECT_NEAR(sums.likelihood, slow.sums.likelihood, 1e-10 * size + 1e-290) << base << " " << evidence;
      EXPECT_NEAR(sums.links, slow.sums.links, 1e-10 * slow.sums.links + 1e-290);
      EXPECT_NEAR(sums.gradient[0], slow.sums.gradient[0], 1e-6 * std::abs(slow.sums.gradient[0]) + 1e-30);
    }
  }
}

BLINK_INSTANTIATE_FOR_INSTRUCTION_SETS(ThetaSumsOf);

// The objective as theta_fit.h has it.
double ObjectiveSlowly(const PairSample& sample, const ThetaOptions& options, const std::vector<double>& theta) {
  const ThetaSums sums = SumSlowly(sample, theta).sums;
  const double total = std::accumulate(sample.weights.begin(), sample.weights.end(), 0.0);
  double objective = sums.likelihood - options.ridge / 8 * theta[0] * theta[0];
  for (uint32_t k = 1; k < sample.width; ++k) {
    double mean = 0, squares = 0;
    for (size_t m = 0; m < sample.size(); ++m)
      mean += sample.weights[m] * sample.features[m * sample.width + k] / total;
    for (size_t m = 0; m < sample.size(); ++m) {
      const double beyond = sample.features[m * sample.width + k] - mean;
      squares += sample.weights[m] * beyond * beyond / total;
    }
    objective -= options.ridge / 2 * squares * theta[k] * theta[k];
  }
  if (options.links_variance > 0 && options.links_variance < kInfinity) {
    objective -= (sums.links - options.links) * (sums.links - options.links) / (2 * options.links_variance);
  }
  return objective;
}

// Climbs along one coordinate after the other, with steps that adapt: slow, and shares nothing with Newton.
std::vector<double> ClimbSlowly(size_t width, const std::function<double(const std::vector<double>&)>& objective) {
  std::vector<double> theta(width, 0.0), step(width, 1.0);
  double best = objective(theta);
  for (int round = 0; round < 250; ++round) {
    for (size_t k = 0; k < width; ++k) {
      bool up = false;
      for (const double sign : {1.0, -1.0}) {
        std::vector<double> next = theta;
        next[k] += sign * step[k];
        const double value = objective(next);
        if (value > best) {
          best = value, theta = next, up = true;
          break;
        }
      }
      step[k] *= up ? 1.5 : 0.5;
    }
  }
  return theta;
}

TEST(ThetaFit, FindsTheMaximumThatASlowClimbFinds) {
  const std::vector<double> truth = {0.5, -3, 20, 0.4};
  PairSample sample = DrawSample(400, truth, 0.15, 3);
  for (size_t m = 0; m < sample.size(); ++m) sample.weights[m] = m % 3 == 0 ? 2.0f : 0.5f;
  for (const double ridge : {0.1, 30.0}) {
    for (const double variance : {kInfinity, 4.0}) {
      const ThetaOptions options{.ridge = ridge, .links = 60, .links_variance = variance};
      const auto objective = [&](const std::vector<double>& theta) { return ObjectiveSlowly(sample, options, theta); };
      const std::vector<double> slow = ClimbSlowly(sample.width, objective);
      const auto fit = FitTheta(sample, options);
      ASSERT_TRUE(fit.ok());
      EXPECT_TRUE(fit->converged);
      EXPECT_NEAR(fit->objective, objective(fit->theta) - objective(std::vector<double>(4, 0.0)), 1e-4);
      EXPECT_GT(objective(fit->theta), objective(slow) - 1e-3) << ridge << " " << variance;
      EXPECT_LT(objective(fit->theta), objective(slow) + 1e-3) << ridge << " " << variance;
    }
  }
}

TEST(ThetaFit, IsTheSameOnAnyNumberOfThreads) {
  const PairSample sample = DrawSample(100'000, {0.3, 2, -5}, 0.2, 4);
  const auto one = FitTheta(sample, {.threads = 1}), three = FitTheta(sample, {.threads = 3});
  ASSERT_TRUE(one.ok() && three.ok());
  EXPECT_EQ(one->theta, three->theta);
  EXPECT_EQ(one->objective, three->objective);
}

TEST(ThetaFit, TakesAWeightForAsManyPairs) {
  PairSample weighted = DrawSample(2000, {0.3, 2}, 0.2, 5), repeated;
  repeated.width = 2;
  for (size_t m = 0; m < weighted.size(); ++m) {
    weighted.weights[m] = static_cast<float>(1 + m % 3);
    for (size_t copy = 0; copy < 1 + m % 3; ++copy) {
      repeated.features.insert(repeated.features.end(), {weighted.features[2 * m], weighted.features[2 * m + 1]});
      repeated.base.push_back(weighted.base[m]);
      repeated.evidence.push_back(weighted.evidence[m]);
      repeated.weights.push_back(1);
    }
  }
  const auto a = FitTheta(weighted, {}), b = FitTheta(repeated, {});
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NEAR(a->objective, b->objective, 1e-3);
  EXPECT_NEAR(a->theta[1], b->theta[1], 2e-2);
}

TEST(ThetaFit, FollowsTheObservedNumberOfLinks) {
  const PairSample sample = DrawSample(2000, {0.0, 1}, 0.3, 6);
  for (const double links : {20.0, 150.0, 900.0}) {
    const auto fit = FitTheta(sample, {.links = links, .links_variance = 1e-3});
    ASSERT_TRUE(fit.ok());
    EXPECT_NEAR(SumPairs(sample, fit->theta, 1).links, links, 0.5);
  }
}

TEST(ThetaFit, HoldsTheLinksAtTwoDeviationsWhereTheBitsSpeakAgainstThem) {
  const PairSample sample = DrawSample(20'000, {0.5, 1}, 0.05, 3);
  const double free = FitTheta(sample, {})->links;
  for (const double told : {0.5 * free, 1.5 * free}) {
    const double deviation = 0.04 * told, nearest = told < free ? told + 2 * deviation : told - 2 * deviation;
    const ThetaOptions options{.links = told, .links_variance = deviation * deviation};
    EXPECT_GT(std::abs(FitTheta(sample, options)->links - told), 2.5 * deviation);
    const auto held = FitThetaWithinLinks(sample, options);
    ASSERT_TRUE(held.ok()) << held.status();
    EXPECT_NEAR(held->links, nearest, 0.1 * deviation);
  }
}

TEST(ThetaFit, LeavesTheLinksWhereTheyAreNearOrHardlyKnown) {
  const PairSample sample = DrawSample(20'000, {0.5, 1}, 0.05, 3);
  const double free = FitTheta(sample, {})->links;
  for (const ThetaOptions& options :
       {ThetaOptions{}, ThetaOptions{.links = 1.05 * free, .links_variance = free * free / 400},
        ThetaOptions{.links = -free, .links_variance = free * free / 100}, ThetaOptions{.links_variance = kInfinity}}) {
    EXPECT_EQ(FitThetaWithinLinks(sample, options)->theta, FitTheta(sample, options)->theta);
  }
  EXPECT_FALSE(FitThetaWithinLinks({.width = 3}, {}).ok());
}

TEST(ThetaFit, FitsTheLinksAloneWhenThereAreNoBits) {
  PairSample sample = DrawSample(2000, {0.0, 1}, 0.3, 7);
  std::fill(sample.evidence.begin(), sample.evidence.end(), 0.0f);
  const auto fit = FitTheta(sample, {.links = 300, .links_variance = 25});
  ASSERT_TRUE(fit.ok());
  EXPECT_TRUE(fit->converged);
  EXPECT_NEAR(SumPairs(sample, fit->theta, 1).links, 300, 1);
}

TEST(ThetaFit, StaysAtZeroWhereNothingIsKnown) {
  PairSample sample = DrawSample(2000, {0.0, 1}, 0.3, 8);
  std::fill(sample.evidence.begin(), sample.evidence.end(), 0.0f);
  const auto fit = FitTheta(sample, {.links = 300, .links_variance = kInfinity});
  ASSERT_TRUE(fit.ok());
  EXPECT_TRUE(fit->converged);
  EXPECT_EQ(fit->theta, (std::vector<double>{0, 0}));
  EXPECT_EQ(fit->objective, 0);
}

TEST(ThetaFit, SurvivesFeaturesThatAreConstantOrCopies) {
  const PairSample narrow = DrawSample(3000, {0.3, 2}, 0.2, 9);
  PairSample wide = narrow;
  wide.width = 4;
  wide.features.clear();
  for (size_t m = 0; m < narrow.size(); ++m) {
    const float x = narrow.features[2 * m + 1];
    wide.features.insert(wide.features.end(), {1.0f, x, x, 0.0f});
  }
  for (const double ridge : {0.0, 1.0}) {
    const auto alone = FitTheta(narrow, {.ridge = ridge}), fit = FitTheta(wide, {.ridge = ridge});
    ASSERT_TRUE(alone.ok() && fit.ok());
    EXPECT_TRUE(fit->converged);
    EXPECT_NEAR(fit->theta[1] + fit->theta[2], alone->theta[1], 0.05);
    EXPECT_EQ(fit->theta[3], 0);
  }
}

TEST(ThetaFit, StartsWhereItIsTold) {
  const PairSample sample = DrawSample(5000, {0.3, 2, -5}, 0.2, 10);
  const auto cold = FitTheta(sample, {});
  ASSERT_TRUE(cold.ok());
  const auto warm = FitTheta(sample, {.start = cold->theta});
  ASSERT_TRUE(warm.ok());
  EXPECT_LE(warm->iterations, 2);
  EXPECT_GE(warm->objective, cold->objective);
  const auto wild = FitTheta(sample, {.start = {1e9, -1e9, 1e9}});
  ASSERT_TRUE(wild.ok());
  EXPECT_NEAR(wild->objective, cold->objective, 1e-2);
}

TEST(ThetaFit, StopsAfterTheIterationsItIsGranted) {
  const auto fit = FitTheta(DrawSample(5000, {3, 2, -5}, 0.2, 11), {.iterations_max = 1});
  ASSERT_TRUE(fit.ok());
  EXPECT_EQ(fit->iterations, 1);
  EXPECT_FALSE(fit->converged);
  EXPECT_GT(fit->objective, 0);
}

void ExpectRefused(const PairSample& sample, const ThetaOptions& options, const std::string& why) {
  const auto fit = FitTheta(sample, options);
  EXPECT_EQ(fit.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(fit.status().message()).find(why), std::string::npos) << fit.status();
}

TEST(ThetaFit, RefusesAnEmptySample) { ExpectRefused({.width = 3}, {}, "no pairs"); }

TEST(ThetaFit, RefusesPairsWithoutFeatures) { ExpectRefused({0, {}, {1}, {1}, {1}}, {}, "no features"); }

TEST(ThetaFit, RefusesSizesThatDoNotFit) {
  ExpectRefused({2, {1, 2, 3}, {0, 0}, {1, 1}, {1, 1}}, {}, "2 pairs of 2 features");
  ExpectRefused({1, {1, 1}, {0, 0}, {1}, {1, 1}}, {}, "1 evidences");
  ExpectRefused({1, {1, 1}, {0, 0}, {1, 1}, {1}}, {}, "1 weights");
  ExpectRefused({1, {1, 1}, {0, 0}, {1, 1}, {1, 1}}, {.start = {1, 2}}, "the start has 2");
}

TEST(ThetaFit, RefusesWeightsThatAreNotPositive) {
  for (const float weight : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(), HUGE_VALF})
    ExpectRefused({1, {1, 1}, {0, 0}, {1, 1}, {1, weight}}, {}, "weight");
}

TEST(ThetaFit, RefusesNumbersThatAreNotFinite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), HUGE_VALF, -HUGE_VALF}) {
    ExpectRefused({1, {1, bad}, {0, 0}, {1, 1}, {1, 1}}, {}, "not a finite number");
    ExpectRefused({1, {1, 1}, {0, bad}, {1, 1}, {1, 1}}, {}, "not a finite number");
    ExpectRefused({1, {1, 1}, {0, 0}, {1, bad}, {1, 1}}, {}, "not a finite number");
  }
}

TEST(ThetaFit, RefusesNumbersWhoseSumsOverflow) {
  ExpectRefused({2, {1, 1e38f, 1, -1e38f}, {0, 0}, {1, 1}, {1e38f, 1e38f}}, {}, "too large");
}

TEST(ThetaFit, RefusesANegativeRidgeOrVariance) {
  const PairSample sample{1, {1, 1}, {0, 0}, {1, -1}, {1, 1}};
  ExpectRefused(sample, {.ridge = -1}, "ridge");
  ExpectRefused(sample, {.ridge = std::nan("")}, "ridge");
  ExpectRefused(sample, {.links = 1, .links_variance = -1}, "variance");
  ExpectRefused(sample, {.links = 1, .links_variance = std::nan("")}, "variance");
}

}  // namespace
}  // namespace blink
