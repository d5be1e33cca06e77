// One run of the worker program as a child process: started, listened to, limited, and always reaped.
//
// The child has its own process group, standard descriptors only (and one with the key of an encrypted round, which it
// reads to its end), and default signal handling. It dies with the thread
// that started it (PR_SET_PDEATHSIG), hence with the aggregator. On standard output it writes one JSON object a line:
//   {"stage":"estimating"|"training","progress":0.4,"text":"epoch 120 of 300"}
//   {"error":"...","exit_code":3}                     before it ends with that exit code (common/base/exit_code.h)
//   {"error":"...","exit_code":9}                     likewise: it ran out of memory or of open files
//   {"error":"...","exit_code":9,"waits_for":"disk"}  likewise: a disk or quota is full, and room would do
//   {"error":"...","exit_code":1,"waits_for":"worker"} likewise: another worker is at this round, and will end
//   {"gpus":1,"why_none":""}                          its answer to --gpus
// Lines that are none of these are ignored. Texts are for people: nothing is decided by their words. The same holds for
// standard error, which goes to the log; its last line is kept as the worker's last words.
#ifndef BLINK_AGGREGATOR_SERVER_ROUNDS_WORKER_PROCESS_H_
#define BLINK_AGGREGATOR_SERVER_ROUNDS_WORKER_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator_server/train/gpus.h"
#include "blink/v1/common.pb.h"
#include "common/base/sealed.h"

namespace blink {

inline constexpr int kWorkerKeyDescriptor = 4;  // where the child finds the key that RunWorker is given

struct WorkerLimits {
  uint64_t memory_bytes = 0;  // address space; 0: none
  uint64_t cpu_seconds = 0;   // of all threads; 0: none
  int niceness = 0;           // more than the aggregator's own (setpriority), 0 .. 19
  absl::Duration wall_time = absl::InfiniteDuration();
  absl::Duration silence = absl::InfiniteDuration();  // without a sign of life: a line, or processor time used
};

struct WorkerProgress {
  v1::RoundState stage = v1::ROUND_STATE_ESTIMATING;  // ESTIMATING or TRAINING
  double progress = 0;                                // 0 .. 1
  std::string text;                                   // at most 200 characters
  absl::Duration silent_for;                          // long without a sign of life, or 0
};

struct WorkerExit {
  enum class Kind {
    kDone,      // exit code 0
    kError,     // its own verdict, or a limit (cpu_seconds, probably memory_bytes): another attempt would end likewise
    kDiskFull,  // its own verdict, which more room changes
    kSignal,    // killed, by whatever else
    kTimeout,   // killed by us: longer than limits.wall_time
    kSilent,    // killed by us: longer than limits.silence without a sign of life; another attempt may end otherwise
    kStopped,   // killed by us: `should_stop` asked for it
    kOccupied,  // its own verdict: another worker, such as of an aggregator that lost the lease, is at the round
  };
  Kind kind = Kind::kDone;
  int code = 0;              // exit code or signal
  std::string message;       // one sentence for a person: what happened, and the worker's last words
  std::optional<Gpus> gpus;  // where it was asked for them
};

// Runs `arguments` ([0] is the program's path) until it has ended. `progress` and `should_stop` are called on this
// thread, `should_stop` at least every 50 ms, `progress` at every line about it and now and then while the worker is
// silent, and `started` with the process id once it runs. An error means that it could not be started: NOT_FOUND,
// PERMISSION_DENIED, RESOURCE_EXHAUSTED.
absl::StatusOr<WorkerExit> RunWorker(const std::vector<std::string>& arguments, const WorkerLimits& limits,
                                     const std::function<void(const WorkerProgress&)>& progress,
                                     const std::function<bool()>& should_stop,
                                     const std::function<void(pid_t)>& started = nullptr,
                                     const std::optional<SecretKey>& key = std::nullopt);
using WorkerRunner = std::function<decltype(RunWorker)>;  // what may stand in for it

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ROUNDS_WORKER_PROCESS_H_
