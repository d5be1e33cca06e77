// The RocksDB under the store: how it is opened and written, and what its errors mean.
#ifndef BLINK_AGGREGATOR_SERVER_STORE_SYNCED_DB_H_
#define BLINK_AGGREGATOR_SERVER_STORE_SYNCED_DB_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "aggregator_server/store/rocksdb_store.h"
#include "common/base/durable_file.h"
#include "common/base/tally.h"
#include "rocksdb/db.h"
#include "rocksdb/iterator.h"
#include "rocksdb/write_batch.h"

namespace blink {

inline absl::string_view ToView(const rocksdb::Slice& slice) { return absl::string_view(slice.data(), slice.size()); }

// "cannot <what>: ...", with the remedy. RESOURCE_EXHAUSTED: the disk is full. DATA_LOSS: damaged. NOT_FOUND.
absl::Status FromRocksDb(const rocksdb::Status& status, absl::string_view what);

// Opens the RocksDB in `folder` to read alone, beside whoever uses it. It changes nothing and takes no lock. Errors as
// OpenRocksDbStore says.
absl::StatusOr<std::unique_ptr<rocksdb::DB>> OpenToLook(const std::string& folder);

// Reads may come from any thread, writes from one at a time.
class SyncedDb {
 public:
  // As OpenRocksDbStore says; holds the folder's lock as long as it lives.
  static absl::StatusOr<std::unique_ptr<SyncedDb>> Open(const std::string& folder, const RocksDbOptions& options);

  // OK: all of `writes` are on the disk. After an error none of them are, or as many as a crash would leave.
  absl::Status Write(rocksdb::WriteBatch& writes, absl::string_view what);

  // A copy of what was written so far, in `folder`, which must not exist. Errors as of Write.
  absl::Status MakeCheckpoint(const std::string& folder);

  // Of what was written, leaves in the files only what is there now: nothing of `ranges` (first key, end) that was
  // deleted or overwritten. UNAVAILABLE: somebody reads it still. For any thread; writes go on meanwhile.
  absl::Status Purge(const std::vector<std::pair<std::string, std::string>>& ranges);

  // Whether a write would find space now; otherwise, why the last one failed.
  absl::Status CheckCanWrite();
  Tally::Counts write_seconds() const { return write_seconds_.Read(); }  // with the fsync
  uint64_t failed_writes() const { return failed_writes_.load(); }

  rocksdb::Status Get(const std::string& key, std::string* value) {
    return db_->Get(rocksdb::ReadOptions(), key, value);
  }
  uint64_t LastSequence() const { return db_->GetLatestSequenceNumber(); }
  std::unique_ptr<rocksdb::Iterator> Iterate(const rocksdb::ReadOptions& options = rocksdb::ReadOptions()) {
    return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(options));
  }

 private:
  SyncedDb(FileLock lock, std::unique_ptr<rocksdb::DB> db, const RocksDbOptions& options);

  absl::Status CheckSpace(uint64_t bytes) const;
  bool HasObsoleteFiles();
  absl::Status WriteInto(rocksdb::WriteBatch& writes, absl::string_view what);

  FileLock lock_;
  std::unique_ptr<rocksdb::DB> db_;
  const uint64_t space_reserve_;
  const std::function<std::optional<uint64_t>(const std::string&)> free_bytes_;
  Tally write_seconds_;
  std::atomic<uint64_t> failed_writes_{0};
  std::atomic<int64_t> write_began_ns_{0};  // of the steady clock; 0: no write is under way
  std::mutex last_mutex_;
  absl::Status last_;  // of the last write; guarded by last_mutex_
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_STORE_SYNCED_DB_H_
