// What released versions wrote (tests/samples), opened by the libraries: what cannot be seen from outside a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "aggregator_server/reports/report_file.h"
#include "aggregator_server/store/records.h"
#include "aggregator_server/store/rocksdb_store.h"
#include "aggregator_server/train/checkpoint.h"
#include "rocksdb/db.h"
#include "tests/testing/aggregator_fixtures.h"
#include "tests/testing/places.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using testing::ReportsOf;

std::vector<std::string> Versions() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(testing::InSources("tests/samples"))) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  return names;
}

// A copy of the samples of one version.
class Samples : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::filesystem::copy(testing::InSources("tests/samples/") + GetParam(), folder_.path(),
                          std::filesystem::copy_options::recursive);
  }
  std::string data() const { return folder_ / "aggregator/data"; }

  static std::map<std::string, v1::Round> ByState(ReportStore& store) {
    std::map<std::string, v1::Round> rounds;
    for (const v1::Round& round : store.ListRounds().value_or(std::vector<v1::Round>()))
      rounds[v1::RoundState_Name(round.state())] = round;
    return rounds;
  }

  testing::TempFolder folder_;
};

TEST_P(Samples, TheStoreHoldsAnOpenAndAFinishedRound) {
  const auto store = OpenRocksDbStore(data() + "/store");
  ASSERT_TRUE(store.ok()) << store.status();
  const auto rounds = ByState(**store);
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_EQ(rounds.at("ROUND_STATE_READY").reports(), 24u);
  EXPECT_THAT(rounds.at("ROUND_STATE_READY").result_json(), HasSubstr("\"privacy\""));
  EXPECT_EQ(rounds.at("ROUND_STATE_OPEN").reports(), 12u);
}

TEST_P(Samples, ALateDuplicateGetsTheReceiptOfThenAndAnotherReportIsRefused) {
  const auto store = OpenRocksDbStore(data() + "/store");
  ASSERT_TRUE(store.ok()) << store.status();
  for (const auto& [state, round] : ByState(**store)) {
    for (const auto& [node, report] : ReportsOf(**store, round.round_id())) {
      CheckedReport again{.round_id = round.round_id(), .node = node, .received_minute = 1, .report = report};
      const auto outcome = (*store)->PutReportAndWait(again);
      ASSERT_TRUE(outcome.ok()) << state << ", node " << node << ": " << outcome.status();
      EXPECT_FALSE(outcome->fresh);
      EXPECT_EQ(outcome->receipt.digest(), DigestToBytes(report.digest));
      EXPECT_EQ(outcome->receipt.node_id(), node);
      EXPECT_NEAR(static_cast<double>(outcome->receipt.received_minute()),
                  static_cast<double>(round.created_ms()) / 60'000, 5)
          << "the minute of its first arrival";
      again.report.digest[0] ^= 1;
      EXPECT_EQ((*store)->PutReportAndWait(again).status().code(), absl::StatusCode::kAlreadyExists);
    }
  }
}

TEST_P(Samples, ANewReportIsTakenIntoAnOldStore) {
  const auto store = OpenRocksDbStore(data() + "/store");
  ASSERT_TRUE(store.ok()) << store.status();
  const v1::Round open = ByState(**store).at("ROUND_STATE_OPEN");
  const CodedReport report = ReportsOf(**store, open.round_id()).begin()->second;
  const auto outcome = (*store)->PutReportAndWait({.round_id = open.round_id(), .node = 20, .report = report});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_TRUE(outcome->fresh);
  EXPECT_EQ(outcome->reports, 13u);
}

TEST_P(Samples, TheRoundFolderHoldsTheReportsOfTheStore) {
  const auto store = OpenRocksDbStore(data() + "/store");
  ASSERT_TRUE(store.ok()) << store.status();
  const v1::Round finished = ByState(**store).at("ROUND_STATE_READY");
  const auto folder = ReadRoundFolder(data() + "/rounds/" + finished.round_id());
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(folder->round.round_id(), finished.round_id());
  ASSERT_EQ(folder->reports.report_count(), 24u);
  for (const auto& [node, coded] : ReportsOf(**store, finished.round_id())) {
    const auto report = DecodeReport(folder->reports.parameters(), static_cast<NodeIndex>(node), coded);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->bits.Count(), folder->ones[node]);
  }
}

TEST_P(Samples, AStoreOfANewerFormatIsRefusedWithItsEntriesAsTheyWere) {
  const std::string path = data() + "/store";
  const auto entries = [&path](bool renumber) {
    std::map<std::string, std::string> found;
    rocksdb::DB* raw = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(rocksdb::Options(), path, &raw).ok());
    const std::unique_ptr<rocksdb::DB> db(raw);
    if (renumber) {
      EXPECT_TRUE(db->Put(rocksdb::WriteOptions(), records::kFormatKey, "blink-store-3").ok());
    }
    const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(rocksdb::ReadOptions()));
    for (it->SeekToFirst(); it->Valid(); it->Next()) found[it->key().ToString()] = it->value().ToString();
    return found;
  };
  const auto before = entries(/*renumber=*/true);
  const absl::Status refused = OpenRocksDbStore(path).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("format 3, and this program reads format 2"));
  EXPECT_EQ(entries(false), before);
}

TEST_P(Samples, TheCheckpointIsWhole) {
  EXPECT_EQ(CheckCheckpointFile(folder_ / "checkpoint/trial-1/training.checkpoint"), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(Of, Samples, ::testing::ValuesIn(Versions()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace
}  // namespace blink
