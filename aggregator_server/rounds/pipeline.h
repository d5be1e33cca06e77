// The life of every round after its creation: a persisted state machine.
//
//   open --(deadline | all active | operator)-----> sealed --> estimating --> training --> ready
//     |                                                |____________|_____________|--> failed(reason)
//     '-- fewer reports than the quorum --> failed     any but ready and failed --> cancelled
//
// new_round.h checks what an operator asks for. The Pipeline keeps rounds open, seals them, cancels them and queues
// them. round_run.h takes a sealed round to its end, in the folder that round_files.h describes.
//
// There are two threads. The scheduler seals rounds when their time has come, and tells watchers what has changed. The
// runner takes the queued rounds one at a time: it writes DATA/rounds/<id>/{round.json,reports.blr} and runs the worker
// on them. Collection never waits for either thread. A round that waits (for room on a disk) does not hold up the
// others, and a cancelled round is ended at once.
//
// Every state is durable before anything follows from it. A new Pipeline on the same store therefore goes on where the
// old one stopped: open rounds keep their deadline, and sealed rounds run the worker again.
//
// Aggregators that share a store have a Pipeline each. The one that holds the lease (ReportStore::GetLease) has both
// threads at work; the others change rounds in the store when an operator asks them to, and the holder notices within a
// second (pipeline_sharing.cc). Whoever gains the lease takes up all rounds as after a start. Whoever loses it ends its
// worker at once, and can change no round as the holder any more.
//
// - A worker that dies by a signal is started again, up to three times without progress in between. Its checkpoints
//   show whether there was progress.
// - An error that the worker reports itself is final. Only a full disk is waited out.
// - What a worker keeps to go on from (result.checkpoint) is removed when its round has ended.
// - The reports of a round that was cancelled, or stayed below its quorum, are written to its folder as well. Nobody
//   can be asked for them again, and blink-worker can be started on them by hand.
#ifndef BLINK_AGGREGATOR_SERVER_ROUNDS_PIPELINE_H_
#define BLINK_AGGREGATOR_SERVER_ROUNDS_PIPELINE_H_

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
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
#include "aggregator_server/rounds/followed_round.h"
#include "aggregator_server/rounds/pipeline_options.h"
#include "aggregator_server/rounds/report_deletion.h"
#include "aggregator_server/rounds/retry.h"
#include "aggregator_server/rounds/round_files.h"
#include "aggregator_server/rounds/round_run.h"
#include "aggregator_server/rounds/round_watchers.h"
#include "aggregator_server/store/report_store.h"
#include "blink/v1/operator.pb.h"
#include "common/base/clock.h"
#include "common/base/tally.h"
#include "common/wire/roster.h"

namespace blink {

// The worker that runs.
struct WorkerActivity {
  std::string round_id;
  pid_t pid = 0;
  uint32_t attempt = 0;
  bool is_training = false;
  double progress = 0;                   // 0 .. 1, of the stage
  absl::Duration silent;                 // since it last told its progress, or started
  std::optional<absl::Time> checkpoint;  // when it last wrote one
};

// What the pipeline does now, and did since the start, for metrics.
struct PipelineActivity {
  std::optional<WorkerActivity> worker;  // absent: none runs
  uint64_t queued = 0;                   // rounds that wait for the worker
  // Of rounds that came to the end of that stage while this process ran.
  Tally::Counts open_seconds, estimating_seconds, training_seconds;
  std::array<uint64_t, 8> worker_exits{};  // by WorkerExit::Kind
  uint64_t rounds_deleted = 0;             // whose reports were
  uint64_t failed_rounds = 0;              // that this process found to have failed; each failure of a retried one
};

class Pipeline {
 public:
  using Watcher = RoundWatchers::Watcher;

  // `store` and `clock` outlive this.
  Pipeline(PipelineOptions options, ReportStore& store, Clock& clock);
  ~Pipeline();  // stops

  // Takes up every round of the store that has not ended, if it holds the lease, or once it does.
  absl::Status Start();
  // Ends the child process and the threads; the rounds stay where they are.
  void Stop();

  // For who has no threads to spare, such as a simulation: TakeUp in place of Start, and then what the threads do, one
  // turn each. One at a time.
  absl::Status TakeUp();
  void SealWhatIsDue();  // a turn of the scheduler
  bool RunNextRound();   // a turn of the runner; false: no round is to be run now

  // INVALID_ARGUMENT naming the field and its range, or the remedy where it cannot be trained (CheckTrainable).
  // FAILED_PRECONDITION: the attributes, the worker or its machine do not allow it, or the round that it follows does
  // not (followed_round.h). NOT_FOUND: it follows no round that there is. RESOURCE_EXHAUSTED: 64 rounds are open. The
  // first one asks the worker for its machine's GPUs, which takes a second.
  // Here and below, `by` is the operator who asks ("operator/ann"), for the round's history.
  absl::StatusOr<v1::Round> CreateRound(const v1::CreateRoundRequest& request, const std::string& by = "");
  // NOT_FOUND; FAILED_PRECONDITION when the round is not open. The round may come back FAILED: below the quorum.
  absl::StatusOr<v1::Round> Seal(const std::string& round_id, const std::string& by = "");
  // Cancelling twice is fine. FAILED_PRECONDITION when the round is ready or failed.
  absl::StatusOr<v1::Round> Cancel(const std::string& round_id, const std::string& by = "");

  // Analyses the reports of a round that failed or was cancelled once more; `training` as for TrainingOfRetry
  // (new_round.h), and errors as of CreateRound. FAILED_PRECONDITION: it is in another state, has no report, or its
  // worker is still being ended.
  absl::StatusOr<v1::Round> AnalyseAgain(const std::string& round_id, const v1::TrainingSpec& training,
                                         const std::string& by = "");

  // Deletes the reports and the result of a round that has ended (report_deletion.h). It goes on after this returns.
  absl::StatusOr<v1::Round> Delete(const std::string& round_id) { return deletion_.Delete(round_id); }

  struct MissingNodes {
    std::vector<NodeRange> ranges;  // ascending and disjoint
    std::optional<uint64_t> next;   // where the next page begins; absent: that were all
  };
  // The active nodes from `first` on that have no report, a page at a time.
  absl::StatusOr<MissingNodes> ListMissing(const std::string& round_id, uint64_t first);

  // With the progress of the current state.
  absl::StatusOr<v1::Round> GetRound(const std::string& round_id);
  absl::StatusOr<std::vector<v1::Round>> ListRounds();  // oldest first

  // A fresh report is durable. Quick; called by the store's thread.
  void NoteReport(const std::string& round_id, uint32_t reports);

  // `watcher` is called after changes of the round, for counts and progress at most every 100 ms. It is called on a
  // thread of the pipeline or of whoever changed the round. It must be quick, and of the pipeline it may call GetRound
  // alone. After Unwatch has returned it is not called again.
  uint64_t Watch(const std::string& round_id, Watcher watcher);
  // The same for the changes of all rounds, new ones included.
  uint64_t WatchAny(RoundWatchers::AnyWatcher watcher) { return watchers_.AddForAny(std::move(watcher)); }
  void Unwatch(uint64_t id);

  PipelineActivity GetActivity();

  // The path of an artifact. INVALID_ARGUMENT: no such artifact. NOT_FOUND: it is of a model, and none was trained.
  // FAILED_PRECONDITION: the round is not ready.
  absl::StatusOr<std::string> FindResult(const std::string& round_id, const std::string& artifact);

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;

  // What this process knows of a round that has not come to its end; everything else is in the store.
  struct RoundRecord {
    enum class Phase {
      kOpen,     // waits for its seal
      kQueued,   // waits for the runner: it is sealed, or it ended early with reports to keep
      kRunning,  // the runner has it
    };
    Phase phase = Phase::kOpen;
    std::optional<Retry> retry;  // since a seal, or a run, failed for now
    bool changed = false;        // the watchers are to be told

    // While open.
    absl::Duration deadline;  // of the monotonic clock: a clock that is set seals no round early or late
    uint32_t active_nodes = 0;
    uint32_t reports = 0, told_reports = 0;                      // now, and in the last line of the log
    absl::Duration tell_from;                                    // of the monotonic clock: the next line of the log
    bool is_complete = false;                                    // all active nodes have reported
    absl::Duration seal_not_before = -absl::InfiniteDuration();  // after a failed seal

    // While queued or running.
    uint64_t turn = 0;                              // the queue is in the order of turns
    SteadyTime run_not_before = SteadyTime::min();  // after a failed run
    bool is_cancelled = false;                      // ends the run, or the wait for it, at once
    struct Progress {
      double fraction = 0;
      std::string text;
      bool is_training = false;  // the store knows that the round is in training
    };
    std::optional<Progress> progress;  // as the worker told, or why the round waits; unknown before either

    // While a worker runs.
    pid_t worker_pid = 0;  // 0: none does
    uint32_t attempt = 0;
    std::optional<SteadyTime> stage_began;  // in this process
    SteadyTime told = SteadyTime::min();    // its last progress
    SteadyTime shared = SteadyTime::min();  // the last progress that the other aggregators were told
  };
  using Records = std::map<std::string, RoundRecord>;  // by round id

  void SealRoundsUntilStopped();  // the scheduler's thread
  void RunRoundsUntilStopped();   // the runner's thread
  bool RunNextRound(std::unique_lock<std::mutex>& lock);

  absl::StatusOr<v1::Round> SealBecause(const std::string& round_id, const std::string& why, const std::string& by,
                                        std::optional<uint64_t> lease);
  void SealLater(const std::string& round_id, absl::Duration now, const absl::Status& why);
  RoundRun MakeRun(const std::string& round_id, uint64_t lease, uint64_t turn);
  void NoteWorker(const std::string& round_id, pid_t pid, uint32_t attempt);
  void NoteWorkerExit(const std::string& round_id, const WorkerExit& exit);
  void TakeProgress(const std::string& round_id, uint64_t lease, const WorkerProgress& progress);
  bool ShouldStop(const std::string& round_id, uint64_t lease, uint64_t turn);
  absl::Status TakeUpRounds(uint64_t lease);
  void FollowLease();   // gains and losses of it
  void FollowOthers();  // what other aggregators have done to rounds
  void LookAtShared();  // both, at their times; scheduler's thread
  absl::StatusOr<FollowedRound> FindFollowed(const v1::CreateRoundRequest& request);
  absl::Status CheckTrainableByWorker(const v1::Round& round);
  absl::Status AskForGpus();
  RoundFiles FilesOf(const std::string& round_id) const;
  v1::Round AddProgress(v1::Round round);
  void TellOfTheStore();                             // whether it can take reports, when that has changed
  void NotifyWatchers(const std::string& round_id);  // without the lock

  // With the lock, all of these.
  void AddOpenRound(const v1::Round& round);  // if this holds the lease; so Enqueue
  void DropRecords();                         // the lease is lost
  void NoteSeenElsewhere(const v1::Round& round, const std::set<std::string>& running);
  void LogCollection(absl::Duration now);
  void Enqueue(const std::string& round_id);
  size_t CountOpenRounds() const;
  std::vector<std::pair<std::string, std::string>> ListDue(absl::Duration now) const;  // (round id, why it is sealed)
  std::set<std::string> TakeChanged();
  Records::iterator FindFirstToRun();     // end(): none, now
  SteadyTime FindEndOfFirstWait() const;  // max(): nothing is queued
  void RunLater(const std::string& round_id, RoundRecord& record, const absl::Status& why);

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
  bool store_is_stuck_ = false;                        // at the last look
  SteadyTime next_look_at_store_ = SteadyTime::min();  // scheduler's thread
  uint64_t next_turn_ = 0;
  std::optional<uint64_t> lease_;  // under which records_ were taken up; absent: there are none
  std::string running_;            // the round that the runner has; empty: none
  absl::Duration next_look_at_others_ = -absl::InfiniteDuration();  // of the monotonic clock; scheduler's thread
  Records records_;

  RoundWatchers watchers_;

  Tally open_seconds_, estimating_seconds_, training_seconds_;
  std::array<uint64_t, 8> worker_exits_{};  // guarded by mutex_
  std::atomic<uint64_t> failed_rounds_{0};

  ReportDeletion deletion_;
  std::thread scheduler_;
  std::thread runner_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ROUNDS_PIPELINE_H_
