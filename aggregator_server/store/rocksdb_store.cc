#include "aggregator_server/store/rocksdb_store.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "aggregator_server/store/records.h"
#include "aggregator_server/store/report_answers.h"
#include "aggregator_server/store/report_batch.h"
#include "aggregator_server/store/synced_db.h"
#include "aggregator_server/store/write_mark.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/privacy/bit_row.h"
#include "common/wire/round.h"

namespace blink {
namespace {

class RocksDbStore final : public ReportStore {
 public:
  RocksDbStore(std::unique_ptr<SyncedDb> db, const std::string& folder, uint64_t batch_bytes_max)
      : db_(std::move(db)), mark_(folder), batch_bytes_max_(batch_bytes_max) {}

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

  absl::StatusOr<std::optional<v1::Round>> FindRequest(const std::string& request_id) override;
  absl::StatusOr<v1::Round> CreateRound(const v1::Round& round, const std::string& request_id,
                                        const std::string& groups) override;
  absl::StatusOr<std::string> GetGroupsPart(const std::string& round_id, uint32_t part) override;
  absl::StatusOr<v1::Round> GetRound(const std::string& round_id) override;
  absl::StatusOr<std::vector<v1::Round>> ListRounds() override { return List(/*only_open=*/false); }
  absl::StatusOr<std::vector<v1::Round>> ListOpenRounds() override { return List(/*only_open=*/true); }
  absl::StatusOr<v1::Round> UpdateRound(const std::string& round_id, const std::vector<v1::RoundState>& expected,
                                        const std::function<absl::Status(v1::Round&)>& change) override;
  void PutReport(CheckedReport report, PutCallback done) override;
  absl::StatusOr<std::optional<Digest>> GetDigest(const std::string& round_id, uint64_t node) override;
  absl::Status VisitDigests(const std::string& round_id, uint64_t first, uint64_t last, uint64_t limit,
                            const std::function<absl::Status(uint64_t, const Digest&)>& visit) override;
  absl::Status CheckCanStore() override { return db_->CheckCanWrite(); }
  absl::StatusOr<RoundsSeen> LookAtRounds() override;
  StoreActivity GetActivity() override;
  absl::Status VisitReports(const std::string& round_id,
                            const std::function<absl::Status(uint64_t, const CodedReport&)>& visit) override;
  absl::Status MakeSnapshot(const std::string& folder) override;
  absl::StatusOr<std::map<std::string, std::string>> ListWrappedKeys() override;
  absl::StatusOr<std::string> GetWrappedKey(const std::string& round_id) override;
  absl::Status ReplaceWrappedKey(const std::string& round_id, const std::string& before,
                                 const std::string& after) override;
  absl::Status ForgetReplacedKeys() override {
    return db_->Purge({{records::kKeysPrefix, records::EndOfPrefix(records::kKeysPrefix)}});
  }
  absl::Status DeleteReports(const std::string& round_id) override;

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;
  // One change in the queue: a report, or any other operation on the rounds, which runs alone.
  struct Operation {
    CheckedReport report;
    PutCallback done;
    std::function<void()> alone;
  };

  absl::Status CheckFormat();
  absl::Status LoadRounds();
  absl::Status LoadReportsOf(const std::string& round_id, RoundEntry& entry);
  std::vector<v1::Round> List(bool only_open);
  bool Enqueue(Operation operation);
  absl::StatusOr<v1::Round> RunAlone(std::function<absl::StatusOr<v1::Round>()> operation);
  void Commit();
  void Gather(Operation operation, ReportBatch& batch);
  void Flush(ReportBatch& batch, SteadyTime since);
  Acknowledged CountAcknowledged() const;         // committer thread
  void SetMark();                                 // committer thread, after each write
  RoundEntry* Find(const std::string& round_id);  // committer thread
  absl::Status RequireRound(const std::string& round_id);

  const std::unique_ptr<SyncedDb> db_;
  WriteMark mark_;
  const uint64_t batch_bytes_max_;
  uint64_t reports_ = 0;  // of all rounds; committer thread

  std::mutex rounds_mutex_;  // the committer writes under it and reads without it
  std::unordered_map<std::string, std::unique_ptr<RoundEntry>> rounds_;

  std::mutex queue_mutex_;
  std::condition_variable queue_changed_;
  std::deque<Operation> queue_;
  SteadyTime queued_since_;  // the first of them
  bool closing_ = false;
  absl::Time next_error_log_ = absl::InfinitePast();  // committer thread
  uint64_t refused_ = 0;                              // reports, since the last one that was stored; committer thread
  Tally batch_seconds_{std::vector<double>{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}};
  Tally batch_reports_{std::vector<double>{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000}};
  std::thread committer_;
};

absl::Status RocksDbStore::Load() {
  BLINK_RETURN_IF_ERROR(CheckFormat());
  BLINK_RETURN_IF_ERROR(LoadRounds());
  for (auto& [round_id, entry] : rounds_) {
    BLINK_RETURN_IF_ERROR(LoadReportsOf(round_id, *entry));
    reports_ += entry->reports;
  }
  SetMark();
  return absl::OkStatus();
}

absl::Status RocksDbStore::CheckFormat() {
  std::string format;
  const rocksdb::Status found = db_->Get(records::kFormatKey, &format);
  if (found.IsNotFound()) {
    const std::unique_ptr<rocksdb::Iterator> any = db_->Iterate();
    any->SeekToFirst();
    if (any->Valid()) return absl::DataLossError(records::kNoFormat);
    rocksdb::WriteBatch writes;
    writes.Put(records::kFormatKey, records::kFormat);
    return db_->Write(writes, "write the store's format");
  }
  BLINK_RETURN_IF_ERROR(FromRocksDb(found, "read the store's format"));
  return records::CheckFormat(format);
}

absl::Status RocksDbStore::LoadRounds() {
  const std::unique_ptr<rocksdb::Iterator> it = db_->Iterate();
  for (it->Seek(records::kRoundPrefix); it->Valid() && it->key().starts_with(records::kRoundPrefix); it->Next()) {
    auto entry = std::make_unique<RoundEntry>();
    if (!entry->round.ParseFromArray(it->value().data(), static_cast<int>(it->value().size()))) {
      return absl::DataLossError(absl::StrCat("the store's entry ", it->key().ToString(), " cannot be read"));
    }
    entry->reported = BitRow(entry->round.parameters().node_count());
    rounds_.emplace(entry->round.round_id(), std::move(entry));
  }
  return FromRocksDb(it->status(), "list the rounds");
}

absl::Status RocksDbStore::LoadReportsOf(const std::string& round_id, RoundEntry& entry) {
  const std::string prefix = records::DigestPrefix(round_id);
  const std::unique_ptr<rocksdb::Iterator> it = db_->Iterate();
  for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next()) {
    const uint64_t node = records::NodeOfKey(ToView(it->key()));
    if (it->key().size() != prefix.size() + 8 || node >= entry.reported.size()) {
      return absl::DataLossError(absl::StrCat("the store holds a report of a node that round ", round_id, " has not"));
    }
    entry.reported.Set(static_cast<uint32_t>(node));
    ++entry.reports;
    BLINK_ASSIGN_OR_RETURN(const records::DigestRecord record, records::DecodeDigest(ToView(it->value())));
    entry.flagged += record.implausible;
  }
  return FromRocksDb(it->status(), "count the reports");
}

bool RocksDbStore::Enqueue(Operation operation) {
  {
    std::lock_guard<std::mutex> lock(queue_mutex_);
    if (closing_) return false;
    if (queue_.empty()) queued_since_ = std::chrono::steady_clock::now();
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
    SteadyTime since;
    {
      std::unique_lock<std::mutex> lock(queue_mutex_);
      queue_changed_.wait(lock, [&] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;  // closing: what was queued before is done
      taken.swap(queue_);
      since = queued_since_;
    }
    ReportBatch batch(*db_);
    for (Operation& operation : taken) {
      if (operation.alone) {
        Flush(batch, since);  // the order of arrival is the order of the changes
        operation.alone();
      } else {
        Gather(std::move(operation), batch);
        if (batch.bytes() >= batch_bytes_max_) Flush(batch, since);
      }
    }
    Flush(batch, since);
  }
}

void RocksDbStore::Gather(Operation operation, ReportBatch& batch) {
  RoundEntry* entry = Find(operation.report.round_id);
  if (entry == nullptr) {
    return operation.done(absl::NotFoundError(absl::StrCat("there is no round ", operation.report.round_id)));
  }
  batch.Add(*entry, std::move(operation.report), std::move(operation.done));
}

void RocksDbStore::Flush(ReportBatch& batch, SteadyTime since) {
  if (batch.empty()) return;
  batch_reports_.Add(static_cast<double>(batch.fresh()));
  const absl::Status written = db_->Write(batch.writes(), "store reports");
  if (written.ok()) {
    if (refused_ > 0)
      spdlog::info("reports are stored again; {} were refused, and their nodes send them again", refused_);
    refused_ = 0;
    next_error_log_ = absl::InfinitePast();
    std::lock_guard<std::mutex> lock(rounds_mutex_);
    reports_ += batch.fresh();
    batch.CountReports();
    SetMark();
  } else {
    refused_ += batch.fresh();
    // Every report meets a full disk. The log need not say so each time.
    if (absl::Now() >= next_error_log_) {
      spdlog::error("{} ({} reports refused so far)", std::string(written.message()), refused_);
      next_error_log_ = absl::Now() + absl::Minutes(10);
    }
  }
  batch.Answer(written);
  batch_seconds_.Add(std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count());
}

Acknowledged RocksDbStore::CountAcknowledged() const {
  return {.sequence = db_->LastSequence(), .rounds = rounds_.size(), .reports = reports_};
}

void RocksDbStore::SetMark() { mark_.Set(CountAcknowledged()); }

absl::Status RocksDbStore::MakeSnapshot(const std::string& folder) {
  return RunAlone([&]() -> absl::StatusOr<v1::Round> {
           BLINK_RETURN_IF_ERROR(db_->MakeCheckpoint(folder));
           BLINK_RETURN_IF_ERROR(WriteFileAtomically(folder + "/acknowledged", MarkToText(CountAcknowledged())));
           return v1::Round();
         })
      .status();
}

RoundEntry* RocksDbStore::Find(const std::string& round_id) {
  const auto found = rounds_.find(round_id);
  return found == rounds_.end() ? nullptr : found->second.get();
}

absl::StatusOr<v1::Round> RocksDbStore::CreateRound(const v1::Round& round, const std::string& request_id,
                                                    const std::string& groups) {
  return RunAlone([&]() -> absl::StatusOr<v1::Round> {
    if (!request_id.empty()) {
      std::string made;
      const rocksdb::Status found = db_->Get(records::RequestKey(request_id), &made);
      if (found.ok()) {
        const RoundEntry* entry = Find(made);
        if (entry == nullptr) return absl::DataLossError(absl::StrCat("the store lost round ", made));
        return entry->MakeSnapshot();
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
    for (size_t at = 0; at < groups.size(); at += kGroupsPartBytes) {
      writes.Put(records::GroupsKey(round.round_id(), at / kGroupsPartBytes), groups.substr(at, kGroupsPartBytes));
    }
    BLINK_RETURN_IF_ERROR(db_->Write(writes, "store a round"));
    v1::Round stored = entry->MakeSnapshot();
    std::lock_guard<std::mutex> lock(rounds_mutex_);
    rounds_.emplace(round.round_id(), std::move(entry));
    SetMark();
    return stored;
  });
}

absl::StatusOr<std::optional<v1::Round>> RocksDbStore::FindRequest(const std::string& request_id) {
  std::string made;
  const rocksdb::Status found = db_->Get(records::RequestKey(request_id), &made);
  if (found.IsNotFound()) return std::nullopt;
  BLINK_RETURN_IF_ERROR(FromRocksDb(found, "read a request id"));
  BLINK_ASSIGN_OR_RETURN(v1::Round round, GetRound(made));
  return round;
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
    v1::Round changed = entry->MakeSnapshot();
    BLINK_RETURN_IF_ERROR(change(changed));
    changed.set_round_id(round_id);
    changed.set_reports(entry->reports);
    changed.set_flagged(entry->flagged);
    rocksdb::WriteBatch writes;
    writes.Put(records::RoundKey(round_id), changed.SerializeAsString());
    BLINK_RETURN_IF_ERROR(db_->Write(writes, "store the state of a round"));
    std::lock_guard<std::mutex> lock(rounds_mutex_);
    entry->round = changed;
    SetMark();
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
  return entry->MakeSnapshot();
}

std::vector<v1::Round> RocksDbStore::List(bool only_open) {
  std::vector<v1::Round> rounds;
  {
    std::lock_guard<std::mutex> lock(rounds_mutex_);
    for (const auto& [round_id, entry] : rounds_) {
      if (!only_open || entry->round.state() == v1::ROUND_STATE_OPEN) rounds.push_back(entry->MakeSnapshot());
    }
  }
  std::sort(rounds.begin(), rounds.end(), [](const v1::Round& a, const v1::Round& b) {
    return a.created_ms() != b.created_ms() ? a.created_ms() < b.created_ms() : a.round_id() < b.round_id();
  });
  return rounds;
}

absl::StatusOr<RoundsSeen> RocksDbStore::LookAtRounds() {
  RoundsSeen seen{.open = List(/*only_open=*/true)};
  std::lock_guard<std::mutex> lock(rounds_mutex_);
  for (const auto& [round_id, entry] : rounds_) ++seen.by_state[entry->round.state()];
  return seen;
}

StoreActivity RocksDbStore::GetActivity() {
  StoreActivity activity{.failed_writes = db_->failed_writes(),
                         .write_seconds = db_->write_seconds(),
                         .batch_seconds = batch_seconds_.Read(),
                         .batch_reports = batch_reports_.Read()};
  std::lock_guard<std::mutex> lock(queue_mutex_);
  activity.queued = queue_.size();
  return activity;
}

absl::StatusOr<std::string> RocksDbStore::GetGroupsPart(const std::string& round_id, uint32_t part) {
  BLINK_RETURN_IF_ERROR(RequireRound(round_id));
  std::string bytes;
  const rocksdb::Status found = db_->Get(records::GroupsKey(round_id, part), &bytes);
  if (found.IsNotFound()) {
    return absl::NotFoundError(absl::StrCat("round ", round_id, " has no groups, or no part ", part, " of them"));
  }
  BLINK_RETURN_IF_ERROR(FromRocksDb(found, "read the groups of a round"));
  return bytes;
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
  BLINK_ASSIGN_OR_RETURN(const records::DigestRecord record, ReadDigest(*db_, records::DigestKey(round_id, node)));
  return std::optional<Digest>(record.digest);
}

absl::Status RocksDbStore::VisitDigests(const std::string& round_id, uint64_t first, uint64_t last, uint64_t limit,
                                        const std::function<absl::Status(uint64_t, const Digest&)>& visit) {
  BLINK_RETURN_IF_ERROR(RequireRound(round_id));
  const std::string prefix = records::DigestPrefix(round_id);
  const std::unique_ptr<rocksdb::Iterator> it = db_->Iterate();
  for (it->Seek(records::DigestKey(round_id, first)); it->Valid() && it->key().starts_with(prefix) && limit > 0;
       it->Next(), --limit) {
    const uint64_t node = records::NodeOfKey(ToView(it->key()));
    if (node > last) break;
    BLINK_ASSIGN_OR_RETURN(const records::DigestRecord record, records::DecodeDigest(ToView(it->value())));
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
  const std::unique_ptr<rocksdb::Iterator> it = db_->Iterate(options);
  for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next()) {
    BLINK_ASSIGN_OR_RETURN(const CodedReport report, records::DecodeReportRecord(ToView(it->value())));
    BLINK_RETURN_IF_ERROR(visit(records::NodeOfKey(ToView(it->key())), report));
  }
  return FromRocksDb(it->status(), "read the reports");
}

absl::StatusOr<std::map<std::string, std::string>> RocksDbStore::ListWrappedKeys() {
  constexpr absl::string_view kPrefix = records::kKeysPrefix;
  std::map<std::string, std::string> keys;
  const std::unique_ptr<rocksdb::Iterator> it = db_->Iterate();
  for (it->Seek(records::kKeysPrefix); it->Valid() && it->key().starts_with(records::kKeysPrefix); it->Next()) {
    keys[std::string(ToView(it->key()).substr(kPrefix.size()))] = it->value().ToString();
  }
  BLINK_RETURN_IF_ERROR(FromRocksDb(it->status(), "list the keys of rounds"));
  return keys;
}

absl::StatusOr<std::string> RocksDbStore::GetWrappedKey(const std::string& round_id) {
  std::string wrapped;
  const rocksdb::Status found = db_->Get(records::WrappedKeyKey(round_id), &wrapped);
  if (found.IsNotFound()) return std::string();
  BLINK_RETURN_IF_ERROR(FromRocksDb(found, "read the key of a round"));
  return wrapped;
}

absl::Status RocksDbStore::ReplaceWrappedKey(const std::string& round_id, const std::string& before,
                                             const std::string& after) {
  return RunAlone([&]() -> absl::StatusOr<v1::Round> {
           BLINK_ASSIGN_OR_RETURN(const std::string held, GetWrappedKey(round_id));
           if (held != before)
             return absl::AbortedError(absl::StrCat("the key of round ", round_id, " is another one"));
           rocksdb::WriteBatch writes;
           if (after.empty()) {
             writes.Delete(records::WrappedKeyKey(round_id));
           } else {
             writes.Put(records::WrappedKeyKey(round_id), after);
             writes.Put(records::kFormatKey, records::kFormatOfKeys);
           }
           BLINK_RETURN_IF_ERROR(db_->Write(writes, "store the key of a round"));
           SetMark();
           return v1::Round();
         })
      .status();
}

absl::Status RocksDbStore::DeleteReports(const std::string& round_id) {
  const std::string reports = records::ReportPrefix(round_id), key = records::WrappedKeyKey(round_id);
  BLINK_RETURN_IF_ERROR(RunAlone([&]() -> absl::StatusOr<v1::Round> {
                          const RoundEntry* entry = Find(round_id);
                          if (entry == nullptr) return NoSuchRound(round_id);
                          BLINK_RETURN_IF_ERROR(RequireEnded(entry->round));
                          rocksdb::WriteBatch writes;
                          writes.DeleteRange(reports, records::EndOfPrefix(reports));
                          writes.Delete(key);
                          writes.Put(records::kFormatKey, records::kFormatOfKeys);
                          BLINK_RETURN_IF_ERROR(db_->Write(writes, "delete the reports of a round"));
                          SetMark();
                          return v1::Round();
                        }).status());
  const std::string round = records::RoundKey(round_id);  // its earlier versions may have a result
  return db_->Purge({{reports, records::EndOfPrefix(reports)}, {key, key + '\0'}, {round, round + '\0'}});
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReportStore>> OpenRocksDbStore(const std::string& folder, RocksDbOptions options) {
  BLINK_ASSIGN_OR_RETURN(std::unique_ptr<SyncedDb> db, SyncedDb::Open(folder, options));
  auto store = std::make_unique<RocksDbStore>(std::move(db), folder, options.batch_bytes_max);
  BLINK_RETURN_IF_ERROR(store->Load());
  store->Start();
  return std::unique_ptr<ReportStore>(std::move(store));
}

}  // namespace blink
