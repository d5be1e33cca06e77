// What Mechanism::kGroupDegrees puts on the wire: the groups, the question about them, and the numbers that answer it.
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/privacy/privatizer.h"
#include "common/wire/group_degrees_codec.h"
#include "common/wire/groups_codec.h"
#include "common/wire/report_codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/random_doubles.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

NodeGroups Dealt(uint32_t n, uint32_t count) {
  NodeGroups groups{.count = count};
  for (uint32_t i = 0; i < n; ++i) groups.group_of.push_back(i % count);
  return groups;
}

TEST(GroupsCodec, ReturnsTheGroupsOfEveryNode) {
  for (const auto& [n, count] : {std::pair{3u, 1u}, std::pair{10u, 3u}, std::pair{70'000u, 1000u}}) {
    const NodeGroups groups = Dealt(n, count);
    const auto decoded = DecodeGroups(EncodeGroups(groups), n, count);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(decoded->group_of, groups.group_of);
    EXPECT_EQ(decoded->count, count);
  }
}

TEST(GroupsCodec, RefusesWhatIsNoPartitionOfTheNodes) {
  const std::string coded = EncodeGroups(Dealt(10, 3));
  const auto refused = [](const absl::StatusOr<NodeGroups>& groups, const char* why) {
    EXPECT_EQ(groups.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(groups.status().message()), HasSubstr(why));
  };
  refused(DecodeGroups(coded, 10, 2), "node 2 is of group 2 of 2");
  refused(DecodeGroups(coded, 10, 0), "node 0 is of group 0 of 0");
  refused(DecodeGroups(coded, 9, 3), "20 bytes, but 9 nodes have 18");
  refused(DecodeGroups(coded, 11, 3), "11 nodes have 22");
  refused(DecodeGroups(coded.substr(1), 10, 3), "19 bytes");
  refused(DecodeGroups("", 10, 3), "0 bytes");
  std::string high = coded;
  high[1] = 1;  // group 256 of node 0
  refused(DecodeGroups(high, 10, 3), "node 0 is of group 256");
}

TEST(GroupQuestion, HasTheDocumentedDigestAndIsAnotherForAnyOtherGroups) {
  const GroupQuestion question = QuestionAbout(Dealt(10, 3));
  EXPECT_EQ(question.count, 3u);
  EXPECT_EQ(DigestToHex(question.map_sha256), "6a57650703772221823c1d5763636bd0985c698a1de45b32d74ffa0448ad337c");
  NodeGroups moved = Dealt(10, 3), empty_group = Dealt(10, 3);
  moved.group_of[9] = 1;
  empty_group.count = 4;
  EXPECT_NE(QuestionAbout(moved), question);
  EXPECT_NE(QuestionAbout(empty_group).map_sha256, question.map_sha256);
}

TEST(GroupDegreesCodec, ReturnsEveryNumber) {
  std::vector<int64_t> degrees = {0,   1,   -1,   63,   64,    -64,       -65,       127,
                                  128, 300, 8191, 8192, -8193, INT64_MAX, INT64_MIN, INT64_MIN + 1};
  std::mt19937_64 random(1);
  for (int k = 0; k < 1000; ++k) degrees.push_back(static_cast<int64_t>(random() >> (random() % 64)));
  const std::string coded = EncodeGroupDegrees(degrees);
  EXPECT_LE(coded.size(), degrees.size() * kGroupDegreeBytesMax);
  const auto decoded = DecodeGroupDegrees(coded, static_cast<uint32_t>(degrees.size()));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, degrees);
}

TEST(GroupDegreesCodec, WritesTheDocumentedBytes) {
  EXPECT_EQ(absl::BytesToHexString(EncodeGroupDegrees({4, -1, 300})), "0801d804");
}

// Every other byte string is refused: what is decoded comes back as the same bytes.
TEST(GroupDegreesCodec, HasOneEncodingOfTwoNumbers) {
  std::mt19937_64 random(2);
  int accepted = 0;
  for (int k = 0; k < 50'000; ++k) {
    std::string bytes;
    for (uint64_t size = 1 + random() % 12; size > 0; --size) {
      bytes.push_back(static_cast<char>(random() % 3 == 0 ? random() % 2 : random() | 128));
    }
    const auto decoded = DecodeGroupDegrees(bytes, 2);
    if (!decoded.ok()) continue;
    ++accepted;
    ASSERT_EQ(EncodeGroupDegrees(*decoded), bytes) << absl::BytesToHexString(bytes);
  }
  EXPECT_GT(accepted, 300);
}

TEST(GroupDegreesCodec, RefusesMissingSuperfluousAndMalformedNumbers) {
  const auto refused = [](const char* hex, const char* why) {
    const auto decoded = DecodeGroupDegrees(absl::HexStringToBytes(hex), 2);
    EXPECT_EQ(decoded.status().code(), absl::StatusCode::kInvalidArgument) << hex;
    EXPECT_THAT(std::string(decoded.status().message()), HasSubstr(why)) << hex;
  };
  refused("", "group 0 of 2 is missing or malformed");
  refused("04", "group 1 of 2 is missing or malformed");
  refused("0480", "group 1 of 2");                      // ends within a number
  refused("048000", "group 1 of 2");                    // a superfluous digit
  refused("04ffffffffffffffffff02", "group 1 of 2");    // 65 bits
  refused("04ffffffffffffffffff8100", "group 1 of 2");  // eleven digits
  refused("040400", "1 bytes follow the numbers of the 2 groups");
}

class GroupReportTest : public ::testing::Test {
 protected:
  const NodeGroups groups_ = Dealt(10, 3);
  const PrivacyParameters parameters_ = *PrivacyParameters::CreateForGroups(2'000'000, 10, QuestionAbout(groups_));
  void ExpectRefused(const CodedReport& coded, const char* why) {
    const auto report = DecodeReport(parameters_, 2, coded);
    EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(report.status().message()), HasSubstr(why));
  }
};

TEST_F(GroupReportTest, ReturnsWhatWasDrawn) {
  SeededRandom random(8);
  const PrivateReport report = *ApplyNoise(parameters_, 2, *DrawNoise(parameters_, 2, random), {1, 3, 9}, &groups_);
  const auto decoded = DecodeReport(parameters_, 2, EncodeReport(parameters_, report));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, report);
}

// Expected digest: golden_report_codec.py (Python's hashlib).
TEST_F(GroupReportTest, HasTheDocumentedBytesAndDigest) {
  PrivateReport report;
  report.group_degrees = {4, -1, 300};
  const CodedReport coded = EncodeReport(parameters_, report);
  EXPECT_EQ(absl::BytesToHexString(coded.coded_bits), "0801d804");
  EXPECT_EQ(DigestToHex(coded.digest), "12b59d944e856579b92a67a2190b31909a35e2616e9d0f3bd7eb54e41efd92d1");
}

TEST_F(GroupReportTest, IsNoAnswerAboutOtherGroups) {
  PrivateReport report;
  report.group_degrees = {4, -1, 300};
  NodeGroups moved = groups_;
  moved.group_of[0] = 2;
  const auto other = *PrivacyParameters::CreateForGroups(2'000'000, 10, QuestionAbout(moved));
  ExpectRefused(EncodeReport(other, report), "digest does not match");
}

TEST_F(GroupReportTest, RefusesADegreeBitsAndTooFewNumbers) {
  PrivateReport report;
  report.group_degrees = {4, -1, 300};
  CodedReport coded = EncodeReport(parameters_, report);
  coded.noisy_degree = 3;
  ExpectRefused(coded, "a noisy degree came");
  coded = EncodeReport(parameters_, report);
  coded.coded_bits.clear();
  ExpectRefused(coded, "coded bits are missing");
  report.group_degrees.pop_back();
  ExpectRefused(EncodeReport(parameters_, report), "group 2 of 3 is missing");
}

}  // namespace
}  // namespace blink
