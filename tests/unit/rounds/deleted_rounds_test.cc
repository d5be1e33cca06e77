// Encrypted rounds, and rounds whose reports are deleted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "aggregator_server/reports/report_file.h"
#include "aggregator_server/store/encrypted_store.h"
#include "common/base/durable_file.h"
#include "tests/unit/rounds/pipeline_fixture.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string BytesIn(const std::string& folder) {
  std::string bytes;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += ReadFile(entry.path().string(), 1 << 30).value_or("");
  }
  return bytes;
}

class DeletedRoundsTest : public PipelineTest {
 protected:
  void SetUp() override {
    options_.reports_deleted = [this](const v1::Round& round) { told_ = round.round_id(); };
    OpenStore();
    StartPipeline();
  }
  virtual DataKeys Keys() { return {}; }
  void OpenStore() {
    pipeline_.reset();
    store_.reset();
    auto store = OpenEncryptedStore(OpenRocksDbStore(folder_ / "store").value(), Keys());
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = std::make_unique<FailingStore>(*std::move(store));
  }
  std::string FinishRound() {
    const std::string id = Create();
    Report(id, 0, kNodes - 1);
    EXPECT_TRUE(Reaches(id, v1::ROUND_STATE_READY));
    return id;
  }
  std::string ReportsFile(const std::string& id) { return options_.rounds_folder + "/" + id + "/reports.blr"; }
  // Once its run has ended.
  bool Delete(const std::string& id) {
    return testing::Eventually([&] { return pipeline_->Delete(id).ok(); });
  }
  bool IsDeleted(const std::string& id) {
    return testing::Eventually([&] { return Get(id).reports_deleted_ms() != 0 && !Get(id).deleting(); });
  }
  // As the store has it (records.h): the digest alone stays.
  std::string StoredReport() {
    const CodedReport report = testing::MakeReport(parameters_, 3);
    return DigestToBytes(report.digest) + report.coded_bits;
  }
  std::string ReportInFile() {  // as report_file.h says
    const CodedReport report = testing::MakeReport(parameters_, 3);
    return report.coded_bits + DigestToBytes(report.digest);
  }
  bool HasReport(const std::string& folder) {
    const std::string bytes = BytesIn(folder);
    return bytes.find(StoredReport()) != std::string::npos || bytes.find(ReportInFile()) != std::string::npos;
  }
  void ExpectDigestsAreKept(const std::string& id) {
    const auto again = store_->PutReportAndWait(testing::MakeChecked(parameters_, 3, 0, id));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_FALSE(again->fresh);
    EXPECT_EQ(store_->PutReportAndWait(testing::MakeChecked(parameters_, 3, 1, id)).status().code(),
              absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(Get(id).reports(), kNodes);
  }

  std::string told_;
};

class EncryptedRoundsTest : public DeletedRoundsTest {
 protected:
  DataKeys Keys() override { return {.current = SecretKey::FromBytes(std::string(32, 'k')).value()}; }
};

TEST_F(DeletedRoundsTest, DeletesReportsSoLongAfterTheEndOfTheirRoundAndKeepsTheResult) {
  options_.retain_reports = absl::Seconds(20);
  StartPipeline();
  const std::string id = FinishRound(), open = Create();
  Report(open, 0, 4);
  absl::SleepFor(absl::Milliseconds(1500));  // a look at the rounds
  EXPECT_EQ(Get(id).reports_deleted_ms(), 0) << "too early";
  clock_.Advance(absl::Seconds(21));
  ASSERT_TRUE(IsDeleted(id));
  EXPECT_FALSE(std::filesystem::exists(ReportsFile(id)));
  EXPECT_TRUE(pipeline_->FindResult(id, "metrics.json").ok());
  EXPECT_EQ(Get(open).reports_deleted_ms(), 0);
  ASSERT_TRUE(testing::Eventually([&] { return pipeline_->GetActivity().rounds_deleted == 1; }));
  EXPECT_EQ(told_, id);
  ExpectDigestsAreKept(id);
  const absl::Status refused = store_->VisitReports(id, [](uint64_t, const CodedReport&) { return absl::OkStatus(); });
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("were deleted"));
}

TEST_F(DeletedRoundsTest, RefusesToRetryARoundWhoseReportsAreDeleted) {
  Behave("error");
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_FAILED));
  ASSERT_TRUE(Delete(id));
  const absl::Status refused = pipeline_->AnalyseAgain(id, v1::TrainingSpec()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("were deleted at 2027-"));
  ASSERT_TRUE(IsDeleted(id));
  StartPipeline();
  EXPECT_FALSE(std::filesystem::exists(ReportsFile(id))) << "it is not written again";
}

TEST_F(DeletedRoundsTest, DeletesARoundForAnOperatorAndLeavesNoReportInAnyFile) {
  const std::string id = FinishRound(), other = Create();
  Report(other, 0, 4);
  ASSERT_TRUE(HasReport(folder_ / "store"));
  ASSERT_TRUE(HasReport(options_.rounds_folder));
  ASSERT_TRUE(pipeline_->Cancel(other).ok());
  ASSERT_TRUE(Delete(other));
  ASSERT_TRUE(Delete(id));
  ASSERT_TRUE(IsDeleted(id));
  ASSERT_TRUE(IsDeleted(other));
  EXPECT_TRUE(Get(id).result_deleted());
  EXPECT_EQ(Get(id).result_json(), "");
  EXPECT_FALSE(std::filesystem::exists(options_.rounds_folder + "/" + id));
  EXPECT_FALSE(HasReport(folder_.path()));
  const absl::Status refused = pipeline_->FindResult(id, "metrics.json").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("deleted it"));
  ExpectDigestsAreKept(id);
  OpenStore();
  StartPipeline();
  ExpectDigestsAreKept(id);
  EXPECT_TRUE(pipeline_->Delete(id).ok()) << "twice is fine";
}

TEST_F(DeletedRoundsTest, RefusesToDeleteARoundThatHasNotEnded) {
  Behave("hang");
  const std::string id = Create();
  EXPECT_EQ(pipeline_->Delete("0123456789abcdef0123456789abcdef").status().code(), absl::StatusCode::kNotFound);
  for (const v1::RoundState state : {v1::ROUND_STATE_OPEN, v1::ROUND_STATE_TRAINING}) {
    if (state == v1::ROUND_STATE_TRAINING) Report(id, 0, kNodes - 1);
    ASSERT_TRUE(Reaches(id, state));
    const absl::Status refused = pipeline_->Delete(id).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("cancel it first"));
  }
  EXPECT_EQ(Get(id).reports_deleted_ms(), 0);
}

TEST_F(DeletedRoundsTest, GoesOnWithADeletionThatACrashInterrupted) {
  const std::string id = FinishRound();
  ASSERT_TRUE(testing::Eventually([&] { return !pipeline_->GetActivity().worker.has_value(); }));
  pipeline_.reset();
  ASSERT_TRUE(store_
                  ->UpdateRound(id, {v1::ROUND_STATE_READY},
                                [](v1::Round& round) {
                                  round.set_reports_deleted_ms(1);
                                  round.set_deleting(true);
                                  return absl::OkStatus();
                                })
                  .ok());
  StartPipeline();
  ASSERT_TRUE(IsDeleted(id));
  EXPECT_FALSE(std::filesystem::exists(ReportsFile(id)));
  EXPECT_FALSE(HasReport(folder_.path()));
}

TEST_F(EncryptedRoundsTest, GivesTheWorkerTheKeyOnADescriptorAlone) {
  Behave("key");
  const std::string id = FinishRound();
  const SecretKey key = store_->GetDataKey(id).value().value();
  EXPECT_EQ(ReadFile(options_.attributes_folder + "/key", 100).value(), key.bytes());
  EXPECT_THAT(ReadFile(options_.attributes_folder + "/seen", 1 << 20).value(), Not(HasSubstr(key.bytes())));
  EXPECT_FALSE(HasReport(folder_.path()));
  const auto read = ReadRoundFolder(options_.rounds_folder + "/" + id, {.key = &key});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->reports.report_count(), kNodes);
  EXPECT_EQ(ReadRoundFolder(options_.rounds_folder + "/" + id).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(EncryptedRoundsTest, DestroysTheKeyOfARoundWithItsReports) {
  const std::string id = FinishRound();
  ASSERT_TRUE(Delete(id));
  ASSERT_TRUE(IsDeleted(id));
  EXPECT_EQ(store_->GetDataKey(id).status().code(), absl::StatusCode::kFailedPrecondition);
  ExpectDigestsAreKept(id);
  OpenStore();
  StartPipeline();
  ExpectDigestsAreKept(id);
}

}  // namespace
}  // namespace blink
