// Several aggregators on one database: the order of reports and seals, and the lease.
#include <atomic>
#include <mutex>
#include <set>

#include "tests/unit/store/postgres_fixture.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using testing::kOtherRoundId;
using testing::kRoundId;
using testing::MakeChecked;
using testing::MakeRound;

class PostgresSharing : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    StartServer();
    first_ = OpenStore({.holder = "first", .lease = absl::Seconds(1)});
    second_ = OpenStore({.holder = "second", .lease = absl::Seconds(1)});
    ASSERT_TRUE(first_ != nullptr && second_ != nullptr);
    ASSERT_TRUE(first_->CreateRound(MakeRound(kNodes), "request-1").ok());
  }

  std::unique_ptr<ReportStore> first_, second_;
};

TEST_F(PostgresSharing, EachSeesWhatTheOtherHasDone) {
  EXPECT_EQ(second_->CreateRound(MakeRound(kNodes, kOtherRoundId), "request-1")->round_id(), kRoundId);
  ASSERT_TRUE(Put(*first_, 1).ok());
  const auto same = Put(*second_, 1);
  ASSERT_TRUE(same.ok());
  EXPECT_FALSE(same->fresh);
  EXPECT_EQ(same->reports, 1);
  EXPECT_EQ(second_->PutReportAndWait(MakeChecked(parameters_, 1, 1)).status().code(),
            absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(Put(*second_, 2).ok());
  EXPECT_EQ(first_->GetRound(kRoundId)->reports(), 2);
  ASSERT_TRUE(Seal(*second_).ok());
  EXPECT_EQ(Put(*first_, 3).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(testing::Eventually([&] { return first_->GetRecentRound(kRoundId)->state() == v1::ROUND_STATE_SEALED; }));
}

TEST_F(PostgresSharing, OneOfTwoReportsOfANodeIsKeptWhereverTheyArrive) {
  for (NodeIndex node = 0; node < 50; ++node) {
    std::atomic<int> stored{0}, refused{0};
    const auto put = [&](ReportStore& store, uint32_t variant) {
      const auto outcome = store.PutReportAndWait(MakeChecked(parameters_, node, variant));
      outcome.ok() ? ++stored : ++refused;
      EXPECT_TRUE(outcome.ok() || absl::IsAlreadyExists(outcome.status())) << outcome.status();
    };
    std::thread other([&] { put(*second_, 1); });
    put(*first_, 0);
    other.join();
    ASSERT_EQ(stored, 1);
    ASSERT_EQ(refused, 1);
  }
  EXPECT_EQ(first_->GetRound(kRoundId)->reports(), 50);
}

// As StoreConformance.AcknowledgesNothingThatTheSealedSetLacks, with reports at both and the seal at either.
TEST_F(PostgresSharing, NeitherAcknowledgesWhatTheSealedSetLacks) {
  for (int trial = 0; trial < 10; ++trial) {
    const std::string round_id = absl::StrCat("000000000000000000000000000000", 10 + trial);
    ASSERT_TRUE(first_->CreateRound(MakeRound(kNodes, round_id), "").ok());
    std::atomic<uint64_t> acknowledged{0};
    std::vector<std::thread> threads;
    for (NodeIndex first = 0; first < 4; ++first) {
      threads.emplace_back([&, first] {
        for (NodeIndex node = first; node < kNodes; node += 4) {
          if (!Put(first % 2 == 0 ? *first_ : *second_, node, round_id).ok()) return;
          ++acknowledged;
        }
      });
    }
    while (first_->GetRound(round_id)->reports() < static_cast<uint32_t>(trial) * 10) std::this_thread::yield();
    const auto sealed = Seal(trial % 2 == 0 ? *first_ : *second_, round_id);
    ASSERT_TRUE(sealed.ok()) << sealed.status();
    uint64_t visited = 0;
    ASSERT_TRUE(second_
                    ->VisitReports(round_id,
                                   [&](uint64_t, const CodedReport&) {
                                     ++visited;
                                     return absl::OkStatus();
                                   })
                    .ok());
    EXPECT_EQ(sealed->reports(), visited);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(acknowledged, visited);
  }
}

TEST_F(PostgresSharing, OneHoldsTheLeaseAndTheOtherTakesItWhenItCloses) {
  ASSERT_TRUE(first_->GetLease().has_value());
  EXPECT_FALSE(second_->GetLease().has_value());
  const uint64_t before = *first_->GetLease();
  first_.reset();
  ASSERT_TRUE(testing::Eventually([&] { return second_->GetLease().has_value(); }));
  EXPECT_GT(*second_->GetLease(), before);
}

TEST_F(PostgresSharing, TheLeaseOfASilentHolderEndsThereBeforeAnotherHasIt) {
  ASSERT_TRUE(first_->GetLease().has_value());
  const uint64_t before = *first_->GetLease();
  // It cannot renew: as if its packets were lost.
  std::thread blocker([&] { Sql("BEGIN; SELECT 1 FROM blink.lease FOR UPDATE; SELECT pg_sleep(2); COMMIT"); });
  bool both = false;
  ASSERT_TRUE(testing::Eventually([&] {
    const bool first_has = first_->GetLease().has_value();
    both |= first_has && second_->GetLease().has_value();
    return !first_has;
  }));
  blocker.join();
  EXPECT_FALSE(both);
  ASSERT_TRUE(testing::Eventually([&] { return first_->GetLease().has_value() || second_->GetLease().has_value(); }));
  EXPECT_GT(first_->GetLease().value_or(0) + second_->GetLease().value_or(0), before);
}

TEST_F(PostgresSharing, AChangeWithAnEarlierLeaseIsRefused) {
  const uint64_t lease = first_->GetLease().value();
  const auto change = [&](ReportStore& store, uint64_t token) {
    return store
        .UpdateRoundAsHolder(token, kRoundId, {v1::ROUND_STATE_OPEN},
                             [](v1::Round& round) {
                               round.set_attempts(round.attempts() + 1);
                               return absl::OkStatus();
                             })
        .status();
  };
  EXPECT_TRUE(change(*first_, lease).ok());
  first_ = OpenStore({.holder = "third", .lease = absl::Seconds(1)});
  ASSERT_TRUE(testing::Eventually([&] { return second_->GetLease().has_value() || first_->GetLease().has_value(); }));
  const absl::Status refused = change(*first_, lease);
  EXPECT_EQ(refused.code(), absl::StatusCode::kAborted) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("another aggregator holds the lease"));
  EXPECT_EQ(first_->GetRound(kRoundId)->attempts(), 1);
}

TEST_F(PostgresSharing, ProgressOfTheHolderIsSeenByTheOtherUntilTheRoundChanges) {
  ASSERT_TRUE(Seal(*first_).ok());
  ASSERT_TRUE(first_
                  ->UpdateRound(kRoundId, {v1::ROUND_STATE_SEALED},
                                [](v1::Round& round) {
                                  round.set_state(v1::ROUND_STATE_TRAINING);
                                  return absl::OkStatus();
                                })
                  .ok());
  first_->TellProgress(kRoundId, 0.5, "epoch 1 of 2");
  EXPECT_EQ(second_->GetRound(kRoundId)->progress(), 0.5);
  EXPECT_EQ(second_->GetRound(kRoundId)->progress_text(), "epoch 1 of 2");
  ASSERT_TRUE(first_
                  ->UpdateRound(kRoundId, {v1::ROUND_STATE_TRAINING},
                                [](v1::Round& round) {
                                  round.set_state(v1::ROUND_STATE_READY);
                                  round.set_progress_text("done");
                                  return absl::OkStatus();
                                })
                  .ok());
  first_->TellProgress(kRoundId, 0.7, "too late");
  EXPECT_EQ(second_->GetRound(kRoundId)->progress_text(), "done");
}

TEST_F(PostgresSharing, TheFirstNoteOfANameIsKept) {
  EXPECT_EQ(first_->GetOrSetNote("folder", "a").value(), "a");
  EXPECT_EQ(second_->GetOrSetNote("folder", "b").value(), "a");
}

TEST_F(PostgresSharing, ReportsThatAreGoneAreMissed) {
  for (const NodeIndex node : {1, 2, 3}) ASSERT_TRUE(Put(*first_, node).ok());
  Sql("DELETE FROM blink.reports WHERE node = 2");
  const absl::Status read =
      first_->VisitReports(kRoundId, [](uint64_t, const CodedReport&) { return absl::OkStatus(); });
  EXPECT_EQ(read.code(), absl::StatusCode::kDataLoss) << read;
  EXPECT_THAT(std::string(read.message()), HasSubstr("3 acknowledged reports, and the database holds 2"));
}

}  // namespace
}  // namespace blink
