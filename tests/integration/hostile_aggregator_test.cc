// The shipped node (Agent, GrpcLink, Journal) against an aggregator that misbehaves, over real gRPC with mutual TLS.
// One test for each paragraph of "A hostile aggregator" in docs/THREAT_MODEL.md. The node's clock is fake: its waits
// take no time.
#include "tests/testing/hostile_aggregator.h"

#include <atomic>
#include <limits>
#include <set>

#include "absl/strings/str_split.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/wire/report_codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node_client/agent.h"
#include "node_client/grpc_link.h"
#include "node_client/policy.h"
#include "tests/testing/grpc_environment.h"
#include "tests/testing/log_capture.h"
#include "tests/unit/node_client/fakes.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::HostileAggregator;
using testing::HostileService;
using ::testing::Not;
using testing::ResettingProxy;
using testing::SilentServer;
using Method = HostileService::Method;

std::string Id(uint32_t number) { return absl::StrCat(absl::Hex(number, absl::kZeroPad8), "000000000000000000000000"); }

class HostileAggregatorTest : public ::testing::Test {
 protected:
  HostileAggregatorTest() {
    options_.stopped = [this] { return stop_ || ++asked_ > asked_max_; };
  }

  Kit TlsKit(NodeIndex first, NodeIndex last, uint32_t extra_links = 0, uint32_t node_count = 34) {
    Kit kit = MakeKit(first, last, extra_links, node_count);
    kit.config.insecure = false;
    kit.config.aggregator = aggregator_.address();
    kit.config.folder = folder_ / kit.config.NodesName();
    if (!std::filesystem::exists(kit.config.folder)) {
      aggregator_.MakeTls(kit.config.folder,
                          first == last ? absl::StrCat("node/", first) : absl::StrCat("nodes/", first, "-", last));
    }
    return kit;
  }
  void Offer(const RoundView& round) { service_.rounds.push_back(RoundViewToProto(round)); }
  std::string JournalFolder(const Kit& kit) {
    return folder_ / absl::StrCat("journal-", world_, "-", kit.config.NodesName());
  }

  // One life of the process: opens the journal, runs for at most so many steps, ends.
  AgentOutcome Run(const Kit& kit, int steps = 60, GrpcLinkOptions link_options = {}) {
    if (!std::filesystem::exists(JournalFolder(kit))) {
      EXPECT_TRUE(CreateJournal(JournalFolder(kit), IdentityOf(kit)).ok());
    }
    auto journal = Journal::Open(JournalFolder(kit), IdentityOf(kit));
    EXPECT_TRUE(journal.ok()) << journal.status();
    auto link = GrpcLink::Create(kit.config, link_options);
    EXPECT_TRUE(link.ok()) << link.status();
    asked_ = 0;
    asked_max_ = 2 * steps;  // it is asked twice a step
    return Agent(kit, **journal, **link, clock_, random_, options_).Run();
  }
  std::unique_ptr<Journal> Reader(const Kit& kit) {
    return *Journal::OpenReadOnly(JournalFolder(kit), IdentityOf(kit));
  }
  // Another node of the same seed at the same time, and an aggregator that has seen nothing and is honest.
  void NewWorld() {
    ++world_;
    clock_ = FakeClock();
    random_ = FakeRandom(7);
    stop_ = false;
    service_.rounds.clear();
    service_.calls.clear();
    service_.reports.clear();
    service_.held.clear();
    service_.before_poll = nullptr;
    service_.before_take = service_.after_take = nullptr;
    service_.tamper_rounds = nullptr;
    service_.tamper_receipt = nullptr;
    service_.tamper_response = nullptr;
    service_.list_digests = nullptr;
    service_.submit_reports = nullptr;
    service_.tamper_groups = nullptr;
    log_.Take();
  }
  void ExpectOneContentPerNode() {
    std::map<uint64_t, std::set<std::string>> contents;
    for (const auto& report : service_.reports) contents[report.header.node_id()].insert(report.Content());
    for (const auto& [node, different] : contents) EXPECT_EQ(different.size(), 1u) << "node " << node;
  }
  void Seal() {
    for (v1::NodeRound& round : service_.rounds) round.set_state(v1::ROUND_STATE_SEALED);
  }
  void SealAtPoll(size_t poll) {
    service_.before_poll = [this, poll](grpc::ServerContext*, const v1::GetRoundsRequest&) {
      if (service_.Polls() >= poll) Seal();
      return grpc::Status::OK;
    };
  }
  void ExpectNothingDrawn(const Kit& kit) {
    EXPECT_EQ(Reader(kit)->draws(), 0u);
    EXPECT_FALSE(Reader(kit)->epoch().has_value()) << "no list was read";
    EXPECT_THAT(service_.reports, ::testing::IsEmpty());
    EXPECT_THAT(service_.calls, Each(::testing::StartsWith("GetRounds all")));
  }

  TempFolder folder_;
  LogCapture log_;
  HostileAggregator aggregator_;
  HostileService& service_ = aggregator_.service;
  FakeClock clock_;
  FakeRandom random_{7};
  AgentOptions options_;
  std::atomic<bool> stop_{false};
  int asked_ = 0, asked_max_ = 0, world_ = 0;
};

// ---- What is drawn, and what it costs ----

void AddUnknownFields(google::protobuf::Message* message) {
  google::protobuf::UnknownFieldSet* unknown = message->GetReflection()->MutableUnknownFields(message);
  unknown->AddFixed64(90, 0);                        // a double, 0.0: "p"
  unknown->AddVarint(91, 0);                         // "flip_numerator"
  unknown->AddLengthDelimited(92, "scale=0;p=0.0");  // and whatever else
}

TEST_F(HostileAggregatorTest, WhatItSaysAboutTheNoiseChangesNoBitOfTheReport) {
  options_.leave_at_receipt = true;
  std::vector<std::string> contents;
  for (const bool lies : {false, true}) {
    NewWorld();
    Offer(MakeRound(kRoundA));
    if (lies) {
      service_.tamper_rounds = [](const v1::GetRoundsRequest&, v1::GetRoundsResponse* response) {
        AddUnknownFields(response);
        for (v1::NodeRound& round : *response->mutable_rounds()) {
          AddUnknownFields(&round);
          AddUnknownFields(round.mutable_parameters());
        }
      };
    }
    ASSERT_EQ(Run(TlsKit(7, 7)).code, ExitCode::kOk);
    ASSERT_EQ(service_.reports.size(), 1u);
    contents.push_back(service_.reports[0].Content());
  }
  EXPECT_EQ(contents[0], contents[1]);
}

TEST_F(HostileAggregatorTest, AThousandNewNamesForOneQuestionGetTheSameBytesAtNoCostUntilTheEpochsLimit) {
  const Kit kit = TlsKit(7, 7);
  options_.daemon = true;
  uint32_t named = 0;
  service_.before_poll = [&](grpc::ServerContext*, const v1::GetRoundsRequest& request) {
    if (!request.round_id().empty()) return grpc::Status::OK;
    Seal();
    stop_ = named > kRoundsPerEpochMax;
    for (uint32_t i = 0; i < kRoundsListedMax && !stop_; ++i) Offer(MakeRound(Id(named++)));
    return grpc::Status::OK;
  };
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  EXPECT_GT(named, kRoundsPerEpochMax);
  EXPECT_EQ(service_.reports.size(), kRoundsPerEpochMax);
  ExpectOneContentPerNode();
  EXPECT_EQ(Reader(kit)->draws(), 1u);
  EXPECT_EQ(Reader(kit)->SpentMicro(7), 2'000'000u);
  EXPECT_EQ(Reader(kit)->rounds(), kRoundsPerEpochMax);
}

TEST_F(HostileAggregatorTest, SlightlyVariedBudgetsAndSharesAreDebitedUntilTheLifetimeLimitRefusesThem) {
  Kit kit = TlsKit(7, 7);
  kit.policy.epsilon_micro_lifetime_max = 10'000'000;
  options_.leave_at_receipt = true;
  for (uint32_t i = 0; i < 12; ++i) Offer(MakeRound(Id(i), 2'000'000 + i / 2, 100'000 + i % 2));
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  EXPECT_EQ(service_.reports.size(), 4u) << "a fifth would exceed the limit";
  EXPECT_EQ(Reader(kit)->draws(), 4u);
  EXPECT_EQ(Reader(kit)->SpentMicro(7), 8'000'002u);
  EXPECT_THAT(log_.text(), HasSubstr("epsilon_micro_lifetime_max"));
  std::set<std::string> digests;
  for (const auto& report : service_.reports) digests.insert(report.header.digest());
  EXPECT_EQ(digests.size(), 4u);
  // What was drawn already is answered for ever, at no cost.
  service_.rounds.clear();
  Offer(MakeRound(kRoundA, 2'000'000, 100'000));
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  EXPECT_EQ(service_.reports.back().Content(), service_.reports.front().Content());
  EXPECT_EQ(Reader(kit)->SpentMicro(7), 8'000'002u);
}

TEST_F(HostileAggregatorTest, AnotherNumberOfNodesOrAnotherRosterIsRefusedBeforeAListIsRead) {
  const Kit kit = TlsKit(7, 7);
  uint32_t number = 0;
  for (const uint32_t n : {3u, 33u, 35u, 10'000'000u}) Offer(MakeRound(Id(number++), 2'000'000, 100'000, n));
  for (const uint64_t roster : {uint64_t{0}, uint64_t{2}, std::numeric_limits<uint64_t>::max()}) {
    Offer(MakeRound(Id(number++), 2'000'000, 100'000, 34, roster));
  }
  EXPECT_EQ(Run(kit).code, ExitCode::kRefusedByPolicy);
  ExpectNothingDrawn(kit);
  EXPECT_THAT(log_.text(), AllOf(HasSubstr("the round is for 3 nodes, the kit for 34"),
                                 HasSubstr("the round is for roster version 2, the kit for version 1")));
}

TEST_F(HostileAggregatorTest, ATinyRosterIsRefusedEvenWhenTheKitWasMadeForIt) {
  Kit kit = TlsKit(1, 1, 0, 3);
  kit.lists = {1, {0, 1}, {0}};
  kit.policy.node_count_min = 100;
  Offer(MakeRound(kRoundA, 2'000'000, 100'000, 3));
  EXPECT_EQ(Run(kit).code, ExitCode::kRefusedByPolicy);
  ExpectNothingDrawn(kit);
}

TEST_F(HostileAggregatorTest, AnOldRoundGetsItsOldBytesAndWithOtherParametersNothing) {
  const Kit kit = TlsKit(7, 7);
  options_.leave_at_receipt = true;
  Offer(MakeRound(kRoundA));
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  clock_.now += absl::Hours(25);
  service_.rounds = {RoundViewToProto(MakeRound(kRoundB))};
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  ASSERT_EQ(service_.reports.size(), 2u);
  EXPECT_NE(service_.reports[0].Content(), service_.reports[1].Content()) << "another epoch";
  // The round of the first epoch comes back, and the aggregator says that it holds nothing.
  service_.held.clear();
  service_.rounds = {RoundViewToProto(MakeRound(kRoundA))};
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  ASSERT_EQ(service_.reports.size(), 3u);
  EXPECT_EQ(service_.reports[2].Content(), service_.reports[0].Content());
  // And asks more.
  service_.rounds = {RoundViewToProto(MakeRound(kRoundA, 3'000'000))};
  EXPECT_EQ(Run(kit).code, ExitCode::kRefusedByPolicy);
  EXPECT_THAT(log_.text(), HasSubstr("answered before with other parameters"));
  EXPECT_EQ(service_.reports.size(), 3u);
  EXPECT_EQ(Reader(kit)->draws(), 2u);
}

TEST_F(HostileAggregatorTest, AShareThatStarvesTheDegreeOrTheListSpoilsOnlyTheAnswer) {
  Kit kit = TlsKit(7, 7);
  options_.leave_at_receipt = true;
  uint32_t number = 0;
  uint64_t spent = 0;
  for (const uint64_t epsilon : {uint64_t{1}, uint64_t{8'000'000}}) {
    for (const uint32_t share : {0u, 1u, 999'999u, 1'000'000u}) {
      Offer(MakeRound(Id(number++), epsilon, share));
      spent += epsilon;
    }
  }
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  ASSERT_EQ(service_.reports.size(), 8u);
  for (const auto& [header, bits] : service_.reports) {
    const auto parameters = *ParametersFromProto(header.parameters());
    EXPECT_EQ(header.has_noisy_degree(), parameters.degree_share_ppm() > 0);
    EXPECT_EQ(header.coded_bytes() == 0, parameters.degree_share_ppm() == 1'000'000);
    EXPECT_LE(parameters.achieved_epsilon(), parameters.epsilon()) << "whatever the share";
    CodedReport report{bits, std::nullopt, *DigestFromBytes(header.digest())};
    if (header.has_noisy_degree()) report.noisy_degree = header.noisy_degree();
    EXPECT_TRUE(DecodeReport(parameters, 7, report).ok());
  }
  EXPECT_EQ(Reader(kit)->SpentMicro(7), spent) << "the whole epsilon each, whatever the share";
}

TEST_F(HostileAggregatorTest, ABudgetOfNothingOrAboveALimitIsRefused) {
  const Kit kit = TlsKit(7, 7);
  auto offer = [&](uint32_t number, uint64_t epsilon, uint32_t share) {
    Offer(MakeRound(Id(number)));
    service_.rounds.back().mutable_parameters()->set_epsilon_micro(epsilon);
    service_.rounds.back().mutable_parameters()->set_degree_share_ppm(share);
  };
  offer(0, 0, 100'000);
  offer(1, 8'000'001, 100'000);   // the policy's
  offer(2, 50'000'001, 100'000);  // the protocol's
  offer(3, std::numeric_limits<uint64_t>::max(), 100'000);
  offer(4, 2'000'000, 1'000'001);
  offer(5, 2'000'000, std::numeric_limits<uint32_t>::max());
  EXPECT_EQ(Run(kit).code, ExitCode::kRefusedByPolicy);
  ExpectNothingDrawn(kit);
}

TEST_F(HostileAggregatorTest, AMechanismThatThePolicyDoesNotNameIsRefused) {
  const Kit kit = TlsKit(7, 7);
  Offer(MakeRound(Id(0)));
  service_.rounds.back().mutable_parameters()->set_mechanism(2);
  EXPECT_EQ(Run(kit).code, ExitCode::kRefusedByPolicy);
  ExpectNothingDrawn(kit);
  EXPECT_THAT(log_.text(), HasSubstr("the round asks for the mechanism one-end, the policy allows both-ends"));
}

TEST_F(HostileAggregatorTest, AnUnknownMechanismOrStateIsRefused) {
  const Kit kit = TlsKit(7, 7);
  uint32_t number = 0;
  for (const uint32_t mechanism : {0u, 4u, std::numeric_limits<uint32_t>::max()}) {
    Offer(MakeRound(Id(number++)));
    service_.rounds.back().mutable_parameters()->set_mechanism(mechanism);
  }
  // The service would list only what is open: the answer itself is changed.
  service_.tamper_rounds = [&](const v1::GetRoundsRequest&, v1::GetRoundsResponse* response) {
    for (const int state : {0, 99, -1}) {
      *response->add_rounds() = RoundViewToProto(MakeRound(Id(100 + state)));
      response->mutable_rounds()->rbegin()->set_state(static_cast<v1::RoundState>(state));
    }
  };
  EXPECT_EQ(Run(kit).code, ExitCode::kRefusedByPolicy);
  ExpectNothingDrawn(kit);
  EXPECT_THAT(log_.text(),
              AllOf(HasSubstr("mechanism is 4, but only 1 (both-ends), 2 (one-end) and 3"), HasSubstr("state is 99")));
}

// ---- Groups ----

TEST_F(HostileAggregatorTest, GroupsThatAreWrongAreRefusedBeforeAListIsRead) {
  Kit kit = TlsKit(7, 7);
  kit.policy.mechanisms = {Mechanism::kGroupDegrees};
  const NodeGroups honest = DealGroups(3);
  NodeGroups beyond = honest, moved = honest;
  beyond.group_of[20] = 3;
  moved.group_of[20] = 0;
  const std::vector<std::pair<std::string, const char*>> wrong = {
      {EncodeGroups(beyond), "node 20 is of group 3 of 3"},
      {EncodeGroups(moved), "not those that the round's parameters name"}};
  for (const auto& [groups, why] : wrong) {
    NewWorld();
    Offer(MakeGroupRound(Id(0), honest));
    service_.groups = groups;
    EXPECT_EQ(Run(kit).code, ExitCode::kRefusedByPolicy);
    EXPECT_THAT(log_.text(), HasSubstr(why));
    EXPECT_EQ(Reader(kit)->draws(), 0u);
    EXPECT_FALSE(Reader(kit)->epoch().has_value()) << "no list was read";
    EXPECT_THAT(service_.reports, ::testing::IsEmpty());
  }
}

TEST_F(HostileAggregatorTest, GroupsOfManyPartsArriveAndAPartOfAnotherSizeIsRefused) {
  constexpr uint32_t kManyNodes = 70'000;  // three parts
  Kit kit = TlsKit(7, 7, 0, kManyNodes);
  kit.policy.mechanisms = {Mechanism::kGroupDegrees};
  options_.leave_at_receipt = true;
  for (const size_t bytes : {0u, 1u, 65'535u, 65'537u, 1'000'000u}) {
    NewWorld();
    Offer(MakeGroupRound(Id(0), DealGroups(1000, kManyNodes)));
    service_.groups = EncodeGroups(DealGroups(1000, kManyNodes));
    service_.tamper_groups = [&](const v1::GetGroupsRequest& request, v1::GetGroupsResponse* response) {
      if (request.part() == 1) response->set_groups(std::string(bytes, 0));
    };
    EXPECT_EQ(Run(kit).code, ExitCode::kRefusedByPolicy) << bytes;
    EXPECT_THAT(log_.text(), HasSubstr("bytes, but 70000 nodes have 140000"));
    EXPECT_EQ(Reader(kit)->draws(), 0u);
  }
  NewWorld();
  Offer(MakeGroupRound(Id(0), DealGroups(1000, kManyNodes)));
  service_.groups = EncodeGroups(DealGroups(1000, kManyNodes));
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  ASSERT_EQ(service_.reports.size(), 1u);
  EXPECT_GE(service_.reports[0].bits.size(), 1000u);
  EXPECT_EQ(Reader(kit)->SpentMicro(7), 2'000'000u);
}

TEST_F(HostileAggregatorTest, OneMapAfterTheOtherIsDebitedUntilTheLifetimeLimitRefusesIt) {
  Kit kit = TlsKit(7, 7);
  kit.policy.mechanisms = {Mechanism::kGroupDegrees};
  kit.policy.epsilon_micro_lifetime_max = 6'000'000;
  options_.leave_at_receipt = true;
  for (uint32_t count = 2; count < 7; ++count) {
    service_.rounds = {RoundViewToProto(MakeGroupRound(Id(count), DealGroups(count)))};
    service_.groups = EncodeGroups(DealGroups(count));
    EXPECT_EQ(Run(kit).code, count < 5 ? ExitCode::kOk : ExitCode::kRefusedByPolicy) << count;
  }
  EXPECT_EQ(Reader(kit)->SpentMicro(7), 6'000'000u);
  EXPECT_EQ(service_.reports.size(), 3u);
}

// ---- Time ----

TEST_F(HostileAggregatorTest, ADeadlineThatLiesOrMovesChangesNoCallNoTimeAndNoByte) {
  const int64_t far = 253'402'300'799'000, now = absl::ToUnixMillis(clock_.now);
  const std::vector<std::vector<int64_t>> deadlines = {
      {now + 3'600'000}, {0}, {now - 1}, {far}, {now + 1, far, 0, now + 3'600'000, now - 1'000'000}};
  std::vector<std::vector<std::string>> seen;
  for (const auto& moving : deadlines) {
    NewWorld();
    Offer(MakeRound(kRoundA));
    service_.before_poll = [&](grpc::ServerContext*, const v1::GetRoundsRequest&) {
      service_.rounds[0].set_deadline_ms(moving[service_.Polls() % moving.size()]);
      if (service_.Polls() == 8) Seal();
      return grpc::Status::OK;
    };
    EXPECT_EQ(Run(TlsKit(7, 7)).code, ExitCode::kOk);
    auto& all = seen.emplace_back(service_.calls);
    for (const absl::Duration sleep : clock_.sleeps) all.push_back(absl::FormatDuration(sleep));
    for (const auto& report : service_.reports) all.push_back(report.Content());
  }
  EXPECT_THAT(seen, Each(seen[0]));
}

TEST_F(HostileAggregatorTest, ADeadlineThatIsNoTimeIsRefusedAtFirstAndRetriedLater) {
  const Kit kit = TlsKit(7, 7);
  Offer(MakeRound(kRoundA));
  service_.rounds[0].set_deadline_ms(-1);
  Offer(MakeRound(kRoundB));
  service_.rounds[1].set_deadline_ms(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(Run(kit).code, ExitCode::kRefusedByPolicy);
  ExpectNothingDrawn(kit);

  NewWorld();
  Offer(MakeRound(kRoundA));
  service_.before_poll = [&](grpc::ServerContext*, const v1::GetRoundsRequest&) {
    service_.rounds[0].set_deadline_ms(service_.Polls() == 3 ? -1 : 1'800'000'000'000);
    if (service_.Polls() == 5) Seal();
    return grpc::Status::OK;
  };
  EXPECT_EQ(Run(kit).code, ExitCode::kOk) << "an answered round is not given up for one bad answer";
  EXPECT_THAT(log_.text(), AllOf(HasSubstr("trying again in "), HasSubstr(" s: the aggregator's answer for round"),
                                 Not(HasSubstr("refused"))));
}

TEST_F(HostileAggregatorTest, RetryWindowsOfZeroOfYearsOrBelowZeroAreClamped) {
  const Kit kit = TlsKit(7, 7);
  const uint32_t most = std::numeric_limits<uint32_t>::max();  // also what -1 is on the wire
  const std::vector<std::pair<uint32_t, uint32_t>> windows = {
      {0, 0}, {most, most}, {0, most}, {5'000, 1}, {86'400'000, 86'400'000}};
  const std::vector<std::string> texts = {
      "-5,-1", "0,0", "1e9,2e9", "99999999999,99999999999", "86400000,86400000", ",", "", std::string(3000, '9')};
  for (size_t i = 0; i < windows.size() + texts.size(); ++i) {
    NewWorld();
    const bool refuses = i >= windows.size();
    service_.before_poll = [&](grpc::ServerContext* context, const v1::GetRoundsRequest&) {
      if (!refuses) return grpc::Status::OK;
      context->AddTrailingMetadata("blink-retry-window-ms", texts[i - windows.size()]);
      return grpc::Status(grpc::RESOURCE_EXHAUSTED, "busy");
    };
    service_.tamper_rounds = [&](const v1::GetRoundsRequest&, v1::GetRoundsResponse* response) {
      if (refuses) return;
      response->mutable_retry()->set_min_ms(windows[i].first);
      response->mutable_retry()->set_max_ms(windows[i].second);
    };
    EXPECT_EQ(Run(kit, 40).code, ExitCode::kInterrupted);
    ASSERT_GE(clock_.sleeps.size(), 39u);
    EXPECT_LE(*std::max_element(clock_.sleeps.begin(), clock_.sleeps.end()), absl::Minutes(5)) << i;
    EXPECT_GE(clock_.now - FakeClock().now, absl::Seconds(2)) << i << ": 40 waits of 0.1 s on average";
    EXPECT_GT(std::set<absl::Duration>(clock_.sleeps.begin(), clock_.sleeps.end()).size(), 30u) << i << ": no herd";
  }
}

TEST_F(HostileAggregatorTest, ACallThatNeverEndsMeetsItsDeadlineAndIsMadeAgain) {
  GrpcLinkOptions link;
  link.call_deadline = absl::Milliseconds(300);
  link.stream_deadline = absl::Milliseconds(300);
  struct Case {
    Method method;
    bool unread;
    NodeIndex last;
  };
  for (const Case& hang : {Case{Method::kGetRounds, false, 7},
                           {Method::kSubmitReport, false, 7},
                           {Method::kSubmitReport, true, 7},
                           {Method::kSubmitReports, false, 14},
                           {Method::kSubmitReports, true, 14},
                           {Method::kListDigests, false, 14}}) {
    NewWorld();
    const uint32_t n = 400'000;  // 50 kB of nearly fair coins a report: what is not read fills the connection's window
    const Kit kit = TlsKit(7, hang.last, 0, n);
    Offer(MakeRound(kRoundA, 1, 100'000, n));
    service_.hang = hang.method;
    service_.unread = hang.unread;
    EXPECT_EQ(Run(kit, 2, link).code, ExitCode::kInterrupted);
    EXPECT_THAT(log_.text(), HasSubstr("Deadline Exceeded"));
    EXPECT_EQ(Reader(kit)->receipts(), 0u);
    service_.hang = Method::kNone;
    options_.leave_at_receipt = true;
    EXPECT_EQ(Run(kit).code, ExitCode::kOk);
    ExpectOneContentPerNode();
    EXPECT_EQ(Reader(kit)->draws(), kit.config.hosted());
  }
}

TEST_F(HostileAggregatorTest, APortThatAcceptsAndSaysNothingIsGivenUp) {
  const SilentServer silent;
  Kit kit = TlsKit(7, 7);
  kit.config.aggregator = silent.address();
  GrpcLinkOptions link;
  link.call_deadline = absl::Milliseconds(300);
  options_.give_up_after = absl::Milliseconds(1);
  const AgentOutcome outcome = Run(kit, 10, link);
  EXPECT_EQ(outcome.code, ExitCode::kUnreachable);
  EXPECT_THAT(outcome.message, AllOf(HasSubstr("gave up; the last error was: "), HasSubstr("and then says nothing")));
}

TEST_F(HostileAggregatorTest, APortThatBeginsToAcceptAndSaysNothingIsNoLongerSaidToBeClosed) {
  SilentServer port(/*open=*/false);
  Kit kit = TlsKit(7, 7);
  kit.config.aggregator = port.address();
  GrpcLinkOptions options;
  options.call_deadline = absl::Seconds(2);
  auto link = GrpcLink::Create(kit.config, options);
  ASSERT_TRUE(link.ok()) << link.status();
  const auto ask = [&] { return std::string((*link)->GetRounds(7, "").value.status().message()); };
  EXPECT_THAT(ask(), HasSubstr("nothing listens at"));
  port.Open();
  EXPECT_THAT(ask(), AllOf(HasSubstr("and then says nothing"), Not(HasSubstr("nothing listens at"))));
}

// ---- Reports, receipts, digests ----

TEST_F(HostileAggregatorTest, AReportWhoseReceiptDiedWithTheConnectionIsSentAgainByteForByte) {
  for (const NodeIndex last : {7u, 14u}) {
    NewWorld();
    ResettingProxy proxy(aggregator_.port());
    Kit kit = TlsKit(7, last);
    kit.config.aggregator = proxy.address();
    Offer(MakeRound(kRoundA));
    int cuts = 0;
    service_.after_take = [&](const v1::ReportHeader& header) {
      if (header.node_id() != last || cuts == 4) return grpc::Status::OK;
      stop_ = ++cuts == 2;    // the process dies, too
      service_.held.clear();  // and a liar says that nothing arrived
      proxy.Reset();
      return grpc::Status::OK;
    };
    options_.leave_at_receipt = true;
    EXPECT_EQ(Run(kit).code, ExitCode::kInterrupted);
    EXPECT_EQ(Reader(kit)->HasReceipt(kRoundA, last), false);
    stop_ = false;
    EXPECT_EQ(Run(TlsKit(7, last, /*extra_links=*/9)).code,
              ExitCode::kOk);  // straight, past the proxy, with another list
    EXPECT_GE(service_.reports.size(), 3u * kit.config.hosted());
    ExpectOneContentPerNode();
    EXPECT_EQ(Reader(kit)->draws(), kit.config.hosted());
    EXPECT_EQ(Reader(kit)->receipts(), kit.config.hosted());
  }
}

TEST_F(HostileAggregatorTest, AForgedReceiptIsNeitherBelievedNorKept) {
  const std::vector<std::function<void(v1::Receipt*)>> forgeries = {
      [](v1::Receipt* receipt) { receipt->set_node_id(receipt->node_id() + 1); },
      [](v1::Receipt* receipt) { receipt->set_node_id(34); },
      [](v1::Receipt* receipt) { receipt->set_node_id(std::numeric_limits<uint64_t>::max()); },
      [](v1::Receipt* receipt) { receipt->set_digest(DigestToBytes(Sha256Of("another report"))); },
      [](v1::Receipt* receipt) { receipt->mutable_digest()->pop_back(); },
      [](v1::Receipt* receipt) { receipt->clear_digest(); },
      [](v1::Receipt* receipt) { receipt->set_round_id(kRoundB); },
      [](v1::Receipt* receipt) { receipt->set_round_id("\x1b[2J\n"); },
      [](v1::Receipt* receipt) { receipt->Clear(); },
  };
  for (const NodeIndex last : {7u, 14u}) {
    NewWorld();
    const Kit kit = TlsKit(7, last);
    Offer(MakeRound(kRoundA));
    for (const auto& forge : forgeries) {
      service_.tamper_receipt = forge;
      service_.held.clear();
      service_.list_digests = [](const v1::ListDigestsRequest&, HostileService::DigestWriter*) {
        return grpc::Status::OK;
      };
      log_.Take();
      EXPECT_EQ(Run(kit, 2).code, ExitCode::kInterrupted);
      EXPECT_EQ(Reader(kit)->receipts(), 0u);
      EXPECT_THAT(log_.text(), AllOf(HasSubstr("trying again in "), HasSubstr("the aggregator's receipt")));
    }
    service_.tamper_receipt = nullptr;
    options_.leave_at_receipt = true;
    EXPECT_EQ(Run(kit).code, ExitCode::kOk);
    ExpectOneContentPerNode();
    EXPECT_EQ(Reader(kit)->receipts(), kit.config.hosted());
  }
}

TEST_F(HostileAggregatorTest, RepliesOutOfOrderAreTakenAndThoseThatAnswerNothingAreNot) {
  const Kit kit = TlsKit(7, 14);
  Offer(MakeRound(kRoundA));
  auto receipt = [](const v1::ReportHeader& header) {
    v1::SubmitReportsResponse response;
    response.set_node_id(header.node_id());
    response.mutable_receipt()->set_round_id(header.round_id());
    response.mutable_receipt()->set_node_id(header.node_id());
    response.mutable_receipt()->set_digest(header.digest());
    return response;
  };
  using Replies = std::vector<v1::SubmitReportsResponse>;
  auto answer = [&](std::function<void(Replies*)> tamper) {
    service_.submit_reports = [this, tamper, receipt](HostileService::Stream* stream) {
      Replies replies;
      v1::SubmitReportsRequest request;
      while (stream->Read(&request)) {
        replies.push_back(receipt(request.header()));
        service_.reports.push_back({request.header(), request.coded_bits()});
      }
      tamper(&replies);
      for (const auto& reply : replies) stream->Write(reply);
      return grpc::Status::OK;
    };
  };
  answer([](Replies* replies) { replies->clear(); });  // never, although the stream ends well
  EXPECT_EQ(Run(kit, 2).code, ExitCode::kInterrupted);
  EXPECT_THAT(log_.Take(), HasSubstr("did not answer for every report"));
  answer([](Replies* replies) { (*replies)[0].set_node_id(33); });
  EXPECT_EQ(Run(kit, 2).code, ExitCode::kInterrupted);
  EXPECT_THAT(log_.Take(), HasSubstr("answers for a report that is not on its way"));
  answer([](Replies* replies) { (*replies)[0].clear_outcome(); });
  EXPECT_EQ(Run(kit, 2).code, ExitCode::kInterrupted);
  EXPECT_EQ(Reader(kit)->receipts(), 7u) << "the others' are good";
  answer([](Replies* replies) { replies->insert(replies->begin(), 1000, (*replies)[0]); });
  EXPECT_EQ(Run(kit, 2).code, ExitCode::kInterrupted);
  EXPECT_THAT(log_.Take(), HasSubstr("answers for a report that is not on its way"));
  answer([](Replies* replies) { std::reverse(replies->begin(), replies->end()); });
  options_.leave_at_receipt = true;
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  EXPECT_EQ(Reader(kit)->receipts(), 8u);
  EXPECT_EQ(Reader(kit)->draws(), 8u);
  ExpectOneContentPerNode();
}

TEST_F(HostileAggregatorTest, AListOfDigestsThatIsEndlessForeignOrOutOfOrderEndsTheCall) {
  const Kit kit = TlsKit(7, 14);
  Offer(MakeRound(kRoundA));
  auto digest = [](uint64_t node, size_t bytes = 32) {
    v1::ListDigestsResponse response;
    response.set_node_id(node);
    response.set_digest(std::string(bytes, 'd'));
    return response;
  };
  const std::vector<std::vector<v1::ListDigestsResponse>> lists = {{digest(6)},
                                                                   {digest(15)},
                                                                   {digest(std::numeric_limits<uint64_t>::max())},
                                                                   {digest(8), digest(8)},
                                                                   {digest(9), digest(8)},
                                                                   {digest(8, 31)},
                                                                   {digest(8, 0)},
                                                                   {digest(8, 1 << 20)}};
  uint64_t written = 0;
  for (const auto& list : lists) {
    service_.list_digests = [&](const v1::ListDigestsRequest&, HostileService::DigestWriter* writer) {
      bool open = true;
      while (open) {  // without end
        for (const auto& response : list) open = open && writer->Write(response);
        ++written;
      }
      return grpc::Status::OK;
    };
    EXPECT_EQ(Run(kit, 2).code, ExitCode::kInterrupted);
    EXPECT_THAT(log_.Take(), HasSubstr(" s: the aggregator's list of digests is malformed"));
    EXPECT_TRUE(service_.reports.empty());
  }
  service_.list_digests = nullptr;
  options_.leave_at_receipt = true;
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  EXPECT_EQ(Reader(kit)->draws(), 8u);
}

TEST_F(HostileAggregatorTest, AClaimToHoldWhatWasNeverSentStopsTheNodeBeforeItDraws) {
  for (const NodeIndex last : {7u, 14u}) {
    NewWorld();
    const Kit kit = TlsKit(7, last);
    Offer(MakeRound(kRoundA));
    HostileService::SeenReport other;
    other.header.set_digest(DigestToBytes(Sha256Of("never sent")));
    service_.held[kRoundA][7] = other;
    const AgentOutcome outcome = Run(kit);
    EXPECT_EQ(outcome.code, ExitCode::kJournal) << outcome.message;
    ExpectNothingDrawn(kit);
    EXPECT_TRUE(service_.reports.empty());
  }
}

TEST_F(HostileAggregatorTest, ARoundThatRunsBackwardsGetsTheSameBytesAndDoesNotFillTheDisk) {
  const Kit kit = TlsKit(7, 7);
  options_.daemon = true;
  Offer(MakeRound(kRoundA));
  std::vector<uint64_t> bytes;
  service_.before_poll = [&](grpc::ServerContext*, const v1::GetRoundsRequest& request) {
    if (!request.round_id().empty()) return grpc::Status::OK;
    service_.held.clear();
    const bool sealed = service_.Polls() % 3 == 0;
    service_.rounds[0].set_state(sealed ? v1::ROUND_STATE_SEALED : v1::ROUND_STATE_OPEN);
    if (sealed) bytes.push_back(std::filesystem::file_size(JournalFolder(kit) + "/journal.blj"));
    stop_ = service_.Polls() == 90;
    return grpc::Status::OK;
  };
  EXPECT_EQ(Run(kit, 100).code, ExitCode::kOk);
  EXPECT_GT(service_.reports.size(), 20u);
  ExpectOneContentPerNode();
  EXPECT_EQ(Reader(kit)->draws(), 1u);
  ASSERT_GT(bytes.size(), 20u);
  EXPECT_EQ(bytes.back(), bytes[1]) << "after the first end nothing more is written";
}

// ---- Sizes and texts ----

TEST_F(HostileAggregatorTest, AMessageAboveTheLimitEndsTheCallAndNotTheNode) {
  for (const NodeIndex last : {7u, 14u}) {
    NewWorld();
    const Kit kit = TlsKit(7, last);
    Offer(MakeRound(kRoundA));
    options_.leave_at_receipt = true;
    auto huge = [](google::protobuf::Message* message) {
      message->GetReflection()->MutableUnknownFields(message)->AddLengthDelimited(99,
                                                                                  std::string(kMessageBytesMax, 'x'));
    };
    int answers = 0;
    service_.tamper_rounds = [&](const v1::GetRoundsRequest&, v1::GetRoundsResponse* response) {
      if (++answers == 1) huge(response);
    };
    service_.tamper_response = [&](v1::SubmitReportResponse* response) {
      if (service_.reports.size() == 1) huge(response);
    };
    service_.list_digests = [&](const v1::ListDigestsRequest&, HostileService::DigestWriter* writer) {
      v1::ListDigestsResponse response;
      if (answers == 2) huge(&response);
      if (answers == 2) writer->Write(response);
      return grpc::Status::OK;
    };
    EXPECT_EQ(Run(kit).code, ExitCode::kOk);
    EXPECT_EQ(answers, 3);
    EXPECT_THAT(log_.text(), HasSubstr(" s: Received message larger than max"));
    EXPECT_EQ(Reader(kit)->draws(), kit.config.hosted());
  }
}

TEST_F(HostileAggregatorTest, AMessageThatWouldUnpackToMoreThanTheLimitIsNotUnpacked) {
  const Kit kit = TlsKit(7, 7);
  Offer(MakeRound(kRoundA));
  bool bomb = true;
  service_.before_poll = [&](grpc::ServerContext* context, const v1::GetRoundsRequest&) {
    if (bomb) context->set_compression_algorithm(GRPC_COMPRESS_GZIP);
    return grpc::Status::OK;
  };
  service_.tamper_rounds = [&](const v1::GetRoundsRequest&, v1::GetRoundsResponse* response) {
    // 16 MiB in 16 KiB; 2 GiB would fit into the 2 MiB of a message.
    if (bomb)
      response->GetReflection()->MutableUnknownFields(response)->AddLengthDelimited(99, std::string(16 << 20, '\0'));
  };
  const AgentOutcome outcome = Run(kit);
  EXPECT_EQ(outcome.code, ExitCode::kRefusedByPeer) << outcome.message;
  EXPECT_THAT(outcome.message, Not(HasSubstr("larger than max"))) << "that would be said after unpacking";
  ExpectNothingDrawn(kit);
  bomb = false;
  options_.leave_at_receipt = true;
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
}

TEST_F(HostileAggregatorTest, AListOfTooManyRoundsOrOfNamesThatAreNoneIsRefusedAsAWhole) {
  const Kit kit = TlsKit(7, 7);
  const std::vector<std::string> names = {"",
                                          "abc",
                                          "../../../etc/passwd",
                                          std::string(32, 'G'),
                                          kRoundA + std::string("0"),
                                          "0123456789ABCDEF0123456789abcdef",
                                          "\x1b[2J\r\n\t\x07 0123456789abcdef0123456"};
  for (size_t i = 0; i < names.size() + 2; ++i) {
    NewWorld();
    Offer(MakeRound(kRoundA));
    service_.tamper_rounds = [&](const v1::GetRoundsRequest&, v1::GetRoundsResponse* response) {
      const v1::NodeRound round = response->rounds(0);
      for (uint32_t k = 0; k < (i == names.size() ? kRoundsListedMax : 1); ++k) *response->add_rounds() = round;
      for (uint32_t k = 1; i == names.size() && k <= kRoundsListedMax; ++k)
        response->mutable_rounds(k)->set_round_id(Id(k));
      if (i < names.size()) response->mutable_rounds(1)->set_round_id(names[i]);  // the last case: a name twice
    };
    EXPECT_EQ(Run(kit, 3).code, ExitCode::kInterrupted);
    ExpectNothingDrawn(kit);
    EXPECT_THAT(log_.text(),
                HasSubstr(i == names.size() ? "lists more than 64 rounds" : "with a malformed or repeated id"));
  }
}

TEST_F(HostileAggregatorTest, TextsWithControlCharactersReachNoLog) {
  const std::string nasty =
      "\x1b[2J\x1b]0;owned\x07\r\nerror fake line\x7f\t" + std::string("\0x", 2) + std::string(5000, 'y');
  for (const NodeIndex last : {7u, 14u}) {
    NewWorld();
    const Kit kit = TlsKit(7, last);
    Offer(MakeRound(kRoundA));
    service_.before_poll = [&](grpc::ServerContext*, const v1::GetRoundsRequest&) {
      return service_.Polls() == 1 ? grpc::Status(grpc::UNAVAILABLE, nasty) : grpc::Status::OK;
    };
    service_.before_take = [&](const v1::ReportHeader&) { return grpc::Status(grpc::INVALID_ARGUMENT, nasty); };
    const AgentOutcome outcome = Run(kit);
    EXPECT_EQ(outcome.code, ExitCode::kRefusedByPeer);
    EXPECT_THAT(log_.text(), HasSubstr("?[2J?]0;owned???error fake line"));
    const std::string text = log_.text() + outcome.message;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      EXPECT_LT(line.size(), 1300u);
      EXPECT_THAT(line, Each(AllOf(::testing::Ge(' '), ::testing::Le('~'))));
    }
  }
}

TEST_F(HostileAggregatorTest, RoundsWithoutEndThatAreRefusedFillNoLog) {
  const Kit kit = TlsKit(7, 7);
  options_.daemon = true;
  uint32_t named = 0;
  service_.before_poll = [&](grpc::ServerContext*, const v1::GetRoundsRequest&) {
    service_.rounds.clear();
    for (uint32_t i = 0; i < kRoundsListedMax; ++i) Offer(MakeRound(Id(named++), 9'000'000));
    return grpc::Status::OK;
  };
  Run(kit, 100);
  EXPECT_EQ(named, 100 * kRoundsListedMax);
  EXPECT_LE((clock_.now - FakeClock().now), absl::Hours(1));
  const std::vector<std::string> lines = absl::StrSplit(log_.text(), '\n', absl::SkipEmpty());
  EXPECT_LE(lines.size(), 2 * 501u) << "500 an hour, in at most two hours";
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("leaving out its others")));
  ExpectNothingDrawn(kit);
}

// ---- Arbitrary answers over the wire ----
// tests/unit/node_client/indistinguishability_test.cc goes on with these for thousands of steps.

TEST_F(HostileAggregatorTest, NodesWithDifferentListsMakeTheSameCallsOfTheSameSizesAtTheSameTimes) {
  for (const NodeIndex last : {7u, 14u}) {
    std::vector<std::vector<std::string>> seen;
    std::vector<std::string> contents;
    for (const uint32_t extra_links : {0u, 1u, 31u}) {  // two links; three; all
      NewWorld();
      Kit kit = TlsKit(7, last, extra_links);
      kit.policy.send_spread_seconds = 20;
      Offer(MakeRound(kRoundA));
      Offer(MakeRound(kRoundB, 1'000'000, 0));
      Offer(MakeRound(Id(1), 8'000'001));
      Offer(MakeRound(Id(2), 2'000'000, 100'000, 33));
      service_.before_poll = [&](grpc::ServerContext*, const v1::GetRoundsRequest&) {
        if (service_.Polls() % 5 == 2) return grpc::Status(grpc::RESOURCE_EXHAUSTED, "busy");
        if (service_.Polls() == 9) Offer(MakeRound(Id(3), 500'000, 1'000'000));
        if (service_.Polls() == 24) service_.held.clear();
        if (service_.Polls() == 40) Seal();
        return grpc::Status::OK;
      };
      int takes = 0;
      service_.after_take = [&](const v1::ReportHeader&) {
        return ++takes % 7 == 3 ? grpc::Status(grpc::UNAVAILABLE, "cut") : grpc::Status::OK;
      };
      service_.tamper_receipt = [&](v1::Receipt* receipt) {
        if (last == 7 && takes % 7 == 5) receipt->set_round_id(kRoundB);
      };
      const AgentOutcome outcome = Run(kit, 30);
      const AgentOutcome second =
          Run(TlsKit(7, last, extra_links == 0 ? 9 : extra_links), 200);  // the list changed on one side
      auto& all = seen.emplace_back(service_.calls);
      for (const absl::Duration sleep : clock_.sleeps) all.push_back(absl::FormatDuration(sleep));
      all.push_back(
          absl::StrCat(static_cast<int>(outcome.code), outcome.message, static_cast<int>(second.code), second.message));
      all.push_back(log_.text());
      contents.push_back(service_.reports.back().Content());
    }
    EXPECT_EQ(seen[0], seen[1]);
    EXPECT_EQ(seen[0], seen[2]);
    EXPECT_GT(seen[0].size(), 60u);
    EXPECT_NE(contents[0], contents[2]) << "only what the mechanism gives may differ";
  }
}

}  // namespace
}  // namespace blink
