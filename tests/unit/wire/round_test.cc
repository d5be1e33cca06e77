#include "common/wire/round.h"

#include <cmath>
#include <limits>

#include "common/base/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

const char kRoundId[] = "0123456789abcdef0123456789abcdef";

v1::NodeRound ValidRound() {
  v1::NodeRound round;
  round.set_round_id(kRoundId);
  *round.mutable_parameters() = ParametersToProto(*PrivacyParameters::Create(6'000'000, 100'000, 2708));
  round.set_roster_version(3);
  round.set_state(v1::ROUND_STATE_OPEN);
  round.set_deadline_ms(1'800'000'000'123);
  round.set_held_digest(std::string(32, 'd'));
  return round;
}

void ExpectRoundRefused(const v1::NodeRound& round, const char* why) {
  const auto view = RoundViewFromProto(round);
  EXPECT_EQ(view.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(view.status().message()), HasSubstr(why));
}

TEST(RoundView, ReturnsUnchangedFromTheWire) {
  const auto view = RoundViewFromProto(ValidRound());
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(RoundViewToProto(*view).SerializeAsString(), ValidRound().SerializeAsString());
  v1::NodeRound without = ValidRound();
  without.clear_held_digest();
  EXPECT_FALSE(RoundViewFromProto(without)->held_digest.has_value());
}

TEST(RoundView, RefusesAMalformedRoundId) {
  for (const char* id : {"", "0123456789abcdef0123456789abcde", "0123456789ABCDEF0123456789ABCDEF",
                         "0123456789abcdef0123456789abcdef0", "../../../../../../../../../etc/pa"}) {
    v1::NodeRound round = ValidRound();
    round.set_round_id(id);
    ExpectRoundRefused(round, "round_id must be 32");
  }
}

TEST(RoundView, KeepsTheMechanism) {
  v1::NodeRound round = ValidRound();
  round.mutable_parameters()->set_mechanism(2);
  const auto view = RoundViewFromProto(round);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->parameters.mechanism(), Mechanism::kOneEnd);
  EXPECT_NE(view->parameters, RoundViewFromProto(ValidRound())->parameters);
  EXPECT_EQ(RoundViewToProto(*view).SerializeAsString(), round.SerializeAsString());
}

v1::NodeRound RoundAboutGroups() {
  v1::NodeRound round = ValidRound();
  round.mutable_parameters()->set_mechanism(3);
  round.mutable_parameters()->set_degree_share_ppm(0);
  round.mutable_parameters()->set_group_count(3);
  round.mutable_parameters()->set_groups_sha256(std::string(32, 'g'));
  return round;
}

TEST(RoundView, KeepsTheQuestionAboutGroups) {
  const v1::NodeRound round = RoundAboutGroups();
  const auto view = RoundViewFromProto(round);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->parameters.mechanism(), Mechanism::kGroupDegrees);
  EXPECT_EQ(view->parameters.question().count, 3u);
  EXPECT_EQ(DigestToBytes(view->parameters.question().map_sha256), std::string(32, 'g'));
  EXPECT_EQ(RoundViewToProto(*view).SerializeAsString(), round.SerializeAsString());
}

TEST(RoundView, RefusesAMalformedQuestionAboutGroups) {
  v1::NodeRound round = RoundAboutGroups();
  round.mutable_parameters()->set_degree_share_ppm(1);
  ExpectRoundRefused(round, "degree_share_ppm is 1, but must be 0 where the mechanism is group-degrees");
  for (const uint32_t count : {0u, 1001u}) {
    round = RoundAboutGroups();
    round.mutable_parameters()->set_node_count(2000);
    round.mutable_parameters()->set_group_count(count);
    ExpectRoundRefused(round, "but must be 1 .. 1000");
  }
  round = RoundAboutGroups();
  round.mutable_parameters()->set_node_count(5);
  round.mutable_parameters()->set_group_count(6);
  ExpectRoundRefused(round, "group_count is 6, but must be 1 .. 5");
  round = RoundAboutGroups();
  round.mutable_parameters()->set_groups_sha256("short");
  ExpectRoundRefused(round, "groups_sha256");
  round = ValidRound();
  round.mutable_parameters()->set_group_count(3);
  ExpectRoundRefused(round, "the mechanism both-ends asks about no groups");
  round = ValidRound();
  round.mutable_parameters()->set_groups_sha256(std::string(32, 'g'));
  ExpectRoundRefused(round, "leave out group_count and groups_sha256");
}

TEST(RoundView, RefusesAnUnknownMechanism) {
  v1::NodeRound round = ValidRound();
  round.mutable_parameters()->set_mechanism(4);
  ExpectRoundRefused(round, "mechanism is 4, but only 1 (both-ends), 2 (one-end) and 3 (group-degrees) are known");
  round.clear_parameters();
  ExpectRoundRefused(round, "mechanism is 0");
}

TEST(RoundView, RefusesParametersOutOfRange) {
  v1::NodeRound round = ValidRound();
  round.mutable_parameters()->set_epsilon_micro(0);
  ExpectRoundRefused(round, "epsilon_micro");
  round = ValidRound();
  round.mutable_parameters()->set_degree_share_ppm(1'000'001);
  ExpectRoundRefused(round, "degree_share_ppm");
  round = ValidRound();
  round.mutable_parameters()->set_node_count(2);
  ExpectRoundRefused(round, "node_count");
}

TEST(RoundView, RefusesAnUnknownState) {
  v1::NodeRound round = ValidRound();
  round.set_state(v1::ROUND_STATE_UNSPECIFIED);
  ExpectRoundRefused(round, "state is 0");
  round.set_state(static_cast<v1::RoundState>(99));
  ExpectRoundRefused(round, "state is 99");
}

TEST(RoundView, RefusesADeadlineOutsideOfTime) {
  v1::NodeRound round = ValidRound();
  round.set_deadline_ms(-1);
  ExpectRoundRefused(round, "deadline_ms is -1");
  round.set_deadline_ms(std::numeric_limits<int64_t>::max());
  ExpectRoundRefused(round, "deadline_ms");
}

TEST(RoundView, RefusesADigestOfAnotherLength) {
  v1::NodeRound round = ValidRound();
  round.set_held_digest(std::string(31, 'd'));
  ExpectRoundRefused(round, "held_digest");
}

TEST(Deployment, HasOneToSixtyFourPlainCharacters) {
  EXPECT_TRUE(ValidateDeployment("demo-1").ok());
  EXPECT_TRUE(ValidateDeployment(std::string(64, 'a')).ok());
  for (const std::string& bad : {std::string(), std::string(65, 'a'), std::string("Demo"), std::string("a/b"),
                                 std::string("a b"), std::string("\xc3\xa4"), std::string("a\0b", 3)}) {
    EXPECT_EQ(ValidateDeployment(bad).code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(RetryWindow, IsClampedWhateverThePeerSays) {
  v1::RetryWindow proto;
  proto.set_min_ms(UINT32_MAX);
  proto.set_max_ms(5);
  const RetryWindow window = RetryWindowFromProto(proto);
  EXPECT_EQ(window.min, absl::Milliseconds(kRetryWindowMsMax));
  EXPECT_EQ(window.max, absl::Milliseconds(kRetryWindowMsMax));
  const v1::RetryWindow back = RetryWindowToProto({.min = -absl::Seconds(1), .max = absl::InfiniteDuration()});
  EXPECT_EQ(back.min_ms(), 0u);
  EXPECT_EQ(back.max_ms(), kRetryWindowMsMax);
}

TEST(RoundState, KnowsItsNameAndItsEnd) {
  EXPECT_STREQ(RoundStateName(v1::ROUND_STATE_OPEN), "open");
  EXPECT_STREQ(RoundStateName(v1::ROUND_STATE_CANCELLED), "cancelled");
  EXPECT_STREQ(RoundStateName(static_cast<v1::RoundState>(99)), "unspecified");
  EXPECT_TRUE(IsTerminal(v1::ROUND_STATE_FAILED));
  EXPECT_FALSE(IsTerminal(v1::ROUND_STATE_TRAINING));
}

}  // namespace
}  // namespace blink
