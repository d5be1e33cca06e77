// What a Pipeline has to know of its deployment, its folders and its worker.
#ifndef BLINK_AGGREGATOR_SERVER_ROUNDS_PIPELINE_OPTIONS_H_
#define BLINK_AGGREGATOR_SERVER_ROUNDS_PIPELINE_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator_server/rounds/worker_process.h"
#include "aggregator_server/select/trainable.h"
#include "blink/v1/operator.pb.h"
#include "common/wire/roster.h"

namespace blink {

// 32 random hexadecimal digits. UNAVAILABLE: the system gave none.
absl::StatusOr<std::string> DrawRoundId();

struct PipelineOptions {
  std::string deployment;
  uint32_t node_count = 0;
  uint64_t roster_version = 0;
  uint32_t active_nodes = 0;                           // n less the retired; 0: n
  std::map<uint64_t, std::vector<NodeRange>> retired;  // by the version of the roster
  std::string rounds_folder;                           // DATA/rounds
  std::string attributes_folder;                       // empty: there are no attributes
  std::string worker_path;
  int worker_threads = 0;  // 0: the worker's own choice
  WorkerLimits worker_limits;
  bool ignore_memory = false;  // open rounds that need more memory than the machine or worker_limits have
  // What is public of the nodes, as the attribute folder is now. A round that can never be trained on it is refused.
  // Thread-safe. Empty: not known, and no round is refused for it.
  std::function<absl::StatusOr<TrainingFacts>()> facts;
  absl::Duration retain_reports = absl::InfiniteDuration();  // reports are deleted so long after their round has ended
  std::function<void(const v1::Round&)> reports_deleted;     // is told of each round; empty: nobody is
  int crashes_max = 3;         // attempts that may end by a signal, without a new checkpoint in between
  uint32_t attempts_max = 10;  // in all, restarts of the aggregator included; one that made progress does not count
  absl::Duration retry_after = absl::Seconds(5);      // the wait after a full disk; each round waits on its own
  absl::Duration retry_after_max = absl::Minutes(1);  // the wait doubles each time, up to this
  // A simulation has others.
  WorkerRunner run_worker = RunWorker;
  std::function<absl::StatusOr<std::string>()> draw_round_id = DrawRoundId;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ROUNDS_PIPELINE_OPTIONS_H_
