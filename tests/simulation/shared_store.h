// A store that several simulated aggregators share, in memory. It stands in for PostgreSQL: what it answers, and what a
// lease means, is the same (postgres_store.h, postgres_lease.h), and the conformance tests of the stores hold for it.
//
//   SharedDatabase database(clock);      // outlives the aggregators; what it says is durable
//   SharedStore store(database, "a");    // one aggregator's way to it
//   store.RenewLease();                  // the thread of a real store does that by itself
//
// A lease ends kLease after it was renewed, by the database's clock, and for its holder a fifth earlier. The token of
// each holder is higher than that of the one before.
#ifndef BLINK_TESTS_SIMULATION_SHARED_STORE_H_
#define BLINK_TESTS_SIMULATION_SHARED_STORE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "aggregator_server/store/report_store.h"
#include "common/base/clock.h"

namespace blink::simulation {

class SharedDatabase {
 public:
  static constexpr absl::Duration kLease = absl::Seconds(10);

  explicit SharedDatabase(Clock& clock) : clock_(clock) {}

  // Faults that are put in on purpose.
  void LeaveLeasesUnfenced() { is_fenced_ = false; }
  void KeepTheLatestReport() { keeps_latest_ = true; }
  void CountDuplicates() { counts_twice_ = true; }
  // Rounds that somebody ran (estimating, training, ready) who did not hold the lease then.
  std::vector<std::string> TakeTrespasses();

 private:
  friend class SharedStore;
  struct Held {
    CodedReport report;
    int64_t received_minute = 0;
    bool implausible = false;
  };
  struct Entry {
    v1::Round round;
    std::string groups;
    std::map<uint64_t, Held> reports;
    uint32_t counted_twice = 0;
    v1::Round MakeSnapshot() const;
  };

  Clock& clock_;
  std::recursive_mutex mutex_;
  bool is_fenced_ = true, keeps_latest_ = false, counts_twice_ = false;
  std::map<std::string, Entry> rounds_;
  std::map<std::string, std::string> requests_;
  std::map<std::string, std::string> notes_, keys_;
  uint64_t token_ = 0;
  absl::Duration expires_ = -absl::InfiniteDuration();
  std::vector<std::string> trespasses_;
};

class SharedStore final : public ReportStore {
 public:
  // `database` outlives it.
  explicit SharedStore(SharedDatabase& database) : database_(database) {}

  // Takes the lease if nobody has it, or renews it. Does nothing while the database cannot be reached.
  void RenewLease();
  void GiveLeaseBack();
  // From now on the database can be reached, or it cannot.
  void SetReachable(bool is_reachable) { is_reachable_ = is_reachable; }
  // The next change is made, and its answer does not arrive.
  void LoseNextAnswer(bool loses) { loses_answer_ = loses; }

  using ReportStore::CreateRound;
  absl::StatusOr<v1::Round> CreateRound(const v1::Round& round, const std::string& request_id,
                                        const std::string& groups) override;
  absl::StatusOr<std::optional<v1::Round>> FindRequest(const std::string& request_id) override;
  absl::StatusOr<std::string> GetGroupsPart(const std::string& round_id, uint32_t part) override;
  absl::StatusOr<v1::Round> GetRound(const std::string& round_id) override;
  absl::StatusOr<std::vector<v1::Round>> ListRounds() override { return List(/*only_open=*/false); }
  absl::StatusOr<std::vector<v1::Round>> ListOpenRounds() override { return List(/*only_open=*/true); }
  absl::StatusOr<v1::Round> UpdateRound(const std::string& round_id, const std::vector<v1::RoundState>& expected,
                                        const std::function<absl::Status(v1::Round&)>& change) override {
    return Update(std::nullopt, round_id, expected, change);
  }
  std::optional<uint64_t> GetLease() override;
  absl::StatusOr<v1::Round> UpdateRoundAsHolder(uint64_t lease, const std::string& round_id,
                                                const std::vector<v1::RoundState>& expected,
                                                const std::function<absl::Status(v1::Round&)>& change) override {
    return Update(lease, round_id, expected, change);
  }
  bool IsShared() const override { return true; }
  absl::StatusOr<std::string> GetOrSetNote(const std::string& name, const std::string& value) override;
  void PutReport(CheckedReport report, PutCallback done) override;
  absl::StatusOr<std::optional<Digest>> GetDigest(const std::string& round_id, uint64_t node) override;
  absl::Status VisitDigests(const std::string& round_id, uint64_t first, uint64_t last, uint64_t limit,
                            const std::function<absl::Status(uint64_t, const Digest&)>& visit) override;
  absl::Status CheckCanStore() override { return CheckReachable(); }
  absl::Status VisitReports(const std::string& round_id,
                            const std::function<absl::Status(uint64_t, const CodedReport&)>& visit) override;
  absl::StatusOr<std::map<std::string, std::string>> ListWrappedKeys() override;
  absl::StatusOr<std::string> GetWrappedKey(const std::string& round_id) override;
  absl::Status ReplaceWrappedKey(const std::string& round_id, const std::string& before,
                                 const std::string& after) override;
  absl::Status DeleteReports(const std::string& round_id) override;

 private:
  absl::Status CheckReachable() const;
  absl::Status LoseAnswer();
  absl::StatusOr<PutOutcome> Put(const CheckedReport& report);
  absl::StatusOr<v1::Round> Update(std::optional<uint64_t> lease, const std::string& round_id,
                                   const std::vector<v1::RoundState>& expected,
                                   const std::function<absl::Status(v1::Round&)>& change);
  absl::StatusOr<std::vector<v1::Round>> List(bool only_open);
  absl::StatusOr<SharedDatabase::Entry*> Find(const std::string& round_id);

  SharedDatabase& database_;
  std::atomic<bool> is_reachable_{true};
  bool loses_answer_ = false;
  std::optional<uint64_t> lease_;
  uint64_t last_token_ = 0;  // of the last lease that it had
  absl::Duration until_;
};

}  // namespace blink::simulation

#endif  // BLINK_TESTS_SIMULATION_SHARED_STORE_H_
