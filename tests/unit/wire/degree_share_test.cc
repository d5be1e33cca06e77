#include "common/wire/degree_share.h"

#include "common/privacy/parameters.h"
#include "gtest/gtest.h"

namespace blink {
namespace {

TEST(DegreeShare, OfTheBetaPriorIsByEpsilonAlone) {
  EXPECT_EQ(DefaultDegreeSharePpm(1'000'000, Prior::kBeta), 200'000u);
  EXPECT_EQ(DefaultDegreeSharePpm(1'499'999, Prior::kBeta), 200'000u);
  EXPECT_EQ(DefaultDegreeSharePpm(1'500'000, Prior::kBeta), 100'000u);
  EXPECT_EQ(DefaultDegreeSharePpm(2'500'000, Prior::kBeta), 50'000u);
}

TEST(DegreeShare, OfTheAttributedPriorFallsFromEpsilonOneToTwoAndNowhereElse) {
  EXPECT_EQ(DefaultDegreeSharePpm(1, Prior::kAttributed), 50'000u);
  EXPECT_EQ(DefaultDegreeSharePpm(1'000'000, Prior::kAttributed), 50'000u);
  EXPECT_EQ(DefaultDegreeSharePpm(1'500'000, Prior::kAttributed), 35'000u);
  EXPECT_EQ(DefaultDegreeSharePpm(2'000'000, Prior::kAttributed), 20'000u);
  EXPECT_EQ(DefaultDegreeSharePpm(50'000'000, Prior::kAttributed), 20'000u);
  EXPECT_EQ(DefaultDegreeSharePpm(~uint64_t{0}, Prior::kAttributed), 20'000u) << "out of range, but no overflow";
}

TEST(DegreeShare, IsTheSmallerTheMoreThereIsToSpendAndLeavesBothPartsSomething) {
  for (const Prior prior : {Prior::kBeta, Prior::kAttributed}) {
    uint32_t last = 1'000'000;
    for (const uint64_t epsilon_micro : {1u, 1'000'000u, 1'500'000u, 2'000'000u, 3'000'000u, 6'000'000u, 50'000'000u}) {
      const uint32_t share = DefaultDegreeSharePpm(epsilon_micro, prior);
      EXPECT_LE(share, last);
      const auto parameters = PrivacyParameters::Create(epsilon_micro, share, 100);
      ASSERT_TRUE(parameters.ok());
      EXPECT_TRUE(parameters->sends_bits() && parameters->sends_degree());
      last = share;
    }
  }
}

}  // namespace
}  // namespace blink
