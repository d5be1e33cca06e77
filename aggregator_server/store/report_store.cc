#include "aggregator_server/store/report_store.h"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace blink {

absl::StatusOr<PutOutcome> ReportStore::PutReportAndWait(CheckedReport report) {
  std::mutex mutex;
  std::condition_variable ready;
  std::optional<absl::StatusOr<PutOutcome>> outcome;
  PutReport(std::move(report), [&](absl::StatusOr<PutOutcome> result) {
    // Notified under the lock: the waiter may not return, and destroy the condition, before this is done with it.
    std::lock_guard<std::mutex> lock(mutex);
    outcome = std::move(result);
    ready.notify_one();
  });
  std::unique_lock<std::mutex> lock(mutex);
  ready.wait(lock, [&] { return outcome.has_value(); });
  return *std::move(outcome);
}

}  // namespace blink
