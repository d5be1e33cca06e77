// One simulated aggregator process: the production's store (or its share of a common one), ingest and pipeline, on one
// folder. Destroying it is the death of the process; what of it reached the disk is the disk's matter (disk.h).
#ifndef BLINK_TESTS_SIMULATION_PROCESS_H_
#define BLINK_TESTS_SIMULATION_PROCESS_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/ingest/ingest.h"
#include "aggregator_server/rounds/pipeline.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/shared_store.h"

namespace blink::simulation {

inline constexpr uint32_t kNodes = 10;

struct ProcessPlace {
  std::string folder;                  // store/, unless there is a database; rounds/
  Clock* clock = nullptr;              // of the process
  SimulatedDisk* disk = nullptr;       // of its own store
  SharedDatabase* database = nullptr;  // instead: shared with others
};

struct Submission {
  std::string round_id;
  NodeIndex node = 0;
  CodedReport report;
};

class Process {
 public:
  // Errors as of OpenRocksDbStore and Pipeline::Start.
  static absl::StatusOr<std::unique_ptr<Process>> Start(const ProcessPlace& place, WorkerRunner run_worker,
                                                        std::function<std::string()> draw_round_id);
  ~Process();

  ReportStore& store() { return *store_; }
  SharedStore* shared() { return shared_; }  // nullptr: its store is its own
  Pipeline& pipeline() { return *pipeline_; }
  // As a service does: admits them, submits them, and waits for the answers. They share a batch where the store makes
  // any.
  std::vector<absl::StatusOr<v1::Receipt>> Submit(const std::vector<Submission>& submissions);

  // What a check has to know of it.
  std::optional<uint64_t> lease;              // as its pipeline has seen it
  std::map<std::string, absl::Duration> due;  // by round: when its deadline comes, by the monotonic clock
  bool is_broken = false;                     // its disk failed: it takes no change until a restart
  bool is_reachable = true;                   // the database, by it
  void SetReachable(bool reachable) {
    is_reachable = reachable;
    if (shared_ != nullptr) shared_->SetReachable(reachable);
  }

 private:
  Process() = default;

  std::unique_ptr<ReportStore> store_;
  SharedStore* shared_ = nullptr;
  std::unique_ptr<Ingest> ingest_;
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace blink::simulation

#endif  // BLINK_TESTS_SIMULATION_PROCESS_H_
