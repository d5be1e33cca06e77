// ReportStore in an embedded RocksDB: one folder, one process.
#ifndef BLINK_AGGREGATOR_SERVER_STORE_ROCKSDB_STORE_H_
#define BLINK_AGGREGATOR_SERVER_STORE_ROCKSDB_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "aggregator_server/store/report_store.h"

namespace rocksdb {
class Env;
}

namespace blink {

std::optional<uint64_t> FindFreeBytes(const std::string& folder);

struct RocksDbOptions {
  uint64_t batch_bytes_max = 4 << 20;  // reports that share one fsync
  rocksdb::Env* env = nullptr;         // tests make it fail; nullptr: the machine's
  uint64_t write_buffer_bytes = 16 << 20;
  uint64_t space_reserve = 64 << 20;  // bytes of the disk that stay free, for the flush of the write buffers
  uint64_t space_to_open = 4 << 20;   // free bytes needed to open it, besides what its logs become
  bool accept_loss = false;           // open it although it lost what it had acknowledged
  // Bytes that are free on the disk of a folder; nullopt: nobody knows, and writing is tried.
  std::function<std::optional<uint64_t>(const std::string& folder)> free_bytes = FindFreeBytes;
};

// Opens or makes the store in `folder`. ABORTED: another process holds it. RESOURCE_EXHAUSTED: the disk is full.
// DATA_LOSS: the store is damaged, or lost what it had acknowledged (write_mark.h), and nothing in it was changed. A
// torn tail of the log is no damage, as it holds nothing acknowledged.
// FAILED_PRECONDITION: the store has another format. Memory: about 64 MB, and n bits an open round.
//
// The write-ahead log is synced once a batch. While one batch is being synced the next one gathers, so that all reports
// that arrived meanwhile share the cost of one fsync.
absl::StatusOr<std::unique_ptr<ReportStore>> OpenRocksDbStore(const std::string& folder, RocksDbOptions options = {});

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_STORE_ROCKSDB_STORE_H_
