#include "aggregator_server/store/rocksdb_store.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "aggregator_server/store/records.h"
#include "common/base/durable_file.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/graph/bit_row.h"
#include "common/wire/round.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/table.h"
#include "rocksdb/write_batch.h"

namespace blink {
namespace {

absl::string_view ViewOf(const rocksdb::Slice& slice) { return absl::string_view(slice.data(), slice.size()); }

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

rocksdb::Options MakeOptions(const RocksDbOptions& ours) {
  rocksdb::Options options;
  if (ours.env != nullptr) options.env = ours.env;
  options.create_if_missing = true;
  options.paranoid_checks = true;
  // Acknowledged writes are whole in the log; only the tail may be torn. The default would silently stop at damage.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.write_buffer_size = 16 << 20;
  options.max_write_buffer_number = 3;
  options.max_total_wal_size = 128 << 20;
  options.max_open_files = 256;
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

// A round and the nodes that are known to have reported, as they are on the disk. Changed by the committer alone.
struct RoundEntry {
  v1::Round round;
  BitRow reported;  // [n]
  uint32_t reports = 0;
  uint32_t flagged = 0;
};

class RocksDbStore final : public ReportStore {
 public:
  RocksDbStore(FileLock lock, std::unique_ptr<rocksdb::DB> db, const RocksDbOptions& options)
      : lock_(std::move(lock)),
        db_(std::move(db)),
        batch_bytes_max_(options.batch_bytes_max),
        space_reserve_(options.space_reserve) {}

  ~RocksDbStore() override {
    {
      std::lock_guard<std::mutex> lock(queue_mutex_);
      closing_ = true;
    }
    queue_changed_.notify_all();
    if (committer_.joinable()) committer_.join();
  }

  absl::Status Load();
  void Start() {
    committer_ = std::thread([this] { Commit(); });
  }

  absl::StatusOr<v1::Round> CreateRound(const v1::Round& round, const std::string& request_id) override;
  absl::StatusOr<v1::Round> GetRound(const std::string& round_id) override;
  std::vector<v1::Round> ListRounds() override { return List(/*only_open=*/false); }
  std::vector<v1::Round> ListOpenRounds() override { return List(/*only_open=*/true); }
  absl::StatusOr<v1::Round> UpdateRound(const std::string& round_id, const std::vector<v1::RoundState>& expected,
                                        const std::function<absl::Status(v1::Round&)>& change) override;
  void PutReport(CheckedReport report, PutCallback done) override;
  absl::StatusOr<std::optional<Digest>> GetDigest(const std::string& round_id, uint64_t node) override;
  absl::Status VisitDigests(const std::string& round_id, uint64_t first, uint64_t last, uint64_t limit,
                            const std::function<absl::Status(uint64_t, const Digest&)>& visit) override;
  absl::Status VisitReports(const std::string& round_id,
                            const std::function<absl::Status(uint64_t, const CodedReport&)>& visit) override;

 private:
  // One change in the queue: a report, or any other operation on the rounds, which runs alone.
  struct Operation {
    CheckedReport report;
    PutCallback done;
    std::function<void()> alone;
  };
  // A report of the batch that is being gathered; its callback runs after the write.
  struct Gathered {
    RoundEntry* entry = nullptr;
    uint64_t node = 0;
    bool implausible = false;
    PutOutcome outcome;
    PutCallback done;
  };
  struct Batch {
    rocksdb::WriteBatch writes;
    std::vector<Gathered> fresh;
    std::vector<Gathered> again;  // the same report a second time within the batch: answered with the first
    std::unordered_map<std::string, size_t> fresh_of_key;
  };

  std::vector<v1::Round> List(bool only_open);
  bool Enqueue(Operation operation);
  absl::StatusOr<v1::Round> RunAlone(std::function<absl::StatusOr<v1::Round>()> operation);
  void Commit();
  void Gather(Operation operation, Batch& batch);
  void Flush(Batch& batch);
  absl::Status Write(rocksdb::WriteBatch& writes, absl::string_view what);
  RoundEntry* Find(const std::string& round_id);  // committer thread
  absl::StatusOr<records::DigestRecord> ReadDigest(const std::string& key);
  absl::Status RequireRound(const std::string& round_id);
  v1::Round Snapshot(const RoundEntry& entry) const;

  FileLock lock_;
  std::unique_ptr<rocksdb::DB> db_;
  const uint64_t batch_bytes_max_, space_reserve_;

  std::mutex rounds_mutex_;  // the committer writes under it and reads without it
  std::unordered_map<std::string, std::unique_ptr<RoundEntry>> rounds_;

  std::mutex queue_mutex_;
  std::condition_variable queue_changed_;
  std::deque<Operation> queue_;
  bool closing_ = false;
  absl::Time next_error_log_ = absl::InfinitePast();  // committer thread
  std::thread committer_;
};

absl::Status RocksDbStore::Load() {
  std::string format;
  const rocksdb::Status found = db_->Get(rocksdb::ReadOptions(), records::kFormatKey, &format);
  if (found.IsNotFound()) {
    std::unique_ptr<rocksdb::Iterator> any(db_->NewIterator(rocksdb::ReadOptions()));
    any->SeekToFirst();
    if (any->Valid()) return absl::DataLossError("the store has entries but no format: it is damaged or not blink's");
    rocksdb::WriteBatch writes;
    writes.Put(records::kFormatKey, records::kFormat);
    return Write(writes, "write the store's format");
  }
  BLINK_RETURN_IF_ERROR(FromRocksDb(found, "read the store's format"));
  if (format != records::kFormat) {
    return absl::FailedPreconditionError(absl::StrCat("the store has format \"", format, "\", this program reads \"",
                                                      records::kFormat, "\": use the version that wrote it"));
  }
  std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(rocksdb::ReadOptions()));
  for (it->Seek("m/"); it->Valid() && it->key().starts_with("m/"); it->Next()) {
    auto entry = std::make_unique<RoundEntry>();
    if (!entry->round.ParseFromArray(it->value().data(), static_cast<int>(it->value().size()))) {
      return absl::DataLossError(absl::StrCat("the store's entry ", it->key().ToString(), " cannot be read"));
    }
    entry->reported = BitRow(entry->round.parameters().node_count());
    rounds_.emplace(entry->round.round_id(), std::move(entry));
  }
  BLINK_RETURN_IF_ERROR(FromRocksDb(it->status(), "list the rounds"));
  for (auto& [round_id, entry] : rounds_) {
    const std::string prefix = records::DigestPrefix(round_id);
    for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next()) {
      const uint64_t node = records::NodeOfKey(ViewOf(it->key()));
      if (it->key().size() != prefix.size() + 8 || node >= entry->reported.size()) {
        return absl::DataLossError(
            absl::StrCat("the store holds a report of a node that round ", round_id, " has not"));
      }
      entry->reported.Set(static_cast<uint32_t>(node));
      ++entry->reports;
      BLINK_ASSIGN_OR_RETURN(const records::DigestRecord record, records::DecodeDigest(ViewOf(it->value())));
      entry->flagged += record.implausible;
    }
    BLINK_RETURN_IF_ERROR(FromRocksDb(it->status(), "count the reports"));
  }
  return absl::OkStatus();
}

absl::Status RocksDbStore::Write(rocksdb::WriteBatch& writes, absl::string_view what) {
  // RocksDB must not meet a full disk: after an append that failed, Debian's build (with assertions) aborts at the
  // next.
  struct statvfs disk {};
  if (::statvfs(db_->GetName().c_str(), &disk) == 0 &&
      static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize < space_reserve_ + writes.GetDataSize()) {
    return FromRocksDb(rocksdb::Status::NoSpace(), what);
  }
  rocksdb::WriteOptions options;
  options.sync = true;
  rocksdb::Status status = db_->Write(options, &writes);
  // After an error RocksDB refuses every write until it is told to go on. From a full disk it recovers by itself within
  // seconds of there being space, and says Busy here until then. After any other error of the disk it does not go on: what
  // the log holds is known only once it is read again.
  const rocksdb::Status resumed = status.ok() ? status : db_->Resume();
  if (!status.ok() && resumed.ok()) status = db_->Write(options, &writes);
  const absl::Status written = FromRocksDb(status, what);
  if (!absl::IsInternal(written) || resumed.ok() || resumed.IsBusy()) return written;
  return absl::InternalError(absl::StrCat(written.message(), "; the store takes no change from now on, and what it acknowledged is kept: "
                                          "see to the disk and its quotas, then restart the aggregator"));
}

bool RocksDbStore::Enqueue(Operation operation) {
  {
    std::lock_guard<std::mutex> lock(queue_mutex_);
    if (closing_) return false;
    queue_.push_back(std::move(operation));
  }
  queue_changed_.notify_one();
  return true;
}

absl::StatusOr<v1::Round> RocksDbStore::RunAlone(std::function<absl::StatusOr<v1::Round>()> operation) {
  std::mutex mutex;
  std::condition_variable ready;
  std::optional<absl::StatusOr<v1::Round>> result;
  Operation queued;
  queued.alone = [&] {
    absl::StatusOr<v1::Round> outcome = operation();
    std::lock_guard<std::mutex> lock(mutex);
    result = std::move(outcome);
    ready.notify_one();
  };
  if (!Enqueue(std::move(queued))) return absl::UnavailableError("the store is being closed");
  std::unique_lock<std::mutex> lock(mutex);
  ready.wait(lock, [&] { return result.has_value(); });
  return *std::move(result);
}

void RocksDbStore::Commit() {
  while (true) {
    std::deque<Operation> taken;
    {
      std::unique_lock<std::mutex> lock(queue_mutex_);
      queue_changed_.wait(lock, [&] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;  // closing: what was queued before is done
      taken.swap(queue_);
    }
    Batch batch;
    for (Operation& operation : taken) {
      if (operation.alone) {
        Flush(batch);  // the order of arrival is the order of the changes
        operation.alone();
      } else {
        Gather(std::move(operation), batch);
        if (batch.writes.GetDataSize() >= batch_bytes_max_) Flush(batch);
      }
    }
    Flush(batch);
  }
}

void RocksDbStore::Gather(Operation operation, Batch& batch) {
  const CheckedReport& report = operation.report;
  RoundEntry* entry = Find(report.round_id);
  if (entry == nullptr) return operation.done(absl::NotFoundError(absl::StrCat("there is no round ", report.round_id)));
  if (report.node >= entry->reported.size()) {
    return operation.done(absl::InvalidArgumentError(absl::StrCat("node ", report.node, " is not below n")));
  }
  const auto another = [&] {
    return absl::AlreadyExistsError(absl::StrCat("another report of node ", report.node, " is held for round ",
                                                 report.round_id, "; the first one is kept. Either another machine uses this node's "
                                                 "key, or this node lost its journal and drew again"));
  };
  PutOutcome outcome;
  outcome.receipt.set_round_id(report.round_id);
  outcome.receipt.set_node_id(report.node);
  outcome.receipt.set_digest(DigestToBytes(report.report.digest));
  outcome.receipt.set_received_minute(report.received_minute);
  const std::string key = records::DigestKey(report.round_id, report.node);
  if (entry->reported.Test(static_cast<uint32_t>(report.node))) {
    const absl::StatusOr<records::DigestRecord> held = ReadDigest(key);
    if (!held.ok()) return operation.done(held.status());
    if (held->digest != report.report.digest) return operation.done(another());
    outcome.receipt.set_received_minute(held->received_minute);
    outcome.reports = entry->reports;
    return operation.done(std::move(outcome));
  }
  if (entry->round.state() != v1::ROUND_STATE_OPEN) {
    return operation.done(absl::FailedPreconditionError(
        absl::StrCat("round ", report.round_id, " is ", RoundStateName(entry->round.state()),
                     ": it accepts no further report, and none of node ", report.node, " is held")));
  }
  const auto [gathered, is_new] = batch.fresh_of_key.try_emplace(key, batch.fresh.size());
  if (!is_new) {
    const Gathered& first = batch.fresh[gathered->second];
    if (first.outcome.receipt.digest() != outcome.receipt.digest()) return operation.done(another());
    batch.again.push_back({entry, report.node, report.implausible, first.outcome, std::move(operation.done)});
    return;
  }
  batch.writes.Put(key, records::EncodeDigest({report.report.digest, report.received_minute, report.implausible}));
  batch.writes.Put(records::ReportKey(report.round_id, report.node), records::EncodeReportRecord(report.report));
  outcome.fresh = true;
  batch.fresh.push_back({entry, report.node, report.implausible, std::move(outcome), std::move(operation.done)});
}

void RocksDbStore::Flush(Batch& batch) {
  if (!batch.fresh.empty()) {
    const absl::Status written = Write(batch.writes, "store reports");
    if (written.ok()) {
      std::lock_guard<std::mutex> lock(rounds_mutex_);
      for (Gathered& gathered : batch.fresh) {
        gathered.entry->reported.Set(static_cast<uint32_t>(gathered.node));
        gathered.outcome.reports = ++gathered.entry->reports;
        gathered.entry->flagged += gathered.implausible;
      }
    } else if (absl::Now() >= next_error_log_) {  // every report meets a full disk; the log need not say so each time
      spdlog::error("{}", written.ToString(absl::StatusToStringMode::kWithNoExtraData));
      next_error_log_ = absl::Now() + absl::Seconds(10);
    }
    // A status of its own for everyone: the count of a shared one is kept in Abseil's library, where TSan cannot see
    // it.
    const auto failure = [&] { return absl::Status(written.code(), written.message()); };
    for (Gathered& gathered : batch.fresh) {
      written.ok() ? gathered.done(std::move(gathered.outcome)) : gathered.done(failure());
    }
    for (Gathered& gathered : batch.again) {
      gathered.outcome.fresh = false;
      gathered.outcome.reports = gathered.entry->reports;
      written.ok() ? gathered.done(std::move(gathered.outcome)) : gathered.done(failure());
    }
  }
  batch = Batch();
}

RoundEntry* RocksDbStore::Find(const std::string& round_id) {
  const auto found = rounds_.find(round_id);
  return found == rounds_.end() ? nullptr : found->second.get();
}

v1::Round RocksDbStore::Snapshot(const RoundEntry& entry) const {
  v1::Round round = entry.round;
  round.set_reports(entry.reports);
  round.set_flagged(entry.flagged);
  return round;
}

absl::StatusOr<v1::Round> RocksDbStore::CreateRound(const v1::Round& round, const std::string& request_id) {
  return RunAlone([&]() -> absl::StatusOr<v1::Round> {
    if (!request_id.empty()) {
      std::string made;
      const rocksdb::Status found = db_->Get(rocksdb::ReadOptions(), records::RequestKey(request_id), &made);
      if (found.ok()) {
        const RoundEntry* entry = Find(made);
        if (entry == nullptr) return absl::DataLossError(absl::StrCat("the store lost round ", made));
        return Snapshot(*entry);
      }
      if (!found.IsNotFound()) return FromRocksDb(found, "read a request id");
    }
    if (Find(round.round_id()) != nullptr) {
      return absl::AlreadyExistsError(absl::StrCat("round ", round.round_id(), " exists already"));
    }
    auto entry = std::make_unique<RoundEntry>();
    entry->round = round;
    entry->round.set_reports(0);
    entry->round.set_flagged(0);
    entry->reported = BitRow(round.parameters().node_count());
    rocksdb::WriteBatch writes;
    writes.Put(records::RoundKey(round.round_id()), entry->round.SerializeAsString());
    if (!request_id.empty()) writes.Put(records::RequestKey(request_id), round.round_id());
    BLINK_RETURN_IF_ERROR(Write(writes, "store a round"));
    v1::Round stored = Snapshot(*entry);
    std::lock_guard<std::mutex> lock(rounds_mutex_);
    rounds_.emplace(round.round_id(), std::move(entry));
    return stored;
  });
}

absl::StatusOr<v1::Round> RocksDbStore::UpdateRound(const std::string& round_id,
                                                    const std::vector<v1::RoundState>& expected,
                                                    const std::function<absl::Status(v1::Round&)>& change) {
  return RunAlone([&]() -> absl::StatusOr<v1::Round> {
    RoundEntry* entry = Find(round_id);
    if (entry == nullptr) return absl::NotFoundError(absl::StrCat("there is no round ", round_id));
    if (std::find(expected.begin(), expected.end(), entry->round.state()) == expected.end()) {
      return absl::FailedPreconditionError(
          absl::StrCat("round ", round_id, " is ", RoundStateName(entry->round.state())));
    }
    v1::Round changed = Snapshot(*entry);
    BLINK_RETURN_IF_ERROR(change(changed));
    changed.set_round_id(round_id);
    changed.set_reports(entry->reports);
    changed.set_flagged(entry->flagged);
    rocksdb::WriteBatch writes;
    writes.Put(records::RoundKey(round_id), changed.SerializeAsString());
    BLINK_RETURN_IF_ERROR(Write(writes, "store the state of a round"));
    std::lock_guard<std::mutex> lock(rounds_mutex_);
    entry->round = changed;
    return changed;
  });
}

void RocksDbStore::PutReport(CheckedReport report, PutCallback done) {
  Operation operation;
  operation.report = std::move(report);
  operation.done = done;
  if (!Enqueue(std::move(operation))) done(absl::UnavailableError("the store is being closed"));
}

absl::Status RocksDbStore::RequireRound(const std::string& round_id) {
  std::lock_guard<std::mutex> lock(rounds_mutex_);
  if (Find(round_id) == nullptr) return absl::NotFoundError(absl::StrCat("there is no round ", round_id));
  return absl::OkStatus();
}

absl::StatusOr<v1::Round> RocksDbStore::GetRound(const std::string& round_id) {
  std::lock_guard<std::mutex> lock(rounds_mutex_);
  const RoundEntry* entry = Find(round_id);
  if (entry == nullptr) return absl::NotFoundError(absl::StrCat("there is no round ", round_id));
  return Snapshot(*entry);
}

std::vector<v1::Round> RocksDbStore::List(bool only_open) {
  std::vector<v1::Round> rounds;
  {
    std::lock_guard<std::mutex> lock(rounds_mutex_);
    for (const auto& [round_id, entry] : rounds_) {
      if (!only_open || entry->round.state() == v1::ROUND_STATE_OPEN) rounds.push_back(Snapshot(*entry));
    }
  }
  std::sort(rounds.begin(), rounds.end(), [](const v1::Round& a, const v1::Round& b) {
    return a.created_ms() != b.created_ms() ? a.created_ms() < b.created_ms() : a.round_id() < b.round_id();
  });
  return rounds;
}

absl::StatusOr<records::DigestRecord> RocksDbStore::ReadDigest(const std::string& key) {
  std::string value;
  BLINK_RETURN_IF_ERROR(FromRocksDb(db_->Get(rocksdb::ReadOptions(), key, &value), "read a digest"));
  return records::DecodeDigest(value);
}

absl::StatusOr<std::optional<Digest>> RocksDbStore::GetDigest(const std::string& round_id, uint64_t node) {
  {
    std::lock_guard<std::mutex> lock(rounds_mutex_);
    const RoundEntry* entry = Find(round_id);
    if (entry == nullptr) return absl::NotFoundError(absl::StrCat("there is no round ", round_id));
    if (node >= entry->reported.size() || !entry->reported.Test(static_cast<uint32_t>(node))) {
      return std::optional<Digest>();
    }
  }
  BLINK_ASSIGN_OR_RETURN(const records::DigestRecord record, ReadDigest(records::DigestKey(round_id, node)));
  return std::optional<Digest>(record.digest);
}

absl::Status RocksDbStore::VisitDigests(const std::string& round_id, uint64_t first, uint64_t last, uint64_t limit,
                                        const std::function<absl::Status(uint64_t, const Digest&)>& visit) {
  BLINK_RETURN_IF_ERROR(RequireRound(round_id));
  const std::string prefix = records::DigestPrefix(round_id);
  std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(rocksdb::ReadOptions()));
  for (it->Seek(records::DigestKey(round_id, first)); it->Valid() && it->key().starts_with(prefix) && limit > 0;
       it->Next(), --limit) {
    const uint64_t node = records::NodeOfKey(ViewOf(it->key()));
    if (node > last) break;
    BLINK_ASSIGN_OR_RETURN(const records::DigestRecord record, records::DecodeDigest(ViewOf(it->value())));
    BLINK_RETURN_IF_ERROR(visit(node, record.digest));
  }
  return FromRocksDb(it->status(), "list the digests");
}

absl::Status RocksDbStore::VisitReports(const std::string& round_id,
                                        const std::function<absl::Status(uint64_t, const CodedReport&)>& visit) {
  BLINK_RETURN_IF_ERROR(RequireRound(round_id));
  const std::string prefix = records::ReportPrefix(round_id);
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options));
  for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next()) {
    BLINK_ASSIGN_OR_RETURN(const CodedReport report, records::DecodeReportRecord(ViewOf(it->value())));
    BLINK_RETURN_IF_ERROR(visit(records::NodeOfKey(ViewOf(it->key())), report));
  }
  return FromRocksDb(it->status(), "read the reports");
}

// RocksDB as Debian builds it ends the process by an assertion when the disk is full while it opens a store that exists.
absl::Status CheckSpaceToOpen(const std::string& folder, uint64_t needed) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".log") continue;  // replayed, and written as a table
    std::error_code gone;
    const uint64_t size = at->file_size(gone);
    if (!gone) needed += size;
  }
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) return absl::OkStatus();  // it is tried then
  const uint64_t available = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
  if (available >= needed) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("cannot open the store ", folder, ": its disk has ", available, " bytes left, and ",
                                                   needed, " are needed; free space on the aggregator's disk"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReportStore>> OpenRocksDbStore(const std::string& folder, RocksDbOptions options) {
  BLINK_RETURN_IF_ERROR(MakeDirectories(folder));
  absl::StatusOr<FileLock> lock = FileLock::Acquire(absl::StrCat(folder, "/store.lock"));
  if (!lock.ok()) {
    return Reworded(lock.status(),
                    absl::StrCat("cannot open the store ", folder, ": ", lock.status().message(),
                                     absl::IsAborted(lock.status()) ? ": end it first, or use another data folder" : ""));
  }
  BLINK_RETURN_IF_ERROR(CheckSpaceToOpen(folder, options.space_to_open));
  rocksdb::DB* raw = nullptr;
  const rocksdb::Status opened = rocksdb::DB::Open(MakeOptions(options), folder, &raw);
  if (!opened.ok()) return FromRocksDb(opened, absl::StrCat("open the store ", folder));
  auto store = std::make_unique<RocksDbStore>(*std::move(lock), std::unique_ptr<rocksdb::DB>(raw), options);
  BLINK_RETURN_IF_ERROR(store->Load());
  store->Start();
  return std::unique_ptr<ReportStore>(std::move(store));
}

}  // namespace blink
