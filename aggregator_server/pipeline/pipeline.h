// The life of every round after its creation: a persisted state machine.
//
//   open --(deadline | all active | operator)-----> sealed --> estimating --> training --> ready
//     |                                                |____________|_____________|--> failed(reason)
//     '-- fewer reports than the quorum --> failed     any but ready and failed --> cancelled
//
// Two threads: the scheduler seals rounds when their time has come and tells the watchers what changed; the runner takes the sealed
// rounds one at a time, writes DATA/rounds/<id>/{round.json,reports.blr}, and runs the worker on them. Collection waits for neither.
//
// Every state is durable before anything follows from it, so that a new Pipeline on the same store goes on where the old one
// stood: open rounds keep their deadline, rounds between sealed and ready run the worker again. A worker that dies by a signal is started again,
// up to three times without progress in between, which is what its checkpoints show; an error that it reports itself is final, but for a
// full disk, which the round waits out. What a worker keeps to go on from (result.checkpoint) is removed when its round has ended, in
// whatever way. The reports of a round that was cancelled, or stayed below its quorum, are written to its folder as well: nobody can be
// asked for them again, and blink-worker can be started on them by hand.
#ifndef BLINK_AGGREGATOR_SERVER_PIPELINE_PIPELINE_H_
#define BLINK_AGGREGATOR_SERVER_PIPELINE_PIPELINE_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator_server/analysis/trainable.h"
#include "aggregator_server/pipeline/worker_process.h"
#include "aggregator_server/store/report_store.h"
#include "blink/v1/operator.pb.h"
#include "common/base/clock.h"
#include "common/privacy/parameters.h"

namespace blink {

struct PipelineOptions {
  std::string deployment;
  uint32_t node_count = 0;
  uint64_t roster_version = 0;
  uint32_t active_nodes = 0;      // n less the retired; 0: n
  std::string rounds_folder;      // DATA/rounds
  std::string attributes_folder;
  std::string worker_path;
  int worker_threads = 0;         // 0: the worker's own choice
  WorkerLimits worker_limits;
  // What is public of the nodes, as the attribute folder is now, so that a round that can never be trained is refused; thread-safe.
  // Empty: not known, and nothing is refused for it.
  std::function<absl::StatusOr<TrainingFacts>()> facts;
  int crashes_max = 3;            // attempts that may end by a signal, without a new checkpoint in between
  uint32_t attempts_max = 10;     // in all, restarts of the aggregator included; not counted against one that has made progress
  absl::Duration retry_after = absl::Seconds(5);  // after a full disk
};

class Pipeline {
 public:
  using Watcher = std::function<void()>;

  // `store` and `clock` outlive this.
  Pipeline(PipelineOptions options, ReportStore& store, Clock& clock);
  ~Pipeline();  // stops

  // Takes up every round of the store that has not ended.
  absl::Status Start();
  // Ends the child process and the threads; the rounds stay where they are.
  void Stop();

  // INVALID_ARGUMENT naming the field and its range, or the remedy where it cannot be trained (CheckTrainable). FAILED_PRECONDITION: the
  // attributes, the worker or its machine do not allow it. RESOURCE_EXHAUSTED: 64 rounds are open. The first one asks the worker
  // for its machine's GPUs, which takes a second.
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
  // pipeline; it must be quick and may call nothing of the pipeline but GetRound. After Unwatch has returned it is not called again.
  uint64_t Watch(const std::string& round_id, Watcher watcher);
  void Unwatch(uint64_t id);

  // The path of an artifact. INVALID_ARGUMENT: no such artifact. FAILED_PRECONDITION: the round is not ready.
  absl::StatusOr<std::string> ResultPath(const std::string& round_id, const std::string& artifact);

 private:
  struct OpenRound {
    int64_t deadline_ms = 0;
    uint32_t active_nodes = 0;
    bool complete = false;                       // all have reported
    absl::Time not_before = absl::InfinitePast();  // after a failed seal
  };
  struct Live {
    double progress = 0;
    std::string text;
    bool training = false;  // the store knows that the round is in training
  };

  struct Crashes {
    int count = 0;                  // since the last progress
    uint64_t checkpoint_bytes = 0;  // of the checkpoints at the latest of them, or at the beginning
  };

  void Schedule();
  void Run();
  absl::Status CheckTrainableByWorker(const v1::TrainingSpec& training, const PrivacyParameters& parameters);
  absl::Status AskForGpus();
  void RemoveWhatWorkersKept(const std::string& round_id);
  absl::StatusOr<v1::Round> SealBecause(const std::string& round_id, const std::string& why);
  // One sealed round, to its end or to the pipeline's. An error: try again later.
  absl::Status Process(const std::string& round_id);
  absl::Status WriteRoundFolder(const v1::Round& round);
  bool HasReportsToKeep(const v1::Round& round) const;
  absl::Status KeepReports(const v1::Round& round);
  absl::Status Attempt(const std::string& round_id, Crashes& crashes, bool& ended);
  absl::Status Conclude(const v1::Round& round, const WorkerExit& exit, Crashes& crashes, bool& ended);
  void TakeBackAttempt(const std::string& round_id);
  absl::Status Fail(const std::string& round_id, const std::string& reason);
  absl::Status Publish(const std::string& round_id);
  void Hear(const std::string& round_id, const WorkerProgress& progress);
  bool ShouldStop(const std::string& round_id);
  std::string FolderOf(const std::string& round_id) const;
  std::string CheckpointFolderOf(const std::string& round_id) const;
  v1::Round WithLive(v1::Round round);
  void Changed(const std::string& round_id);  // without the lock
  void NotifyWatchers(const std::set<std::string>& round_ids);

  const PipelineOptions options_;
  ReportStore& store_;
  Clock& clock_;

  std::mutex create_mutex_;  // so that the number of open rounds holds
  std::optional<Gpus> gpus_;  // of the worker, once it has answered; guarded by create_mutex_

  std::mutex mutex_;
  std::condition_variable wake_scheduler_;
  std::condition_variable wake_runner_;
  bool stopping_ = false;
  bool seal_now_ = false;
  std::map<std::string, OpenRound> open_;
  std::deque<std::string> sealed_;    // and those that ended with reports to keep
  std::set<std::string> cancelled_;   // while the runner has them
  std::map<std::string, Live> live_;
  std::set<std::string> changed_;     // watchers are to be told

  std::mutex watchers_mutex_;  // held while watchers are called
  uint64_t next_watcher_ = 1;
  std::map<uint64_t, std::pair<std::string, Watcher>> watchers_;

  std::thread scheduler_;
  std::thread runner_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_PIPELINE_PIPELINE_H_
