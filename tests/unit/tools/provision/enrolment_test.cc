#include "tools/provision/enrolment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Enrolled Nodes(uint64_t first, uint64_t last) {
  return {.name = NameOfNodes(first, last), .identity = {.deployment = "demo", .first_node = first, .last_node = last}};
}
Enrolled Operator(const std::string& name) {
  return {.name = name, .identity = {.kind = Identity::Kind::kOperator, .deployment = "demo", .name = name}};
}

class EnrolmentTest : public ::testing::Test {
 protected:
  Enrolment list_ = Enrolment::Create("demo", 100, 7).value();
};

TEST_F(EnrolmentTest, ComesBackFromJsonAsItWas) {
  list_.aggregator = "127.0.0.1:7443";
  list_.policy.epoch_seconds_min = 5;
  ASSERT_TRUE(list_.Add(Nodes(10, 19)).ok());
  ASSERT_TRUE(list_.Add(Operator("alice")).ok());
  ASSERT_TRUE(list_.Add(Nodes(3, 3)).ok());
  (*list_.Find("node-3"))->certificates = {
      {.serial = "ab", .key_digest = "cd", .not_after = absl::FromUnixSeconds(1'900'000'000)},
      {.serial = "ac", .revoked = {{absl::FromUnixSeconds(1'800'000'000), "superseded"}}}};
  list_.crl_number = 3;
  ASSERT_TRUE(list_.AdvanceRoster(120, {{7, 9}}, absl::FromUnixSeconds(1'800'000'000)).ok());
  const absl::StatusOr<Enrolment> again = Enrolment::FromJson(list_.ToJson());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->ToJson(), list_.ToJson());
  EXPECT_EQ(again->node_count(), 120u);
  EXPECT_EQ(again->roster_version(), 8u);
  EXPECT_EQ(again->rosters().size(), 2u);
  EXPECT_EQ(again->crl_number, 3u);
  EXPECT_EQ(again->entries()[0].certificates[1].revoked->reason, "superseded");
  EXPECT_EQ(again->policy.epoch_seconds_min, 5);
}

TEST_F(EnrolmentTest, ANodeHasOneCertificate) {
  ASSERT_TRUE(list_.Add(Nodes(10, 19)).ok());
  ASSERT_TRUE(list_.Add(Nodes(30, 39)).ok());
  for (const auto& [first, last] : {std::pair{19, 20}, {5, 10}, {12, 13}, {0, 99}, {10, 10}, {39, 50}, {25, 30}}) {
    EXPECT_EQ(list_.Add(Nodes(first, last)).code(), absl::StatusCode::kInvalidArgument) << first << "-" << last;
  }
  EXPECT_TRUE(list_.Add(Nodes(20, 29)).ok());
  EXPECT_TRUE(list_.Add(Nodes(0, 9)).ok());
  EXPECT_TRUE(list_.Add(Nodes(40, 99)).ok());
}

TEST_F(EnrolmentTest, RefusesNamesThatAreTakenOrWouldLeaveTheFolder) {
  ASSERT_TRUE(list_.Add(Operator("alice")).ok());
  EXPECT_EQ(list_.Add(Operator("alice")).code(), absl::StatusCode::kInvalidArgument);
  for (const char* name : {"", "..", "../x", "a/b", "Alice", "-x", "a b", "a\n"}) {
    Enrolled entry = Nodes(0, 0);
    entry.name = name;
    EXPECT_EQ(list_.Add(entry).code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

TEST_F(EnrolmentTest, ReadsListsOfBeforeThereWereRevocations) {
  const absl::StatusOr<Enrolment> list = Enrolment::FromJson(
      R"({"format":1,"deployment":"demo","node_count":100,"roster_version":7,"aggregator":"","insecure":false,
          "policy":{"epsilon_micro_per_round_max":1,"epsilon_micro_lifetime_max":1,"epoch_seconds_min":1,
                    "node_count_min":3,"send_spread_seconds":0},
          "enrolled":[{"name":"node-3","uri":"blink://demo/node/3","dns":[],"ip":[],"serials":["ab","cd"]}]})");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->roster_version(), 7u);
  EXPECT_EQ(list->crl_number, 0u);
  Enrolment changed = *list;
  EXPECT_EQ(changed.Revoke("node-3", std::nullopt, "superseded", absl::UnixEpoch()).value(), 2u);
}

TEST_F(EnrolmentTest, RevokesWhatItNamesOnce) {
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  ASSERT_TRUE(list_.Add(Nodes(3, 3)).ok());
  (*list_.Find("node-3"))->certificates = {{.serial = "a1", .not_after = now - absl::Hours(1)},
                                           {.serial = "a2", .not_after = now + absl::Hours(1)},
                                           {.serial = "a3", .not_after = now + absl::Hours(1)}};
  EXPECT_EQ(list_.Revoke("node-3", "a2", "key-compromise", now).value(), 1u);
  EXPECT_EQ(list_.Revoke("node-3", std::nullopt, "superseded", now).value(), 1u) << "a3: the first is past its date";
  ASSERT_EQ(list_.revoked().size(), 2u);
  EXPECT_EQ(list_.revoked()[0].serial, "a2");
  EXPECT_EQ(list_.revoked()[1].reason, "superseded");
  const auto refused = [&](const char* name, std::optional<std::string> serial, const char* reason, const char* why) {
    const absl::Status status = list_.Revoke(name, serial, reason, now).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  };
  refused("node-3", "a2", "superseded", "revoked already");
  refused("node-3", "ff", "superseded", "never given");
  refused("node-3", std::nullopt, "superseded", "neither revoked nor expired");
  refused("node-3", "a1", "whim", "key-compromise");
  refused("mallory", std::nullopt, "superseded", "nobody is enrolled");
}

TEST_F(EnrolmentTest, ARosterGrowsAndRetiresAndKeepsItsHistory) {
  ASSERT_TRUE(list_.Add(Nodes(10, 19)).ok());
  ASSERT_TRUE(list_.Add(Nodes(20, 29)).ok());
  ASSERT_TRUE(list_.AdvanceRoster(110, {{10, 24}}, absl::Now()).ok());
  ASSERT_TRUE(list_.AdvanceRoster(std::nullopt, {{50, 50}}, absl::Now()).ok());
  EXPECT_EQ(list_.roster_version(), 9u);
  EXPECT_EQ(list_.roster().active_count(), 110u - 16u);
  EXPECT_EQ(list_.rosters().size(), 3u);
  EXPECT_TRUE(list_.IsRetired(**list_.Find("nodes-10-19")));
  EXPECT_FALSE(list_.IsRetired(**list_.Find("nodes-20-29"))) << "in part only";
  EXPECT_TRUE(list_.Add(Nodes(100, 109)).ok());
}

TEST_F(EnrolmentTest, RefusesRostersThatShrinkStayOrReuseIds) {
  ASSERT_TRUE(list_.AdvanceRoster(std::nullopt, {{50, 50}}, absl::Now()).ok());
  for (const absl::Status& status :
       {list_.AdvanceRoster(99, {}, absl::Now()), list_.AdvanceRoster(100, {}, absl::Now()),
        list_.AdvanceRoster(std::nullopt, {{50, 50}}, absl::Now()),
        list_.AdvanceRoster(std::nullopt, {{99, 100}}, absl::Now()),
        list_.AdvanceRoster(std::nullopt, {{0, 97}}, absl::Now()), list_.Add(Nodes(50, 50)),
        list_.Add(Nodes(40, 60))}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
  EXPECT_EQ(list_.AdvanceRoster(std::nullopt, {{99, 100}}, absl::Now()).message(),
            "the nodes 99-100 cannot retire: the roster has 0-99, so name nodes of it (--retire)");
  EXPECT_EQ(list_.roster_version(), 8u);
}

TEST_F(EnrolmentTest, AHundredThousandKitsAreNoQuadraticMatter) {
  Enrolment list = Enrolment::Create("demo", 100'000, 1).value();
  for (uint64_t node = 0; node < 100'000; ++node) ASSERT_TRUE(list.Add(Nodes(node, node)).ok());
  EXPECT_EQ(Enrolment::FromJson(list.ToJson())->entries().size(), 100'000u);
}

TEST_F(EnrolmentTest, RefusesAnotherDeploymentAndNodesPastTheRoster) {
  Enrolled entry = Nodes(0, 0);
  entry.identity.deployment = "other";
  EXPECT_EQ(list_.Add(entry).code(), absl::StatusCode::kInvalidArgument);
  const absl::Status past = list_.Add(Nodes(99, 100));
  EXPECT_EQ(past.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(past.message()), AllOf(HasSubstr("the nodes 99-100 of nodes-99-100 reach past the roster"),
                                                 HasSubstr("0-99"), HasSubstr("provision roster --nodes 101")));
}

TEST_F(EnrolmentTest, AnUnknownNameComesWithTheRemedy) {
  EXPECT_EQ(list_.Find("mallory").status().message(),
            "nobody is enrolled as 'mallory': choose a name that blink provision list shows, or add one with blink "
            "provision enrol");
}

TEST(EnrolmentCreate, RefusesBadDeploymentsAndRosters) {
  EXPECT_FALSE(Enrolment::Create("De mo", 10, 1).ok());
  EXPECT_FALSE(Enrolment::Create("", 10, 1).ok());
  EXPECT_FALSE(Enrolment::Create("demo", 2, 1).ok());
  EXPECT_FALSE(Enrolment::Create("demo", 10'000'001, 1).ok());
}

TEST_F(EnrolmentTest, RefusesMalformedJson) {
  ASSERT_TRUE(list_.Add(Nodes(3, 3)).ok());
  const std::string good = list_.ToJson();
  for (const std::string& text :
       {std::string(), std::string("{}"), good.substr(0, good.size() / 2),
        absl::StrReplaceAll(good, {{"\"format\": 1", "\"format\": 2"}}),
        absl::StrReplaceAll(good, {{"\"format\": 1", "\"format\": 1.9"}}),
        absl::StrReplaceAll(good, {{"/node/3", "/node/03"}}), absl::StrReplaceAll(good, {{"/node/3", "/node/100"}}),
        absl::StrReplaceAll(good, {{"\"node-3\"", "\"../x\""}}),
        absl::StrReplaceAll(good, {{"\"node_count\": 100", "\"node_count\": \"100\""}})}) {
    EXPECT_EQ(Enrolment::FromJson(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace blink
