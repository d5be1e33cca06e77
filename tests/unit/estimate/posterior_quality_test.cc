// The quality of a posterior against twins that look at every pair: one that sorts, one that multiplies.
#include "aggregator_server/estimate/posterior_quality.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "aggregator_server/estimate/beta/beta_prior.h"
#include "aggregator_server/estimate/beta/denoise.h"
#include "aggregator_server/estimate/degrees.h"
#include "aggregator_server/estimate/posterior.h"
#include "aggregator_server/estimate/received_rows.h"
#include "tests/unit/estimate/small_round.h"

namespace blink {
namespace {

struct Pair {
  double log_odds;
  bool is_link;
};

double Sigma(double x) { return 1 / (1 + std::exp(-x)); }

// By the ranks of the sorted pairs; equal values share their rank.
double AucBySorting(std::vector<Pair> pairs) {
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.log_odds < b.log_odds; });
  double rank_sum = 0, links = 0;
  for (size_t begin = 0, end; begin < pairs.size(); begin = end) {
    for (end = begin; end < pairs.size() && pairs[end].log_odds == pairs[begin].log_odds;) ++end;
    for (size_t k = begin; k < end; ++k) {
      if (!pairs[k].is_link) continue;
      rank_sum += (static_cast<double>(begin + end) + 1) / 2;
      ++links;
    }
  }
  return (rank_sum - links * (links + 1) / 2) / (links * (static_cast<double>(pairs.size()) - links));
}

double LogLikelihood(const std::vector<Pair>& pairs) {
  double sum = 0;
  for (const Pair& pair : pairs)
    sum += pair.is_link ? std::log(Sigma(pair.log_odds)) : std::log1p(-Sigma(pair.log_odds));
  return sum;
}

PosteriorQuality QualityOf(const std::vector<Pair>& pairs) {
  QualityCounter counter;
  for (const Pair& pair : pairs) counter.Add(pair.log_odds, pair.is_link);
  return counter.Quality();
}

// Pairs whose P is right: links with the probability that their log-odds say.
std::vector<Pair> CalibratedPairs(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> log_odds(-3, 3);
  std::vector<Pair> pairs(count);
  for (Pair& pair : pairs) {
    pair.log_odds = log_odds(random);
    pair.is_link = (random() >> 11) * 0x1p-53 < Sigma(pair.log_odds);
  }
  return pairs;
}

TEST(PosteriorQuality, HasTheLogLikelihoodOfFourPairsThatWasComputedByHand) {
  // ln(3/4) + ln(1/4) + 2 ln(1/2)
  const PosteriorQuality quality = QualityOf({{std::log(3), true}, {std::log(3), false}, {0, true}, {0, false}});
  EXPECT_NEAR(quality.log_likelihood, std::log(3.0 / 64), 1e-6);
  EXPECT_NEAR(quality.auc, (0.5 + 1 + 0 + 0.5) / 4, 1e-12);
}

TEST(PosteriorQuality, HasTheAucOfSortedPairs) {
  const std::vector<Pair> pairs = CalibratedPairs(40000, 1);
  EXPECT_NEAR(QualityOf(pairs).auc, AucBySorting(pairs), 1e-4);
}

TEST(PosteriorQuality, HasTheAucOfSortedPairsExactlyWhereValuesLieInCellsOfTheirOwn) {
  std::vector<Pair> pairs = CalibratedPairs(5000, 2);
  for (Pair& pair : pairs) pair.log_odds = std::round(4 * pair.log_odds) / 4;
  EXPECT_NEAR(QualityOf(pairs).auc, AucBySorting(pairs), 1e-12);
}

TEST(PosteriorQuality, HasTheLogLikelihoodOfTheSumOverPairs) {
  const std::vector<Pair> pairs = CalibratedPairs(40000, 3);
  const double sum = LogLikelihood(pairs);
  EXPECT_NEAR(QualityOf(pairs).log_likelihood, sum, 1e-5 * std::abs(sum));
}

TEST(PosteriorQuality, PutsEveryPairIntoTheBinOfItsProbability) {
  const std::vector<Pair> pairs = CalibratedPairs(40000, 4);
  const PosteriorQuality quality = QualityOf(pairs);
  ASSERT_EQ(quality.bins.size(), 15u);
  EXPECT_EQ(quality.bins.front().from, 0);
  EXPECT_EQ(quality.bins.back().to, 1);
  for (size_t b = 0; b < quality.bins.size(); ++b) {
    const PosteriorQuality::Bin& bin = quality.bins[b];
    EXPECT_EQ(bin.from, b == 0 ? 0 : quality.bins[b - 1].to);
    uint64_t count = 0, links = 0;
    double sum = 0;
    for (const Pair& pair : pairs) {
      const double p = Sigma(pair.log_odds);
      if (p < bin.from || p >= bin.to) continue;
      ++count;
      links += pair.is_link;
      sum += p;
    }
    EXPECT_EQ(bin.pairs, count) << "bin " << b;
    EXPECT_EQ(bin.links, links) << "bin " << b;
    ASSERT_GT(count, 0u) << "bin " << b;
    EXPECT_NEAR(bin.mean_p, sum / static_cast<double>(count), 1e-4 * bin.mean_p) << "bin " << b;
  }
}

// Links of a bin are binomial; 15 bins, 5 standard deviations: fails by chance once in 100,000 seeds, and the seed is
// fixed.
TEST(PosteriorQuality, ShowsThatCalibratedPairsAreCalibrated) {
  for (const PosteriorQuality::Bin& bin : QualityOf(CalibratedPairs(400000, 5)).bins) {
    const double expected = bin.mean_p * static_cast<double>(bin.pairs);
    EXPECT_NEAR(static_cast<double>(bin.links), expected, 5 * std::sqrt(expected * (1 - bin.mean_p)) + 2);
  }
}

// Over every pair, with P in place of the truth. Pairs of equal P are ties.
TEST(ExpectedQuality, IsThatOfTheSumOverPairs) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(-3, 2);
  QualityCounter counter;
  std::vector<double> all;
  for (int k = 0; k < 400; ++k) {
    all.push_back(normal(random));
    counter.AddMany(all.back(), 1, 0);
  }
  double log_likelihood = 0, error = 0, hard = 0, of_hard = 0, links = 0, ordered = 0, both = 0;
  for (const double x : all) {
    const double p = Sigma(x);
    log_likelihood += p * std::log(p) + (1 - p) * std::log1p(-p);
    error += 2 * p * (1 - p);
    links += p;
    if (x > 0) hard += 1, of_hard += p;
    for (const double y : all) {
      ordered += p * (1 - Sigma(y)) * (x > y ? 1 : x == y ? 0.5 : 0);
      both += p * (1 - Sigma(y));
    }
  }
  const ExpectedQuality expected = counter.Expected();
  EXPECT_NEAR(expected.log_likelihood, log_likelihood, 1e-4 * std::abs(log_likelihood));
  EXPECT_NEAR(expected.error, error, 1e-4 * error);
  EXPECT_NEAR(expected.auc, ordered / both, 2e-3);
  EXPECT_NEAR(expected.precision, of_hard / hard, 1e-4);
  EXPECT_NEAR(expected.recall, of_hard / links, 1e-4);
}

TEST(ExpectedQuality, IsTheQualityOfPairsThatAreCalibrated) {
  const std::vector<Pair> pairs = CalibratedPairs(200'000, 9);
  QualityCounter counter;
  for (const Pair& pair : pairs) counter.Add(pair.log_odds, pair.is_link);
  const ExpectedQuality expected = counter.Expected();
  const PosteriorQuality quality = counter.Quality();
  EXPECT_NEAR(expected.log_likelihood, quality.log_likelihood, 0.02 * std::abs(quality.log_likelihood));
  EXPECT_NEAR(expected.auc, quality.auc, 0.01);
}

TEST(ExpectedQuality, HasNoPrecisionWhereNoPairIsALink) {
  QualityCounter counter;
  counter.AddMany(-5, 10, 0);
  counter.AddMany(0, 10, 0);  // a tie is no link of Hard
  EXPECT_TRUE(std::isnan(counter.Expected().precision));
  EXPECT_EQ(counter.Expected().recall, 0);
  EXPECT_TRUE(std::isnan(QualityCounter().Expected().recall));
  EXPECT_EQ(QualityCounter().Expected().auc, 0.5);
}

TEST(PosteriorQuality, NamesLimitsNextToRoundProbabilities) {
  const PosteriorQuality quality = QualityCounter().Quality();
  EXPECT_NEAR(quality.bins[1].from, 1e-4, 1e-6);
  EXPECT_NEAR(quality.bins[5].from, 0.05, 5e-4);
  EXPECT_NEAR(quality.bins[9].from, 0.5, 1e-12);
  EXPECT_NEAR(quality.bins[14].from, 0.99, 1e-4);
}

TEST(QualityCounter, JoinsPartsInAnyOrderToTheSameResult) {
  const std::vector<Pair> pairs = CalibratedPairs(10000, 6);
  QualityCounter whole, forwards, backwards;
  std::vector<QualityCounter> parts(3);
  for (size_t k = 0; k < pairs.size(); ++k) {
    whole.Add(pairs[k].log_odds, pairs[k].is_link);
    parts[k % 3].Add(pairs[k].log_odds, pairs[k].is_link);
  }
  for (int k : {0, 1, 2}) forwards.Join(parts[k]);
  for (int k : {2, 0, 1}) backwards.Join(parts[k]);
  for (const QualityCounter* joined : {&forwards, &backwards}) {
    EXPECT_EQ(joined->Quality().log_likelihood, whole.Quality().log_likelihood);
    EXPECT_EQ(joined->Quality().auc, whole.Quality().auc);
  }
}

TEST(QualityCounter, TakesManyPairsOfOneValueAsThatManyAdditionsAndTakesThemBack) {
  QualityCounter one_by_one, many;
  for (int k = 0; k < 7; ++k) one_by_one.Add(-2.3, k < 3);
  many.AddMany(-2.3, 9, 0);
  many.AddMany(-2.3, -2, 0);
  many.AddMany(-2.3, 0, 3);
  EXPECT_EQ(one_by_one.Quality().log_likelihood, many.Quality().log_likelihood);
  EXPECT_EQ(one_by_one.Quality().bins[6].links, many.Quality().bins[6].links);
}

TEST(QualityCounter, KeepsTheLogLikelihoodOfLogOddsBeyondItsReach) {
  EXPECT_NEAR(QualityOf({{-100, true}, {100, false}, {-100, false}}).log_likelihood, -200, 1e-6);
}

TEST(QualityCounter, SurvivesInfiniteAndUndefinedLogOdds) {
  const double infinity = std::numeric_limits<double>::infinity();
  const PosteriorQuality quality = QualityOf({{infinity, true}, {-infinity, false}, {std::nan(""), false}});
  EXPECT_EQ(quality.auc, 1);
  EXPECT_NEAR(quality.log_likelihood, 0, 1e-9);
}

TEST(QualityCounter, SaysOneHalfWhereThereIsNothingToOrder) {
  EXPECT_EQ(QualityCounter().Quality().auc, 0.5);
  EXPECT_EQ(QualityOf({{1, true}, {2, true}}).auc, 0.5);
  EXPECT_EQ(QualityOf({{1, false}}).auc, 0.5);
  EXPECT_EQ(QualityCounter().Quality().log_likelihood, 0);
}

struct Case {
  uint32_t n;
  uint64_t epsilon_micro;
  uint32_t share_ppm;
  double silent;
};

class QualityOfRounds : public testing::TestWithParam<Case> {};

TEST_P(QualityOfRounds, IsThatOfTheLoopOverAllPairs) {
  const Case& c = GetParam();
  const Round round = MakeRound(c.n, c.epsilon_micro, c.share_ppm, c.silent, 1);
  const auto estimate = EstimateLinks(round.reports, {.threads = 2, .truth = &round.truth});
  ASSERT_TRUE(estimate.ok()) << estimate.status();
  const DegreeClasses classes = ClassifyDegrees(EstimateDegrees(round.reports).degrees);
  const BetaPrior prior(classes, estimate->beta_fit->mle);
  const Posterior posterior(prior, round.reports.parameters().bit_log_odds());
  QualityCounter counter;
  std::vector<Pair> pairs;
  for (NodeIndex i = 0; i < c.n; ++i) {
    for (NodeIndex j = i + 1; j < c.n; ++j) {
      const double log_odds =
          posterior.LogOdds(classes.class_of_node[i], classes.class_of_node[j], EvidenceOf(round.reports, i, j));
      pairs.push_back({log_odds, round.truth.HasLink(i, j)});
      counter.Add(log_odds, round.truth.HasLink(i, j));
    }
  }
  const PosteriorQuality expected = counter.Quality();
  ASSERT_TRUE(estimate->quality.has_value());
  EXPECT_EQ(estimate->quality->log_likelihood, expected.log_likelihood);
  EXPECT_EQ(estimate->quality->auc, expected.auc);
  for (size_t b = 0; b < expected.bins.size(); ++b) {
    EXPECT_EQ(estimate->quality->bins[b].pairs, expected.bins[b].pairs);
    EXPECT_EQ(estimate->quality->bins[b].links, expected.bins[b].links);
  }
  EXPECT_NEAR(estimate->quality->auc, AucBySorting(pairs), 2e-3);  // few values lie in one cell
}

INSTANTIATE_TEST_SUITE_P(Rounds, QualityOfRounds,
                         testing::Values(Case{40, 500000, 100000, 0}, Case{65, 8000000, 100000, 0.3},
                                         Case{130, 2000000, 1000000, 0.2}, Case{200, 500000, 0, 0.5},
                                         Case{290, 3000000, 100000, 0.05}));

TEST(EstimateLinks, HasNoQualityWithoutATruth) {
  const Round round = MakeRound(40, 2000000, 100000, 0, 1);
  const auto estimate = EstimateLinks(round.reports, {});
  ASSERT_TRUE(estimate.ok());
  EXPECT_FALSE(estimate->quality.has_value());
  const auto with_truth = EstimateLinks(round.reports, {.truth = &round.truth});
  EXPECT_EQ(estimate->expected_quality->auc, with_truth->expected_quality->auc) << "which looks at no truth";
  EXPECT_EQ(estimate->expected_quality->error, with_truth->expected_quality->error);
  EXPECT_GT(estimate->expected_quality->auc, 0.5);
}

}  // namespace
}  // namespace blink
