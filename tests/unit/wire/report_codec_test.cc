#include "common/wire/report_codec.h"

#include <cmath>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/privacy/privatizer.h"
#include "common/wire/bit_coding.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/random_doubles.h"
#include "tests/unit/wire/codec_rows.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

BitRow Inverse(const BitRow& row) { return wire_internal::Complement(row); }

void ExpectRoundTrip(const BitRow& row) {
  const std::string coded = EncodeBits(row);
  const auto decoded = DecodeBits(coded, row.size());
  ASSERT_TRUE(decoded.ok()) << decoded.status() << " n=" << row.size() << " k=" << row.Count();
  ASSERT_EQ(*decoded, row) << "n=" << row.size() << " k=" << row.Count();
}

TEST(ReportCodec, ReturnsEveryRowOfEveryDensity) {
  uint64_t seed = 0;
  for (const uint32_t n : {1u, 3u, 8u, 63u, 64u, 65u, 256u, 257u, 300u, 1000u, 1024u, 2708u, 22'470u, 100'003u}) {
    for (const double density : {0.0, 1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.0311, 0.0314, 0.0624, 0.1, 0.29, 0.46, 0.48, 0.5,
                                 0.6, 0.9, 0.95, 0.999, 1.0}) {
      ExpectRoundTrip(RandomRow(n, density, ++seed));
    }
  }
}

TEST(ReportCodec, ReturnsRowsWithEveryNumberOfOnes) {
  for (const uint32_t n : {257u, 320u, 1000u}) {
    BitRow front(n), back(n);
    for (uint32_t k = 0; k < n; ++k) {
      ExpectRoundTrip(front);
      ExpectRoundTrip(back);
      front.Set(k);
      back.Set(n - 1 - k);
    }
    ExpectRoundTrip(front);
  }
}

TEST(ReportCodec, ReturnsRowsOfMillionsOfBits) {
  for (const uint32_t n : {1'000'000u, 10'000'000u}) {
    for (const double density : {0.3, 0.001}) ExpectRoundTrip(RandomRow(n, density, n));
    BitRow lonely(n);
    lonely.Set(n - 1);
    ExpectRoundTrip(lonely);
  }
}

// Expected bytes: golden_report_codec.py, an encoder written apart from this one.
TEST(ReportCodec, WritesTheDocumentedBytes) {
  BitRow last(40'000), leading(3100);
  last.Set(39'999);
  for (uint32_t j = 0; j < 96; ++j) leading.Set(j);
  const struct {
    BitRow row;
    const char* hex;
  } kGolden[] = {
      {QuadraticRow(10, 2), "10055501"},
      {QuadraticRow(300, 2), "10950155555555aa4a55aa556ab5564a292da52d2d49db9664db26d96493c96c6626337366c68c3907"},
      {QuadraticRow(300, 4),
       "1450a85537d592040000a3d503cb7283f0209cd56ab56cb78607a9555a41c3c25c00b5d503bffa7bca18f910ec98fab9b799effb700f"},
      {QuadraticRow(500, 60), "120f64887c196f827f100300000011e79363e5f5f8a7"},
      {Inverse(QuadraticRow(500, 60)), "13e50364887c196f827f100300000011e79363e5f5f8a7"},
      {last, "12013f0ccca6cfeb0c000000"},
      {leading,
       "1260000000000000000000000000000000000000000000000000ba06a25d9c070000078074e67485670886838ac86d00c10fd6023d0725"
       "855ac1c905a7c397049e58a6066a03"},
      {BitRow(300), "1200"},
      {Inverse(BitRow(300)), "13ac02"},
  };
  for (const auto& golden : kGolden) EXPECT_EQ(absl::BytesToHexString(EncodeBits(golden.row)), golden.hex);
}

TEST(ReportCodec, StaysNearTheEntropyForEveryBudget) {
  for (const uint32_t n : {1000u, 1025u, 2708u, 7000u, 22'470u, 100'000u, 1'000'000u}) {
    std::vector<NodeIndex> list;
    for (NodeIndex j = 1; j < n; j += 97) list.push_back(j);
    for (const uint32_t share_ppm : {0u, 100'000u, 500'000u}) {
      for (uint64_t epsilon = 1; epsilon <= 8; ++epsilon) {
        const auto parameters = *PrivacyParameters::Create(epsilon * 1'000'000, share_ppm, n);
        SeededRandom random(n + epsilon);
        for (int report = 0; report < (n < 10'000 ? 20 : 1); ++report) {
          const BitRow bits = ApplyNoise(parameters, 0, *DrawNoise(parameters, 0, random), list)->bits;
          EXPECT_LE(EncodeBits(bits).size(), 1.02 * EntropyBytes(n, bits.Count()) + 64)
              << "n=" << n << " epsilon=" << epsilon << " degree share ppm=" << share_ppm;
        }
      }
    }
  }
}

TEST(ReportCodec, StaysNearTheEntropyForEveryDensity) {
  for (const uint32_t n : {10'000u, 300'000u}) {
    for (double density = 1e-4; density < 1; density *= 1.3) {
      const BitRow row = RandomRow(n, density, 17);
      EXPECT_LE(EncodeBits(row).size(), 1.02 * EntropyBytes(n, row.Count()) + 64)
          << "n=" << n << " density=" << density;
    }
  }
}

TEST(ReportCodec, KnowsTheEntropy) {
  EXPECT_NEAR(EntropyBytes(11, 5), std::log2(252.0) / 8, 1e-12);  // C(10, 5) = 252
  EXPECT_EQ(EntropyBytes(1000, 0), 0);
}

TEST(ReportCodec, RefusesNothingAndATagAlone) {
  EXPECT_THAT(std::string(DecodeBits("", 10).status().message()), HasSubstr("empty"));
  EXPECT_FALSE(DecodeBits("\x10", 10).ok());
}

TEST(ReportCodec, RefusesATruncatedRow) {
  for (const double density : {0.0, 0.01, 0.2, 0.5, 0.99}) {
    const std::string coded = EncodeBits(RandomRow(2000, density, 3));
    for (size_t size = 0; size < coded.size(); ++size) {
      EXPECT_EQ(DecodeBits(coded.substr(0, size), 2000).status().code(), absl::StatusCode::kInvalidArgument) << size;
    }
  }
}

TEST(ReportCodec, RefusesAnythingBehindTheRow) {
  for (const double density : {0.0, 0.01, 0.2, 0.5, 0.99}) {
    const std::string coded = EncodeBits(RandomRow(2000, density, 4));
    for (const size_t extra : {1, 4, 8}) EXPECT_FALSE(DecodeBits(coded + std::string(extra, '\0'), 2000).ok());
  }
}

TEST(ReportCodec, RefusesMoreOnesThanBits) {
  EXPECT_THAT(std::string(DecodeBits(absl::string_view("\x10\x0b\xff\x07", 4), 10).status().message()),
              HasSubstr("11 ones announced for a row of 10 bits"));
}

TEST(ReportCodec, RefusesAnotherNumberOfOnesThanAnnounced) {
  EXPECT_THAT(std::string(DecodeBits(absl::string_view("\x10\x04\x55\x01", 4), 10).status().message()),
              HasSubstr("another number of ones"));
}

TEST(ReportCodec, RefusesABitBeyondTheLastNode) {
  EXPECT_THAT(std::string(DecodeBits(absl::string_view("\x10\x01\x00\x04", 4), 10).status().message()),
              HasSubstr("beyond the last node"));
}

TEST(ReportCodec, RefusesASuperfluousDigitInTheNumberOfOnes) {
  EXPECT_FALSE(DecodeBits(absl::string_view("\x10\x85\x00\x55\x01", 5), 10).ok());
  EXPECT_FALSE(DecodeBits("\x10\xff\xff\xff\xff\xff\x01", 10).ok());
}

TEST(ReportCodec, RefusesACodingThatIsNotTheCheapest) {
  BitRow row(1000);
  row.Set(5);
  std::string packed("\x10\x01", 2);
  packed.append(reinterpret_cast<const char*>(row.words().data()), 125);
  EXPECT_THAT(std::string(DecodeBits(packed, 1000).status().message()), HasSubstr("only coding 18 is valid"));
}

// 0x11 was the pattern coding with two states.
TEST(ReportCodec, RefusesATagThatIsNoLongerUsed) {
  std::string coded = EncodeBits(RandomRow(2000, 0.2, 1));
  ASSERT_EQ(coded[0], 0x14);
  coded[0] = 0x11;
  EXPECT_THAT(std::string(DecodeBits(coded, 2000).status().message()), HasSubstr("only coding 20 is valid"));
}

TEST(ReportCodec, RefusesARosterWithoutBits) { EXPECT_FALSE(DecodeBits(absl::string_view("\x10\x00", 2), 0).ok()); }

class CodedReportTest : public ::testing::Test {
 protected:
  const PrivacyParameters parameters_ = *PrivacyParameters::Create(6'000'000, 100'000, 500);
  PrivateReport Draw(const PrivacyParameters& parameters) {
    SeededRandom random(8);
    return *ApplyNoise(parameters, 2, *DrawNoise(parameters, 2, random), {1, 3, 400});
  }
  void ExpectRefused(const CodedReport& coded, const char* why) {
    const auto report = DecodeReport(parameters_, 2, coded);
    EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(report.status().message()), HasSubstr(why));
  }
};

TEST_F(CodedReportTest, ReturnsWhatWasDrawn) {
  for (const uint32_t share : {0u, 100'000u, 1'000'000u}) {
    const auto parameters = *PrivacyParameters::Create(6'000'000, share, 500);
    const PrivateReport report = Draw(parameters);
    const CodedReport coded = EncodeReport(parameters, report);
    const auto decoded = DecodeReport(parameters, 2, coded);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(*decoded, report);
  }
}

// Expected digests: golden_report_codec.py (Python's hashlib).
TEST_F(CodedReportTest, HasTheDocumentedDigest) {
  const std::string coded = EncodeBits(QuadraticRow(10, 2));
  EXPECT_EQ(DigestToHex(ReportDigest(*PrivacyParameters::Create(6'000'000, 100'000, 10), -3, coded)),
            "bbba05e45d6f8346d65d38cf7ba3633afb54c731d8f71b5794807a8f4523b7e2");
  EXPECT_EQ(DigestToHex(ReportDigest(*PrivacyParameters::Create(6'000'000, 0, 10), std::nullopt, coded)),
            "3a1fc84ef69794fa675d5466f399f9723d760df638d894169f225e998537c42e");
}

class OneEndReportTest : public CodedReportTest {
 protected:
  const PrivacyParameters one_end_ = *PrivacyParameters::Create(6'000'000, 100'000, 500, Mechanism::kOneEnd);
};

TEST_F(OneEndReportTest, ReturnsWhatWasDrawnInHalfTheBits) {
  for (const uint32_t share : {0u, 100'000u, 1'000'000u}) {
    for (const uint32_t n : {3u, 4u, 500u, 501u, 22'470u}) {
      for (const uint64_t epsilon_micro : {1u, 1'000'000u, 6'000'000u, 50'000'000u}) {
        const auto parameters = *PrivacyParameters::Create(epsilon_micro, share, n, Mechanism::kOneEnd);
        for (const NodeIndex self : {0u, 1u, n - 1}) {
          SeededRandom random(n + self);
          const PrivateReport report = *ApplyNoise(parameters, self, *DrawNoise(parameters, self, random), {});
          const CodedReport coded = EncodeReport(parameters, report);
          EXPECT_LE(coded.coded_bits.size(), CodedBytesMax(parameters.row_bits(self)));
          const auto decoded = DecodeReport(parameters, self, coded);
          ASSERT_TRUE(decoded.ok()) << decoded.status();
          EXPECT_EQ(*decoded, report);
        }
      }
    }
  }
}

// Expected digest: golden_report_codec.py (Python's hashlib).
TEST_F(OneEndReportTest, HasTheDocumentedBytesAndDigest) {
  const auto parameters = *PrivacyParameters::Create(6'000'000, 100'000, 10, Mechanism::kOneEnd);
  BitRow bits(4);  // node 4: the pairs with 1, 3, 6 and 8
  bits.Set(0);
  bits.Set(3);
  const CodedReport coded = EncodeReport(parameters, {bits, -3});
  EXPECT_EQ(absl::BytesToHexString(coded.coded_bits), "100209");
  EXPECT_EQ(DigestToHex(coded.digest), "c038641ab59971faf7dffab04eda0fc9a915634bfdf0b4674fbe796d86033531");
}

TEST_F(OneEndReportTest, IsNoReportOfTheOtherMechanism) {
  SeededRandom random(8);
  const CodedReport one = EncodeReport(one_end_, *ApplyNoise(one_end_, 2, *DrawNoise(one_end_, 2, random), {1}));
  ExpectRefused(one, "digest does not match");
  EXPECT_FALSE(DecodeReport(one_end_, 2, EncodeReport(parameters_, Draw(parameters_))).ok());
}

TEST_F(OneEndReportTest, RefusesMoreBitsThanOwnPairs) {
  BitRow bits(500);
  bits.Set(499);
  CodedReport coded{EncodeBits(bits), 1, {}};
  coded.digest = ReportDigest(one_end_, coded.noisy_degree, coded.coded_bits);
  EXPECT_EQ(DecodeReport(one_end_, 2, coded).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(DecodeReport(one_end_, 500, coded).ok()) << "a node beyond the roster";
}

TEST_F(CodedReportTest, RefusesAnotherDigest) {
  CodedReport coded = EncodeReport(parameters_, Draw(parameters_));
  coded.digest[31] ^= 1;
  ExpectRefused(coded, "digest does not match");
}

TEST_F(CodedReportTest, RefusesOtherParametersThroughTheDigest) {
  const auto other = *PrivacyParameters::Create(6'000'001, 100'000, 500);
  ExpectRefused(EncodeReport(other, Draw(other)), "digest does not match");
}

TEST_F(CodedReportTest, RefusesAMissingPart) {
  CodedReport coded = EncodeReport(parameters_, Draw(parameters_));
  coded.noisy_degree.reset();
  ExpectRefused(coded, "noisy degree is missing");
  coded = EncodeReport(parameters_, Draw(parameters_));
  coded.coded_bits.clear();
  ExpectRefused(coded, "coded bits are missing");
}

TEST_F(CodedReportTest, RefusesAPartThatTheRoundDoesNotAskFor) {
  const CodedReport coded = EncodeReport(parameters_, Draw(parameters_));
  EXPECT_THAT(std::string(DecodeReport(*PrivacyParameters::Create(6'000'000, 0, 500), 2, coded).status().message()),
              HasSubstr("share is 0"));
  EXPECT_THAT(
      std::string(DecodeReport(*PrivacyParameters::Create(6'000'000, 1'000'000, 500), 2, coded).status().message()),
      HasSubstr("share is 1"));
}

TEST_F(CodedReportTest, RefusesALinkToOneself) {
  PrivateReport report = Draw(parameters_);
  report.bits.Set(2);
  ExpectRefused(EncodeReport(parameters_, report), "node itself is 1");
}

TEST_F(CodedReportTest, RefusesANodeBeyondTheRoster) {
  EXPECT_FALSE(DecodeReport(parameters_, 500, EncodeReport(parameters_, Draw(parameters_))).ok());
}

}  // namespace
}  // namespace blink
