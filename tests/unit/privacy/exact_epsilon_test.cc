// The achieved budget against arithmetic that shares nothing with common/privacy: Boost.Multiprecision, 100 digits.
#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/cpp_int.hpp>
#include <vector>

#include "common/privacy/parameters.h"
#include "gtest/gtest.h"

namespace blink {
namespace {

using Real = boost::multiprecision::cpp_bin_float_100;
using Integer = boost::multiprecision::cpp_int;

const Real kTwoToThe64 = Real(Integer(1) << 64);

// Every budget of a logarithmic scale, every 0.1, and both ends.
std::vector<uint64_t> Budgets() {
  std::vector<uint64_t> budgets;
  for (uint64_t micro = 1; micro < 50'000'000; micro += micro / 16 + 1) budgets.push_back(micro);
  for (uint64_t micro = 100'000; micro <= 50'000'000; micro += 100'000) budgets.push_back(micro);
  return budgets;
}

constexpr uint32_t kShares[] = {0, 1, 1'000, 100'000, 271'828, 500'000, 900'000, 999'999, 1'000'000};

// What one entry costs, exactly but for 1e-90: ln((1 - p') / p') + epsilon_degree.
Real ExactlySpent(const PrivacyParameters& parameters) {
  const Real degree = Real(parameters.degree_epsilon_numerator()) / 1'000'000'000'000;
  if (!parameters.sends_bits()) return degree;
  const Real flip = Real(parameters.flip_numerator()) / kTwoToThe64;
  return log((1 - flip) / flip) + degree;
}

TEST(ExactEpsilon, IsNeverAboveThePromise) {
  for (const uint64_t micro : Budgets()) {
    for (const uint32_t share : kShares) {
      const auto parameters = *PrivacyParameters::Create(micro, share, 100);
      const Real promised = Real(micro) / 1'000'000;
      const Real spent = ExactlySpent(parameters);
      // Without a tolerance, but where the promise is met with equality and only the 100 digits are rounded.
      ASSERT_LE(spent, promised * (1 + Real("1e-95"))) << micro << " " << share;
    }
  }
}

TEST(ExactEpsilon, FlipsWithTheSmallestMultipleThatKeepsThePromise) {
  for (const uint64_t micro : Budgets()) {
    for (const uint32_t share : kShares) {
      const auto parameters = *PrivacyParameters::Create(micro, share, 100);
      const Real p = 1 / (1 + exp(Real(parameters.list_epsilon_numerator()) / 1'000'000'000'000));
      const Real scaled = p * kTwoToThe64;
      const Real numerator = Real(parameters.flip_numerator());
      ASSERT_GE(numerator, scaled * (1 - Real("1e-95"))) << micro << " " << share;
      ASSERT_LT(numerator, scaled + 1) << micro << " " << share;
      ASSERT_LE(numerator, kTwoToThe64 / 2);
      if (parameters.list_epsilon_numerator() <= 22'000'000'000'000) {
        ASSERT_LE((numerator - scaled) * (Real(Integer(1) << 32)), scaled)
            << "p' - p <= 2^-32 p: " << micro << " " << share;
      }
    }
  }
}

TEST(ExactEpsilon, IsReportedToFifteenDigitsAlsoWhereTheDenominatorLimitsIt) {
  bool limited = false;
  for (const uint64_t micro : Budgets()) {
    for (const uint32_t share : kShares) {
      const auto parameters = *PrivacyParameters::Create(micro, share, 100);
      const double exact = ExactlySpent(parameters).convert_to<double>();
      EXPECT_NEAR(parameters.achieved_epsilon(), exact, 2e-15 * exact) << micro << " " << share;
      EXPECT_LE(parameters.achieved_epsilon(), parameters.epsilon());
      limited = limited || exact < 0.999 * parameters.epsilon();
    }
  }
  EXPECT_TRUE(limited);
  // p' = 2^-64 from here on: no budget buys more than ln(2^64 - 1).
  EXPECT_NEAR(PrivacyParameters::Create(50'000'000, 0, 100)->achieved_epsilon(), 44.361419555836499, 1e-13);
}

}  // namespace
}  // namespace blink
