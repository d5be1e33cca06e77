// DegreeDistribution against a twin in doubles that reads like its description.
#include "aggregator_server/estimate/attributed/degree_distribution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "tests/testing/instruction_sets.h"

namespace blink {
namespace {

std::vector<DegreeEvidence> Draw(size_t nodes, double variance, double epsilon, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> exponential(epsilon);
  std::vector<DegreeEvidence> evidence(nodes);
  for (size_t i = 0; i < nodes; ++i) {
    const double degree = std::floor(2 / std::sqrt((i + 1.0) / nodes));  // a tail of hubs
    DegreeEvidence& of = evidence[i];
    if (i % 5 != 0) of.sum = degree + std::sqrt(variance) * normal(random);
    of.variance = variance;
    if (i % 7 != 0) of.noisy = std::round(degree + exponential(random) * (i % 2 == 0 ? 1 : -1));
    of.epsilon = epsilon;
  }
  return evidence;
}

std::vector<double> FitSlowly(const std::vector<DegreeEvidence>& nodes, const std::vector<double>& degrees) {
  const size_t grid = degrees.size();
  std::vector<std::vector<double>> likelihoods;
  for (const DegreeEvidence& node : nodes) {
    likelihoods.emplace_back();
    for (const double degree : degrees) {
      double log = 0;
      if (node.sum) log -= std::pow(*node.sum - degree, 2) / (2 * node.variance);
      if (node.noisy) log -= node.epsilon * std::abs(*node.noisy - degree);
      likelihoods.back().push_back(std::exp(log));
    }
  }
  std::vector<double> weights(grid, 1.0 / grid), share(grid);
  for (int step = 0; step < 200; ++step) {
    std::vector<double> next(grid, 0.0);
    for (const std::vector<double>& likelihood : likelihoods) {
      for (size_t k = 0; k < grid; ++k) share[k] = weights[k] * likelihood[k];
      const double sum = std::accumulate(share.begin(), share.end(), 0.0);
      for (size_t k = 0; k < grid; ++k) next[k] += share[k] / sum / nodes.size();
    }
    for (size_t k = 0; k < grid; ++k)
      weights[k] = 0.96 * next[k] + 0.02 * (next[k == 0 ? 0 : k - 1] + next[std::min(k + 1, grid - 1)]);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& weight : weights) weight /= sum;
  }
  return weights;
}

class DegreeLawOf : public testing::EveryInstructionSet {};

TEST_P(DegreeLawOf, IsThatOfTheSlowTwin) {
  for (const size_t nodes : {3u, 100u, 1500u}) {
    const std::vector<DegreeEvidence> evidence = Draw(nodes, 4, 0.5, nodes);
    const DegreeDistribution law = DegreeDistribution::Fit(evidence, 2);
    ASSERT_EQ(law.degrees().size(), 60u);
    EXPECT_NEAR(law.degrees().front(), 0.3, 1e-12);
    EXPECT_NEAR(law.degrees().back(), nodes - 1.0, 1e-9);
    const std::vector<double> slow = FitSlowly(evidence, law.degrees());
    for (size_t k = 0; k < slow.size(); ++k) EXPECT_NEAR(law.weights()[k], slow[k], 2e-4) << k;
  }
}

BLINK_INSTANTIATE_FOR_INSTRUCTION_SETS(DegreeLawOf);

TEST(DegreeDistribution, ShrinksWhatIsUncertainTowardsWhatIsCommon) {
  std::vector<DegreeEvidence> nodes = Draw(2000, 100, 0.1, 3);
  const DegreeDistribution law = DegreeDistribution::Fit(nodes, 1);
  EXPECT_LT(law.PosteriorMean({.sum = 12, .variance = 100}), 8);
  EXPECT_GT(law.PosteriorMean({.sum = -30, .variance = 100}), 0.3);
  const DegreeEvidence nothing;
  const double mean = std::inner_product(law.weights().begin(), law.weights().end(), law.degrees().begin(), 0.0);
  EXPECT_NEAR(law.PosteriorMean(nothing), mean, 0.1 * mean);
}

TEST(DegreeDistribution, DoesNotRoundASharplyKnownDegreeToItsGrid) {
  std::vector<DegreeEvidence> nodes(3000);
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].sum = static_cast<double>(1 + i % 400);
    nodes[i].variance = 0.01;
  }
  const DegreeDistribution law = DegreeDistribution::Fit(nodes, 1);
  for (const double degree : {1.0, 4.0, 37.0, 151.0, 389.0})
    EXPECT_NEAR(law.PosteriorMean({.sum = degree, .variance = 0.01}), degree, 0.015 * degree + 0.02);
}

TEST(DegreeDistribution, IsFiniteForTheMostExtremeEvidence) {
  for (const double variance : {1e-20, 1.0, 1e20}) {
    for (const double epsilon : {1e-12, 1.0, 50.0}) {
      std::vector<DegreeEvidence> nodes = Draw(50, variance, epsilon, 5);
      nodes[0].noisy = 1e15;
      nodes[1].noisy = -1e15;
      nodes[2].sum = 1e15;
      nodes[3].sum = -1e15;
      const DegreeDistribution law = DegreeDistribution::Fit(nodes, 1);
      for (const DegreeEvidence& node : nodes) {
        const double mean = law.PosteriorMean(node);
        EXPECT_TRUE(mean >= 0.3 - 1e-9 && mean <= 49 + 1e-9) << mean;
      }
    }
  }
}

TEST(DegreeDistribution, OfManyNodesIsThatOfSomeOfThem) {
  const std::vector<DegreeEvidence> nodes = Draw(40'000, 25, 0.5, 6);
  const DegreeDistribution law = DegreeDistribution::Fit(nodes, 2);
  std::vector<DegreeEvidence> some;
  for (size_t i = 0; i < nodes.size(); i += 2) some.push_back(nodes[i]);
  const std::vector<double> slow = FitSlowly(some, law.degrees());
  for (size_t k = 0; k < slow.size(); ++k) EXPECT_NEAR(law.weights()[k], slow[k], 2e-4) << k;
}

}  // namespace
}  // namespace blink
