// What both estimators share: their result, what they refuse, and the rule of Hybrid.
#include "aggregator_server/estimate/link_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "aggregator_server/estimate/hybrid_cut.h"
#include "tests/unit/estimate/small_round.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

TEST(LinkEstimate, IsItsOwnBestGuessUnlessItHasAnother) {
  LinkEstimate estimate;
  estimate.expected_links = 1;
  EXPECT_EQ(&estimate.BestGuess(), &static_cast<const LinkPosterior&>(estimate));
  estimate.attributed_fit.emplace();
  estimate.attributed_fit->best_guess.expected_links = 2;
  EXPECT_EQ(estimate.BestGuess().expected_links, 2);
}

TEST(LinkPosterior, HasOnlyTheVariantsThatWereAskedFor) {
  LinkPosterior posterior;
  posterior.hybrid.emplace();
  EXPECT_EQ(posterior.Of(Variant::kHard), &posterior.hard);
  EXPECT_EQ(posterior.Of(Variant::kHybrid), &*posterior.hybrid);
  EXPECT_EQ(posterior.Of(Variant::kSoft), nullptr);
}

TEST(CountTruePositives, CountsEachLinkOfBothGraphsOnce) {
  const CsrGraph truth = *CsrGraph::FromLinks(5, {{0, 1}, {1, 2}, {3, 4}});
  const CsrGraph links = *CsrGraph::FromLinks(5, {{0, 1}, {0, 2}, {3, 4}, {2, 3}});
  EXPECT_EQ(CountTruePositives(links, truth), 2u);
  EXPECT_EQ(CountTruePositives(truth, links), 2u);
}

TEST(CheckEstimable, RefusesARoundWithoutReportsAndATruthOfOtherNodes) {
  Round round = MakeRound(30, 2'000'000, 100'000, 0, 7);
  EXPECT_TRUE(CheckEstimable(round.reports, nullptr).ok());
  EXPECT_TRUE(CheckEstimable(round.reports, &round.truth).ok());
  const CsrGraph other = *CsrGraph::FromLinks(31, {});
  const absl::Status size = CheckEstimable(round.reports, &other);
  EXPECT_EQ(size.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(size.message()), HasSubstr("31 nodes"));
  for (NodeIndex i = 0; i < 30; ++i) round.reports.Drop(i);
  EXPECT_EQ(CheckEstimable(round.reports, nullptr).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(HybridLinkCount, RoundsDownButForAnErrorOfRounding) {
  EXPECT_EQ(HybridLinkCount(0), 0u);
  EXPECT_EQ(HybridLinkCount(7.9), 7u);
  EXPECT_EQ(HybridLinkCount(8 - 1e-7), 8u);
  EXPECT_EQ(HybridLinkCount(8 - 1e-5), 7u);
}

TEST(TieHash, OfNeighbouringPairsDiffersInAboutHalfItsBits) {
  double bits = 0;
  int pairs = 0;
  for (NodeIndex i = 0; i < 30; ++i) {
    for (NodeIndex j = i + 1; j < 30; ++j, ++pairs) bits += std::popcount(TieHash(7, i, j) ^ TieHash(7, i, j + 1));
  }
  EXPECT_NEAR(bits / pairs, 32, 1);  // five standard errors of 435 pairs
}

}  // namespace
}  // namespace blink
