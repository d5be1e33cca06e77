// What the features of a pair are made of, and what they must not contain.
#include "aggregator_server/estimate/attributed/pair_features.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "aggregator_server/estimate/attributed/pair_sample.h"
#include "aggregator_server/estimate/attributed/posterior_pass.h"
#include "tests/unit/estimate/attributed/small_inputs.h"
#include "tests/unit/estimate/small_round.h"

namespace blink {
namespace {

constexpr PairTheta kTheta = {-1, 3, -2, 1, 2, 4, 1, -0.5, 0.7, 0.6};  // none of the network

using Features = std::array<float, kPairFeatureCount + 1>;  // and the base

// All that a round's fit knows of the pairs but their evidence, as [i][j], i < j.
std::vector<std::vector<Features>> FeaturesOf(const PairInputs& inputs, const std::vector<PriorRound>& rounds,
                                              PosteriorKind kind) {
  TileFeatures tile(inputs, rounds, rounds.size(), 1u << kind);
  std::vector<std::vector<Features>> all(inputs.n, std::vector<Features>(inputs.n));
  ForEachTile(
      inputs.n, 1,
      [&](const Tile& at, int) {
        tile.Load(at);
        for (uint32_t strip = 0; strip < tile.strip_count(); ++strip) {
          tile.Strip(strip);
          tile.Features(kind);
          for (uint32_t r = 0; r < kStripRows && tile.node(r) < inputs.n; ++r) {
            for (uint32_t j = tile.begin(r); j < tile.end(); ++j) {
              Features& features = all[tile.node(r)][at.first_column() + j];
              for (int f = 0; f < kPairFeatureCount; ++f) {
                const FeatureForm& form = kFeatureForms[f];
                features[f] = form.form == FeatureForm::kOne ? 1 : form.Of(tile.of(form.of, r)[j]);
              }
              features.back() = tile.base(r)[j];
            }
          }
        }
      },
      nullptr);
  return all;
}

// The features of a round after one with fixed coefficients, the degrees being what they are.
std::vector<std::vector<Features>> FeaturesAfterOneRound(const ReportSet& reports, const NodeProfiles& profiles,
                                                         const ClassProbabilities& classes,
                                                         const DegreePosterior& degrees, PosteriorKind kind) {
  const PairInputs inputs(reports, profiles, classes, degrees, {});
  std::vector<PriorRound> rounds(1);
  rounds[0].theta = kTheta;
  const auto sums = PassOverPairs(inputs, classes, rounds, 0, {.for_network = true});
  for (int k = 0; k < 2; ++k) rounds[0].network[k] = NetworkOf(inputs, sums[k]);
  return FeaturesOf(inputs, rounds, kind);
}

ReportSet Flipped(const ReportSet& reports, NodeIndex from, NodeIndex about) {
  ReportSet flipped = reports;
  PrivateReport report{BitRow(reports.node_count()), reports.noisy_degree(from)};
  const auto row = reports.row(from);
  std::copy(row.begin(), row.end(), report.bits.mutable_words().begin());
  report.bits.Flip(about);
  flipped.Drop(from);
  EXPECT_TRUE(flipped.Add(from, std::move(report)).ok());
  return flipped;
}

TEST(PairFeatures, OfTheNetworkDoNotContainThePairsOwnBits) {
  constexpr uint32_t kNodes = 70;
  const Round round = MakeRound(kNodes, 3'000'000, 20'000, 0, 7);
  const NodeProfiles profiles = MakeProfiles(kNodes, ProfileForm::kSparse, 3);
  const ClassProbabilities classes = MakeClasses(kNodes, 4, 4);
  DegreePosterior degrees{.mean = std::vector<double>(kNodes, 5.0), .influence = std::vector<double>(kNodes)};
  for (const PosteriorKind kind : {kOfLinks, kOfTraining}) {
    const auto before = FeaturesAfterOneRound(round.reports, profiles, classes, degrees, kind);
    std::array<int, kPairFeatureCount> others = {};
    for (const auto& [i, j] : {std::pair<NodeIndex, NodeIndex>{0, 1}, {3, 40}, {68, 69}, {12, 17}}) {
      for (const auto& [from, about] : {std::pair(i, j), std::pair(j, i)}) {
        const auto after = FeaturesAfterOneRound(Flipped(round.reports, from, about), profiles, classes, degrees, kind);
        // To rounding: the pair's P is added to the sums, and taken out again.
        for (size_t k = 0; k < before[i][j].size(); ++k) EXPECT_NEAR(after[i][j][k], before[i][j][k], 2e-6) << k;
        for (const PairFeature f : {kNeighboursLatent, kOverlap}) {
          for (NodeIndex k = j + 1; k < kNodes; ++k) others[f] += std::abs(after[i][k][f] - before[i][k][f]) > 1e-4f;
        }
      }
    }
    EXPECT_GT(others[kNeighboursLatent], 20) << "pairs of the same nodes with others must see the bit";
    EXPECT_GT(others[kOverlap], 20);
  }
}

// A round of which nothing is kept, of both posteriors or of one, after one of which much is: one object computes them
// in turn, in the same memory.
TEST(PairFeatures, OfCommonNeighboursAreZeroWhereNoPairIsKept) {
  constexpr uint32_t kNodes = 70;
  const Round round = MakeRound(kNodes, 3'000'000, 20'000, 0, 7);
  const NodeProfiles profiles = MakeProfiles(kNodes, ProfileForm::kSparse, 3);
  const ClassProbabilities classes = MakeClasses(kNodes, 4, 4);
  const DegreePosterior degrees{.mean = std::vector<double>(kNodes, 5.0), .influence = std::vector<double>(kNodes)};
  const PairInputs inputs(round.reports, profiles, classes, degrees, {});
  ASSERT_TRUE(inputs.sharp);
  std::vector<PriorRound> rounds(1);
  rounds[0].theta = kTheta;
  const auto sums = PassOverPairs(inputs, classes, rounds, 0, {.for_network = true});
  for (int k = 0; k < 2; ++k) rounds[0].network[k] = NetworkOf(inputs, sums[k]);
  ASSERT_FALSE(rounds[0].network[kOfLinks].kept.empty());
  rounds[0].network[kOfTraining].kept = {};
  rounds.push_back(rounds[0]);
  rounds[1].network[kOfLinks].kept = {};

  for (const size_t earlier : {1, 2}) {
    TileFeatures tile(inputs, rounds, earlier, 1u << kOfLinks | 1u << kOfTraining);
    tile.Load({0, 0});
    for (uint32_t strip = 0; strip < tile.strip_count(); ++strip) {
      tile.Strip(strip);
      for (const PosteriorKind kind : {kOfLinks, kOfTraining, kOfLinks}) {
        tile.Features(kind);
        const bool zero = earlier == 2 || kind == kOfTraining;
        int others = 0;
        for (uint32_t r = 0; r < kStripRows && tile.node(r) < kNodes; ++r) {
          for (uint32_t j = tile.begin(r); j < tile.end(); ++j) {
            for (const PairQuantity of : {kOfCommonNeighbours, kOfOverlap}) others += tile.of(of, r)[j] != 0;
          }
        }
        EXPECT_TRUE(zero ? others == 0 : others > 0 || tile.begin(0) >= tile.end())
            << earlier << ' ' << strip << ' ' << kind;
      }
    }
  }
}

TEST(PairFeatures, TakeThePairsOwnBitsOutOfTheDegrees) {
  constexpr uint32_t kNodes = 70;
  const Round round = MakeRound(kNodes, 2'000'000, 20'000, 0.3, 7);
  const NodeProfiles profiles;
  const ClassProbabilities classes = MakeClasses(kNodes, 1, 4);
  DegreePosterior degrees{.mean = std::vector<double>(kNodes, 5.0), .influence = std::vector<double>(kNodes)};
  for (NodeIndex i = 0; i < kNodes; ++i) degrees.influence[i] = 0.001 * i;
  const PairInputs inputs(round.reports, profiles, classes, degrees, {});
  const auto features = FeaturesOf(inputs, {}, kOfLinks);
  for (NodeIndex i = 0; i < kNodes; ++i) {
    for (NodeIndex j = i + 1; j < kNodes; ++j) {
      const int reports = round.reports.reported(i) + round.reports.reported(j);
      const int ones = (round.reports.reported(i) ? BitOf(round.reports, i, j) : 0) +
                       (round.reports.reported(j) ? BitOf(round.reports, j, i) : 0);
      const double own = DegreePosterior::OwnBits(reports, ones, round.reports.parameters().flip_probability());
      EXPECT_NEAR(features[i][j].back(), std::log(5.0 / kNodes) - 0.001 * (i + j) * own, 1e-5) << i << ' ' << j;
    }
  }
}

TEST(PairTiles, AreAllPairsOfBlocksOnceAndNoBlockTwiceInARound) {
  for (uint32_t blocks = 0; blocks < 12; ++blocks) {
    std::set<std::pair<uint32_t, uint32_t>> seen;
    for (const auto& round : TournamentOf(blocks)) {
      std::set<uint32_t> playing;
      for (const Tile& tile : round) {
        EXPECT_LE(tile.a, tile.b);
        EXPECT_LT(tile.b, blocks);
        EXPECT_TRUE(seen.insert({tile.a, tile.b}).second);
        EXPECT_TRUE(playing.insert(tile.a).second);
        EXPECT_TRUE(tile.a == tile.b || playing.insert(tile.b).second);
      }
    }
    EXPECT_EQ(seen.size(), blocks * (blocks + 1) / 2) << blocks;
  }
}

// A sample of few pairs.
class Sampling : public ::testing::Test {
 protected:
  static constexpr uint32_t kNodes = 400;
  PairSampler::Sample Draw(uint64_t seed, int threads, uint64_t all_pairs, uint64_t sample_pairs) const {
    return PairSampler(inputs_, seed, threads, nullptr, all_pairs, sample_pairs).Draw({}, 0, nullptr);
  }
  const Round round_ = MakeRound(kNodes, 2'000'000, 20'000, 0, 7);
  const NodeProfiles profiles_ = MakeProfiles(kNodes, ProfileForm::kSparse, 3);
  const ClassProbabilities classes_ = MakeClasses(kNodes, 4, 4);
  const DegreePosterior degrees_ = EstimateDegreePosterior(round_.reports, 1);
  const PairInputs inputs_{round_.reports, profiles_, classes_, degrees_, {}};
};

TEST_F(Sampling, TakesAllWhereTheyAreFew) {
  const auto sample = Draw(1, 2, 100'000, 10);
  EXPECT_EQ(sample.pairs.size(), kNodes * (kNodes - 1) / 2);
  EXPECT_EQ(std::set<float>(sample.pairs.weights.begin(), sample.pairs.weights.end()), std::set<float>{1.0f});
}

// Sums over all pairs and what the sample says of them, within five standard errors of the sample: by chance it would
// fail for one seed in a million, and the seed is fixed.
TEST_F(Sampling, StandsForAllPairs) {
  const auto all = Draw(1, 1, 100'000, 10), sample = Draw(1, 2, 1'000, 8'000);
  EXPECT_NEAR(static_cast<double>(sample.pairs.size()), 8'000, 450);
  ASSERT_EQ(sample.features, all.features);
  struct Sums {
    double pairs = 0;
    std::vector<double> of, variance;
  };
  const auto sums = [](const PairSample& pairs) {
    Sums sums{0, std::vector<double>(pairs.width + 1, 0.0), std::vector<double>(pairs.width + 1, 0.0)};
    for (size_t m = 0; m < pairs.size(); ++m) {
      const double w = pairs.weights[m], o = pairs.base[m];
      const double pi = 1 / (1 + std::exp(-o)), p = 1 / (1 + std::exp(-o - pairs.evidence[m]));
      sums.pairs += w;
      for (uint32_t k = 0; k <= pairs.width; ++k) {
        const double x = k < pairs.width ? (p - pi) * pairs.features[m * pairs.width + k] : pi;
        sums.of[k] += w * x;
        sums.variance[k] += w * (w - 1) * x * x;
      }
    }
    return sums;
  };
  const Sums wanted = sums(all.pairs), found = sums(sample.pairs);
  EXPECT_NEAR(found.pairs, wanted.pairs, 1) << "the weights of each stratum add up to its pairs";
  for (uint32_t k = 0; k <= all.pairs.width; ++k) {
    EXPECT_NEAR(found.of[k], wanted.of[k], 5 * std::sqrt(found.variance[k])) << k;
  }
  EXPECT_LT(std::sqrt(found.variance[all.pairs.width]), 0.02 * wanted.of[all.pairs.width]);
}

TEST_F(Sampling, IsTheSameForASeedWhateverTheThreads) {
  const auto one = Draw(1, 1, 1'000, 8'000), three = Draw(1, 3, 1'000, 8'000), other = Draw(2, 1, 1'000, 8'000);
  EXPECT_EQ(one.pairs.features, three.pairs.features);
  EXPECT_EQ(one.pairs.weights, three.pairs.weights);
  EXPECT_NE(one.pairs.features, other.pairs.features);
}

}  // namespace
}  // namespace blink
