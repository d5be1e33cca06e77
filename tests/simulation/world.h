// A small world: an aggregator with a disk of its own, or two that share a database; nodes, operators, a clock; and
// everything that can go wrong. A seed decides all of it. README.md says what must never happen.
//
//   World world(options);
//   for (..) world.Step();        // one operation
//   world.Settle();               // all faults end, and everything must come to its end
//   world.violation()             // "", or what is wrong
#ifndef BLINK_TESTS_SIMULATION_WORLD_H_
#define BLINK_TESTS_SIMULATION_WORLD_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/disk.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/model.h"
#include "tests/simulation/nodes.h"
#include "tests/simulation/process.h"
#include "tests/simulation/random.h"
#include "tests/simulation/shared_store.h"
#include "tests/testing/aggregator_fixtures.h"
#include "tests/testing/temp_folder.h"

namespace blink::simulation {

struct WorldOptions {
  uint64_t seed = 0;
  bool is_shared = false;  // two aggregators share a database
  Fault fault = Fault::kNone;
  std::function<void(const std::string&)> trace;  // each operation, with its outcome
};

class World {
 public:
  explicit World(WorldOptions options);
  ~World();

  void Step();
  void Settle();
  const std::string& violation() const { return violation_; }

 private:
  struct Operation {
    uint32_t weight;
    void (World::*run)();
  };
  static const std::vector<Operation>& Operations(bool is_shared);

  // The operations.
  void SubmitReport();
  void RepeatReport();
  void SubmitAnotherReport();
  void SubmitBatch();
  void TurnOfNode();
  void CreateRound();
  void SealRound();
  void CancelRound();
  void RetryRound();
  void TurnOfAggregator();
  void PassDeadline();
  void JumpClock();
  void Crash();
  void CrashInAWrite();
  void Restart();
  void FailDisk();
  void ChangeDisk();
  void Backup();
  void RestoreBackup();
  void ChangeNetwork();
  void LoseAnswer();
  void CheckAll();

  // What they are made of.
  Process* Any();  // a process that runs; starts one when none does
  Process* Start(size_t i);
  void Drop(size_t i, bool is_crash);
  void BuryTheDead();  // after a write in which the power was cut
  void ChangeSomething();
  std::string Pick(bool open);  // a round
  CodedReport ReportOf(NodeIndex node, uint32_t variant) const;
  void Send(const std::vector<Submission>& submissions);
  absl::StatusOr<v1::Receipt> Deliver(Process& process, const Submission& submission);
  void NoteReceipt(const Submission& sent, const v1::Receipt& receipt);
  void Turn(Process& process);
  void NoteDue(Process& process);
  void NoteTakenUp(Process& process);
  void AdoptRounds(ReportStore& store);
  void CheckStates(ReportStore& store);
  void CheckReports(ReportStore& store);
  absl::StatusOr<WorkerExit> RunWorker(size_t i, const std::vector<std::string>& arguments,
                                       const std::function<void(const WorkerProgress&)>& progress,
                                       const std::function<bool()>& should_stop);
  void HappenDuringWork(Process& process, const std::string& round_id);
  bool IsHealthy(const Process& process) const;
  absl::Duration ClockOffset();  // of the wall clock from the monotonic one
  std::string DrawRoundId();
  std::string DataFolder() const;
  std::string RoundsFolder() const;
  void Violate(const std::string& what);
  void Note(const std::string& what);
  std::string NameOf(const std::string& round_id);

  const WorldOptions options_;
  Random random_;
  testing::ManualClock clock_;
  WallClockAlone wall_clock_{clock_};
  testing::TempFolder folder_{testing::TempFolder::InMemory()};
  std::unique_ptr<SimulatedDisk> disk_;
  std::unique_ptr<SharedDatabase> database_;
  std::array<std::unique_ptr<Process>, 2> processes_;
  std::vector<std::unique_ptr<NodeProcess>> nodes_;
  Model model_;
  std::optional<Model> backup_;
  int backups_ = 0;
  std::string mark_;         // of the store when it was opened last
  int depth_ = 0;            // of workers within workers
  bool is_fragile_ = false;  // what is asked now may fail
  bool is_settling_ = false;
  bool is_settled_ = false;  // all that was to be done is done
  uint64_t steps_ = 0, requests_ = 0;
  std::string last_request_;
  std::string violation_;
};

}  // namespace blink::simulation

#endif  // BLINK_TESTS_SIMULATION_WORLD_H_
