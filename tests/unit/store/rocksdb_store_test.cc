// What is special to RocksDB; store_conformance_test.cc has the rest.
#include "aggregator_server/store/rocksdb_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/testing/aggregator_fixtures.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using testing::MakeChecked;
using testing::MakeParameters;
using testing::MakeRound;

constexpr uint32_t kNodes = 100;

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

}  // namespace
}  // namespace blink
