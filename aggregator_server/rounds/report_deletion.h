// Deletes reports that nobody needs any more: of rounds that ended so long ago (PipelineOptions::retain_reports), or
// that an operator deletes.
//
//   mark in the store: reports_deleted_ms, deleting   from here on nothing reads the reports, and no retry begins
//   the round's key, then the reports in the store    ReportStore::DeleteReports
//   reports.blr and what workers kept, or the folder  RoundFiles
//   mark in the store: no more deleting               the log, the hook of the options, the count
//
// After an error or a crash it goes on from the mark. What stays: the round, its history, the digests of its reports,
// and its result unless an operator deleted it.
#ifndef BLINK_AGGREGATOR_SERVER_ROUNDS_REPORT_DELETION_H_
#define BLINK_AGGREGATOR_SERVER_ROUNDS_REPORT_DELETION_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator_server/rounds/pipeline_options.h"
#include "aggregator_server/store/report_store.h"
#include "blink/v1/operator.pb.h"
#include "common/base/clock.h"

namespace blink {

class ReportDeletion {
 public:
  struct Hooks {
    std::function<bool(const std::string& round_id)> is_busy;  // somebody works on the round still
    std::function<void(const std::string& round_id)> changed;  // the round in the store has changed
  };

  // All outlive it.
  ReportDeletion(const PipelineOptions& options, ReportStore& store, Clock& clock, Hooks hooks);
  ~ReportDeletion() { Stop(); }

  // Begins a thread, which deletes.
  void Start();
  void Stop();

  // Marks the reports and the result of a round for deletion, which begins at once. NOT_FOUND. FAILED_PRECONDITION: it
  // has not ended, or is still being ended.
  absl::StatusOr<v1::Round> Delete(const std::string& round_id);

  uint64_t deleted() const { return deleted_; }  // rounds, since the start

 private:
  void LookUntilStopped();
  void Look();
  bool IsDue(const v1::Round& round);
  absl::StatusOr<v1::Round> Mark(const std::string& round_id, bool with_result);
  absl::Status Finish(const v1::Round& round);

  const PipelineOptions& options_;
  ReportStore& store_;
  Clock& clock_;
  const Hooks hooks_;
  std::atomic<uint64_t> deleted_{0};

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  bool look_now_ = false;
  std::set<std::string> asked_;   // here, by an operator: done without the lease, too
  std::set<std::string> failed_;  // and told in the log; the thread's
  std::thread thread_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ROUNDS_REPORT_DELETION_H_
