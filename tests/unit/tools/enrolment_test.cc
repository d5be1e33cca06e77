#include "tools/enrolment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"

namespace blink {
namespace {

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
  (*list_.Find("node-3"))->serials = {"ab"};
  const absl::StatusOr<Enrolment> again = Enrolment::FromJson(list_.ToJson());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->ToJson(), list_.ToJson());
  EXPECT_EQ(again->node_count(), 100u);
  EXPECT_EQ(again->roster_version(), 7u);
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

TEST_F(EnrolmentTest, RefusesAnotherDeploymentAndNodesPastTheRoster) {
  Enrolled entry = Nodes(0, 0);
  entry.identity.deployment = "other";
  EXPECT_EQ(list_.Add(entry).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(list_.Add(Nodes(99, 100)).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(EnrolmentTest, AnUnknownNameComesWithTheRemedy) {
  EXPECT_THAT(std::string(list_.Find("mallory").status().message()), HasSubstr("enrol it first"));
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
        absl::StrReplaceAll(good, {{"\"format\": 1", "\"format\": 2"}}), absl::StrReplaceAll(good, {{"/node/3", "/node/03"}}),
        absl::StrReplaceAll(good, {{"/node/3", "/node/100"}}), absl::StrReplaceAll(good, {{"\"node-3\"", "\"../x\""}}),
        absl::StrReplaceAll(good, {{"\"node_count\": 100", "\"node_count\": \"100\""}})}) {
    EXPECT_EQ(Enrolment::FromJson(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace blink
