#include "aggregator_server/ingest/ingest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <limits>
#include <thread>

#include "aggregator_server/store/rocksdb_store.h"
#include "tests/testing/aggregator_fixtures.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using testing::kOtherRoundId;
using testing::kRoundId;
using testing::MakeHeader;
using testing::MakeParameters;
using testing::MakeReport;
using testing::MakeRound;

constexpr uint32_t kNodes = 100;

Identity Gateway(uint64_t first, uint64_t last, const std::string& deployment = "demo") {
  Identity identity;
  identity.deployment = deployment;
  identity.first_node = first;
  identity.last_node = last;
  return identity;
}

class IngestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = OpenRocksDbStore(folder_ / "store");
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    ASSERT_TRUE(store_->CreateRound(MakeRound(kNodes), "").ok());
    MakeIngest({});
  }
  void MakeIngest(const IngestLimits& limits) {
    ingest_ = std::make_unique<Ingest>(Deployment{"demo", kNodes, 1}, limits, *store_, clock_,
                                       [this](const std::string&, uint32_t reports) { noted_ = reports; });
  }
  void TearDown() override { store_.reset(); }

  absl::StatusOr<v1::Receipt> Submit(Ingest::Admission admission, const std::string& bits) {
    std::promise<absl::StatusOr<v1::Receipt>> promise;
    ingest_->Submit(std::move(admission), bits,
                    [&](absl::StatusOr<v1::Receipt> receipt) { promise.set_value(std::move(receipt)); });
    return promise.get_future().get();
  }
  absl::StatusOr<v1::Receipt> Send(const v1::ReportHeader& header, const std::string& bits,
                                   const Identity& identity = Gateway(0, kNodes - 1)) {
    absl::StatusOr<Ingest::Admission> admission = ingest_->Admit(identity, header);
    if (!admission.ok()) return admission.status();
    return Submit(*std::move(admission), bits);
  }
  absl::StatusOr<v1::Receipt> Send(NodeIndex node, uint32_t variant = 0) {
    const CodedReport report = MakeReport(parameters_, node, variant);
    return Send(MakeHeader(parameters_, node, report), report.coded_bits);
  }
  void ExpectRefused(const absl::StatusOr<v1::Receipt>& outcome, absl::StatusCode code, const std::string& message) {
    EXPECT_EQ(outcome.status().code(), code) << outcome.status();
    ASSERT_FALSE(message.empty()) << "every message has it";
    EXPECT_THAT(std::string(outcome.status().message()), HasSubstr(message));
    EXPECT_EQ(store_->GetRound(kRoundId)->reports(), 0) << "the round is as it was";
    EXPECT_EQ(ingest_->reports_in_flight(), 0);
  }

  testing::TempFolder folder_;
  testing::ManualClock clock_;
  const PrivacyParameters parameters_ = MakeParameters(kNodes);
  const CodedReport report_ = MakeReport(parameters_, 7);
  const v1::ReportHeader header_ = MakeHeader(parameters_, 7, report_);
  std::unique_ptr<ReportStore> store_;
  std::unique_ptr<Ingest> ingest_;
  std::atomic<uint32_t> noted_{0};
};

TEST_F(IngestTest, GivesAReceiptWithTheMinute) {
  const auto receipt = Send(header_, report_.coded_bits);
  ASSERT_TRUE(receipt.ok()) << receipt.status();
  EXPECT_EQ(receipt->round_id(), kRoundId);
  EXPECT_EQ(receipt->node_id(), 7);
  EXPECT_EQ(receipt->digest(), DigestToBytes(report_.digest));
  EXPECT_EQ(receipt->received_minute(), 1'800'000'000 / 60);
  EXPECT_EQ(noted_, 1);
  clock_.Advance(absl::Hours(1));
  EXPECT_EQ(Send(header_, report_.coded_bits)->SerializeAsString(), receipt->SerializeAsString());
  EXPECT_TRUE(testing::Eventually([&] { return ingest_->reports_in_flight() == 0; }));
}

TEST_F(IngestTest, RefusesAnotherDeployment) {
  v1::ReportHeader header = header_;
  header.set_deployment("other");
  ExpectRefused(Send(header, report_.coded_bits), absl::StatusCode::kNotFound,
                "serves deployment \"demo\", not \"other\"");
  ExpectRefused(Send(header_, report_.coded_bits, Gateway(0, 99, "other")), absl::StatusCode::kPermissionDenied,
                "is not of deployment \"demo\"");
}

TEST_F(IngestTest, RefusesSomeoneElsesCertificate) {
  ExpectRefused(Send(header_, report_.coded_bits, Gateway(8, 99)), absl::StatusCode::kPermissionDenied,
                "does not cover node 7");
  ExpectRefused(Send(header_, report_.coded_bits, Gateway(6, 6)), absl::StatusCode::kPermissionDenied,
                "does not cover node 7");
  Identity person;
  person.kind = Identity::Kind::kOperator;
  person.deployment = "demo";
  person.name = "ann";
  ExpectRefused(Send(header_, report_.coded_bits, person), absl::StatusCode::kPermissionDenied, "names no node");
}

TEST_F(IngestTest, RefusesAnUnknownNode) {
  v1::ReportHeader header = header_;
  header.set_node_id(kNodes);
  ExpectRefused(Send(header, report_.coded_bits, Gateway(0, 1'000)), absl::StatusCode::kInvalidArgument,
                "node 100 is not on the roster");
}

TEST_F(IngestTest, RefusesAnUnknownOrMalformedRound) {
  v1::ReportHeader header = header_;
  header.set_round_id(kOtherRoundId);
  ExpectRefused(Send(header, report_.coded_bits), absl::StatusCode::kNotFound, "there is no round");
  header.set_round_id("../../etc/passwd");
  ExpectRefused(Send(header, report_.coded_bits), absl::StatusCode::kInvalidArgument, "32 lower-case hexadecimal");
}

TEST_F(IngestTest, RefusesOtherParameters) {
  v1::ReportHeader header = header_;
  header.mutable_parameters()->set_node_count(kNodes + 1);
  ExpectRefused(Send(header, report_.coded_bits), absl::StatusCode::kInvalidArgument, "node_count 101");
  header = header_;
  header.mutable_parameters()->set_epsilon_micro(7'000'000);
  ExpectRefused(Send(header, report_.coded_bits), absl::StatusCode::kInvalidArgument, "epsilon_micro 7000000");
  header = header_;
  header.mutable_parameters()->set_mechanism(2);
  ExpectRefused(Send(header, report_.coded_bits), absl::StatusCode::kInvalidArgument, "mechanism 2");
}

class OneEndIngestTest : public IngestTest {
 protected:
  void SetUp() override {
    IngestTest::SetUp();
    v1::Round round = MakeRound(kNodes, kOtherRoundId);
    *round.mutable_parameters() = ParametersToProto(one_end_);
    ASSERT_TRUE(store_->CreateRound(round, "").ok());
  }
  absl::StatusOr<v1::Receipt> SendOneEnd(NodeIndex node, const CodedReport& report) {
    return Send(MakeHeader(one_end_, node, report, kOtherRoundId), report.coded_bits);
  }
  void ExpectOneEndRefused(const absl::StatusOr<v1::Receipt>& outcome, const std::string& message) {
    EXPECT_EQ(outcome.status().code(), absl::StatusCode::kInvalidArgument) << outcome.status();
    EXPECT_THAT(std::string(outcome.status().message()), HasSubstr(message));
    EXPECT_EQ(store_->GetRound(kOtherRoundId)->reports(), 0) << "the round is as it was";
  }
  CodedReport Coded(const BitRow& bits) const { return EncodeReport(one_end_, {bits, 1}); }

  const PrivacyParameters one_end_ = MakeParameters(kNodes, 100'000, Mechanism::kOneEnd);
};

TEST_F(OneEndIngestTest, TakesTheBitsOfTheOwnPairs) {
  for (const NodeIndex node : {0u, 7u, kNodes - 1}) {
    const auto receipt = SendOneEnd(node, MakeReport(one_end_, node));
    ASSERT_TRUE(receipt.ok()) << node << ": " << receipt.status();
  }
  EXPECT_EQ(store_->GetRound(kOtherRoundId)->reports(), 3);
}

TEST_F(OneEndIngestTest, RefusesABitOfAPairThatIsNotItsOwn) {
  BitRow all(kNodes), one_more(one_end_.row_bits(7) + 1);
  all.Set(kNodes - 1);
  one_more.Set(one_more.size() - 1);
  ExpectOneEndRefused(SendOneEnd(7, Coded(all)), "the packed row has a wrong length");
  ExpectOneEndRefused(SendOneEnd(7, Coded(one_more)), "a bit beyond the last node is set");
}

TEST_F(OneEndIngestTest, RefusesMoreBytesThanTheHalfTakes) {
  v1::ReportHeader header = MakeHeader(one_end_, 7, MakeReport(one_end_, 7), kOtherRoundId);
  header.set_coded_bytes(CodedBytesMax(one_end_.row_bits(7)) + 1);
  ExpectOneEndRefused(Send(header, ""), "a report of this round has 1 .. 1030");
}

TEST_F(OneEndIngestTest, RefusesAReportOfTheOtherMechanism) {
  ExpectOneEndRefused(Send(MakeHeader(parameters_, 7, report_, kOtherRoundId), report_.coded_bits), "mechanism 1");
  CodedReport report = MakeReport(one_end_, 7);
  report.digest = ReportDigest(parameters_, report.noisy_degree, report.coded_bits);
  ExpectOneEndRefused(SendOneEnd(7, report), "digest does not match");
}

class GroupIngestTest : public IngestTest {
 protected:
  void SetUp() override {
    IngestTest::SetUp();
    v1::Round round = MakeRound(kNodes, kOtherRoundId);
    *round.mutable_parameters() = ParametersToProto(about_groups_);
    ASSERT_TRUE(store_->CreateRound(round, "", EncodeGroups(testing::MakeGroups(kNodes, 3))).ok());
  }
  absl::StatusOr<v1::Receipt> Answer(NodeIndex node, const CodedReport& report) {
    return Send(MakeHeader(about_groups_, node, report, kOtherRoundId), report.coded_bits);
  }
  void ExpectAnswerRefused(const absl::StatusOr<v1::Receipt>& outcome, const std::string& message) {
    EXPECT_EQ(outcome.status().code(), absl::StatusCode::kInvalidArgument) << outcome.status();
    EXPECT_THAT(std::string(outcome.status().message()), HasSubstr(message));
    EXPECT_EQ(store_->GetRound(kOtherRoundId)->reports(), 0) << "the round is as it was";
  }

  const PrivacyParameters about_groups_ = testing::MakeGroupParameters(kNodes, 3);
};

TEST_F(GroupIngestTest, TakesANumberForEachGroupWhateverItIs) {
  PrivateReport far;
  far.group_degrees = {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), 0};
  EXPECT_TRUE(Answer(7, MakeReport(about_groups_, 7)).ok());
  EXPECT_TRUE(Answer(8, EncodeReport(about_groups_, far)).ok());
  EXPECT_EQ(store_->GetRound(kOtherRoundId)->reports(), 2);
  EXPECT_EQ(store_->GetRound(kOtherRoundId)->flagged(), 0);
}

TEST_F(GroupIngestTest, RefusesAnAnswerAboutOtherGroups) {
  const PrivacyParameters other = testing::MakeGroupParameters(kNodes, 4);
  const CodedReport report = MakeReport(other, 7);
  ExpectAnswerRefused(Send(MakeHeader(other, 7, report, kOtherRoundId), report.coded_bits), "group_count 4");
  v1::ReportHeader header = MakeHeader(about_groups_, 7, MakeReport(about_groups_, 7), kOtherRoundId);
  header.mutable_parameters()->set_groups_sha256(std::string(32, 'x'));
  ExpectAnswerRefused(Send(header, MakeReport(about_groups_, 7).coded_bits), "groups_sha256 7878");
}

TEST_F(GroupIngestTest, RefusesTooFewTooManyAndMalformedNumbers) {
  const auto answer = [&](const std::string& bytes) {
    CodedReport report{bytes, std::nullopt, {}};
    report.digest = ReportDigest(about_groups_, std::nullopt, bytes);
    return Answer(7, report);
  };
  ExpectAnswerRefused(answer("ab"), "coded_bytes is 2, a report of this round has 3 .. 30");
  ExpectAnswerRefused(answer(std::string(31, 'a')), "coded_bytes is 31");
  ExpectAnswerRefused(answer("abcd"), "1 bytes follow the numbers of the 3 groups");
  ExpectAnswerRefused(answer("ab\x80"), "the number of group 2 of 3 is missing or malformed");
}

TEST_F(IngestTest, RefusesAnotherRosterVersion) {
  v1::ReportHeader header = header_;
  header.set_roster_version(2);
  ExpectRefused(Send(header, report_.coded_bits), absl::StatusCode::kInvalidArgument, "roster version 2");
}

TEST_F(IngestTest, RefusesAMissingDegreeAndImpossibleSizes) {
  v1::ReportHeader header = header_;
  header.clear_noisy_degree();
  ExpectRefused(Send(header, report_.coded_bits), absl::StatusCode::kInvalidArgument, "lacks the noisy degree");
  header = header_;
  header.set_coded_bytes(0);
  ExpectRefused(Send(header, ""), absl::StatusCode::kInvalidArgument, "coded_bytes is 0");
  header.set_coded_bytes(4'000'000'000);
  ExpectRefused(Send(header, ""), absl::StatusCode::kInvalidArgument, "coded_bytes is 4000000000");
}

TEST_F(IngestTest, RefusesBytesThatAreNotTheHeaders) {
  ExpectRefused(Send(header_, report_.coded_bits + "x"), absl::StatusCode::kInvalidArgument, "coded bytes");
  ExpectRefused(Send(header_, report_.coded_bits.substr(1)), absl::StatusCode::kInvalidArgument, "coded bytes");
}

TEST_F(IngestTest, RefusesAWrongDigest) {
  v1::ReportHeader header = header_;
  header.set_digest("short");
  ExpectRefused(Send(header, report_.coded_bits), absl::StatusCode::kInvalidArgument, "a digest has 32 bytes");
  header.set_digest(std::string(32, 'x'));
  ExpectRefused(Send(header, report_.coded_bits), absl::StatusCode::kInvalidArgument, "digest does not match");
}

// With the digest that belongs to it. The tests of the codec try every other spelling.
TEST_F(IngestTest, RefusesBitsThatAreNotCanonical) {
  for (const char byte : {'\x00', '\x7f', '\xff'}) {
    CodedReport padded = report_;
    padded.coded_bits.push_back(byte);
    padded.digest = ReportDigest(parameters_, padded.noisy_degree, padded.coded_bits);
    ExpectRefused(Send(MakeHeader(parameters_, 7, padded), padded.coded_bits), absl::StatusCode::kInvalidArgument,
                  "coded bits");
  }
}

TEST_F(IngestTest, RefusesANodesLinkToItself) {
  PrivateReport own{BitRow(kNodes), 3};
  own.bits.Set(7);
  const CodedReport coded = EncodeReport(parameters_, own);
  ExpectRefused(Send(MakeHeader(parameters_, 7, coded), coded.coded_bits), absl::StatusCode::kInvalidArgument,
                "bit of the node itself is 1");
}

TEST_F(IngestTest, RefusesASecondDifferentReport) {
  ASSERT_TRUE(Send(7).ok());
  const auto second = Send(7, /*variant=*/1);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(*store_->GetDigest(kRoundId, 7), report_.digest);
}

TEST_F(IngestTest, RefusesANewReportForASealedRoundAndRepeatsTheReceiptOfAnOldOne) {
  const auto receipt = Send(7);
  ASSERT_TRUE(receipt.ok());
  ASSERT_TRUE(store_
                  ->UpdateRound(kRoundId, {v1::ROUND_STATE_OPEN},
                                [](v1::Round& round) {
                                  round.set_state(v1::ROUND_STATE_SEALED);
                                  return absl::OkStatus();
                                })
                  .ok());
  const auto late = Send(8);
  EXPECT_EQ(late.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(late.status().message()), HasSubstr("is sealed"));
  EXPECT_EQ(Send(7)->SerializeAsString(), receipt->SerializeAsString());
  EXPECT_EQ(Send(7, 1).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(IngestTest, TakesThePeersNextReportAsSoonAsItHasItsAnswer) {
  IngestLimits limits;
  limits.peer_reports_max = 1;
  MakeIngest(limits);
  for (const bool is_refused : {false, true}) {
    auto admission = ingest_->Admit(Gateway(0, kNodes - 1), header_);
    ASSERT_TRUE(admission.ok()) << admission.status();
    std::promise<absl::Status> next;
    ingest_->Submit(*std::move(admission), is_refused ? "" : report_.coded_bits,
                    [&](absl::StatusOr<v1::Receipt> receipt) {
                      EXPECT_EQ(receipt.ok(), !is_refused);
                      next.set_value(ingest_->Admit(Gateway(0, kNodes - 1), header_).status());
                    });
    EXPECT_EQ(next.get_future().get(), absl::OkStatus());
  }
}

TEST_F(IngestTest, RefusesMoreReportsThanItCanHoldAndTakesThemLater) {
  IngestLimits limits;
  limits.reports_in_flight_max = 2;
  MakeIngest(limits);
  {
    const auto first = ingest_->Admit(Gateway(0, 99), header_);
    const auto second = ingest_->Admit(Gateway(0, 99), header_);
    ASSERT_TRUE(first.ok() && second.ok());
    const auto third = ingest_->Admit(Gateway(0, 99), header_);
    EXPECT_EQ(third.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_GT(ingest_->WindowFor(third.status()).min, absl::ZeroDuration());
    EXPECT_EQ(ingest_->reports_in_flight(), 2);
  }
  EXPECT_EQ(ingest_->reports_in_flight(), 0);
  limits.bytes_in_flight_max = report_.coded_bits.size();
  MakeIngest(limits);
  const auto first = ingest_->Admit(Gateway(0, 99), header_);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(ingest_->Admit(Gateway(0, 99), header_).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(IngestTest, ReportsThatAPeerNeverEndsTakeNothingFromOthers) {
  std::vector<Ingest::Admission> held;
  const auto fill = [&](const Identity& peer, NodeIndex node) {
    const CodedReport report = MakeReport(parameters_, node);
    for (int i = 0; i < 100; ++i) {
      auto admission = ingest_->Admit(peer, MakeHeader(parameters_, node, report));
      if (!admission.ok()) return admission.status();
      held.push_back(*std::move(admission));
    }
    return absl::OkStatus();
  };
  IngestLimits limits;
  limits.peer_reports_max = 10;
  MakeIngest(limits);
  EXPECT_TRUE(absl::IsResourceExhausted(fill(Gateway(3, 3), 3)));
  EXPECT_EQ(held.size(), 4) << "of one node";
  EXPECT_TRUE(absl::IsResourceExhausted(fill(Gateway(10, 19), 12)));
  EXPECT_EQ(held.size(), 14) << "of a gateway";
  EXPECT_TRUE(Send(header_, report_.coded_bits, Gateway(7, 7)).ok());
  held.clear();
  EXPECT_TRUE(testing::Eventually([&] { return ingest_->reports_in_flight() == 0; }));
  const CodedReport report = MakeReport(parameters_, 3);
  EXPECT_TRUE(Send(MakeHeader(parameters_, 3, report), report.coded_bits, Gateway(3, 3)).ok())
      << "as soon as it ends them";
  EXPECT_TRUE(testing::Eventually([&] { return ingest_->reports_in_flight() == 0; }));
  limits.peer_bytes_max = report.coded_bits.size();
  MakeIngest(limits);
  EXPECT_TRUE(absl::IsResourceExhausted(fill(Gateway(10, 19), 12)));
  EXPECT_EQ(held.size(), 1) << "by bytes";
  held.clear();
}

TEST_F(IngestTest, TakesReportsOfBothExtremes) {
  for (const uint32_t share : {0u, 1'000'000u}) {
    const std::string round_id = share == 0 ? kOtherRoundId : "00000000000000000000000000000000";
    ASSERT_TRUE(store_->CreateRound(MakeRound(kNodes, round_id, share), "").ok());
    const PrivacyParameters parameters = MakeParameters(kNodes, share);
    const CodedReport report = MakeReport(parameters, 5);
    const auto receipt = Send(MakeHeader(parameters, 5, report, round_id), report.coded_bits);
    EXPECT_TRUE(receipt.ok()) << receipt.status();
  }
}

TEST_F(IngestTest, CountsImplausibleReportsDurablyAndTellsNoNode) {
  PrivateReport all_ones{BitRow(kNodes), 3};  // a degree that so many ones do not fit
  for (NodeIndex j = 0; j < kNodes; ++j) all_ones.bits.Set(j);
  all_ones.bits.Clear(8);
  const CodedReport liar = EncodeReport(parameters_, all_ones);
  const auto honest = Send(7);
  ASSERT_TRUE(honest.ok());
  EXPECT_EQ(store_->GetRound(kRoundId)->flagged(), 0u);
  const v1::ReportHeader header = MakeHeader(parameters_, 8, liar);
  auto flagged = Send(header, liar.coded_bits);
  ASSERT_TRUE(flagged.ok()) << "it is taken like any other";
  EXPECT_EQ(Send(header, liar.coded_bits)->SerializeAsString(), flagged->SerializeAsString());
  flagged->set_node_id(7);
  flagged->set_digest(honest->digest());
  EXPECT_EQ(flagged->SerializeAsString(), honest->SerializeAsString()) << "the receipts differ in nothing else";
  EXPECT_EQ(store_->GetRound(kRoundId)->flagged(), 1u) << "once, however often it is sent";
  EXPECT_EQ(store_->GetRound(kRoundId)->reports(), 2u);
  store_.reset();  // before the ingest that its callbacks use
  ingest_.reset();
  store_ = OpenRocksDbStore(folder_ / "store").value();
  EXPECT_EQ(store_->GetRound(kRoundId)->flagged(), 1u) << "also after a restart";
  EXPECT_EQ(*store_->GetDigest(kRoundId, 8), liar.digest);
}

TEST_F(IngestTest, TakesTheOperatorsBoundOfTheDegreeForTheCount) {
  v1::Round round = MakeRound(kNodes, kOtherRoundId, /*degree_share_ppm=*/0);
  round.set_degree_max(2);
  ASSERT_TRUE(store_->CreateRound(round, "").ok());
  const PrivacyParameters parameters = MakeParameters(kNodes, 0);
  for (const NodeIndex node : {1u, 2u}) {  // 20 ones, of which noise makes a quarter of one
    const CodedReport report = MakeReport(parameters, node);
    ASSERT_TRUE(Send(MakeHeader(parameters, node, report, kOtherRoundId), report.coded_bits).ok());
  }
  EXPECT_EQ(store_->GetRound(kOtherRoundId)->flagged(), 2u);
}

TEST_F(IngestTest, AcknowledgesOneOfManyDifferentReportsThatComeAtOnce) {
  std::atomic<int> stored{0};
  std::vector<std::thread> threads;
  for (uint32_t variant = 0; variant < 6; ++variant) {
    threads.emplace_back([&, variant] {
      for (int i = 0; i < 20; ++i) stored += Send(7, variant).ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stored, 20) << "the first is repeated, the others are refused";
  EXPECT_EQ(store_->GetRound(kRoundId)->reports(), 1);
}

TEST(RetryAdvisor, WidensTheWindowWithTheFleetAndForgetsIt) {
  testing::ManualClock clock;
  RetryAdvisor advisor(clock);
  const RetryWindow alone = advisor.WindowWhenWaiting();
  EXPECT_LE(alone.max, absl::Seconds(1));
  for (uint64_t node = 0; node < 50'000; ++node) advisor.NotePeer(Gateway(node, node));
  const RetryWindow fleet = advisor.WindowWhenWaiting();
  EXPECT_GE(fleet.max - fleet.min, absl::Seconds(50)) << "50,000 calls at 500 a second";
  EXPECT_GT(advisor.WindowWhenBusy(1).max, fleet.max);
  EXPECT_GT(advisor.WindowWhenIdle().max, fleet.max);
  for (int i = 0; i < 2; ++i) {
    clock.Advance(absl::Minutes(11));
    advisor.NotePeer(Gateway(1, 1));
  }
  EXPECT_EQ(advisor.WindowWhenWaiting().max, alone.max);
}

TEST(RetryAdvisor, NeverSendsAFleetAwayForLong) {
  testing::ManualClock clock;
  RetryAdvisor advisor(clock);
  for (uint64_t node = 0; node < 2'000'000; ++node) advisor.NotePeer(Gateway(node, node));
  EXPECT_LE(advisor.WindowWhenBusy(1).max, absl::Minutes(20));
}

}  // namespace
}  // namespace blink
