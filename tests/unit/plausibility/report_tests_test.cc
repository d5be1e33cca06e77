#include "aggregator_server/plausibility/report_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace blink {
namespace {

using ::testing::HasSubstr;

PrivacyParameters Parameters(double epsilon, double share, uint32_t nodes = 2708) {
  return PrivacyParameters::Create(static_cast<uint64_t>(std::llround(epsilon * 1e6)),
                                   static_cast<uint32_t>(std::llround(share * 1e6)), nodes)
      .value();
}

ReportTests Tests(double epsilon, double share, uint32_t nodes = 2708, uint32_t degree_max = 0) {
  return ReportTests::Create(Parameters(epsilon, share, nodes), {.degree_max = degree_max}).value();
}

TEST(ReportTests, TheBorderSaysWhatTheScoresSay) {
  for (const double epsilon : {0.001, 1.0, 4.0, 8.0, 50.0}) {
    for (const double share : {0.0, 0.1, 1.0}) {
      for (const uint32_t degree_max : {0u, 40u}) {
        const ReportTests tests = Tests(epsilon, share, 300, degree_max);
        const ReportScreen screen = tests.MakeScreen();
        for (uint32_t ones = 0; ones < 300; ones += 1) {
          for (const int64_t degree :
               {int64_t{-400}, int64_t{-90}, int64_t{-5}, int64_t{0}, int64_t{30}, int64_t{299}, int64_t{420}}) {
            bool beyond = false;
            if (share < 1) beyond |= std::abs(tests.ScoreOnes(ones)) > tests.threshold_z();
            if (share > 0) beyond |= std::abs(tests.ScoreDegree(ones, degree)) > tests.threshold_z();
            const std::optional<int64_t> sent = share > 0 ? std::optional<int64_t>(degree) : std::nullopt;
            ASSERT_EQ(screen.IsImplausible(ones, sent), beyond)
                << "epsilon " << epsilon << ", share " << share << ", ones " << ones << ", degree " << degree;
          }
        }
      }
    }
  }
}

TEST(ReportTests, ThresholdKeepsTheRoundsFalseAlarm) {
  const ReportTests tests = Tests(6, 0.1);
  EXPECT_DOUBLE_EQ(tests.false_alarm_each(), 1e-3 / (5 * 2708.0));
  EXPECT_NEAR(tests.threshold_z(), 5.38, 0.02);
}

TEST(ReportTests, AListWithoutNoiseHasTooFewOnes) {
  EXPECT_LT(Tests(1, 0.1).ScoreOnes(4), -30);
  EXPECT_LT(Tests(4, 0.1).ScoreOnes(4), -5.5);
  EXPECT_GT(Tests(8, 0.1).ScoreOnes(4), -1) << "where noise flips two bits, its absence cannot be seen";
}

TEST(ReportTests, NothingButOnesIsImplausibleForEveryDegreeWhereNoiseIsSeen) {
  EXPECT_GT(Tests(1, 0.1).ScoreOnes(2707), 30);
  EXPECT_GT(Tests(4, 0.1).ScoreOnes(2707), 5.5);
  EXPECT_EQ(Tests(8, 0.1).ScoreOnes(2707), Tests(8, 0.1).ScoreOnes(2707));
  EXPECT_LT(Tests(8, 0.1).ScoreOnes(2707), 3) << "a node may be linked to everybody";
  EXPECT_GT(Tests(8, 0.1, 2708, 500).ScoreOnes(2707), 30) << "unless the operator says that none is";
}

TEST(ReportTests, ADegreeFarFromTheBitsIsSeenAtAnyValue) {
  const ReportTests tests = Tests(6, 0.1);  // flips 12 of 2,707 zeros
  EXPECT_LT(std::abs(tests.ScoreDegree(17, 4)), 2);
  EXPECT_GT(tests.ScoreDegree(517, 4), 20) << "more ones than the degree explains";
  EXPECT_LT(tests.ScoreDegree(17, 500), -15);
  for (const int64_t extreme : {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
    EXPECT_GT(std::abs(tests.ScoreDegree(17, extreme)), 37);
    EXPECT_GT(std::abs(Tests(6, 1).ScoreDegree(0, extreme)), 37);
    EXPECT_TRUE(tests.MakeScreen().IsImplausible(17, extreme));
    EXPECT_TRUE(Tests(6, 1).MakeScreen().IsImplausible(0, extreme));
  }
}

TEST(ReportTests, WithoutBitsTheDegreeIsComparedWithItsRange) {
  const ReportTests tests = Tests(1, 1, 300);  // noise of scale 1
  EXPECT_EQ(tests.ScoreDegree(0, 0), 0);
  EXPECT_EQ(tests.ScoreDegree(0, 299), 0);
  EXPECT_GT(tests.ScoreDegree(0, -20), 5);
  EXPECT_LT(tests.ScoreDegree(0, 319), -5);
  EXPECT_LT(Tests(1, 1, 300, 100).ScoreDegree(0, 130), -5);
}

TEST(ReportTests, HoldAtTheEndsOfTheBudget) {
  for (const double epsilon : {0.000001, 0.01, 50.0}) {
    for (const double share : {0.0, 0.000001, 0.5, 0.999999, 1.0}) {
      const ReportTests tests = Tests(epsilon, share, 3);
      for (uint32_t ones = 0; ones <= 2; ++ones) {
        EXPECT_FALSE(std::isnan(tests.ScoreOnes(ones)));
        if (share == 0) continue;
        EXPECT_FALSE(std::isnan(tests.ScoreDegree(ones, 1)));
      }
      EXPECT_FALSE(
          tests.MakeScreen().IsImplausible(share < 1 ? 1 : 0, share > 0 ? std::optional<int64_t>(1) : std::nullopt))
          << epsilon << " " << share;
    }
  }
}

// Of 99 others a node has 49 own pairs if it is even, and 50 if it is odd.
TEST(ReportTests, AreOfTheOwnPairsWhereOneEndReports) {
  const auto parameters = PrivacyParameters::Create(1'000'000, 100'000, 100, Mechanism::kOneEnd).value();
  const ReportTests even = ReportTests::Create(parameters, {}).value();
  const ReportTests odd = ReportTests::Create(parameters, {}, /*node=*/1).value();
  const double p = parameters.flip_probability();
  for (const auto& [tests, pairs] : {std::pair(&even, 49), std::pair(&odd, 50)}) {
    EXPECT_EQ(tests->ScoreOnes(0), tails::ZScore(tails::BinomialAtMost(0, pairs, p), 1)) << pairs;
    EXPECT_EQ(tests->ScoreOnes(pairs), tails::ZScore(1, tails::BinomialAtLeast(pairs, pairs, 1 - p))) << pairs;
  }
  EXPECT_EQ(even.ScoreOnes(20), ReportTests::Create(parameters, {}, /*node=*/98)->ScoreOnes(20));
  EXPECT_TRUE(ReportTests::Create(parameters, {.degree_max = 99}).ok()) << "the bound is one of the whole list";
}

TEST(ReportTests, RefuseAFalseAlarmThatIsNoProbability) {
  for (const double wrong :
       {0.0, -1.0, 0.6, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const auto tests = ReportTests::Create(Parameters(1, 0.1), {.false_alarm = wrong});
    EXPECT_EQ(tests.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(tests.status().message()), HasSubstr("false_alarm"));
  }
}

TEST(ReportTests, RefuseABoundThatNoListCanReach) {
  const auto tests = ReportTests::Create(Parameters(1, 0.1), {.degree_max = 2708});
  EXPECT_EQ(tests.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(tests.status().message()), HasSubstr("degree_max is 2708"));
  EXPECT_TRUE(ReportTests::Create(Parameters(1, 0.1), {.degree_max = 2707}).ok());
}

}  // namespace
}  // namespace blink
