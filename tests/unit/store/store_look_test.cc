// A look at a store says what a start would, and leaves it as it was.
#include "aggregator_server/store/store_look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "aggregator_server/store/encrypted_store.h"
#include "aggregator_server/store/rocksdb_store.h"
#include "rocksdb/db.h"
#include "tests/testing/aggregator_fixtures.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using testing::MakeChecked;
using testing::MakeParameters;
using testing::MakeRound;

constexpr uint32_t kNodesLookedAt = 100;

class StoreLook : public ::testing::Test {
 protected:
  std::unique_ptr<ReportStore> Open() {
    auto opened = OpenRocksDbStore(place_);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return opened.ok() ? *std::move(opened) : nullptr;
  }
  void Put(const std::string& key, const std::string& value) {
    rocksdb::DB* raw = nullptr;
    rocksdb::Options options;
    options.create_if_missing = true;
    ASSERT_TRUE(rocksdb::DB::Open(options, place_, &raw).ok());
    const std::unique_ptr<rocksdb::DB> db(raw);
    ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), key, value).ok());
  }
  // Size and time of every file.
  std::map<std::string, std::pair<uintmax_t, std::filesystem::file_time_type>> Files() const {
    std::map<std::string, std::pair<uintmax_t, std::filesystem::file_time_type>> files;
    for (const auto& entry : std::filesystem::directory_iterator(place_)) {
      files[entry.path().string()] = {entry.file_size(), entry.last_write_time()};
    }
    return files;
  }
  // A look and a start refuse the store with the same status.
  void ExpectRefusedAsByAStart(absl::StatusCode code) {
    const absl::Status look = LookAtRocksDbStore(place_).status();
    EXPECT_EQ(look.code(), code) << look;
    EXPECT_EQ(look, OpenRocksDbStore(place_).status());
  }

  static absl::StatusOr<v1::Round> Cancel(ReportStore& store) {
    return store.UpdateRound(testing::kRoundId, {v1::ROUND_STATE_OPEN}, [](v1::Round& round) {
      round.set_state(v1::ROUND_STATE_CANCELLED);
      return absl::OkStatus();
    });
  }

  testing::TempFolder folder_;
  const std::string place_ = folder_ / "store";
};

TEST_F(StoreLook, FindsTheRoundsAndChangesNothing) {
  Open()->CreateRound(MakeRound(kNodesLookedAt), "").IgnoreError();
  const auto before = Files();
  const auto look = LookAtRocksDbStore(place_);
  ASSERT_TRUE(look.ok()) << look.status();
  EXPECT_EQ(look->rounds.size(), 1u);
  EXPECT_TRUE(look->wrapped_keys.empty());
  EXPECT_EQ(Files(), before);
}

TEST_F(StoreLook, FindsTheKeysOfRoundsThatAreThere) {
  const DataKeys keys = {.current = SecretKey::FromBytes(std::string(32, 'k')).value()};
  {
    const auto store = OpenEncryptedStore(Open(), keys);
    ASSERT_TRUE((*store)->CreateRound(MakeRound(kNodesLookedAt), "").ok());
    ASSERT_TRUE((*store)->ReplaceWrappedKey("00000000000000000000000000000abc", "", "of no round").ok());
  }
  const auto look = LookAtRocksDbStore(place_);
  ASSERT_TRUE(look.ok()) << look.status();
  EXPECT_EQ(look->wrapped_keys.size(), 1u);
  EXPECT_TRUE(CheckDataKeys(keys, look->wrapped_keys).ok());
  EXPECT_EQ(CheckDataKeys({}, look->wrapped_keys), OpenEncryptedStore(Open(), {}).status());
}

TEST_F(StoreLook, AsksForNoKeyOfARoundThatEndedWithoutAReport) {
  const DataKeys keys = {.current = SecretKey::FromBytes(std::string(32, 'k')).value()};
  {
    const auto store = OpenEncryptedStore(Open(), keys);
    ASSERT_TRUE((*store)->CreateRound(MakeRound(kNodesLookedAt), "").ok());
    ASSERT_TRUE(Cancel(**store).ok());
  }
  const auto look = LookAtRocksDbStore(place_);
  ASSERT_TRUE(look.ok()) << look.status();
  EXPECT_EQ(look->rounds.size(), 1u);
  EXPECT_TRUE(look->wrapped_keys.empty());
  EXPECT_TRUE(OpenEncryptedStore(Open(), {}).ok()) << "a start does not ask for it either";
}

TEST_F(StoreLook, DisturbsNobodyWhoHasTheStoreOpen) {
  const auto store = Open();
  ASSERT_TRUE(store->CreateRound(MakeRound(kNodesLookedAt), "").ok());
  EXPECT_TRUE(LookAtRocksDbStore(place_).ok());
  EXPECT_TRUE(store->PutReportAndWait(MakeChecked(MakeParameters(kNodesLookedAt), 1)).ok());
  EXPECT_TRUE(LookAtRocksDbStore(place_).ok());
}

TEST_F(StoreLook, MakesNoStoreWhereThereIsNone) {
  EXPECT_EQ(LookAtRocksDbStore(place_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(place_));
  std::filesystem::create_directory(place_);
  EXPECT_EQ(LookAtRocksDbStore(place_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(std::filesystem::is_empty(place_));
}

TEST_F(StoreLook, RefusesANewerStoreAsAStartDoes) {
  Open().reset();
  Put("f", "blink-store-99");
  ExpectRefusedAsByAStart(absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(LookAtRocksDbStore(place_).status().message()), HasSubstr("99"));
}

TEST_F(StoreLook, RefusesADatabaseOfSomebodyElseAsAStartDoes) {
  Put("x", "y");
  ExpectRefusedAsByAStart(absl::StatusCode::kDataLoss);
}

TEST_F(StoreLook, RefusesAStoreThatLacksAFileAsAStartDoes) {
  Open()->CreateRound(MakeRound(kNodesLookedAt), "").IgnoreError();
  std::filesystem::remove(place_ + "/CURRENT");
  ExpectRefusedAsByAStart(absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace blink
