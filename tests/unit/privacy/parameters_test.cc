#include "common/privacy/parameters.h"

#include <cmath>

#include "common/privacy/flip_numerator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

void ExpectRefused(uint64_t epsilon_micro, uint32_t share, uint32_t nodes, const char* parameter) {
  const auto parameters = PrivacyParameters::Create(epsilon_micro, share, nodes);
  EXPECT_EQ(parameters.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(parameters.status().message()), HasSubstr(parameter));
}

TEST(PrivacyParameters, RefuseABudgetOfZero) { ExpectRefused(0, 0, 10, "epsilon_micro is 0"); }
TEST(PrivacyParameters, RefuseABudgetAboveFifty) { ExpectRefused(50'000'001, 0, 10, "epsilon_micro is 50000001"); }
TEST(PrivacyParameters, RefuseTheLargestInteger) { ExpectRefused(UINT64_MAX, 0, 10, "epsilon_micro"); }
TEST(PrivacyParameters, RefuseAShareAboveOne) { ExpectRefused(1, 1'000'001, 10, "degree_share_ppm is 1000001"); }
TEST(PrivacyParameters, RefuseTwoNodes) { ExpectRefused(1, 0, 2, "node_count is 2"); }
TEST(PrivacyParameters, RefuseTooManyNodes) { ExpectRefused(1, 0, 10'000'001, "node_count is 10000001"); }

TEST(PrivacyParameters, FlipAQuarterOfTheBitsAtEpsilonLnThree) {
  const auto parameters = PrivacyParameters::Create(1'098'612, 0, 3);  // ln 3 = 1.0986122887
  ASSERT_TRUE(parameters.ok());
  EXPECT_NEAR(parameters->flip_probability(), 0.25, 1e-7);
  EXPECT_GE(parameters->flip_probability(), 0.25);
  EXPECT_NEAR(parameters->bit_log_odds(), 1.098612, 1e-12);
}

// ceil(2^64 / (1 + e^x)) by Python's decimal module with 120 digits.
TEST(PrivacyParameters, AgreeWithIndependentlyComputedProbabilities) {
  const struct {
    uint64_t epsilon_micro;
    uint32_t share;
    uint64_t flip_numerator;
  } kGolden[] = {{1'098'612, 0, 4611687016862474031u},
                 {1, 0, 9223367425168757381u},
                 {1'000'000, 100'000, 5332040549455006443u},
                 {6'000'000, 100'000, 82941600285371030u},
                 {8'000'000, 100'000, 13761802969393540u},
                 {50'000'000, 0, 1u},
                 {44'000'000, 0, 2u},
                 {20'000'000, 500'000, 837442865445676u},
                 {8'000'000, 999'999, 9223335143366628586u},
                 {3'141'592, 271'828, 1699932518716234653u}};
  for (const auto& golden : kGolden) {
    const auto parameters = PrivacyParameters::Create(golden.epsilon_micro, golden.share, 100);
    ASSERT_TRUE(parameters.ok());
    EXPECT_EQ(parameters->flip_numerator(), golden.flip_numerator) << golden.epsilon_micro << " " << golden.share;
  }
}

TEST(PrivacyParameters, AgreeWithLongDoublesOverTheWholeRange) {
  for (uint64_t x = 1; x <= 50'000'000'000'000; x += x / 7 + 1) {
    const long double p = 1 / (1 + std::exp(static_cast<long double>(x) * 1e-12L));
    const long double scaled = std::ldexp(p, 64);
    const long double got = static_cast<long double>(FlipNumerator(x));
    EXPECT_GE(got, scaled * (1 - 1e-17L)) << x;
    EXPECT_LE(got, scaled * (1 + 1e-17L) + 1) << x;
  }
}

TEST(PrivacyParameters, NeverFlipMoreThanHalfNorNever) {
  EXPECT_EQ(FlipNumerator(0), uint64_t{1} << 63);
  EXPECT_LT(FlipNumerator(1), uint64_t{1} << 63);
  EXPECT_EQ(FlipNumerator(50'000'000'000'000), 1u);
}

TEST(PrivacyParameters, SpendNoMoreThanTheBudget) {
  for (const uint64_t epsilon_micro :
       {1u, 1'000u, 500'000u, 1'000'000u, 6'000'000u, 8'000'000u, 20'000'000u, 50'000'000u}) {
    for (const uint32_t share : {0u, 1u, 100'000u, 500'000u, 999'999u, 1'000'000u}) {
      const auto parameters = PrivacyParameters::Create(epsilon_micro, share, 100);
      ASSERT_TRUE(parameters.ok());
      EXPECT_LE(parameters->achieved_epsilon(), parameters->epsilon());
      if (epsilon_micro <= 8'000'000) {
        EXPECT_NEAR(parameters->achieved_epsilon(), parameters->epsilon(), 1e-14 + 1e-14 * parameters->epsilon());
      }
    }
  }
}

TEST(PrivacyParameters, SendNoBitsWhenTheDegreeTakesTheWholeBudget) {
  const auto parameters = PrivacyParameters::Create(2'000'000, 1'000'000, 100);
  ASSERT_TRUE(parameters.ok());
  EXPECT_FALSE(parameters->sends_bits());
  EXPECT_TRUE(parameters->sends_degree());
  EXPECT_EQ(parameters->bit_log_odds(), 0.0);
  EXPECT_EQ(parameters->epsilon_degree(), 2.0);
}

TEST(PrivacyParameters, SendNoDegreeAtShareZero) {
  const auto parameters = PrivacyParameters::Create(2'000'000, 0, 100);
  ASSERT_TRUE(parameters.ok());
  EXPECT_TRUE(parameters->sends_bits());
  EXPECT_FALSE(parameters->sends_degree());
}

}  // namespace
}  // namespace blink
