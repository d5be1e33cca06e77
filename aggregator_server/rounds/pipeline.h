// The life of every round after its creation: a persisted state machine.
//
//   open --(deadline | all active | operator)-----> sealed --> estimating --> training --> ready
//     |                                                |____________|_____________|--> failed(reason)
//     '-- fewer reports than the quorum --> failed     any but ready and failed --> cancelled
//
// new_round.h checks what an operator asks for; here rounds are kept open, sealed, cancelled and looked after;
// round_run.h takes a sealed one to its end, in the folder that round_files.h describes.
//
// Two threads: the scheduler seals rounds when their time has come and tells the watchers what changed; the runner
// takes the sealed rounds one at a time, writes DATA/rounds/<id>/{round.json,reports.blr}, and runs the worker on them.
// Collection waits for neither, and no round for another that waits (for room on a disk): each is tried again in its
// own time, and a cancelled one is ended at once.
//
// Every state is durable before anything follows from it, so that a new Pipeline on the same store goes on where the
// old one stood: open rounds keep their deadline, rounds between sealed and ready run the worker again. A worker that
// dies by a signal is started again, up to three times without progress in between, which is what its checkpoints show;
// an error that it reports itself is final, but for a full disk, which the round waits out. What a worker keeps to go
// on from (result.checkpoint) is removed when its round has ended, in whatever way. The reports of a round that was
// cancelled, or stayed below its quorum, are written to its folder as well: nobody can be asked for them again, and
// blink-worker can be started on them by hand.
#ifndef BLINK_AGGREGATOR_SERVER_ROUNDS_PIPELINE_H_
#define BLINK_AGGREGATOR_SERVER_ROUNDS_PIPELINE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator_server/rounds/pipeline_options.h"
#include "aggregator_server/rounds/retry.h"
#include "aggregator_server/rounds/round_files.h"
#include "aggregator_server/rounds/round_run.h"
#include "aggregator_server/rounds/round_watchers.h"
#include "aggregator_server/store/report_store.h"
#include "blink/v1/operator.pb.h"
#include "common/base/clock.h"

namespace blink {

class Pipeline {
 public:
  using Watcher = RoundWatchers::Watcher;

  // `store` and `clock` outlive this.
  Pipeline(PipelineOptions options, ReportStore& store, Clock& clock);
  ~Pipeline();  // stops

  // Takes up every round of the store that has not ended.
  absl::Status Start();
  // Ends the child process and the threads; the rounds stay where they are.
  void Stop();

  // INVALID_ARGUMENT naming the field and its range, or the remedy where it cannot be trained (CheckTrainable).
  // FAILED_PRECONDITION: the attributes, the worker or its machine do not allow it. RESOURCE_EXHAUSTED: 64 rounds are
  // open. The first one asks the worker for its machine's GPUs, which takes a second.
  absl::StatusOr<v1::Round> CreateRound(const v1::CreateRoundRequest& request);
  // NOT_FOUND; FAILED_PRECONDITION when the round is not open. The round may come back FAILED: below the quorum.
  absl::StatusOr<v1::Round> Seal(const std::string& round_id);
  // Cancelling twice is fine. FAILED_PRECONDITION when the round is ready or failed.
  absl::StatusOr<v1::Round> Cancel(const std::string& round_id);

  // With the progress of the current state.
  absl::StatusOr<v1::Round> GetRound(const std::string& round_id);
  std::vector<v1::Round> ListRounds();  // oldest first

  // A fresh report is durable. Quick; called by the store's thread.
  void NoteReport(const std::string& round_id, uint32_t reports);

  // `watcher` is called after changes of the round, at most every 100 ms for counts and progress, on some thread of the
  // pipeline; it must be quick and may call nothing of the pipeline but GetRound. After Unwatch has returned it is not
  // called again.
  uint64_t Watch(const std::string& round_id, Watcher watcher);
  void Unwatch(uint64_t id);

  // The path of an artifact. INVALID_ARGUMENT: no such artifact. FAILED_PRECONDITION: the round is not ready.
  absl::StatusOr<std::string> ResultPath(const std::string& round_id, const std::string& artifact);

 private:
  struct OpenRound {
    int64_t deadline_ms = 0;
    uint32_t active_nodes = 0;
    bool complete = false;                         // all have reported
    absl::Time not_before = absl::InfinitePast();  // after a failed seal
    std::optional<Retry> retry;                    // likewise
  };
  struct Waiting {  // a round whose run failed for now
    explicit Waiting(const PipelineOptions& options) : retry(options.retry_after, options.retry_after_max) {}
    Retry retry;
    std::chrono::steady_clock::time_point not_before;
  };
  struct Live {
    double progress = 0;
    std::string text;
    bool training = false;  // the store knows that the round is in training
  };

  void Schedule();
  void Run();
  // With the lock, all three. The first of sealed_ that does not wait, or is to be ended: sealed_.end() for none.
  std::deque<std::string>::iterator FirstToRun();
  std::chrono::steady_clock::time_point EndOfFirstWait() const;
  // `at_once`: it was cancelled meanwhile.
  void TryLater(const std::string& round_id, const absl::Status& why, bool at_once);
  // (round id, why) of the rounds that are to be sealed; with the lock.
  std::vector<std::pair<std::string, std::string>> DueAt(absl::Time now) const;
  absl::Status CheckTrainableByWorker(const v1::Round& round);
  absl::Status AskForGpus();
  absl::StatusOr<v1::Round> SealBecause(const std::string& round_id, const std::string& why);
  void SealLater(const std::string& round_id, absl::Time now, const absl::Status& why);
  RoundFiles FilesOf(const std::string& round_id) const;
  RoundRun RunOf(const std::string& round_id);
  void Hear(const std::string& round_id, const WorkerProgress& progress);
  bool ShouldStop(const std::string& round_id);
  v1::Round WithLive(v1::Round round);
  void Changed(const std::string& round_id);  // without the lock

  const PipelineOptions options_;
  ReportStore& store_;
  Clock& clock_;

  std::mutex create_mutex_;   // so that the number of open rounds holds
  std::optional<Gpus> gpus_;  // of the worker, once it has answered; guarded by create_mutex_

  std::mutex mutex_;
  std::condition_variable wake_scheduler_;
  std::condition_variable wake_runner_;
  bool stopping_ = false;
  bool seal_now_ = false;
  std::map<std::string, OpenRound> open_;
  std::deque<std::string> sealed_;          // and those that ended with reports to keep
  std::map<std::string, Waiting> waiting_;  // of those, or the one that is tried again
  std::set<std::string> cancelled_;         // while the runner has them
  std::map<std::string, Live> live_;
  std::set<std::string> changed_;  // watchers are to be told

  RoundWatchers watchers_;

  std::thread scheduler_;
  std::thread runner_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ROUNDS_PIPELINE_H_
