#include "aggregator_server/backup/backup.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "aggregator_server/backup/snapshot_folder.h"
#include "common/base/durable_file.h"
#include "nlohmann/json.hpp"
#include "tests/testing/temp_folder.h"

namespace blink {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

class BackupTest : public testing::FolderTest {
 protected:
  void SetUp() override {
    Write("data/rosters/1.json", "roster");
    Write("data/rounds/aa/round.json", "round");
    Write("data/rounds/aa/reports.blr", std::string(3 << 20, 'r'));
    Write("data/rounds/aa/result/metrics.json", "{}");
    Write("data/rounds/aa/result.tmp/half", "half");
    Write("data/rounds/aa/result.checkpoint/0.checkpoint", "work");
    Write("data/rounds/bb/reports.blr", "sealed after the snapshot");
    Write("data/audit.log", "records");
    Write("data/revoked.crl.pem", "list");
    Write("data/health.sock.not", "no part of it");
    Write("snapshot/CURRENT", "MANIFEST-1\n");
    Write("snapshot/000001.sst", std::string("\0\1\2", 3));
  }
  absl::StatusOr<BackupSummary> Make(const std::string& name = "backup") {
    return MakeBackup(
        {.data_folder = Path("data"), .store_snapshot = Path("snapshot"), .round_ids = {"aa", "never-had-a-folder"}},
        Path(name), kNow, nullptr);
  }
  std::string Read(const std::string& name) { return ReadFile(Path(name), 1 << 30).value_or("<none>"); }
  void ExpectDamaged(const std::string& why) {
    for (const auto& summary :
         {VerifyBackup(Path("backup"), nullptr), RestoreBackup(Path("backup"), Path("restored"), nullptr)}) {
      EXPECT_EQ(summary.status().code(), absl::StatusCode::kDataLoss) << summary.status();
      EXPECT_THAT(std::string(summary.status().message()), HasSubstr(why));
    }
    EXPECT_FALSE(fs::exists(Path("restored"))) << "what is not whole has not its name";
  }
  void EditManifest(const std::function<void(nlohmann::json&)>& edit) {
    nlohmann::json json = nlohmann::json::parse(Read("backup/backup.json"));
    edit(json);
    Write("backup/backup.json", json.dump());
  }
};

TEST_F(BackupTest, ARestoredFolderHasTheStoreTheSealedRoundsAndTheRecords) {
  const auto made = Make();
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->rounds, 1u);
  const auto verified = VerifyBackup(Path("backup"), nullptr);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_EQ(verified->digest, made->digest);
  EXPECT_EQ(verified->made, kNow);
  const auto restored = RestoreBackup(Path("backup"), Path("restored"), nullptr);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->files, made->files);
  for (const char* file : {"rosters/1.json", "rounds/aa/round.json", "rounds/aa/reports.blr",
                           "rounds/aa/result/metrics.json", "audit.log", "revoked.crl.pem"}) {
    EXPECT_EQ(Read(absl::StrCat("restored/", file)), Read(absl::StrCat("data/", file))) << file;
  }
  EXPECT_EQ(Read("restored/store/000001.sst"), Read("snapshot/000001.sst"));
  for (const char* left_out : {"rounds/bb", "rounds/aa/result.tmp", "rounds/aa/result.checkpoint", "health.sock.not"}) {
    EXPECT_FALSE(fs::exists(Path(absl::StrCat("restored/", left_out)))) << left_out;
  }
}

TEST_F(BackupTest, ItsFilesAreForTheirOwnerAlone) {
  ASSERT_TRUE(Make().ok());
  for (const auto& entry : fs::recursive_directory_iterator(Path("backup"))) {
    EXPECT_EQ(fs::status(entry).permissions() & fs::perms(077), fs::perms::none) << entry.path();
  }
}

TEST_F(BackupTest, TellsHowFarItIs) {
  uint64_t last = 0, total = 0;
  const auto note = [&](uint64_t done, uint64_t of) {
    EXPECT_EQ(done, last + 1);
    last = done;
    total = of;
  };
  ASSERT_TRUE(MakeBackup({.data_folder = Path("data"), .store_snapshot = Path("snapshot"), .round_ids = {"aa"}},
                         Path("backup"), kNow, note)
                  .ok());
  EXPECT_EQ(last, total);
  EXPECT_GT(total, 5u);
}

TEST_F(BackupTest, FindsAChangedAMissingAndAForeignFile) {
  ASSERT_TRUE(Make().ok());
  fs::copy(Path("backup"), Path("kept"), fs::copy_options::recursive);
  const auto renew = [&] {
    fs::remove_all(Path("backup"));
    fs::copy(Path("kept"), Path("backup"), fs::copy_options::recursive);
  };
  Write("backup/data/rounds/aa/round.json", "rounD");
  ExpectDamaged("round.json is not what was copied");
  renew();
  Write("backup/data/rounds/aa/round.json", "round and more");
  ExpectDamaged("round.json is not what was copied");
  renew();
  fs::remove(Path("backup/data/audit.log"));
  ExpectDamaged("the backup lacks");
  renew();
  Write("backup/data/rounds/cc/reports.blr", "from elsewhere");
  ExpectDamaged("does not belong to the backup");
}

TEST_F(BackupTest, RefusesABackupWithoutAStoreAndOneWithALinkedFolder) {
  fs::remove_all(Path("snapshot"));
  EXPECT_FALSE(Make().ok()) << "the snapshot is gone";
  EXPECT_FALSE(fs::exists(Path("backup")));
  Write("snapshot/CURRENT", "MANIFEST-1\n");
  ASSERT_TRUE(Make().ok());
  fs::rename(Path("backup/data/rounds"), Path("elsewhere"));
  fs::create_directory_symlink(Path("elsewhere"), Path("backup/data/rounds"));
  ExpectDamaged("is a link");
  fs::remove(Path("backup/data/rounds"));
  fs::rename(Path("elsewhere"), Path("backup/data/rounds"));
  ASSERT_TRUE(VerifyBackup(Path("backup"), nullptr).ok());
  EditManifest([](nlohmann::json& json) { json["files"] = nlohmann::json::array(); });
  ExpectDamaged("has no store");
}

TEST_F(BackupTest, RefusesAListThatLeadsOutOfIt) {
  ASSERT_TRUE(Make().ok());
  for (const char* path : {"../evil", "rounds/../../evil", "/etc/passwd", "a//b", "./a", ""}) {
    EditManifest([&](nlohmann::json& json) { json["files"][0]["path"] = path; });
    const auto verified = VerifyBackup(Path("backup"), nullptr);
    EXPECT_EQ(verified.status().code(), absl::StatusCode::kDataLoss) << path << verified.status();
  }
}

TEST_F(BackupTest, RefusesAListThatIsNoneAndANewerOne) {
  EXPECT_EQ(VerifyBackup(Path("nothing"), nullptr).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(Make().ok());
  EditManifest([](nlohmann::json& json) { json["format"] = 2; });
  EXPECT_EQ(VerifyBackup(Path("backup"), nullptr).status().code(), absl::StatusCode::kFailedPrecondition);
  for (const char* text : {"", "{", "[]", "{\"format\": 1}", "{\"format\": 1, \"made\": \"x\", \"files\": []}"}) {
    Write("backup/backup.json", text);
    EXPECT_EQ(VerifyBackup(Path("backup"), nullptr).status().code(), absl::StatusCode::kDataLoss) << text;
  }
}

TEST_F(BackupTest, RefusesPlacesWithinWhatIsCopiedAndLinks) {
  for (const char* inside : {"data/backup", "data/rounds/backup", "data"}) {
    EXPECT_EQ(Make(inside).status().code(), absl::StatusCode::kInvalidArgument) << inside;
  }
  ASSERT_TRUE(Make().ok());
  const auto into = [&](const std::string& name) {
    return RestoreBackup(Path("backup"), Path(name), nullptr).status();
  };
  EXPECT_EQ(into("backup/data2").code(), absl::StatusCode::kInvalidArgument);
  fs::create_directories(Path("empty"));
  fs::create_directory_symlink(Path("empty"), Path("link"));
  fs::create_directory_symlink(Path("nowhere"), Path("dangling"));
  EXPECT_EQ(into("link").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(into("dangling").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Make("dangling").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(BackupTest, TwoThatMakeOneFolderDoNotDisturbEachOther) {
  absl::Status second;
  const auto meanwhile = [&](uint64_t done, uint64_t) {
    if (done == 1) second = Make().status();
  };
  const auto first = MakeBackup({.data_folder = Path("data"), .store_snapshot = Path("snapshot"), .round_ids = {"aa"}},
                                Path("backup"), kNow, meanwhile);
  EXPECT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(second.code(), absl::StatusCode::kAborted) << second;
  EXPECT_TRUE(VerifyBackup(Path("backup"), nullptr).ok());
}

TEST_F(BackupTest, OverwritesNothing) {
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(Make().status().code(), absl::StatusCode::kInvalidArgument);
  Write("in-use/file", "x");
  const auto restored = RestoreBackup(Path("backup"), Path("in-use"), nullptr);
  EXPECT_EQ(restored.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Read("in-use/file"), "x");
  fs::create_directories(Path("empty"));
  EXPECT_TRUE(RestoreBackup(Path("backup"), Path("empty"), nullptr).ok());
}

TEST_F(BackupTest, AFullDiskLeavesNoBackupUnderItsName) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1 << 20, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto made = Make();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, old);
  EXPECT_EQ(made.status().code(), absl::StatusCode::kResourceExhausted) << made.status();
  EXPECT_FALSE(fs::exists(Path("backup")));
  EXPECT_TRUE(Make().ok()) << "the rest of the first try is cleared";
}

// A snapshot that was written so long ago.
std::string MakeSnapshot(const std::string& path, int minutes_old) {
  fs::create_directories(path);
  const timespec then = {::time(nullptr) - minutes_old * 60, 0};
  const timespec times[] = {then, then};
  EXPECT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  return path;
}

TEST_F(BackupTest, ASnapshotThatNobodyCopiesAnyMoreIsRemoved) {
  const std::string fresh = MakeSnapshot(Path("data/store.snapshot-fresh"), 0),
                    dead = MakeSnapshot(Path("data/store.snapshot-dead"), 2),
                    held = MakeSnapshot(Path("data/store.snapshot-held"), 2);
  {
    const HeldSnapshot copying(held);
    RemoveOldSnapshots(Path("data"));
    EXPECT_TRUE(fs::exists(fresh)) << "whoever asked for it has not held it yet";
    EXPECT_TRUE(fs::exists(held));
    EXPECT_FALSE(fs::exists(dead));
  }
  EXPECT_FALSE(fs::exists(held)) << "it has been copied";
  EXPECT_TRUE(fs::exists(Path("data/rounds"))) << "nothing else is touched";
}

bool IsSoonGone(const std::string& path) {
  for (int tries = 0; tries < 1000 && fs::exists(path); ++tries) ::usleep(10'000);
  return !fs::exists(path);
}

TEST_F(BackupTest, OldSnapshotsAreRemovedAtOnceAndAgainAndAgain) {
  const std::string first = MakeSnapshot(Path("data/store.snapshot-first"), 2),
                    fresh = MakeSnapshot(Path("data/store.snapshot-fresh"), 0);
  const OldSnapshots old(Path("data"), std::chrono::milliseconds(10));
  EXPECT_TRUE(IsSoonGone(first));
  EXPECT_TRUE(IsSoonGone(MakeSnapshot(Path("data/store.snapshot-later"), 2)));
  EXPECT_TRUE(fs::exists(fresh));
}

TEST_F(BackupTest, OldSnapshotsAreNotLookedForAnyMoreAfterTheEnd) {
  const auto begun = std::chrono::steady_clock::now();
  { const OldSnapshots old(Path("data")); }
  const std::string dead = MakeSnapshot(Path("data/store.snapshot-dead"), 2);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30)) << "it does not wait for the minute";
  EXPECT_TRUE(fs::exists(dead));
}

}  // namespace
}  // namespace blink
