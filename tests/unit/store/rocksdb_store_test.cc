#include "aggregator_server/store/rocksdb_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "tests/testing/aggregator_fixtures.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using testing::kOtherRoundId;
using testing::kRoundId;
using testing::MakeChecked;
using testing::MakeParameters;
using testing::MakeRound;

constexpr uint32_t kNodes = 100;

absl::StatusOr<v1::Round> Seal(ReportStore& store, const std::string& round_id = kRoundId) {
  return store.UpdateRound(round_id, {v1::ROUND_STATE_OPEN}, [](v1::Round& round) {
    round.set_state(v1::ROUND_STATE_SEALED);
    return absl::OkStatus();
  });
}

std::map<uint64_t, CodedReport> AllReports(ReportStore& store, const std::string& round_id = kRoundId) {
  std::map<uint64_t, CodedReport> reports;
  EXPECT_TRUE(store
                  .VisitReports(round_id,
                                [&](uint64_t node, const CodedReport& report) {
                                  reports[node] = report;
                                  return absl::OkStatus();
                                })
                  .ok());
  return reports;
}

class RocksDbStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Open();
    ASSERT_TRUE(store_->CreateRound(MakeRound(kNodes), "").ok());
  }
  void Open() {
    store_.reset();
    auto opened = OpenRocksDbStore(folder_ / "store");
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }

  testing::TempFolder folder_;
  const PrivacyParameters parameters_ = MakeParameters(kNodes);
  std::unique_ptr<ReportStore> store_;
};

TEST_F(RocksDbStoreTest, GivesTheSameReceiptForTheSameReport) {
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

TEST_F(RocksDbStoreTest, RefusesASecondReportAndKeepsTheFirst) {
  ASSERT_TRUE(store_->PutReportAndWait(MakeChecked(parameters_, 7)).ok());
  const auto second = store_->PutReportAndWait(MakeChecked(parameters_, 7, /*variant=*/1));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("node 7"));
  EXPECT_EQ(AllReports(*store_).at(7).digest, testing::MakeReport(parameters_, 7).digest);
}

TEST_F(RocksDbStoreTest, RefusesASecondReportThatArrivesInTheSameBatch) {
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

TEST_F(RocksDbStoreTest, RefusesAReportForASealedRoundButKnowsTheOneItHolds) {
  ASSERT_TRUE(store_->PutReportAndWait(MakeChecked(parameters_, 1)).ok());
  ASSERT_TRUE(Seal(*store_).ok());
  const auto late = store_->PutReportAndWait(MakeChecked(parameters_, 2));
  EXPECT_EQ(late.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(late.status().message()), HasSubstr("is sealed"));
  EXPECT_TRUE(store_->PutReportAndWait(MakeChecked(parameters_, 1)).ok());
  EXPECT_EQ(store_->PutReportAndWait(MakeChecked(parameters_, 1, 1)).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(AllReports(*store_).size(), 1);
}

TEST_F(RocksDbStoreTest, RefusesUnknownRoundsAndNodes) {
  EXPECT_EQ(store_->PutReportAndWait(MakeChecked(parameters_, 1, 0, kOtherRoundId)).status().code(),
            absl::StatusCode::kNotFound);
  CheckedReport outside = MakeChecked(parameters_, 1);
  outside.node = kNodes;
  EXPECT_EQ(store_->PutReportAndWait(outside).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(store_->GetRound(kOtherRoundId).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Seal(*store_, kOtherRoundId).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RocksDbStoreTest, CreatesARoundOnceForARequestId) {
  const auto made = store_->CreateRound(MakeRound(kNodes, kOtherRoundId), "request-1");
  ASSERT_TRUE(made.ok());
  v1::Round again = MakeRound(kNodes, "00000000000000000000000000000000");
  const auto same = store_->CreateRound(again, "request-1");
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->round_id(), kOtherRoundId);
  EXPECT_EQ(store_->ListRounds().size(), 2);
  EXPECT_EQ(store_->CreateRound(MakeRound(kNodes), "").status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(RocksDbStoreTest, KeepsTheGroupsOfARoundInParts) {
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

TEST_F(RocksDbStoreTest, ComparesTheStateBeforeItChangesARound) {
  ASSERT_TRUE(Seal(*store_).ok());
  const auto again = Seal(*store_);
  EXPECT_EQ(again.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(again.status().message()), HasSubstr("is sealed"));
}

TEST_F(RocksDbStoreTest, KeepsARoundAsItWasWhenTheChangeFails) {
  const auto failed = store_->UpdateRound(kRoundId, {v1::ROUND_STATE_OPEN}, [](v1::Round& round) {
    round.set_state(v1::ROUND_STATE_FAILED);
    return absl::InternalError("no");
  });
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(store_->GetRound(kRoundId)->state(), v1::ROUND_STATE_OPEN);
}

TEST_F(RocksDbStoreTest, RemembersEverythingAcrossReopening) {
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
  const auto reports = AllReports(*store_);
  ASSERT_EQ(reports.size(), 50);
  for (const auto& [node, report] : reports) {
    const CodedReport expected = testing::MakeReport(parameters_, static_cast<NodeIndex>(node));
    EXPECT_EQ(report.digest, expected.digest);
    EXPECT_EQ(report.coded_bits, expected.coded_bits);
    EXPECT_EQ(report.noisy_degree, expected.noisy_degree);
  }
  EXPECT_EQ(store_->PutReportAndWait(MakeChecked(parameters_, 3, 1)).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(RocksDbStoreTest, ListsDigestsOfARangeInOrderAndWithinALimit) {
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

TEST_F(RocksDbStoreTest, RefusesAStoreThatAnotherHolds) {
  const auto second = OpenRocksDbStore(folder_ / "store");
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("another process holds"));
}

TEST_F(RocksDbStoreTest, RefusesADamagedStore) {
  for (NodeIndex node = 0; node < 50; ++node) {
    ASSERT_TRUE(store_->PutReportAndWait(MakeChecked(parameters_, node)).ok());
  }
  store_.reset();
  // A bit in the middle of the log, where everything was acknowledged.
  int damaged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "store")) {
    if (entry.path().extension() != ".log" || entry.file_size() < 1000) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(entry.file_size() / 2));
    const char byte = static_cast<char>(file.get() ^ 0x10);
    file.seekp(static_cast<std::streamoff>(entry.file_size() / 2));
    file.put(byte);
    ++damaged;
  }
  ASSERT_EQ(damaged, 1);
  const auto opened = OpenRocksDbStore(folder_ / "store");
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kDataLoss) << opened.status();
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("backup"));
}

// Every report that was acknowledged is among those that are read after the seal, whatever the interleaving.
TEST_F(RocksDbStoreTest, AcknowledgesNothingThatTheSealedSetLacks) {
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
    const auto sealed_set = AllReports(*store_, round_id);
    EXPECT_EQ(sealed->reports(), sealed_set.size());
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(acknowledged.size(), sealed_set.size());
    for (const uint64_t node : acknowledged) EXPECT_EQ(sealed_set.count(node), 1) << node;
    EXPECT_EQ(AllReports(*store_, round_id).size(), sealed_set.size());
  }
}

TEST_F(RocksDbStoreTest, AnswersEveryReportThatWasQueuedWhenItCloses) {
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

}  // namespace
}  // namespace blink
