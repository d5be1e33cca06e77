#include "aggregator_server/store/postgres_store.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "aggregator_server/store/postgres_batch.h"
#include "aggregator_server/store/postgres_keys.h"
#include "aggregator_server/store/postgres_lease.h"
#include "aggregator_server/store/postgres_migrations.h"
#include "aggregator_server/store/postgres_rounds.h"
#include "aggregator_server/store/postgres_session.h"
#include "aggregator_server/store/report_answers.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr size_t kConnections = 8;  // of the pool; the committer and the lease have their own
constexpr size_t kBatchReportsMax = 5000;
constexpr size_t kRecentRoundsMax = 256;
constexpr auto kRecentMax = std::chrono::seconds(1);
constexpr auto kProbeEvery = std::chrono::seconds(1);

// Of the connection that asks how the store is: a server that does not answer shows soon.
PostgresOptions OfProbe(PostgresOptions options) {
  constexpr absl::Duration kLimit = absl::Seconds(2);
  for (absl::Duration* const limit : {&options.statement_max, &options.lock_max, &options.call_max}) {
    *limit = std::min(*limit, kLimit);
  }
  return options;
}

class PostgresStore final : public ReportStore {
 public:
  PostgresStore(const PostgresTarget& target, PostgresOptions options)
      : target_(target),
        options_(std::move(options)),
        pool_(target_, options_, watchdog_, kConnections),
        writes_(target_, options_, watchdog_),
        probe_(target_, probe_options_, watchdog_),
        lease_(target_, options_, watchdog_) {}
  ~PostgresStore() override;

  absl::Status Open();

  absl::StatusOr<v1::Round> CreateRound(const v1::Round& round, const std::string& request_id,
                                        const std::string& groups) override;
  absl::StatusOr<std::optional<v1::Round>> FindRequest(const std::string& request_id) override;
  absl::StatusOr<std::string> GetGroupsPart(const std::string& round_id, uint32_t part) override;
  absl::StatusOr<v1::Round> GetRound(const std::string& round_id) override;
  absl::StatusOr<v1::Round> GetRecentRound(const std::string& round_id) override;
  absl::StatusOr<std::vector<v1::Round>> ListRounds() override { return List(kAllRounds); }
  absl::StatusOr<std::vector<v1::Round>> ListUnfinishedRounds() override { return List(kUnfinishedRounds); }
  absl::StatusOr<std::vector<v1::Round>> ListOpenRounds() override { return List(kOpenRounds); }
  absl::StatusOr<v1::Round> UpdateRound(const std::string& round_id, const std::vector<v1::RoundState>& expected,
                                        const std::function<absl::Status(v1::Round&)>& change) override {
    return Change({round_id, expected, change, std::nullopt});
  }
  std::optional<uint64_t> GetLease() override { return lease_.Get(); }
  absl::StatusOr<v1::Round> UpdateRoundAsHolder(uint64_t lease, const std::string& round_id,
                                                const std::vector<v1::RoundState>& expected,
                                                const std::function<absl::Status(v1::Round&)>& change) override {
    return Change({round_id, expected, change, lease});
  }
  bool IsShared() const override { return true; }
  void TellProgress(const std::string& round_id, double fraction, const std::string& text) override;
  absl::StatusOr<std::string> GetOrSetNote(const std::string& name, const std::string& value) override;
  void PutReport(CheckedReport report, PutCallback done) override;
  absl::StatusOr<std::optional<Digest>> GetDigest(const std::string& round_id, uint64_t node) override;
  absl::Status VisitDigests(const std::string& round_id, uint64_t first, uint64_t last, uint64_t limit,
                            const std::function<absl::Status(uint64_t, const Digest&)>& visit) override;
  absl::Status CheckCanStore() override;
  absl::StatusOr<RoundsSeen> LookAtRounds() override;
  StoreActivity GetActivity() override;
  absl::Status VisitReports(const std::string& round_id,
                            const std::function<absl::Status(uint64_t, const CodedReport&)>& visit) override;
  absl::StatusOr<std::map<std::string, std::string>> ListWrappedKeys() override;
  absl::StatusOr<std::string> GetWrappedKey(const std::string& round_id) override;
  absl::Status ReplaceWrappedKey(const std::string& round_id, const std::string& before,
                                 const std::string& after) override;
  absl::Status DeleteReports(const std::string& round_id) override;

 private:
  struct Operation {
    CheckedReport report;
    PutCallback done;
  };

  absl::StatusOr<std::vector<v1::Round>> List(const char* which);
  absl::StatusOr<v1::Round> Change(const RoundChange& change);
  absl::Status Probe(absl::string_view what, const PostgresSession::Work& work);
  void Remember(const v1::Round& round);
  PostgresOutcome Write(absl::string_view what, const PostgresSession::Work& work);
  absl::StatusOr<int64_t> FindSeq(pqxx::transaction_base& transaction, const std::string& round_id);
  void Commit();
  void Flush(PostgresBatch& batch, SteadyTime since);
  bool IsClosing();
  void NoteWrite(const absl::Status& written, size_t reports);

  const PostgresTarget target_;
  const PostgresOptions options_, probe_options_ = OfProbe(options_);
  const std::string writer_ = MakeMark();
  PostgresWatchdog watchdog_;
  PostgresPool pool_;
  PostgresSession writes_;  // the committer's
  PostgresSession probe_;   // of whoever asks how the store is; guarded by probe_mutex_
  PostgresLease lease_;

  std::mutex recent_mutex_;
  std::unordered_map<std::string, std::pair<SteadyTime, v1::Round>> recent_;

  std::mutex queue_mutex_;
  std::condition_variable queue_changed_;
  std::deque<Operation> queue_;
  SteadyTime queued_since_;  // the first of them
  bool closing_ = false;

  std::mutex probe_mutex_;
  std::mutex state_mutex_;
  absl::Status last_write_;
  SteadyTime next_probe_ = SteadyTime::min();
  absl::Status probed_;  // the last answer

  // The committer's.
  bool is_down_ = false;  // since a batch was given up
  absl::Time next_error_log_ = absl::InfinitePast();
  uint64_t refused_ = 0;  // reports, since the last one that was stored

  std::atomic<uint64_t> failed_writes_{0};
  Tally write_seconds_{std::vector<double>{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}};
  Tally batch_seconds_{std::vector<double>{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}};
  Tally batch_reports_{std::vector<double>{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000}};
  std::thread committer_;
};

PostgresStore::~PostgresStore() {
  {
    const std::lock_guard<std::mutex> lock(queue_mutex_);
    closing_ = true;
  }
  queue_changed_.notify_all();
  if (committer_.joinable()) committer_.join();
}

absl::Status PostgresStore::Open() {
  if (const absl::Status ready = Migrate(writes_).status; !ready.ok()) return WithDetail(ready, writes_.detail());
  lease_.Start();
  committer_ = std::thread([this] { Commit(); });
  return absl::OkStatus();
}

PostgresOutcome PostgresStore::Write(absl::string_view what, const PostgresSession::Work& work) {
  const SteadyTime began = std::chrono::steady_clock::now();
  PostgresOutcome outcome =
      pool_.Run(what, [&](PostgresSession&, pqxx::connection& connection) { return work(connection); });
  write_seconds_.Add(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  return outcome;
}

absl::StatusOr<v1::Round> PostgresStore::CreateRound(const v1::Round& round, const std::string& request_id,
                                                     const std::string& groups) {
  const std::string mark = MakeMark();
  absl::StatusOr<v1::Round> stored = absl::InternalError("not tried");
  const absl::Status written = TryThrice([&] {
    return Write("store a round", [&](pqxx::connection& connection) {
      stored = CreateRoundIn(connection, round, request_id, groups, mark);
      return stored.status();
    });
  });
  if (!written.ok()) return written;
  Remember(*stored);
  return stored;
}

absl::StatusOr<v1::Round> PostgresStore::Change(const RoundChange& change) {
  const std::string mark = MakeMark();
  absl::StatusOr<v1::Round> changed = absl::InternalError("not tried");
  const absl::Status written = TryThrice([&] {
    return Write("store the state of a round", [&](pqxx::connection& connection) {
      changed = ChangeRoundIn(connection, change, mark);
      return changed.status();
    });
  });
  if (!written.ok()) {
    if (absl::IsUnavailable(written) || absl::IsResourceExhausted(written)) ++failed_writes_;
    return written;
  }
  Remember(*changed);
  return changed;
}

void PostgresStore::Remember(const v1::Round& round) {
  const std::lock_guard<std::mutex> lock(recent_mutex_);
  if (recent_.size() >= kRecentRoundsMax) recent_.clear();
  recent_[round.round_id()] = {std::chrono::steady_clock::now(), round};
}

absl::StatusOr<std::optional<v1::Round>> PostgresStore::FindRequest(const std::string& request_id) {
  std::optional<v1::Round> found;
  BLINK_RETURN_IF_ERROR(pool_.RunAgain("read a request id", [&](PostgresSession&, pqxx::connection& connection) {
    pqxx::nontransaction reads(connection);
    const pqxx::result rows =
        SelectRounds(reads, "WHERE r.seq = (SELECT round FROM blink.requests WHERE request_id = $1)", request_id);
    if (rows.empty()) return absl::OkStatus();
    BLINK_ASSIGN_OR_RETURN(found, ReadRound(rows[0]));
    return absl::OkStatus();
  }));
  return found;
}

absl::StatusOr<int64_t> PostgresStore::FindSeq(pqxx::transaction_base& transaction, const std::string& round_id) {
  const pqxx::result rows = transaction.exec_params("SELECT seq FROM blink.rounds WHERE round_id = $1", round_id);
  if (rows.empty()) return NoSuchRound(round_id);
  return rows[0][0].as<int64_t>();
}

absl::StatusOr<std::string> PostgresStore::GetGroupsPart(const std::string& round_id, uint32_t part) {
  std::string bytes;
  BLINK_RETURN_IF_ERROR(
      pool_.RunAgain("read the groups of a round", [&](PostgresSession&, pqxx::connection& connection) {
        pqxx::nontransaction reads(connection);
        BLINK_ASSIGN_OR_RETURN(const int64_t seq, FindSeq(reads, round_id));
        const pqxx::result rows =
            reads.exec_params("SELECT bytes FROM blink.groups WHERE round = $1 AND part = $2::bigint", seq, part);
        if (rows.empty()) {
          return absl::NotFoundError(absl::StrCat("round ", round_id, " has no groups, or no part ", part, " of them"));
        }
        bytes = pqxx::binarystring(rows[0][0]).str();
        return absl::OkStatus();
      }));
  return bytes;
}

absl::StatusOr<v1::Round> PostgresStore::GetRound(const std::string& round_id) {
  absl::StatusOr<v1::Round> round = absl::InternalError("not read");
  BLINK_RETURN_IF_ERROR(pool_.RunAgain("read a round", [&](PostgresSession&, pqxx::connection& connection) {
    pqxx::nontransaction reads(connection);
    const pqxx::result rows = SelectRounds(reads, "WHERE r.round_id = $1", round_id);
    if (rows.empty()) return NoSuchRound(round_id);
    round = ReadRound(rows[0]);
    return round.status();
  }));
  Remember(*round);
  return round;
}

absl::StatusOr<v1::Round> PostgresStore::GetRecentRound(const std::string& round_id) {
  {
    const std::lock_guard<std::mutex> lock(recent_mutex_);
    const auto found = recent_.find(round_id);
    if (found != recent_.end() && std::chrono::steady_clock::now() - found->second.first < kRecentMax) {
      return found->second.second;
    }
  }
  return GetRound(round_id);
}

absl::StatusOr<std::vector<v1::Round>> PostgresStore::List(const char* which) {
  std::vector<v1::Round> rounds;
  BLINK_RETURN_IF_ERROR(pool_.RunAgain("list the rounds", [&](PostgresSession&, pqxx::connection& connection) {
    pqxx::nontransaction reads(connection);
    BLINK_ASSIGN_OR_RETURN(rounds, ReadRounds(reads, which));
    return absl::OkStatus();
  }));
  return rounds;
}

absl::StatusOr<RoundsSeen> PostgresStore::LookAtRounds() {
  RoundsSeen seen;
  BLINK_RETURN_IF_ERROR(Probe("look at the rounds", [&](pqxx::connection& connection) {
    pqxx::nontransaction reads(connection);
    seen = {};
    for (const pqxx::row& row : reads.exec("SELECT state, count(*) FROM blink.rounds GROUP BY state")) {
      seen.by_state[static_cast<v1::RoundState>(row[0].as<int>())] = row[1].as<uint64_t>();
    }
    BLINK_ASSIGN_OR_RETURN(seen.open, ReadRounds(reads, kOpenRounds));
    return absl::OkStatus();
  }));
  return seen;
}

void PostgresStore::TellProgress(const std::string& round_id, double fraction, const std::string& text) {
  const PostgresOutcome told = pool_.Run("tell the progress", [&](PostgresSession&, pqxx::connection& connection) {
    pqxx::nontransaction(connection)
        .exec_params(
            "INSERT INTO blink.progress (round, fraction, told) SELECT seq, $2, $3 FROM blink.rounds WHERE round_id = "
            "$1 AND state IN (3, 4) ON CONFLICT (round) DO UPDATE SET fraction = excluded.fraction, told = "
            "excluded.told",
            round_id, fraction, text);
    return absl::OkStatus();
  });
  if (!told.status.ok()) spdlog::debug("round {}: {}", round_id, std::string(told.status.message()));
}

absl::StatusOr<std::string> PostgresStore::GetOrSetNote(const std::string& name, const std::string& value) {
  std::string held;
  BLINK_RETURN_IF_ERROR(TryThrice([&] {
    return Write("store a note", [&](pqxx::connection& connection) {
      pqxx::work transaction(connection);
      transaction.exec_params("INSERT INTO blink.settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING", name,
                              value);
      held = transaction.exec_params1("SELECT value FROM blink.settings WHERE name = $1", name)[0].as<std::string>();
      transaction.commit();
      return absl::OkStatus();
    });
  }));
  return held;
}

void PostgresStore::PutReport(CheckedReport report, PutCallback done) {
  {
    const std::lock_guard<std::mutex> lock(queue_mutex_);
    if (!closing_) {
      if (queue_.empty()) queued_since_ = std::chrono::steady_clock::now();
      queue_.push_back({std::move(report), std::move(done)});
      done = nullptr;
    }
  }
  if (done) return done(absl::UnavailableError("the store is being closed"));
  queue_changed_.notify_one();
}

bool PostgresStore::IsClosing() {
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  return closing_;
}

void PostgresStore::Commit() {
  PostgresBatch batch(writer_);
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
    for (Operation& operation : taken) {
      batch.Add(std::move(operation.report), std::move(operation.done));
      if (batch.bytes() >= options_.batch_bytes_max || batch.size() >= kBatchReportsMax) Flush(batch, since);
    }
    Flush(batch, since);
  }
}

void PostgresStore::Flush(PostgresBatch& batch, SteadyTime since) {
  if (batch.empty()) return;
  const SteadyTime give_up = std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(options_.patience);
  std::chrono::milliseconds wait(50);
  bool is_unknown = false;
  PostgresOutcome outcome;
  while (true) {
    const SteadyTime began = std::chrono::steady_clock::now();
    outcome = writes_.Run("store reports",
                          [&](pqxx::connection& connection) { return batch.StoreIn(connection, is_unknown); });
    write_seconds_.Add(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    is_unknown |= outcome.is_unknown;
    if (!outcome.may_retry || is_down_ || std::chrono::steady_clock::now() >= give_up || IsClosing()) break;
    std::this_thread::sleep_for(wait);
    wait = std::min(2 * wait, std::chrono::milliseconds(1000));
  }
  is_down_ = outcome.may_retry;
  if (outcome.status.ok()) batch_reports_.Add(static_cast<double>(batch.fresh()));
  NoteWrite(outcome.status, batch.size());
  batch.Answer(outcome.status);
  batch_seconds_.Add(std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count());
}

void PostgresStore::NoteWrite(const absl::Status& written, size_t reports) {
  {
    const std::lock_guard<std::mutex> lock(state_mutex_);
    last_write_ = absl::Status(written.code(), written.message());
  }
  if (written.ok()) {
    if (refused_ > 0) {
      spdlog::info("reports are stored again; {} were refused, and their nodes send them again", refused_);
    }
    refused_ = 0;
    next_error_log_ = absl::InfinitePast();
    return;
  }
  ++failed_writes_;
  refused_ += reports;
  // Every report meets the same. The log need not say so each time.
  if (absl::Now() < next_error_log_) return;
  spdlog::error("{} ({} reports refused so far)", std::string(written.message()), refused_);
  next_error_log_ = absl::Now() + absl::Minutes(10);
}

absl::Status PostgresStore::Probe(absl::string_view what, const PostgresSession::Work& work) {
  const std::lock_guard<std::mutex> lock(probe_mutex_);
  const SteadyTime again_until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  PostgresOutcome outcome = probe_.Run(what, work);
  for (int again = 0; again < 2 && outcome.may_retry && std::chrono::steady_clock::now() < again_until; ++again) {
    outcome = probe_.Run(what, work);
  }
  return outcome.status;
}

absl::Status PostgresStore::CheckCanStore() {
  {
    const std::lock_guard<std::mutex> lock(state_mutex_);
    // Only a write finds out that a disk has space again. Everything else shows when we ask.
    if (!last_write_.ok() && !absl::IsUnavailable(last_write_)) return last_write_;
    if (std::chrono::steady_clock::now() < next_probe_) return probed_;
    next_probe_ = std::chrono::steady_clock::now() + kProbeEvery;
  }
  absl::Status probed = Probe("reach the store", [&](pqxx::connection& connection) {
    pqxx::nontransaction reads(connection);
    if (!reads.exec1("SELECT pg_is_in_recovery()")[0].as<bool>()) return absl::OkStatus();
    return absl::UnavailableError("cannot store reports: the database only reads now");
  });
  const std::lock_guard<std::mutex> lock(state_mutex_);
  return probed_ = std::move(probed);
}

StoreActivity PostgresStore::GetActivity() {
  StoreActivity activity{.failed_writes = failed_writes_.load(),
                         .write_seconds = write_seconds_.Read(),
                         .batch_seconds = batch_seconds_.Read(),
                         .batch_reports = batch_reports_.Read()};
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  activity.queued = queue_.size();
  return activity;
}

absl::StatusOr<std::optional<Digest>> PostgresStore::GetDigest(const std::string& round_id, uint64_t node) {
  std::optional<Digest> digest;
  BLINK_RETURN_IF_ERROR(VisitDigests(round_id, node, node, 1, [&](uint64_t, const Digest& found) {
    digest = found;
    return absl::OkStatus();
  }));
  return digest;
}

absl::Status PostgresStore::VisitDigests(const std::string& round_id, uint64_t first, uint64_t last, uint64_t limit,
                                         const std::function<absl::Status(uint64_t, const Digest&)>& visit) {
  constexpr uint64_t kNodeMax = std::numeric_limits<int64_t>::max();
  std::vector<std::pair<uint64_t, Digest>> found;
  BLINK_RETURN_IF_ERROR(pool_.RunAgain("list the digests", [&](PostgresSession&, pqxx::connection& connection) {
    pqxx::nontransaction reads(connection);
    found.clear();
    const pqxx::result rows = reads.exec_params(
        "SELECT p.node, p.digest FROM blink.rounds r LEFT JOIN LATERAL (SELECT node, digest FROM blink.reports "
        "WHERE round = r.seq AND node BETWEEN $2 AND $3 ORDER BY node LIMIT $4) p ON true WHERE r.round_id = $1",
        round_id, std::min(first, kNodeMax), std::min(last, kNodeMax), std::min(limit, kNodeMax));
    if (rows.empty()) return NoSuchRound(round_id);
    for (const pqxx::row& row : rows) {
      if (row[0].is_null()) continue;
      BLINK_ASSIGN_OR_RETURN(const Digest digest, DigestFromBytes(pqxx::binarystring(row[1]).str()));
      found.emplace_back(row[0].as<uint64_t>(), digest);
    }
    return absl::OkStatus();
  }));
  for (const auto& [node, digest] : found) BLINK_RETURN_IF_ERROR(visit(node, digest));
  return absl::OkStatus();
}

absl::Status PostgresStore::VisitReports(const std::string& round_id,
                                         const std::function<absl::Status(uint64_t, const CodedReport&)>& visit) {
  bool has_begun = false;
  const auto read = [&](PostgresSession& session, pqxx::connection& connection) {
    // What was visited cannot be taken back.
    if (has_begun) return absl::UnavailableError("cannot read the reports: the connection was lost: try again");
    return VisitReportsIn(connection, round_id, [&](uint64_t node, const CodedReport& report) {
      has_begun = true;
      session.GoOn();
      return visit(node, report);
    });
  };
  return pool_.RunAgain("read the reports", read);
}

absl::StatusOr<std::map<std::string, std::string>> PostgresStore::ListWrappedKeys() {
  std::map<std::string, std::string> keys;
  BLINK_RETURN_IF_ERROR(pool_.RunAgain("list the keys of rounds", [&](PostgresSession&, pqxx::connection& connection) {
    keys = ListKeysIn(connection);
    return absl::OkStatus();
  }));
  return keys;
}

absl::StatusOr<std::string> PostgresStore::GetWrappedKey(const std::string& round_id) {
  std::string wrapped;
  BLINK_RETURN_IF_ERROR(pool_.RunAgain("read the key of a round", [&](PostgresSession&, pqxx::connection& connection) {
    wrapped = GetKeyIn(connection, round_id);
    return absl::OkStatus();
  }));
  return wrapped;
}

absl::Status PostgresStore::ReplaceWrappedKey(const std::string& round_id, const std::string& before,
                                              const std::string& after) {
  return TryThrice([&] {
    return Write("store the key of a round",
                 [&](pqxx::connection& connection) { return ReplaceKeyIn(connection, round_id, before, after); });
  });
}

absl::Status PostgresStore::DeleteReports(const std::string& round_id) {
  std::optional<int64_t> after;
  do {
    BLINK_RETURN_IF_ERROR(TryThrice([&] {
      return Write("delete the reports of a round",
                   [&](pqxx::connection& connection) { return DeletePageIn(connection, round_id, after); });
    }));
  } while (after.has_value());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReportStore>> OpenPostgresStore(const PostgresTarget& target, PostgresOptions options) {
  auto store = std::make_unique<PostgresStore>(target, std::move(options));
  BLINK_RETURN_IF_ERROR(store->Open());
  return std::unique_ptr<ReportStore>(std::move(store));
}

}  // namespace blink
