// What every ReportStore does, whatever it keeps its data in (store_places.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "tests/testing/aggregator_fixtures.h"
#include "tests/unit/store/store_places.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using testing::kOtherRoundId;
using testing::kRoundId;
using testing::MakeChecked;
using testing::MakeParameters;
using testing::MakeRound;
using testing::ReportsOf;

constexpr uint32_t kNodes = 100;

absl::StatusOr<v1::Round> Seal(ReportStore& store, const std::string& round_id = kRoundId) {
  return store.UpdateRound(round_id, {v1::ROUND_STATE_OPEN}, [](v1::Round& round) {
    round.set_state(v1::ROUND_STATE_SEALED);
    return absl::OkStatus();
  });
}

class StoreConformance : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    place_ = testing::MakeStorePlace(GetParam());
    if (const std::string missing = place_->WhatIsMissing(); !missing.empty()) GTEST_SKIP() << missing;
    Open();
    ASSERT_TRUE(store_->CreateRound(MakeRound(kNodes), "").ok());
  }
  void Open() {
    store_.reset();
    auto opened = place_->Open();
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }

  std::unique_ptr<testing::StorePlace> place_;  // outlives the store
  const PrivacyParameters parameters_ = MakeParameters(kNodes);
  std::unique_ptr<ReportStore> store_;
};

TEST_P(StoreConformance, GivesTheSameReceiptForTheSameReport) {
  const auto first = store_->PutReportAndWait(MakeChecked(parameters_, 7));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(first->fresh);
  EXPECT_EQ(first->reports, 1);
  CheckedReport later = MakeChecked(parameters_, 7);
  later.received_minute += 99;
  const auto second = store_->PutReportAndWait(later);
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(second->fresh);
  EXPECT_EQ(second->receipt.SerializeAsString(), first->receipt.SerializeAsString());
  EXPECT_EQ(second->reports, 1);
}

TEST_P(StoreConformance, RefusesASecondReportAndKeepsTheFirst) {
  ASSERT_TRUE(store_->PutReportAndWait(MakeChecked(parameters_, 7)).ok());
  const auto second = store_->PutReportAndWait(MakeChecked(parameters_, 7, /*variant=*/1));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("node 7"));
  EXPECT_EQ(ReportsOf(*store_, kRoundId).at(7).digest, testing::MakeReport(parameters_, 7).digest);
}

TEST_P(StoreConformance, RefusesASecondReportThatArrivesInTheSameBatch) {
  // The committer is held up by an update, so that both reports wait for the same batch.
  std::atomic<int> stored{0}, refused{0}, done{0};
  std::thread holder([&] {
    (void)store_->UpdateRound(kRoundId, {v1::ROUND_STATE_OPEN}, [&](v1::Round&) {
      for (int i = 0; i < 8; ++i) {
        store_->PutReport(MakeChecked(parameters_, 3, i % 2), [&](absl::StatusOr<PutOutcome> outcome) {
          outcome.ok() ? ++stored : ++refused;
          ++done;
        });
      }
      return absl::OkStatus();
    });
  });
  holder.join();
  ASSERT_TRUE(testing::Eventually([&] { return done == 8; }));
  EXPECT_EQ(stored, 4);
  EXPECT_EQ(refused, 4);
  EXPECT_EQ(store_->GetRound(kRoundId)->reports(), 1);
}

TEST_P(StoreConformance, RefusesAReportForASealedRoundButKnowsTheOneItHolds) {
  ASSERT_TRUE(store_->PutReportAndWait(MakeChecked(parameters_, 1)).ok());
  ASSERT_TRUE(Seal(*store_).ok());
  const auto late = store_->PutReportAndWait(MakeChecked(parameters_, 2));
  EXPECT_EQ(late.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(late.status().message()), HasSubstr("is sealed"));
  EXPECT_TRUE(store_->PutReportAndWait(MakeChecked(parameters_, 1)).ok());
  EXPECT_EQ(store_->PutReportAndWait(MakeChecked(parameters_, 1, 1)).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ReportsOf(*store_, kRoundId).size(), 1);
}

TEST_P(StoreConformance, RefusesUnknownRoundsAndNodes) {
  EXPECT_EQ(store_->PutReportAndWait(MakeChecked(parameters_, 1, 0, kOtherRoundId)).status().code(),
            absl::StatusCode::kNotFound);
  CheckedReport outside = MakeChecked(parameters_, 1);
  outside.node = kNodes;
  EXPECT_EQ(store_->PutReportAndWait(outside).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(store_->GetRound(kOtherRoundId).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Seal(*store_, kOtherRoundId).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(StoreConformance, CreatesARoundOnceForARequestId) {
  const auto made = store_->CreateRound(MakeRound(kNodes, kOtherRoundId), "request-1");
  ASSERT_TRUE(made.ok());
  v1::Round again = MakeRound(kNodes, "00000000000000000000000000000000");
  const auto same = store_->CreateRound(again, "request-1");
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->round_id(), kOtherRoundId);
  EXPECT_EQ(store_->ListRounds()->size(), 2);
  EXPECT_EQ(store_->CreateRound(MakeRound(kNodes), "").status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_P(StoreConformance, KeepsTheGroupsOfARoundInParts) {
  constexpr uint32_t kMany = 70'000;  // 140,000 bytes
  v1::Round round = MakeRound(kMany, kOtherRoundId);
  *round.mutable_parameters() = ParametersToProto(testing::MakeGroupParameters(kMany, 1000));
  const std::string groups = EncodeGroups(testing::MakeGroups(kMany, 1000));
  ASSERT_TRUE(store_->CreateRound(round, "", groups).ok());
  EXPECT_EQ(store_->GetGroupsPart(kOtherRoundId, 0).value(), groups.substr(0, 65'536));
  EXPECT_EQ(store_->GetGroupsPart(kOtherRoundId, 2).value(), groups.substr(131'072));
  EXPECT_EQ(store_->GetGroups(round).value(), groups);
  EXPECT_EQ(store_->GetGroupsPart(kOtherRoundId, 3).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->GetGroupsPart(kRoundId, 0).status().code(), absl::StatusCode::kNotFound) << "it asks about none";
  EXPECT_EQ(store_->GetGroupsPart(std::string(32, 'f'), 0).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(StoreConformance, ComparesTheStateBeforeItChangesARound) {
  ASSERT_TRUE(Seal(*store_).ok());
  const auto again = Seal(*store_);
  EXPECT_EQ(again.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(again.status().message()), HasSubstr("is sealed"));
}

TEST_P(StoreConformance, KeepsARoundAsItWasWhenTheChangeFails) {
  const auto failed = store_->UpdateRound(kRoundId, {v1::ROUND_STATE_OPEN}, [](v1::Round& round) {
    round.set_state(v1::ROUND_STATE_FAILED);
    return absl::InternalError("no");
  });
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(store_->GetRound(kRoundId)->state(), v1::ROUND_STATE_OPEN);
}

TEST_P(StoreConformance, RemembersEverythingAcrossReopening) {
  for (NodeIndex node = 0; node < 50; ++node) {
    ASSERT_TRUE(store_->PutReportAndWait(MakeChecked(parameters_, node)).ok());
  }
  ASSERT_TRUE(store_->CreateRound(MakeRound(kNodes, kOtherRoundId), "request-1").ok());
  ASSERT_TRUE(Seal(*store_).ok());
  Open();
  EXPECT_EQ(store_->GetRound(kRoundId)->state(), v1::ROUND_STATE_SEALED);
  EXPECT_EQ(store_->GetRound(kRoundId)->reports(), 50);
  EXPECT_EQ(store_->GetRound(kOtherRoundId)->reports(), 0);
  EXPECT_EQ(store_->CreateRound(MakeRound(kNodes), "request-1")->round_id(), kOtherRoundId);
  const auto reports = ReportsOf(*store_, kRoundId);
  ASSERT_EQ(reports.size(), 50);
  for (const auto& [node, report] : reports) {
    const CodedReport expected = testing::MakeReport(parameters_, static_cast<NodeIndex>(node));
    EXPECT_EQ(report.digest, expected.digest);
    EXPECT_EQ(report.coded_bits, expected.coded_bits);
    EXPECT_EQ(report.noisy_degree, expected.noisy_degree);
  }
  EXPECT_EQ(store_->PutReportAndWait(MakeChecked(parameters_, 3, 1)).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_P(StoreConformance, ListsDigestsOfARangeInOrderAndWithinALimit) {
  for (const NodeIndex node : {90, 2, 5, 30, 31, 64}) {
    ASSERT_TRUE(store_->PutReportAndWait(MakeChecked(parameters_, node)).ok());
  }
  std::vector<uint64_t> nodes;
  const auto visit = [&](uint64_t node, const Digest& digest) {
    EXPECT_EQ(digest, testing::MakeReport(parameters_, static_cast<NodeIndex>(node)).digest);
    nodes.push_back(node);
    return absl::OkStatus();
  };
  ASSERT_TRUE(store_->VisitDigests(kRoundId, 5, 64, 100, visit).ok());
  EXPECT_EQ(nodes, (std::vector<uint64_t>{5, 30, 31, 64}));
  nodes.clear();
  ASSERT_TRUE(store_->VisitDigests(kRoundId, 0, kNodes, 2, visit).ok());
  EXPECT_EQ(nodes, (std::vector<uint64_t>{2, 5}));
  EXPECT_EQ(store_->GetDigest(kRoundId, 3)->has_value(), false);
  EXPECT_TRUE(store_->GetDigest(kRoundId, 31)->has_value());
  EXPECT_EQ(store_->GetDigest(kRoundId, 1'000'000)->has_value(), false);
}

TEST_P(StoreConformance, FindsTheRoundOfARequest) {
  ASSERT_TRUE(store_->CreateRound(MakeRound(kNodes, kOtherRoundId), "request-1").ok());
  const auto found = store_->FindRequest("request-1");
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->round_id(), kOtherRoundId);
  EXPECT_EQ(store_->FindRequest("request-2").value(), std::nullopt);
}

TEST_P(StoreConformance, CountsFlaggedReportsAndKeepsThemAcrossReopening) {
  CheckedReport flagged = MakeChecked(parameters_, 4);
  flagged.implausible = true;
  ASSERT_TRUE(store_->PutReportAndWait(flagged).ok());
  ASSERT_TRUE(store_->PutReportAndWait(flagged).ok()) << "the same again";
  ASSERT_TRUE(store_->PutReportAndWait(MakeChecked(parameters_, 5)).ok());
  EXPECT_EQ(store_->GetRound(kRoundId)->flagged(), 1);
  Open();
  EXPECT_EQ(store_->GetRound(kRoundId)->flagged(), 1);
  EXPECT_EQ(store_->GetRound(kRoundId)->reports(), 2);
}

TEST_P(StoreConformance, ListsRoundsOldestFirstAndTheOpenOnesAlone) {
  v1::Round older = MakeRound(kNodes, kOtherRoundId);
  older.set_created_ms(older.created_ms() - 1);
  ASSERT_TRUE(store_->CreateRound(older, "").ok());
  ASSERT_TRUE(store_->PutReportAndWait(MakeChecked(parameters_, 5)).ok());
  const auto rounds = store_->ListOpenRounds().value();
  ASSERT_EQ(rounds.size(), 2);
  EXPECT_EQ(rounds[0].round_id(), kOtherRoundId);
  EXPECT_EQ(rounds[1].reports(), 1);
  ASSERT_TRUE(Seal(*store_, kOtherRoundId).ok());
  ASSERT_EQ(store_->ListOpenRounds()->size(), 1);
  EXPECT_EQ(store_->ListOpenRounds()->front().round_id(), kRoundId);
  EXPECT_EQ(store_->ListRounds()->size(), 2);
  EXPECT_EQ(store_->LookAtRounds()->by_state,
            (std::map<v1::RoundState, uint64_t>{{v1::ROUND_STATE_OPEN, 1}, {v1::ROUND_STATE_SEALED, 1}}));
}

TEST_P(StoreConformance, KeepsReportsWithoutADegree) {
  CheckedReport report = MakeChecked(parameters_, 9);
  report.report.noisy_degree.reset();
  ASSERT_TRUE(store_->PutReportAndWait(report).ok());
  report = MakeChecked(parameters_, 10);
  report.report.noisy_degree = -7;
  ASSERT_TRUE(store_->PutReportAndWait(report).ok());
  EXPECT_EQ(ReportsOf(*store_, kRoundId).at(9).noisy_degree, std::nullopt);
  EXPECT_EQ(ReportsOf(*store_, kRoundId).at(10).noisy_degree, -7);
}

TEST_P(StoreConformance, CannotChangeWhatItCountsItself) {
  ASSERT_TRUE(store_->PutReportAndWait(MakeChecked(parameters_, 1)).ok());
  const auto changed = store_->UpdateRound(kRoundId, {v1::ROUND_STATE_OPEN}, [](v1::Round& round) {
    EXPECT_EQ(round.reports(), 1);
    round.set_round_id(kOtherRoundId);
    round.set_reports(50);
    round.set_flagged(50);
    return absl::OkStatus();
  });
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->round_id(), kRoundId);
  EXPECT_EQ(store_->GetRound(kRoundId)->reports(), 1);
  EXPECT_EQ(store_->GetRound(kRoundId)->flagged(), 0);
}

TEST_P(StoreConformance, EndsAVisitWithTheErrorOfTheVisitor) {
  for (const NodeIndex node : {1, 2}) ASSERT_TRUE(store_->PutReportAndWait(MakeChecked(parameters_, node)).ok());
  int visits = 0;
  const absl::Status ended = store_->VisitReports(kRoundId, [&](uint64_t, const CodedReport&) {
    ++visits;
    return absl::OutOfRangeError("enough");
  });
  EXPECT_EQ(ended.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(visits, 1);
  EXPECT_EQ(store_->VisitReports(kOtherRoundId, [](uint64_t, const CodedReport&) { return absl::OkStatus(); }).code(),
            absl::StatusCode::kNotFound);
}

// Every report that was acknowledged is among those that are read after the seal, whatever the interleaving.
TEST_P(StoreConformance, AcknowledgesNothingThatTheSealedSetLacks) {
  for (int trial = 0; trial < 20; ++trial) {
    const std::string round_id = absl::StrCat("000000000000000000000000000000", 10 + trial);
    ASSERT_TRUE(store_->CreateRound(MakeRound(kNodes, round_id), "").ok());
    std::mutex mutex;
    std::set<uint64_t> acknowledged;
    std::vector<std::thread> threads;
    for (NodeIndex first = 0; first < 4; ++first) {
      threads.emplace_back([&, first] {
        for (NodeIndex node = first; node < kNodes; node += 4) {
          if (!store_->PutReportAndWait(MakeChecked(parameters_, node, 0, round_id)).ok()) return;
          std::lock_guard<std::mutex> lock(mutex);
          acknowledged.insert(node);
        }
      });
    }
    while (store_->GetRound(round_id)->reports() < static_cast<uint32_t>(trial) * 4) std::this_thread::yield();
    const auto sealed = Seal(*store_, round_id);
    ASSERT_TRUE(sealed.ok());
    const auto sealed_set = ReportsOf(*store_, round_id);
    EXPECT_EQ(sealed->reports(), sealed_set.size());
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(acknowledged.size(), sealed_set.size());
    for (const uint64_t node : acknowledged) EXPECT_EQ(sealed_set.count(node), 1) << node;
    EXPECT_EQ(ReportsOf(*store_, round_id).size(), sealed_set.size());
  }
}

TEST_P(StoreConformance, KeepsTheKeysOfRoundsAndReplacesOnlyTheOneThatIsNamed) {
  ASSERT_TRUE(store_->ReplaceWrappedKey(kOtherRoundId, "", std::string("a\0key", 5)).ok());
  EXPECT_TRUE(absl::IsAborted(store_->ReplaceWrappedKey(kOtherRoundId, "", "another")));
  EXPECT_TRUE(absl::IsAborted(store_->ReplaceWrappedKey(kOtherRoundId, "other", "another")));
  Open();
  EXPECT_EQ(store_->GetWrappedKey(kOtherRoundId).value(), std::string("a\0key", 5));
  EXPECT_EQ(store_->ListWrappedKeys()->count(kOtherRoundId), 1);
  ASSERT_TRUE(store_->ReplaceWrappedKey(kOtherRoundId, std::string("a\0key", 5), "new").ok());
  ASSERT_TRUE(store_->ForgetReplacedKeys().ok());
  EXPECT_EQ(store_->GetWrappedKey(kOtherRoundId).value(), "new");
  ASSERT_TRUE(store_->ReplaceWrappedKey(kOtherRoundId, "new", "").ok());
  EXPECT_EQ(store_->GetWrappedKey(kOtherRoundId).value(), "");
  EXPECT_EQ(store_->ListWrappedKeys()->count(kOtherRoundId), 0);
}

TEST_P(StoreConformance, DeletesReportsAndKeysOfARoundThatHasEndedAndKeepsTheDigests) {
  ASSERT_TRUE(store_->CreateRound(MakeRound(kNodes, kOtherRoundId), "").ok());
  for (const NodeIndex node : {7, 8, 99}) {
    ASSERT_TRUE(store_->PutReportAndWait(MakeChecked(parameters_, node)).ok());
    ASSERT_TRUE(store_->PutReportAndWait(MakeChecked(parameters_, node, 0, kOtherRoundId)).ok());
  }
  EXPECT_EQ(store_->DeleteReports(kRoundId).code(), absl::StatusCode::kFailedPrecondition) << "it is open";
  EXPECT_EQ(store_->DeleteReports("00000000000000000000000000000abc").code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(store_
                  ->UpdateRound(kRoundId, {v1::ROUND_STATE_OPEN},
                                [](v1::Round& round) {
                                  round.set_state(v1::ROUND_STATE_CANCELLED);
                                  round.set_reports_deleted_ms(1);
                                  return absl::OkStatus();
                                })
                  .ok());
  for (const bool again : {false, true}) {
    ASSERT_TRUE(store_->DeleteReports(kRoundId).ok()) << again;
    Open();
    EXPECT_EQ(store_->GetRound(kRoundId)->reports(), 3);
    EXPECT_EQ(store_->GetWrappedKey(kRoundId).value(), "");
    const auto held = store_->PutReportAndWait(MakeChecked(parameters_, 8));
    ASSERT_TRUE(held.ok()) << held.status();
    EXPECT_FALSE(held->fresh);
    EXPECT_EQ(store_->PutReportAndWait(MakeChecked(parameters_, 8, 1)).status().code(),
              absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(store_->PutReportAndWait(MakeChecked(parameters_, 9)).status().code(),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(ReportsOf(*store_, kOtherRoundId).size(), 3) << "those of another round are kept";
  }
  EXPECT_EQ(ReportsOf(*store_, kOtherRoundId).at(99).coded_bits,
            MakeChecked(parameters_, 99, 0, kOtherRoundId).report.coded_bits);
}

TEST_P(StoreConformance, AnswersEveryReportThatWasQueuedWhenItCloses) {
  std::atomic<int> answered{0};
  for (NodeIndex node = 0; node < kNodes; ++node) {
    store_->PutReport(MakeChecked(parameters_, node), [&](absl::StatusOr<PutOutcome> outcome) {
      EXPECT_TRUE(outcome.ok());
      ++answered;
    });
  }
  Open();
  EXPECT_EQ(answered, kNodes);
  EXPECT_EQ(store_->GetRound(kRoundId)->reports(), kNodes);
}

INSTANTIATE_TEST_SUITE_P(On, StoreConformance, ::testing::ValuesIn(testing::StorePlaceNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace blink
