// A disk that is full, by a file system that says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <future>

#include "aggregator_server/store/rocksdb_store.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "tests/testing/aggregator_fixtures.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using testing::kRoundId;
using testing::MakeChecked;
using testing::MakeParameters;
using testing::MakeReport;
using testing::MakeRound;

class FullableFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FullableFile(std::unique_ptr<rocksdb::FSWritableFile> file, const std::atomic<bool>& full)
      : FSWritableFileOwnerWrapper(std::move(file)), full_(full) {}
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
    if (full_) return rocksdb::IOStatus::NoSpace("No space left on device");
    return FSWritableFileOwnerWrapper::Append(data, options, debug);
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& info, rocksdb::IODebugContext* debug) override {
    if (full_) return rocksdb::IOStatus::NoSpace("No space left on device");
    return FSWritableFileOwnerWrapper::Append(data, options, info, debug);
  }

 private:
  const std::atomic<bool>& full_;
};

class FullableFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  FullableFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "FullableFileSystem"; }
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    rocksdb::IOStatus status = FileSystemWrapper::NewWritableFile(name, options, &file, debug);
    if (status.ok()) *result = std::make_unique<FullableFile>(std::move(file), full);
    return status;
  }
  std::atomic<bool> full{false};
};

TEST(DiskFull, LeavesAReserveOfTheDiskFreeAndWritesNothingIntoIt) {
  testing::TempFolder folder;
  const PrivacyParameters parameters = MakeParameters(10);
  const auto put = [&](ReportStore& store) {
    std::promise<absl::Status> promise;
    store.PutReport(MakeChecked(parameters, 3),
                    [&](absl::StatusOr<PutOutcome> outcome) { promise.set_value(outcome.status()); });
    return promise.get_future().get();
  };
  ASSERT_TRUE((*OpenRocksDbStore(folder / "store"))->CreateRound(MakeRound(10), "").ok());
  RocksDbOptions options;
  options.space_reserve = uint64_t{1} << 62;  // no disk has so much
  {
    auto store = OpenRocksDbStore(folder / "store", options);
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ((*store)->CheckCanStore().code(), absl::StatusCode::kResourceExhausted) << "before anybody has tried";
    EXPECT_EQ(put(**store).code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ((*store)->GetRound(kRoundId)->reports(), 0);
  }
  auto store = OpenRocksDbStore(folder / "store");
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->GetRound(kRoundId)->reports(), 0);
  EXPECT_TRUE(put(**store).ok());
}

TEST(DiskFull, IsSaidWhenTheStoreIsOpenedAndLeavesItAsItIs) {
  testing::TempFolder folder;
  ASSERT_TRUE((*OpenRocksDbStore(folder / "store"))->CreateRound(MakeRound(10), "").ok());
  RocksDbOptions options;
  options.space_to_open = uint64_t{1} << 62;  // no disk has so much
  const auto refused = OpenRocksDbStore(folder / "store", options);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("bytes left"));
  auto store = OpenRocksDbStore(folder / "store");
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_TRUE((*store)->GetRound(kRoundId).ok());
}

TEST(DiskFull, RefusesReportsAndSealsAndGoesOnWhenThereIsSpace) {
  testing::TempFolder folder;
  auto file_system = std::make_shared<FullableFileSystem>();
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(file_system);
  RocksDbOptions options;
  options.env = env.get();
  auto store = OpenRocksDbStore(folder / "store", options);
  ASSERT_TRUE(store.ok()) << store.status();
  const PrivacyParameters parameters = MakeParameters(50);
  ASSERT_TRUE((*store)->CreateRound(MakeRound(50), "").ok());
  ASSERT_TRUE((*store)->PutReportAndWait(MakeChecked(parameters, 1)).ok());

  file_system->full = true;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto refused = (*store)->PutReportAndWait(MakeChecked(parameters, 2));
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted) << refused.status();
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("free space"));
  }
  EXPECT_EQ((*store)->CheckCanStore().code(), absl::StatusCode::kResourceExhausted) << "the last try failed";
  const auto sealed = (*store)->UpdateRound(kRoundId, {v1::ROUND_STATE_OPEN}, [](v1::Round& round) {
    round.set_state(v1::ROUND_STATE_SEALED);
    return absl::OkStatus();
  });
  EXPECT_EQ(sealed.status().code(), absl::StatusCode::kResourceExhausted) << sealed.status();
  EXPECT_EQ((*store)->GetRound(kRoundId)->state(), v1::ROUND_STATE_OPEN);
  EXPECT_EQ((*store)->GetRound(kRoundId)->reports(), 1);
  EXPECT_TRUE((*store)->PutReportAndWait(MakeChecked(parameters, 1)).ok()) << "what is held is still known";

  file_system->full = false;
  // RocksDB looks for space every few seconds.
  EXPECT_TRUE(testing::Eventually([&] { return (*store)->PutReportAndWait(MakeChecked(parameters, 2)).ok(); }));
  EXPECT_EQ((*store)->GetRound(kRoundId)->reports(), 2);
  EXPECT_TRUE((*store)->CheckCanStore().ok());
  store->reset();
  store = OpenRocksDbStore(folder / "store");
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->GetRound(kRoundId)->reports(), 2);
}

// The log of the store meets a limit of the file size, which statvfs does not announce, so that RocksDB's own write
// fails.
class FileSizeLimit {
 public:
  FileSizeLimit() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
  }
  ~FileSizeLimit() {
    Lift();
    ::signal(SIGXFSZ, handler_);
  }
  void Set(rlim_t bytes) {
    struct rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  void Lift() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  struct rlimit before_ {};
  void (*handler_)(int) = nullptr;
};

TEST(DiskError, IsSaidToNeedARestartWhichKeepsWhatWasAcknowledged) {
  testing::TempFolder folder;
  constexpr uint32_t kNodes = 400;
  const PrivacyParameters parameters = MakeParameters(kNodes);
  auto store = OpenRocksDbStore(folder / "store");
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->CreateRound(MakeRound(kNodes), "").ok());
  FileSizeLimit limit;
  limit.Set(8 << 10);
  NodeIndex held = 0;
  absl::Status refused;
  while (held < kNodes && refused.ok()) {
    refused = (*store)->PutReportAndWait(MakeChecked(parameters, held)).status();
    if (refused.ok()) ++held;
  }
  limit.Lift();
  ASSERT_GT(held, 0u);
  ASSERT_LT(held, kNodes);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("restart the aggregator")) << refused;
  const absl::Status still = (*store)->PutReportAndWait(MakeChecked(parameters, held)).status();
  EXPECT_THAT(std::string(still.message()), HasSubstr("restart the aggregator")) << still;
  EXPECT_EQ((*store)->GetRound(kRoundId)->reports(), held);
  EXPECT_TRUE((*store)->PutReportAndWait(MakeChecked(parameters, 0)).ok()) << "what is held is still known";

  store->reset();
  store = OpenRocksDbStore(folder / "store");
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_GE((*store)->GetRound(kRoundId)->reports(), held);
  for (NodeIndex node = 0; node < held; ++node) {
    ASSERT_EQ(*(*store)->GetDigest(kRoundId, node), MakeReport(parameters, node).digest);
  }
  EXPECT_TRUE((*store)->PutReportAndWait(MakeChecked(parameters, held)).ok());
}

}  // namespace
}  // namespace blink
