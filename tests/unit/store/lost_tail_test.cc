// A store that lost what it had acknowledged: a tail that is not missed, or a whole file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "aggregator_server/store/rocksdb_store.h"
#include "aggregator_server/store/write_mark.h"
#include "tests/testing/aggregator_fixtures.h"
#include "tests/testing/log_capture.h"

namespace blink {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::kRoundId;
using testing::MakeChecked;
using testing::MakeParameters;
using testing::MakeRound;

constexpr uint32_t kReports = 100;

class LostTail : public ::testing::Test {
 protected:
  LostTail() {
    auto store = OpenRocksDbStore(store_folder_);
    EXPECT_TRUE((*store)->CreateRound(MakeRound(kReports), "").ok());
    for (NodeIndex node = 0; node < kReports; ++node) {
      EXPECT_TRUE((*store)->PutReportAndWait(MakeChecked(MakeParameters(kReports), node)).ok());
    }
  }
  std::string Log() const {
    for (const auto& entry : fs::directory_iterator(store_folder_)) {
      if (entry.path().extension() == ".log" && entry.file_size() > 0) return entry.path().string();
    }
    return "";
  }
  std::string Refusal() const {
    const auto store = OpenRocksDbStore(store_folder_);
    EXPECT_TRUE(absl::IsDataLoss(store.status())) << store.status();
    return std::string(store.status().message());
  }
  uint32_t ReportsWhenLossIsAccepted() const {
    const auto store = OpenRocksDbStore(store_folder_, {.accept_loss = true});
    EXPECT_TRUE(store.ok()) << store.status();
    const auto round = (*store)->GetRound(kRoundId);
    return round.ok() ? round->reports() : 0;
  }

  testing::TempFolder folder_;
  const std::string store_folder_ = folder_ / "store";
};

TEST_F(LostTail, OfTheLogIsRefusedAndTheFilesStayAsTheyAre) {
  const std::string log = Log();
  const uint64_t size = fs::file_size(log);
  fs::copy_file(log, folder_ / "whole");
  fs::resize_file(log, size / 2);
  EXPECT_THAT(Refusal(), HasSubstr("it had 100 reports of 1 rounds, and "));
  EXPECT_THAT(Refusal(), HasSubstr("--accept-data-loss"));
  EXPECT_EQ(fs::file_size(log), size / 2);
  fs::copy_file(folder_ / "whole", log, fs::copy_options::overwrite_existing);
  EXPECT_EQ((*OpenRocksDbStore(store_folder_))->GetRound(kRoundId)->reports(), kReports);
}

TEST_F(LostTail, OfOneReportIsFound) {
  fs::resize_file(Log(), fs::file_size(Log()) - 1);
  EXPECT_THAT(Refusal(), HasSubstr("and 99 reports of 1 rounds are there"));
}

TEST_F(LostTail, OfAStateAloneIsFound) {
  (void)(*OpenRocksDbStore(store_folder_))->UpdateRound(kRoundId, {v1::ROUND_STATE_OPEN}, [](v1::Round& round) {
    round.set_state(v1::ROUND_STATE_SEALED);
    return absl::OkStatus();
  });
  fs::resize_file(Log(), fs::file_size(Log()) - 1);
  EXPECT_THAT(Refusal(), HasSubstr("lost changes that it had acknowledged"));
}

TEST_F(LostTail, IsGoneOnWithoutWhenToldSoAndThenForgotten) {
  fs::resize_file(Log(), fs::file_size(Log()) / 2);
  const uint32_t left = ReportsWhenLossIsAccepted();
  EXPECT_GT(left, 0u);
  EXPECT_LT(left, kReports);
  const auto again = OpenRocksDbStore(store_folder_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->GetRound(kRoundId)->reports(), left);
}

TEST_F(LostTail, IsTheWholeStoreWhenItsFilesAreGone) {
  for (const auto& entry : fs::directory_iterator(store_folder_)) {
    if (entry.path().filename() != "acknowledged") fs::remove(entry.path());
  }
  EXPECT_THAT(Refusal(), HasSubstr("and 0 reports of 0 rounds are there"));
  EXPECT_FALSE(fs::exists(store_folder_ + "/CURRENT"));
  EXPECT_EQ(ReportsWhenLossIsAccepted(), 0u);
}

// With a table, as every store has that was opened twice.
TEST_F(LostTail, OfAnyFileIsRefusedOrCostsNothing) {
  ASSERT_TRUE(OpenRocksDbStore(store_folder_).ok());
  fs::copy(store_folder_, folder_ / "whole");
  int refused = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "whole")) {
    const std::string name = entry.path().filename().string();
    for (const bool is_removed : {true, false}) {
      fs::remove_all(store_folder_);
      fs::copy(folder_ / "whole", store_folder_);
      if (is_removed) {
        fs::remove(fs::path(store_folder_) / name);
      } else {
        fs::resize_file(fs::path(store_folder_) / name, 0);
      }
      const auto store = OpenRocksDbStore(store_folder_);
      if (store.ok()) {
        EXPECT_EQ((*store)->GetRound(kRoundId)->reports(), kReports) << name;
        continue;
      }
      ++refused;
      EXPECT_TRUE(absl::IsDataLoss(store.status())) << name << ": " << store.status();
      EXPECT_THAT(std::string(store.status().message()), HasSubstr("backup")) << name;
    }
  }
  EXPECT_GE(refused, 6);  // CURRENT, the manifest and the table
}

TEST_F(LostTail, OfTheFileCurrentIsRefusedWithItsContentAndNothingIsChanged) {
  fs::remove(store_folder_ + "/CURRENT");
  const auto files = [this] {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(store_folder_)) names.insert(entry.path().filename().string());
    return names;
  };
  const std::set<std::string> before = files();
  const std::string refusal = Refusal();
  EXPECT_THAT(refusal, HasSubstr("its file CURRENT is missing"));
  EXPECT_FALSE(OpenRocksDbStore(store_folder_, {.accept_loss = true}).ok()) << "nothing else is lost";
  EXPECT_EQ(files(), before);
  std::ofstream(store_folder_ + "/CURRENT") << refusal.substr(refusal.find("MANIFEST-")) << "\n";
  EXPECT_EQ((*OpenRocksDbStore(store_folder_))->GetRound(kRoundId)->reports(), kReports);
}

TEST_F(LostTail, OfAFileThatBecameAFifoIsRefusedWithoutWaitingForIt) {
  fs::copy(store_folder_, folder_ / "whole");
  for (const auto& entry : fs::directory_iterator(folder_ / "whole")) {
    const std::string file = fs::path(store_folder_) / entry.path().filename();
    fs::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    EXPECT_THAT(Refusal(), HasSubstr(file + " is a device, a FIFO or a socket"));
    fs::remove(file);
    fs::copy_file(entry.path(), file);
  }
  EXPECT_EQ((*OpenRocksDbStore(store_folder_))->GetRound(kRoundId)->reports(), kReports);
}

TEST_F(LostTail, IsNoneInAnOlderCopyOfTheWholeStore) {
  fs::copy(store_folder_, folder_ / "backup", fs::copy_options::recursive);
  ASSERT_TRUE((*OpenRocksDbStore(store_folder_))->CreateRound(MakeRound(kReports, testing::kOtherRoundId), "").ok());
  const auto restored = OpenRocksDbStore(folder_ / "backup");
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ((*restored)->ListRounds()->size(), 1u);
}

TEST_F(LostTail, IsNotLookedForWithoutAReadableMarkWhichTheLogSays) {
  LogCapture log;
  std::ofstream(store_folder_ + "/acknowledged") << "blink-store-mark 1 999999999 1 100 0\n";
  EXPECT_TRUE(OpenRocksDbStore(store_folder_).ok());
  EXPECT_THAT(log.Take(), HasSubstr("has no readable file acknowledged"));
  EXPECT_TRUE(OpenRocksDbStore(store_folder_).ok());
  EXPECT_EQ(log.Take(), "");
  fs::remove(store_folder_ + "/acknowledged");  // as an older version leaves it
  EXPECT_TRUE(OpenRocksDbStore(store_folder_).ok());
  EXPECT_THAT(log.Take(), HasSubstr("has no readable file acknowledged"));
  EXPECT_EQ(WriteMark::Read(store_folder_)->reports, kReports);
}

}  // namespace
}  // namespace blink
