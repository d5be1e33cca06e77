#include "aggregator_server/store/encrypted_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/store/rocksdb_store.h"
#include "aggregator_server/store/sealed_report.h"
#include "aggregator_server/store/wrapped_key.h"
#include "common/base/durable_file.h"
#include "rocksdb/db.h"
#include "tests/testing/aggregator_fixtures.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kOtherRoundId;
using testing::kRoundId;
using testing::MakeChecked;
using testing::MakeParameters;
using testing::MakeRound;
using ::testing::Not;

constexpr uint32_t kNodes = 5000;  // so that a report has bytes that are found nowhere by chance

SecretKey KeyOf(char byte) { return SecretKey::FromBytes(std::string(32, byte)).value(); }

// Everything that lies in the files of a folder.
std::string BytesIn(const std::string& folder) {
  std::string bytes;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += ReadFile(entry.path().string(), 1 << 30).value_or("");
  }
  return bytes;
}

absl::Status EndRound(ReportStore& store, const std::string& round_id = kRoundId) {
  return store
      .UpdateRound(round_id, {v1::ROUND_STATE_OPEN},
                   [](v1::Round& round) {
                     round.set_state(v1::ROUND_STATE_CANCELLED);
                     return absl::OkStatus();
                   })
      .status();
}

class EncryptedStoreTest : public ::testing::Test {
 protected:
  absl::Status TryOpen(DataKeys keys) {
    store_.reset();
    auto plain = OpenRocksDbStore(folder_ / "store");
    if (!plain.ok()) return plain.status();
    auto opened = OpenEncryptedStore(*std::move(plain), std::move(keys));
    if (opened.ok()) store_ = *std::move(opened);
    return opened.status();
  }
  void Open(DataKeys keys = {.current = KeyOf('k')}) {
    const absl::Status opened = TryOpen(std::move(keys));
    ASSERT_TRUE(opened.ok()) << opened;
  }
  void Create(const std::string& round_id = kRoundId) {
    ASSERT_TRUE(store_->CreateRound(MakeRound(kNodes, round_id), "").ok());
  }
  void Put(NodeIndex node, const std::string& round_id = kRoundId) {
    const auto put = store_->PutReportAndWait(MakeChecked(parameters_, node, 0, round_id));
    ASSERT_TRUE(put.ok()) << put.status();
  }
  std::string BitsOf(NodeIndex node, const std::string& round_id = kRoundId) {
    return MakeChecked(parameters_, node, 0, round_id).report.coded_bits;
  }
  absl::Status Visit(const std::string& round_id = kRoundId) {
    visited_.clear();
    return store_->VisitReports(round_id, [&](uint64_t node, const CodedReport& report) {
      visited_[node] = report;
      return absl::OkStatus();
    });
  }
  // Changes an entry of the closed store as somebody could who has its files.
  void ChangeEntry(const std::string& key, const std::function<std::string(std::string)>& change) {
    store_.reset();
    rocksdb::DB* raw = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open({}, folder_ / "store", &raw).ok());
    const std::unique_ptr<rocksdb::DB> db(raw);
    std::string value;
    ASSERT_TRUE(db->Get({}, key, &value).ok());
    const std::string changed = change(value);
    ASSERT_TRUE((changed.empty() ? db->Delete({}, key) : db->Put({}, key, changed)).ok());
  }
  std::string ReportKeyOf(uint8_t node) {
    return std::string("r/") + kRoundId + "/" + std::string(7, '\0') + static_cast<char>(node);
  }

  testing::TempFolder folder_;
  const PrivacyParameters parameters_ = MakeParameters(kNodes);
  std::unique_ptr<ReportStore> store_;
  std::map<uint64_t, CodedReport> visited_;
};

TEST_F(EncryptedStoreTest, LeavesNoReportInTheFilesOfTheStore) {
  Open();
  Create();
  for (const NodeIndex node : {1, 2, 3}) Put(node);
  const std::string key = store_->GetDataKey(kRoundId).value().value().bytes();
  ASSERT_TRUE(Visit().ok());
  EXPECT_EQ(visited_.at(2).coded_bits, BitsOf(2));
  EXPECT_EQ(visited_.at(2).noisy_degree, MakeChecked(parameters_, 2).report.noisy_degree);
  store_.reset();
  const std::string bytes = BytesIn(folder_ / "store");
  EXPECT_FALSE(bytes.empty());
  EXPECT_THAT(bytes.find(BitsOf(2).substr(0, 64)), std::string::npos);
  EXPECT_THAT(bytes.find(key), std::string::npos);
  EXPECT_THAT(bytes.find(std::string(32, 'k')), std::string::npos);
}

TEST_F(EncryptedStoreTest, GivesEachRoundAKeyOfItsOwn) {
  Open();
  Create();
  Create(kOtherRoundId);
  EXPECT_NE(store_->GetDataKey(kRoundId).value().value().bytes(),
            store_->GetDataKey(kOtherRoundId).value().value().bytes());
  EXPECT_TRUE(store_->GetRound(kRoundId)->encrypted());
}

TEST_F(EncryptedStoreTest, RefusesToOpenWithoutTheKeyThatItWasMadeWith) {
  Open();
  Create();
  const absl::Status refused = TryOpen({});
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr(KeyOf('k').id()), HasSubstr("none was given"), HasSubstr("--data-key-file")));
}

TEST_F(EncryptedStoreTest, RefusesToOpenWithAnotherKeyAndNamesBoth) {
  Open();
  Create();
  const absl::Status refused = TryOpen({.current = KeyOf('l')});
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr(KeyOf('k').id()), HasSubstr(KeyOf('l').id()), Not(HasSubstr("kkkk"))));
}

TEST_F(EncryptedStoreTest, KeepsRoundsThatAreOlderThanTheKeyAsTheyAre) {
  Open({});
  Create();
  Put(1);
  Open();
  Put(2);
  Create(kOtherRoundId);
  Put(1, kOtherRoundId);
  EXPECT_FALSE(store_->GetRound(kRoundId)->encrypted());
  EXPECT_FALSE(store_->GetDataKey(kRoundId)->has_value());
  for (const char* const round_id : {kRoundId, kOtherRoundId}) {
    ASSERT_TRUE(Visit(round_id).ok());
    EXPECT_EQ(visited_.at(1).coded_bits, BitsOf(1, round_id));
  }
}

TEST_F(EncryptedStoreTest, TakesNoReportOfAnEncryptedRoundWithoutItsKey) {
  Open({});
  Create();
  // As another aggregator does that shares the store, and has a key.
  ASSERT_TRUE(store_
                  ->UpdateRound(kRoundId, {v1::ROUND_STATE_OPEN},
                                [](v1::Round& round) {
                                  round.set_encrypted(true);
                                  return absl::OkStatus();
                                })
                  .ok());
  const std::string wrapped = WrapKey(KeyOf('k'), kRoundId, KeyOf('r')).value();
  ASSERT_TRUE(store_->ReplaceWrappedKey(kRoundId, "", wrapped).ok());
  const auto refused = store_->PutReportAndWait(MakeChecked(parameters_, 1));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("try again later"));
  EXPECT_EQ(store_->GetRound(kRoundId)->reports(), 0);
}

TEST_F(EncryptedStoreTest, RefusesAReportThatWasChangedOrMovedToAnotherNode) {
  Open();
  Create();
  for (const NodeIndex node : {1, 2}) Put(node);
  std::string first;
  ChangeEntry(ReportKeyOf(1), [&](std::string value) { return first = value; });
  ChangeEntry(ReportKeyOf(2), [&](const std::string&) { return first; });
  Open();
  absl::Status refused = Visit();
  EXPECT_TRUE(absl::IsDataLoss(refused));
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("node 2"), HasSubstr("backup")));
  ChangeEntry(ReportKeyOf(1), [](std::string value) {
    value.back() = static_cast<char>(value.back() ^ 1);
    return value;
  });
  Open();
  refused = Visit();
  EXPECT_TRUE(absl::IsDataLoss(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("node 1"));
}

TEST_F(EncryptedStoreTest, RefusesAKeyThatWasChangedOrIsGone) {
  Open();
  Create();
  const std::string entry = std::string("k/") + kRoundId;
  ChangeEntry(entry, [](std::string value) {
    value.back() = static_cast<char>(value.back() ^ 1);
    return value;
  });
  const absl::Status refused = TryOpen({.current = KeyOf('k')});
  EXPECT_TRUE(absl::IsDataLoss(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("backup"));
  ChangeEntry(entry, [](const std::string&) { return std::string(); });
  Open();
  EXPECT_TRUE(absl::IsDataLoss(Visit()));
  EXPECT_TRUE(absl::IsUnavailable(store_->PutReportAndWait(MakeChecked(parameters_, 1)).status()));
}

TEST_F(EncryptedStoreTest, RefusesTheKeyOfAnotherRound) {
  const std::string wrapped = WrapKey(KeyOf('k'), kRoundId, KeyOf('r')).value();
  EXPECT_EQ(UnwrapKey({KeyOf('x'), KeyOf('k')}, kRoundId, wrapped).value().bytes(), KeyOf('r').bytes());
  EXPECT_TRUE(absl::IsDataLoss(UnwrapKey({KeyOf('k')}, kOtherRoundId, wrapped).status()));
  EXPECT_TRUE(absl::IsDataLoss(UnwrapKey({KeyOf('k')}, kRoundId, "short").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(UnwrapKey({}, kRoundId, wrapped).status()));
}

TEST_F(EncryptedStoreTest, EncryptsTheKeysOfRoundsWithANewDataKeyAndForgetsTheOldOnes) {
  Open();
  Create();
  Put(1);
  const std::string old_wrapped = store_->GetWrappedKey(kRoundId).value();
  Open({.current = KeyOf('l'), .old = {KeyOf('j'), KeyOf('k')}});
  ASSERT_TRUE(Visit().ok());
  EXPECT_EQ(visited_.at(1).coded_bits, BitsOf(1));
  EXPECT_EQ(BytesIn(folder_ / "store").find(old_wrapped), std::string::npos);
  Open({.current = KeyOf('l')});
  ASSERT_TRUE(Visit().ok());
  EXPECT_EQ(visited_.at(1).coded_bits, BitsOf(1));
  EXPECT_TRUE(absl::IsFailedPrecondition(TryOpen({.current = KeyOf('k')})));
}

TEST_F(EncryptedStoreTest, MakesOneKeyForARequestThatIsRepeated) {
  Open();
  ASSERT_TRUE(store_->CreateRound(MakeRound(kNodes), "request").ok());
  const auto again = store_->CreateRound(MakeRound(kNodes, kOtherRoundId), "request");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->round_id(), kRoundId);
  EXPECT_EQ(store_->ListWrappedKeys()->size(), 1);
  EXPECT_EQ(store_->CreateRound(MakeRound(kNodes), "").status().code(), absl::StatusCode::kAlreadyExists);
  Put(1);
  EXPECT_TRUE(Visit().ok());
}

TEST_F(EncryptedStoreTest, LeavesTheKeyOfARoundInNoFileOnceItsReportsAreDeleted) {
  Open();
  Create();
  Create(kOtherRoundId);
  for (NodeIndex node = 0; node < 50; ++node) Put(node, node % 2 == 0 ? kRoundId : kOtherRoundId);
  store_.reset();  // so that some of it is in tables, and some in the log
  Open();
  for (NodeIndex node = 50; node < 100; ++node) Put(node);
  const std::string wrapped = store_->GetWrappedKey(kRoundId).value();
  ASSERT_NE(BytesIn(folder_ / "store").find(wrapped), std::string::npos);
  ASSERT_TRUE(EndRound(*store_).ok());
  ASSERT_TRUE(store_->DeleteReports(kRoundId).ok());
  EXPECT_EQ(BytesIn(folder_ / "store").find(wrapped), std::string::npos);
  ASSERT_TRUE(Visit(kOtherRoundId).ok());
  EXPECT_EQ(visited_.size(), 25);
}

TEST_F(EncryptedStoreTest, LeavesNoUnencryptedReportInAnyFileOnceItIsDeleted) {
  Open({});
  Create();
  for (NodeIndex node = 0; node < 50; ++node) Put(node);
  store_.reset();
  Open({});
  for (NodeIndex node = 50; node < 100; ++node) Put(node);
  const auto is_in_files = [&](NodeIndex node) {
    return BytesIn(folder_ / "store").find(BitsOf(node).substr(0, 64)) != std::string::npos;
  };
  ASSERT_TRUE(is_in_files(3));
  ASSERT_TRUE(is_in_files(73));
  ASSERT_TRUE(EndRound(*store_).ok());
  ASSERT_TRUE(store_->DeleteReports(kRoundId).ok());
  EXPECT_FALSE(is_in_files(3));
  EXPECT_FALSE(is_in_files(73));
}

// The disk below the files: a loop-mounted image, read as it is.
class RawDisk {
 public:
  RawDisk() {
    const std::string make = absl::StrCat("truncate -s 400M ", image(), " && /sbin/mkfs.ext4 -q -F ", image(),
                                          " && mkdir ", mounted(), " && mount -o loop ", image(), " ", mounted());
    is_there_ = ::geteuid() == 0 && std::system(absl::StrCat("(", make, ") >/dev/null 2>&1").c_str()) == 0;
  }
  ~RawDisk() { Unmount(); }
  bool is_there() const { return is_there_; }
  std::string mounted() const { return folder_ / "mounted"; }
  std::string Bytes() {
    Unmount();
    return ReadFile(image(), 1 << 30).value_or("");
  }

 private:
  std::string image() const { return folder_ / "image"; }
  void Unmount() {
    if (is_there_) is_there_ = std::system(absl::StrCat("umount ", mounted()).c_str()) != 0;
  }

  testing::TempFolder folder_;
  bool is_there_ = false;
};

TEST(RawDiskTest, HoldsNeitherAnEncryptedReportNorTheKeyOfItsRoundAfterTheirDeletion) {
  const PrivacyParameters parameters = MakeParameters(kNodes);
  const std::string bits = MakeChecked(parameters, 3).report.coded_bits.substr(0, 64);
  for (const bool is_encrypted : {false, true}) {
    RawDisk disk;
    if (!disk.is_there()) GTEST_SKIP() << "no image can be mounted here";
    std::string key;
    {
      auto plain = OpenRocksDbStore(disk.mounted() + "/store");
      ASSERT_TRUE(plain.ok()) << plain.status();
      auto store = OpenEncryptedStore(*std::move(plain), is_encrypted ? DataKeys{.current = KeyOf('k')} : DataKeys{});
      ASSERT_TRUE(store.ok()) << store.status();
      ASSERT_TRUE((*store)->CreateRound(MakeRound(kNodes), "").ok());
      for (NodeIndex node = 0; node < 20; ++node) {
        ASSERT_TRUE((*store)->PutReportAndWait(MakeChecked(parameters, node)).ok());
      }
      const auto found = (*store)->GetDataKey(kRoundId);
      ASSERT_TRUE(found.ok());
      if (found->has_value()) key = (*found)->bytes();
      ASSERT_TRUE(EndRound(**store).ok());
      ASSERT_TRUE((*store)->DeleteReports(kRoundId).ok());
    }
    const std::string bytes = disk.Bytes();
    ASSERT_EQ(bytes.size(), 400 << 20);
    // Without encryption the freed blocks have it still, so that the search is seen to find what is there.
    EXPECT_EQ(bytes.find(bits) == std::string::npos, is_encrypted);
    EXPECT_EQ(is_encrypted && bytes.find(key) != std::string::npos, false);
  }
}

}  // namespace
}  // namespace blink
