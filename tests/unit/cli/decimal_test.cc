#include "common/cli/decimal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace blink {
namespace {

using ::testing::HasSubstr;

TEST(ParseMicro, IsExactWhereFloatingPointIsNot) {
  EXPECT_EQ(ParseMicro("x", "6").value(), 6'000'000u);
  EXPECT_EQ(ParseMicro("x", "0.1").value(), 100'000u);
  EXPECT_EQ(ParseMicro("x", "0.000001").value(), 1u);
  EXPECT_EQ(ParseMicro("x", "4.35").value(), 4'350'000u);  // 4.35 * 1e6 is 4349999.999... in double
  EXPECT_EQ(ParseMicro("x", "8.000000").value(), 8'000'000u);
  EXPECT_EQ(ParseMicro("x", "0").value(), 0u);
  EXPECT_EQ(ParseMicro("x", "9007199253.999999").value(), 9'007'199'253'999'999u);
}

TEST(ParseMicro, RefusesEverythingElseAndNamesIt) {
  for (const char* text :
       {"", ".", "1.", ".5", "-1", "+1", "1e3", "0x10", " 1", "1 ", "1,5", "1.2.3", "nan", "inf", "six", "1/2"}) {
    EXPECT_EQ(ParseMicro("--epsilon", text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  const absl::Status seventh = ParseMicro("--epsilon", "0.1234567").status();
  EXPECT_THAT(std::string(seventh.message()), HasSubstr("--epsilon"));
  EXPECT_THAT(std::string(seventh.message()), HasSubstr("more than six decimals"));
  EXPECT_FALSE(ParseMicro("x", "1.0000000").ok());  // even zeros: one spelling of the limit
  EXPECT_FALSE(ParseMicro("x", "9007199255").ok());
  EXPECT_FALSE(ParseMicro("x", "99999999999999999999999").ok());
}

TEST(ParseEpsilon, RefusesWhatNoBudgetMayBeAndNamesTheRange) {
  EXPECT_EQ(ParseEpsilon("--epsilon", "0.000001").value(), 1u);
  EXPECT_EQ(ParseEpsilon("--epsilon", "50").value(), 50'000'000u);
  EXPECT_EQ(ParseEpsilon("--epsilon", "50.000001").status().message(),
            "--epsilon: '50.000001' is not from 0.000001 to 50");
  for (const char* text : {"0", "-1", "1e0", "nan", "51", "0.0000001", ""}) {
    EXPECT_EQ(ParseEpsilon("--epsilon", text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ParseDegreeShare, RefusesWhatIsNoShareAndNamesTheRange) {
  EXPECT_EQ(ParseDegreeShare("--degree-share", "0").value(), 0u);
  EXPECT_EQ(ParseDegreeShare("--degree-share", "0.1").value(), 100'000u);
  EXPECT_EQ(ParseDegreeShare("--degree-share", "1").value(), 1'000'000u);
  EXPECT_EQ(ParseDegreeShare("--degree-share", "1.000001").status().message(),
            "--degree-share: '1.000001' is not from 0 to 1");
}

TEST(FormatMicro, IsTheShortestTextThatReadsBack) {
  EXPECT_EQ(FormatMicro(6'000'000), "6");
  EXPECT_EQ(FormatMicro(100'000), "0.1");
  EXPECT_EQ(FormatMicro(1), "0.000001");
  EXPECT_EQ(FormatMicro(0), "0");
  EXPECT_EQ(FormatMicro(10'000'000), "10");
  for (const uint64_t micro : {1ull, 999'999ull, 1'000'001ull, 4'350'000ull, 50'000'000ull}) {
    EXPECT_EQ(ParseMicro("x", FormatMicro(micro)).value(), micro);
  }
}

TEST(ParsePositiveDuration, ReadsTheUsualUnits) {
  EXPECT_EQ(ParsePositiveDuration("x", "60s").value(), absl::Seconds(60));
  EXPECT_EQ(ParsePositiveDuration("x", "1h30m").value(), absl::Minutes(90));
  EXPECT_EQ(ParsePositiveDuration("x", "500ms").value(), absl::Milliseconds(500));
  EXPECT_EQ(ParsePositiveDuration("x", "2d").value(), absl::Hours(48));
  EXPECT_EQ(ParsePositiveDuration("x", "0s").value(), absl::ZeroDuration());
}

TEST(ParsePositiveDuration, RefusesWhatWouldBeRounded) {
  for (const char* text : {"0.1ms", "1ns", "1.0001s", "0.0000000001s", "1.00000000001s", "10us"}) {
    EXPECT_EQ(ParsePositiveDuration("x", text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(ParsePositiveDuration("x", "0.5s").value(), absl::Milliseconds(500));
  EXPECT_EQ(ParsePositiveDuration("x", "1.5m", absl::Seconds(1)).value(), absl::Seconds(90));
  EXPECT_EQ(ParsePositiveDuration("x", "0.5s", absl::Seconds(1)).status().message(),
            "x: '0.5s' is not a whole number of seconds");
}

TEST(ParsePositiveDuration, RefusesTheRest) {
  for (const char* text : {"", "60", "-1s", "inf", "1y", "s", "1.5.d", "-2d", "d"}) {
    EXPECT_EQ(ParsePositiveDuration("--open-for", text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ParseNodeRange, ReadsANodeAndARange) {
  EXPECT_EQ(ParseNodeRange("3", 10)->first, 3u);
  EXPECT_EQ(ParseNodeRange("3", 10)->last, 3u);
  EXPECT_EQ(ParseNodeRange("0-9", 10)->last, 9u);
}

TEST(ParseNodeRange, RefusesWhatIsNotWithinTheRoster) {
  for (const char* text : {"", "-", "a", "1-", "-1", "5-3", "0-10", "10", "1-2-3", "1 -2", "99999999999999999999"}) {
    EXPECT_EQ(ParseNodeRange(text, 10).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(ParseNodeRange("5-3", 10).status().message(), "the range '5-3' begins above its end: write 3-5");
}

}  // namespace
}  // namespace blink
