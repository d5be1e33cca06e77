// Fleets of honest nodes. Each fleet raises a false alarm with probability at most 10^-3, so one of the 15 does with
// probability at most 1.5 % under another seed; the seeds are fixed. The shares of large z-scores are compared with six
// standard deviations more than what the normal distribution allows (10^-9 each, if the nodes were independent, which
// they nearly are).
#include <gtest/gtest.h>

#include "aggregator_server/plausibility/plausibility.h"
#include "tests/unit/plausibility/fleet.h"

namespace blink {
namespace {

PrivacyParameters Parameters(double epsilon, double share, uint32_t nodes) {
  return PrivacyParameters::Create(static_cast<uint64_t>(epsilon * 1e6), static_cast<uint32_t>(share * 1e6), nodes)
      .value();
}

class HonestFleet : public ::testing::TestWithParam<std::tuple<double, double>> {};

TEST_P(HonestFleet, RaisesNoFlagAndScoresNoHigherThanChance) {
  constexpr uint32_t kNodes = 1500;
  const auto [epsilon, share] = GetParam();
  const auto parameters = Parameters(epsilon, share, kNodes);
  const CsrGraph graph = testing::HeavyTailedGraph(kNodes, 8, 5);
  const ReportSet reports = testing::Gather(parameters, testing::DrawFleet(graph, parameters, 77));
  const Plausibility result = TestPlausibility(reports, {}, 2).value();
  EXPECT_EQ(result.tested, kNodes);
  EXPECT_TRUE(result.flagged.empty()) << result.flagged[0].test << " " << result.flagged[0].z;
  EXPECT_TRUE(result.symmetric);
  EXPECT_EQ(result.note, "");
  for (const double limit : {1.959964, 2.575829, 3.290527}) {
    const double expected = kNodes * 2 * 0.5 * std::erfc(limit / std::sqrt(2.0));
    double counts[4] = {0, 0, 0, 0};
    for (const ReportScores& scores : result.scores) {
      const double values[4] = {scores.ones, scores.degree, scores.unconfirmed, scores.omitted};
      for (int k = 0; k < 4; ++k) counts[k] += std::abs(values[k]) > limit;
      EXPECT_EQ(std::isnan(scores.ones), share == 1);
      EXPECT_EQ(std::isnan(scores.unconfirmed), share == 1);
      EXPECT_EQ(std::isnan(scores.omitted), share == 1);
      EXPECT_EQ(std::isnan(scores.degree), share == 0);
    }
    for (int k = 0; k < 4; ++k)
      EXPECT_LE(counts[k], expected + 6 * std::sqrt(expected) + 1) << "test " << k << ", |z| > " << limit;
  }
}

INSTANTIATE_TEST_SUITE_P(Budgets, HonestFleet,
                         ::testing::Combine(::testing::Values(1.0, 2.0, 4.0, 6.0, 8.0),
                                            ::testing::Values(0.0, 0.1, 1.0)),
                         [](const auto& info) {
                           return "Epsilon" + std::to_string(static_cast<int>(std::get<0>(info.param))) +
                                  "SharePercent" + std::to_string(static_cast<int>(100 * std::get<1>(info.param)));
                         });

// With a false alarm of 0.2 in place of 0.001, alarms can be counted: of 400 rounds more than 120 raise one with
// probability below 10^-6 if the claim holds (binomial, 80 expected).
TEST(HonestNodes, RaiseAnAlarmNoMoreOftenThanIsStated) {
  constexpr uint32_t kNodes = 120;
  const CsrGraph graph = testing::HeavyTailedGraph(kNodes, 6, 5);
  for (const double epsilon : {0.5, 1.5, 4.0}) {
    const auto parameters = Parameters(epsilon, 0.2, kNodes);
    int alarms = 0;
    for (uint64_t round = 0; round < 400; ++round) {
      const ReportSet reports = testing::Gather(parameters, testing::DrawFleet(graph, parameters, 1000 + round));
      const Plausibility result = TestPlausibility(reports, {.false_alarm = 0.2}, 1).value();
      alarms += !result.flagged.empty() || !result.note.empty();
    }
    std::printf("epsilon %g: %d of 400 rounds raise an alarm, at most 80 are expected\n", epsilon, alarms);
    EXPECT_LE(alarms, 120);
    EXPECT_GT(alarms, 0) << "a test that never fires claims too little";
  }
}

TEST(HonestNodes, AreJudgedByThoseThatReportedAlone) {
  const auto parameters = Parameters(4, 0.1, 1000);
  const CsrGraph graph = testing::HeavyTailedGraph(1000, 8, 5);
  const auto drawn = testing::DrawFleet(graph, parameters, 3);
  ReportSet reports(parameters);
  for (NodeIndex i = 0; i < 1000; ++i) {
    if (i % 3 == 0) continue;
    ASSERT_TRUE(reports.Add(i, drawn[i]).ok());
  }
  const Plausibility result = TestPlausibility(reports, {}, 1).value();
  EXPECT_EQ(result.tested, 666u);
  EXPECT_TRUE(result.flagged.empty());
  EXPECT_TRUE(std::isnan(result.scores[0].ones) && std::isnan(result.scores[0].unconfirmed));
  EXPECT_FALSE(std::isnan(result.scores[1].unconfirmed));
}

TEST(HonestNodes, OfARoundWithoutReportsAreNone) {
  const auto parameters = Parameters(4, 0.1, 100);
  const Plausibility result = TestPlausibility(ReportSet(parameters), {}, 0).value();
  EXPECT_EQ(result.tested, 0u);
  EXPECT_TRUE(result.flagged.empty());
  ReportSet one(parameters);
  SeededRandom random(1);
  ASSERT_TRUE(one.Add(5, testing::Draw(parameters, 5, {}, random)).ok());
  EXPECT_TRUE(std::isnan(TestPlausibility(one, {}, 0).value().scores[5].unconfirmed)) << "nobody is there to ask";
}

}  // namespace
}  // namespace blink
