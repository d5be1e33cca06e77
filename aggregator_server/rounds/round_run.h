// One sealed round, from its reports to its end: writes the folder, and runs the worker on it as often as its crashes
// allow.
#ifndef BLINK_AGGREGATOR_SERVER_ROUNDS_ROUND_RUN_H_
#define BLINK_AGGREGATOR_SERVER_ROUNDS_ROUND_RUN_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "aggregator_server/rounds/pipeline_options.h"
#include "aggregator_server/rounds/round_files.h"
#include "aggregator_server/rounds/worker_process.h"
#include "aggregator_server/store/report_store.h"
#include "blink/v1/operator.pb.h"
#include "common/base/clock.h"

namespace blink {

// Lives for one turn of the round. Every state is in the store before anything follows from it. If somebody else has
// changed the state meanwhile (cancelled the round), the run ends without an error. All hooks are called on the thread
// of Run; the last three may be absent.
class RoundRun {
 public:
  struct Hooks {
    std::function<void()> changed;  // the round in the store has changed
    std::function<void(const WorkerProgress&)> progress;
    std::function<bool()> should_stop;  // the worker is to be ended: the round is cancelled, or the pipeline stops
    std::function<void(pid_t pid, uint32_t attempt)> started;  // a worker runs
    std::function<void(const WorkerExit&)> ended;              // it is gone
    std::function<void()> failed;                              // the round has failed by this run
  };

  // `options`, `store` and `clock` outlive it. `lease`: the token under which it changes the round
  // (ReportStore::GetLease).
  RoundRun(const PipelineOptions& options, ReportStore& store, Clock& clock, uint64_t lease, std::string round_id,
           Hooks hooks);

  // Runs until the round has ended, or the pipeline stops. For a round that has ended already, writes its reports to
  // the folder if they are not there. After an error, try again later. RESOURCE_EXHAUSTED: there may be space then.
  // UNAVAILABLE: the store may be reached then. ABORTED: another process holds the lease, and runs it.
  absl::Status Run();

 private:
  struct Crashes {
    int count = 0;                  // since the last progress
    uint64_t checkpoint_bytes = 0;  // of the checkpoints at the latest of them, or at the beginning
  };

  absl::Status KeepReports(const v1::Round& round);
  absl::Status RunWorkerOnce(bool& ended);
  absl::Status ConcludeAttempt(const v1::Round& round, const WorkerExit& exit, bool& ended);
  absl::Status RestartOrFail(const v1::Round& round, const WorkerExit& exit, bool& ended);
  absl::Status PublishResult();
  absl::Status FailRound(const std::string& reason);
  absl::Status EndRound(const std::function<void(v1::Round&)>& change, bool& is_mine);
  void TakeBackAttempt();
  absl::StatusOr<v1::Round> Update(const std::function<absl::Status(v1::Round&)>& change);

  const PipelineOptions& options_;
  ReportStore& store_;
  Clock& clock_;
  const uint64_t lease_;
  const std::string round_id_;
  const Hooks hooks_;
  const RoundFiles files_;
  Crashes crashes_;
  uint32_t attempt_ = 0;  // the one that runs, or ran last
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ROUNDS_ROUND_RUN_H_
