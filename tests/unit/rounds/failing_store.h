// A store of which changes of rounds can be made to fail, and whose answers can be held back.
#ifndef BLINK_TESTS_UNIT_ROUNDS_FAILING_STORE_H_
#define BLINK_TESTS_UNIT_ROUNDS_FAILING_STORE_H_

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregator_server/store/report_store.h"

namespace blink {

class FailingStore final : public ReportStore {
 public:
  explicit FailingStore(std::unique_ptr<ReportStore> store) : store_(std::move(store)) {}

  // From now on changes of rounds that may be in `state` fail with `error`, unless that is OK.
  void Fail(v1::RoundState state, const absl::Status& error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    state_ = state;
    error_ = error;
    failures_ = 0;
  }
  int failures() const { return failures_; }  // since then
  // What is said when somebody asks whether a report can be stored.
  void SayOfReports(const absl::Status& can_store) {
    const std::lock_guard<std::mutex> lock(mutex_);
    can_store_ = can_store;
  }
  // While it hangs, whoever asks how it is gets no answer.
  void Hang(bool hangs) {
    const std::lock_guard<std::mutex> lock(mutex_);
    hangs_ = hangs;
    goes_on_.notify_all();
  }
  void FailLooks(const absl::Status& error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    look_error_ = error;
  }
  absl::Status CheckCanStore() override {
    std::unique_lock<std::mutex> lock(mutex_);
    goes_on_.wait(lock, [this] { return !hangs_; });
    return can_store_;
  }
  absl::StatusOr<RoundsSeen> LookAtRounds() override {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      goes_on_.wait(lock, [this] { return !hangs_; });
      if (!look_error_.ok()) return look_error_;
    }
    return store_->LookAtRounds();
  }

  absl::StatusOr<v1::Round> UpdateRound(const std::string& round_id, const std::vector<v1::RoundState>& expected,
                                        const std::function<absl::Status(v1::Round&)>& change) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!error_.ok() && std::count(expected.begin(), expected.end(), state_) > 0) {
        ++failures_;
        return error_;
      }
    }
    return store_->UpdateRound(round_id, expected, change);
  }
  absl::StatusOr<v1::Round> CreateRound(const v1::Round& round, const std::string& request_id,
                                        const std::string& groups) override {
    return store_->CreateRound(round, request_id, groups);
  }
  absl::StatusOr<std::optional<v1::Round>> FindRequest(const std::string& request_id) override {
    return store_->FindRequest(request_id);
  }
  absl::StatusOr<std::string> GetGroupsPart(const std::string& round_id, uint32_t part) override {
    return store_->GetGroupsPart(round_id, part);
  }
  absl::StatusOr<v1::Round> GetRound(const std::string& round_id) override { return store_->GetRound(round_id); }
  absl::StatusOr<std::vector<v1::Round>> ListRounds() override { return store_->ListRounds(); }
  absl::StatusOr<std::vector<v1::Round>> ListOpenRounds() override { return store_->ListOpenRounds(); }
  void PutReport(CheckedReport report, PutCallback done) override {
    store_->PutReport(std::move(report), std::move(done));
  }
  absl::StatusOr<std::optional<Digest>> GetDigest(const std::string& round_id, uint64_t node) override {
    return store_->GetDigest(round_id, node);
  }
  absl::Status VisitDigests(const std::string& round_id, uint64_t first, uint64_t last, uint64_t limit,
                            const std::function<absl::Status(uint64_t, const Digest&)>& visit) override {
    return store_->VisitDigests(round_id, first, last, limit, visit);
  }
  absl::Status VisitReports(const std::string& round_id,
                            const std::function<absl::Status(uint64_t, const CodedReport&)>& visit) override {
    return store_->VisitReports(round_id, visit);
  }
  absl::StatusOr<std::optional<SecretKey>> GetDataKey(const std::string& round_id) override {
    return store_->GetDataKey(round_id);
  }
  absl::Status DeleteReports(const std::string& round_id) override { return store_->DeleteReports(round_id); }

 private:
  const std::unique_ptr<ReportStore> store_;
  std::mutex mutex_;
  v1::RoundState state_ = v1::ROUND_STATE_UNSPECIFIED;
  absl::Status error_;
  absl::Status can_store_, look_error_;
  bool hangs_ = false;
  std::condition_variable goes_on_;
  std::atomic<int> failures_{0};
};

}  // namespace blink

#endif  // BLINK_TESTS_UNIT_ROUNDS_FAILING_STORE_H_
