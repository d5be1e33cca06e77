#include "aggregator_server/store/synced_db.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "aggregator_server/store/records.h"
#include "aggregator_server/store/write_mark.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "rocksdb/cache.h"
#include "rocksdb/env.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/checkpoint.h"

namespace blink {
namespace {

// A quarter of the limit of open files, since connections and the worker need some too
// (aggregator_server/transport/connection_ledger.h). RocksDB takes 20 at least.
int CountTableFiles() {
  constexpr rlim_t kMost = 256;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMost;
  return static_cast<int>(std::min(kMost, limit.rlim_cur / 4));
}

rocksdb::Options MakeOptions(const RocksDbOptions& ours) {
  rocksdb::Options options;
  if (ours.env != nullptr) options.env = ours.env;
  options.create_if_missing = true;
  options.paranoid_checks = true;
  // Acknowledged writes are whole in the log; only the tail may be torn. The default would silently stop at damage.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.write_buffer_size = ours.write_buffer_bytes;
  options.max_write_buffer_number = 3;
  options.manifest_preallocation_size = 256 << 10;  // of a disk that may be small
  options.max_total_wal_size = 128 << 20;
  options.max_open_files = CountTableFiles();
  options.max_background_jobs = 2;
  options.compression = rocksdb::kNoCompression;  // reports are coded near their entropy
  options.info_log_level = rocksdb::WARN_LEVEL;
  options.keep_log_file_num = 4;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(16 << 20);
  table.cache_index_and_filter_blocks = true;
  table.checksum = rocksdb::kXXH3;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// RocksDB would write its log into the folder, also of one that it only reads.
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

// RocksDB as Debian builds it ends the process by an assertion when the disk is full while it opens a store that
// exists.
absl::Status CheckSpaceToOpen(const std::string& folder, const RocksDbOptions& options) {
  uint64_t needed = options.space_to_open;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".log") continue;  // replayed, and written as a table
    std::error_code gone;
    const uint64_t size = at->file_size(gone);
    if (!gone) needed += size;
  }
  const std::optional<uint64_t> available = options.free_bytes(folder);
  if (available.value_or(needed) >= needed) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("cannot open the store ", folder, ": its disk has ", *available,
                                                   " bytes left, and ", needed,
                                                   " are needed; free space on the aggregator's disk"));
}

// A file that RocksDB looks for and does not find is damage too: a file system or a restore has lost it.
absl::Status OpenError(const rocksdb::Status& status, const std::string& folder) {
  const std::string what = absl::StrCat("open the store ", folder);
  if (!status.IsPathNotFound()) return FromRocksDb(status, what);
  return absl::DataLossError(absl::StrCat("cannot ", what, ": ", status.ToString(),
                                          "; a file of the store is missing: bring it back, or restore the data folder "
                                          "from a backup"));
}

// RocksDB waits for ever where one of its files is a FIFO. Without CURRENT it begins a new store among the files of the
// old one, and deletes some of them.
absl::Status CheckFiles(const std::string& folder) {
  std::string newest;      // MANIFEST
  bool is_in_use = false;  // not one whose making ended before there was a CURRENT
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool is_folder = at->is_directory(error);  // as a file system has of its own
    const absl::Status regular = is_folder ? absl::OkStatus() : CheckRegularFile(at->path().string());
    if (absl::IsInvalidArgument(regular)) {
      return absl::DataLossError(absl::StrCat("cannot open the store ", folder, ": ", regular.message(),
                                              "; bring the file back, or restore the data folder from a backup"));
    }
    if (absl::StartsWith(name, "MANIFEST-")) newest = std::max(newest, name);
    is_in_use = is_in_use || name == "acknowledged" || absl::EndsWith(name, ".sst") || absl::EndsWith(name, ".log");
  }
  if (error) return FileError(error.value(), "list", folder);
  if (newest.empty() || !is_in_use || std::filesystem::exists(folder + "/CURRENT", error)) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("cannot open the store ", folder,
                   ": its file CURRENT is missing, and the others are there. Bring it back from a "
                   "backup, or write it: it holds the line ",
                   newest));
}

// What is there, of what the mark counts.
Acknowledged CountIn(rocksdb::DB& db) {
  Acknowledged found{.sequence = db.GetLatestSequenceNumber()};
  const auto count = [&](absl::string_view prefix) {
    uint64_t entries = 0;
    const std::unique_ptr<rocksdb::Iterator> it(db.NewIterator(rocksdb::ReadOptions()));
    const rocksdb::Slice begin(prefix.data(), prefix.size());
    for (it->Seek(begin); it->Valid() && it->key().starts_with(begin); it->Next()) ++entries;
    return entries;
  };
  found.rounds = count(records::kRoundPrefix);
  found.reports = count(records::kDigestsPrefix);
  return found;
}

absl::Status RefuseLoss(const std::string& folder, const Acknowledged& mark, const Acknowledged& found) {
  return absl::DataLossError(absl::StrCat(
      "the store ", folder, " lost changes that it had acknowledged: it had ", mark.reports, " reports of ",
      mark.rounds, " rounds, and ", found.reports, " reports of ", found.rounds,
      " rounds are there. Bring back its files, or the data folder from a backup. Only to go on without what is lost, "
      "start once with --accept-data-loss: nodes that still run send again what is missing in open rounds"));
}

// Looks without changing anything, so that files that are missing can be brought back.
absl::Status CheckNothingIsLost(const std::string& folder, const rocksdb::Options& options, bool accept_loss) {
  const std::optional<Acknowledged> mark = WriteMark::Read(folder);
  std::error_code error;
  const bool is_there = std::filesystem::exists(folder + "/CURRENT", error);
  if (!mark.has_value()) {
    if (is_there) {
      spdlog::warn(
          "the store {} has no readable file acknowledged (that of an older version has none): "
          "nothing shows whether it has all that it acknowledged",
          folder);
    }
    return absl::OkStatus();
  }
  Acknowledged found;
  if (is_there) {
    rocksdb::DB* raw = nullptr;
    const rocksdb::Status opened = rocksdb::DB::OpenForReadOnly(options, folder, &raw);
    if (!opened.ok()) return OpenError(opened, folder);
    const std::unique_ptr<rocksdb::DB> db(raw);
    if (db->GetLatestSequenceNumber() >= mark->sequence) return absl::OkStatus();
    found = CountIn(*db);
  }
  const absl::Status lost = RefuseLoss(folder, *mark, found);
  if (!accept_loss) return lost;
  spdlog::warn("going on, as --accept-data-loss says, although {}", std::string(lost.message()));
  return absl::OkStatus();
}

}  // namespace

std::optional<uint64_t> FindFreeBytes(const std::string& folder) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) return std::nullopt;
  return static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
}

absl::Status FromRocksDb(const rocksdb::Status& status, absl::string_view what) {
  if (status.ok()) return absl::OkStatus();
  const std::string message = absl::StrCat("cannot ", what, ": ", status.ToString());
  if (status.IsNoSpace() || absl::StrContains(message, "No space left")) {
    return absl::ResourceExhaustedError(absl::StrCat(message, "; free space on the aggregator's disk"));
  }
  if (status.IsCorruption()) {
    return absl::DataLossError(absl::StrCat(message, "; the store is damaged: restore the data folder from a backup"));
  }
  if (status.IsNotFound()) return absl::NotFoundError(message);
  return absl::InternalError(message);
}

absl::StatusOr<std::unique_ptr<SyncedDb>> SyncedDb::Open(const std::string& folder, const RocksDbOptions& options) {
  BLINK_RETURN_IF_ERROR(MakeDirectories(folder));
  absl::StatusOr<FileLock> lock = FileLock::Acquire(absl::StrCat(folder, "/store.lock"));
  if (!lock.ok()) {
    const char* const remedy = absl::IsAborted(lock.status()) ? ": end it first, or use another data folder" : "";
    return Reworded(lock.status(),
                    absl::StrCat("cannot open the store ", folder, ": ", lock.status().message(), remedy));
  }
  BLINK_RETURN_IF_ERROR(CheckFiles(folder));
  BLINK_RETURN_IF_ERROR(CheckSpaceToOpen(folder, options));
  const rocksdb::Options all_options = MakeOptions(options);
  BLINK_RETURN_IF_ERROR(CheckNothingIsLost(folder, all_options, options.accept_loss));
  rocksdb::DB* raw = nullptr;
  const rocksdb::Status opened = rocksdb::DB::Open(all_options, folder, &raw);
  if (!opened.ok()) return OpenError(opened, folder);
  return std::unique_ptr<SyncedDb>(new SyncedDb(*std::move(lock), std::unique_ptr<rocksdb::DB>(raw), options));
}

absl::StatusOr<std::unique_ptr<rocksdb::DB>> OpenToLook(const std::string& folder) {
  const RocksDbOptions ours;
  BLINK_RETURN_IF_ERROR(CheckFiles(folder));
  BLINK_RETURN_IF_ERROR(CheckSpaceToOpen(folder, ours));
  if (std::error_code error; !std::filesystem::exists(folder + "/CURRENT", error)) {
    return absl::NotFoundError(absl::StrCat(folder, " has no store"));
  }
  rocksdb::Options options = MakeOptions(ours);
  options.info_log = std::make_shared<NoLog>();
  BLINK_RETURN_IF_ERROR(CheckNothingIsLost(folder, options, /*accept_loss=*/false));
  rocksdb::DB* raw = nullptr;
  const rocksdb::Status opened = rocksdb::DB::OpenForReadOnly(options, folder, &raw);
  if (!opened.ok()) return OpenError(opened, folder);
  return std::unique_ptr<rocksdb::DB>(raw);
}

SyncedDb::SyncedDb(FileLock lock, std::unique_ptr<rocksdb::DB> db, const RocksDbOptions& options)
    : lock_(std::move(lock)),
      db_(std::move(db)),
      space_reserve_(options.space_reserve),
      free_bytes_(options.free_bytes),
      write_seconds_({0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10}) {}

absl::Status SyncedDb::CheckSpace(uint64_t bytes) const {
  const std::optional<uint64_t> available = free_bytes_(db_->GetName());
  if (available.value_or(space_reserve_ + bytes) >= space_reserve_ + bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("No space left on device: the disk of ", db_->GetName(), " has ",
                                                   *available >> 20, " MiB left, and ", space_reserve_ >> 20,
                                                   " MiB of it are kept free; free space on the aggregator's disk"));
}

absl::Status SyncedDb::MakeCheckpoint(const std::string& folder) {
  const std::string what = absl::StrCat("make a snapshot of the store in ", folder);
  rocksdb::Checkpoint* raw = nullptr;
  BLINK_RETURN_IF_ERROR(FromRocksDb(rocksdb::Checkpoint::Create(db_.get(), &raw), what));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  return FromRocksDb(checkpoint->CreateCheckpoint(folder), what);
}

// RocksDB removes files in the background, and not while an iterator reads them.
bool SyncedDb::HasObsoleteFiles() {
  std::vector<rocksdb::LiveFileMetaData> tables;
  db_->GetLiveFilesMetaData(&tables);
  std::set<std::string> live;
  for (const rocksdb::LiveFileMetaData& table : tables) {
    live.insert(std::filesystem::path(table.name).filename().string());
  }
  std::unique_ptr<rocksdb::LogFile> log;
  if (!db_->GetCurrentWalFile(&log).ok()) return true;
  const std::string current = std::filesystem::path(log->PathName()).filename().string();
  std::error_code error;
  for (std::filesystem::directory_iterator at(db_->GetName(), error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (at->path().extension() == ".sst" && live.count(name) == 0) return true;
    // Names have as many digits. An earlier log that nothing was ever written to may stay.
    std::error_code gone;
    if (at->path().extension() == ".log" && name < current && at->file_size(gone) > 0 && !gone) return true;
  }
  return false;
}

absl::Status SyncedDb::Purge(const std::vector<std::pair<std::string, std::string>>& ranges) {
  constexpr uint64_t kRewrittenMax = 256 << 20;  // at once: some tables that neighbours have a part in
  constexpr auto kPatience = std::chrono::seconds(20);
  constexpr char kWhat[] = "remove deleted entries from the store's files";
  uint64_t tables = 0;
  db_->GetIntProperty(rocksdb::DB::Properties::kLiveSstFilesSize, &tables);
  if (const absl::Status space = CheckSpace(std::min(tables, kRewrittenMax)); !space.ok()) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot ", kWhat, ": ", space.message()));
  }
  // What is in the log comes into a table, and a new log begins. Then the tables are written anew.
  BLINK_RETURN_IF_ERROR(FromRocksDb(db_->Flush(rocksdb::FlushOptions()), kWhat));
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  for (const auto& [first, end] : ranges) {
    const rocksdb::Slice from(first), to(end);
    BLINK_RETURN_IF_ERROR(FromRocksDb(db_->CompactRange(options, &from, &to), kWhat));
  }
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (HasObsoleteFiles()) {
    if (std::chrono::steady_clock::now() >= give_up) {
      return absl::UnavailableError(absl::StrCat("cannot ", kWhat, " yet: somebody reads them still"));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return absl::OkStatus();  // a file that a power cut brings back is removed at the next start
}

absl::Status SyncedDb::CheckCanWrite() {
  constexpr auto kStuckAfter = std::chrono::seconds(10);
  if (const int64_t began = write_began_ns_; began != 0) {
    const auto waits = std::chrono::steady_clock::now().time_since_epoch() - std::chrono::nanoseconds(began);
    if (waits > kStuckAfter) {  // and the disk may not answer the question below either
      return absl::UnavailableError(absl::StrCat("a write has waited for the disk for ",
                                                 std::chrono::duration_cast<std::chrono::seconds>(waits).count(),
                                                 " s: does it hang?"));
    }
  }
  BLINK_RETURN_IF_ERROR(CheckSpace(0));
  const std::lock_guard<std::mutex> lock(last_mutex_);
  return absl::Status(last_.code(), last_.message());  // a status of its own, as in ReportBatch::Answer
}

absl::Status SyncedDb::Write(rocksdb::WriteBatch& writes, absl::string_view what) {
  const auto began = std::chrono::steady_clock::now();
  write_began_ns_ = std::chrono::nanoseconds(began.time_since_epoch()).count();
  const absl::Status written = WriteInto(writes, what);
  write_began_ns_ = 0;
  write_seconds_.Add(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  if (!written.ok()) ++failed_writes_;
  const std::lock_guard<std::mutex> lock(last_mutex_);
  // Of a disk that is seen to be full the next look tells more.
  const bool is_kept = !written.ok() && CheckSpace(writes.GetDataSize()).ok();
  last_ = is_kept ? absl::Status(written.code(), written.message()) : absl::OkStatus();
  return written;
}

absl::Status SyncedDb::WriteInto(rocksdb::WriteBatch& writes, absl::string_view what) {
  // RocksDB must not meet a full disk: after an append that failed, Debian's build (with assertions) aborts at the
  // next.
  if (const absl::Status space = CheckSpace(writes.GetDataSize()); !space.ok()) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot ", what, ": ", space.message()));
  }
  rocksdb::WriteOptions options;
  options.sync = true;
  rocksdb::Status status = db_->Write(options, &writes);
  // After an error RocksDB refuses every write until it is told to go on. From a full disk it recovers by itself within
  // seconds of there being space, and says Busy here until then. After any other error of the disk it does not go on:
  // what the log holds is known only once it is read again.
  const rocksdb::Status resumed = status.ok() ? status : db_->Resume();
  if (!status.ok() && resumed.ok()) status = db_->Write(options, &writes);
  const absl::Status written = FromRocksDb(status, what);
  if (!absl::IsInternal(written) || resumed.ok() || resumed.IsBusy()) return written;
  return absl::InternalError(absl::StrCat(written.message(),
                                          "; the store takes no change from now on, and what it acknowledged is kept: "
                                          "see to the disk and its quotas, then restart the aggregator"));
}

}  // namespace blink
