// Hybrid's choice of the largest P, where they are among the likely pairs, where they are not, and where they are
// equal.
#include "aggregator_server/estimate/attributed/likely_links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "aggregator_server/estimate/hybrid_cut.h"
#include "tests/unit/estimate/attributed/small_inputs.h"
#include "tests/unit/estimate/small_round.h"

namespace blink {
namespace {

constexpr uint64_t kTieSeed = 11;

using Key = std::tuple<float, uint64_t, NodeIndex, NodeIndex>;

std::vector<Key> Keys(const std::vector<LikelyPair>& pairs) {
  std::vector<Key> keys;
  for (const LikelyPair& x : pairs) keys.emplace_back(-x.log_odds, TieHash(kTieSeed, x.i, x.j), x.i, x.j);
  std::sort(keys.begin(), keys.end());
  return keys;
}

// All pairs, sorted.
std::vector<Key> AllPairs(const PairInputs& inputs, const std::vector<PriorRound>& rounds) {
  std::vector<LikelyPair> all;
  ForEachLogOddsRow(
      inputs, rounds, 0, 1,
      [&](const LogOddsRow& row) {
        for (uint32_t k = row.begin; k < row.end; ++k) all.push_back({row.i, row.first + k, row.log_odds[k]});
      },
      nullptr);
  return Keys(all);
}

void ExpectLargest(const PairInputs& inputs, const ClassProbabilities& classes, double constant,
                   const std::vector<uint64_t>& wanted_numbers, bool more_than_likely) {
  std::vector<PriorRound> rounds(1);
  rounds[0].theta[kConstant] = constant;
  const auto sums = PassOverPairs(inputs, classes, rounds, 0, {.bins = true, .threads = 2})[kOfTraining];
  const std::vector<Key> all = AllPairs(inputs, rounds);
  ASSERT_EQ(all.size(), inputs.n * (inputs.n - 1) / 2);
  for (const uint64_t wanted : wanted_numbers) {
    ASSERT_EQ(wanted > sums.likely.size(), more_than_likely);
    const auto found = Keys(LargestPairs(inputs, rounds, 0, sums, wanted, kTieSeed, 2, nullptr));
    EXPECT_EQ(found, std::vector<Key>(all.begin(), all.begin() + static_cast<int64_t>(wanted))) << wanted;
  }
}

class LargestPairsOf : public ::testing::Test {
 protected:
  PairInputs Inputs(const Round& round) {
    classes_ = MakeClasses(round.reports.node_count(), 1, 4);
    degrees_ = EstimateDegreePosterior(round.reports, 1);
    return PairInputs(round.reports, profiles_, classes_, degrees_, {});
  }
  NodeProfiles profiles_;
  ClassProbabilities classes_;
  DegreePosterior degrees_;
};

TEST_F(LargestPairsOf, SharpPosteriorsAreAmongTheLikelyPairs) {
  const Round round = MakeRound(300, 3'000'000, 20'000, 0, 7);
  ExpectLargest(Inputs(round), classes_, 0, {0, 1, 2, 500, 900}, false);
}

TEST_F(LargestPairsOf, DiffusePosteriorsLieBelowTheLikelyPairs) {
  const Round round = MakeRound(300, 1'000'000, 20'000, 0, 7);
  ExpectLargest(Inputs(round), classes_, -9, {1, 700, 30'000}, true);
}

// A bin that holds more pairs than are kept: 1.1 million pairs of two values.
TEST_F(LargestPairsOf, EqualPairsAreTakenByTheirHash) {
  constexpr uint32_t kNodes = 2'100;
  ReportSet reports(*PrivacyParameters::Create(1'000'000, 1'000'000, kNodes));
  for (NodeIndex i = 0; i < kNodes; ++i) ASSERT_TRUE(reports.Add(i, {BitRow(), 3}).ok());
  classes_ = MakeClasses(kNodes, 1, 4);
  degrees_ = {std::vector<double>(kNodes, 3.0), std::vector<double>(kNodes, 0.0)};
  degrees_.mean[7] = 3.0001;
  const PairInputs inputs(reports, profiles_, classes_, degrees_, {});
  ExpectLargest(inputs, classes_, 0, {1, 2'098, 2'099, 2'100, 3'150}, true);
}

TEST(LargestOf, TakesAllWhereThereAreFewer) {
  EXPECT_EQ(LargestOf({{0, 1, 2.0f}, {0, 2, 1.0f}}, 5, kTieSeed).size(), 2u);
  EXPECT_TRUE(LargestOf({}, 0, kTieSeed).empty());
  EXPECT_TRUE(LargestOf({{0, 1, 2.0f}}, 0, kTieSeed).empty());
}

}  // namespace
}  // namespace blink
