// The disk under a simulated store. What was written and not synced is lost, or torn, when the power is cut. A sync may
// be slow or fail, and the disk may be full.
//
//   SimulatedDisk disk(clock, random);
//   options.env = disk.env();  options.free_bytes = disk.FreeBytes();
//   disk.CutPower();           // from now on nothing reaches the disk
//   ... the store's objects are dropped ...
//   disk.Restart();            // what was not synced is gone
//
// RocksDB's background work (flushes, compactions) waits until RunBackgroundWork: no thread decides when it runs.
// Names in folders are durable at once; tests/power_cut/ tries other orders.
#ifndef BLINK_TESTS_SIMULATION_DISK_H_
#define BLINK_TESTS_SIMULATION_DISK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "rocksdb/env.h"
#include "tests/simulation/random.h"
#include "tests/testing/aggregator_fixtures.h"

namespace blink::simulation {

// Shared by the disk, its file system and its files.
struct DiskState {
  struct File {
    uint64_t size = 0;
    uint64_t synced = 0;
  };
  enum class NextSync { kSucceeds, kFails, kCutsPower };

  std::mutex mutex;
  testing::ManualClock* clock = nullptr;
  Random* random = nullptr;
  std::map<std::string, File> files;  // that were written since the last restart
  bool is_dead = false;
  bool is_full = false;
  bool lies_about_syncs = false;  // of logs: a fault that is put in on purpose
  absl::Duration sync_time;
  NextSync next_sync = NextSync::kSucceeds;  // of a log
};

class SimulatedDisk {
 public:
  SimulatedDisk(testing::ManualClock& clock, Random& random);
  ~SimulatedDisk();

  rocksdb::Env* env();
  std::function<std::optional<uint64_t>(const std::string&)> FreeBytes();
  // All that RocksDB wants to do in the background.
  void RunBackgroundWork();

  void SetFull(bool is_full) { state_->is_full = is_full; }
  bool is_full() const { return state_->is_full; }
  void SetSyncTime(absl::Duration time) { state_->sync_time = time; }
  void LieAboutSyncs() { state_->lies_about_syncs = true; }
  // The next sync of a log writes a part of what it should, and fails.
  void FailNextSync() { Fail(DiskState::NextSync::kFails); }
  void ForgetNextSync() { state_->next_sync = DiskState::NextSync::kSucceeds; }
  void CutPowerAtNextSync() { Fail(DiskState::NextSync::kCutsPower); }
  bool is_dead() const { return state_->is_dead; }
  void CutPower() { state_->is_dead = true; }  // nobody writes any more
  void CutPowerUnderWriters();
  // Of every file a beginning of what was not synced may be left, or as many zeros.
  void Restart();

 private:
  class Env;
  void Fail(DiskState::NextSync next_sync);
  const std::shared_ptr<DiskState> state_;
  std::unique_ptr<Env> env_;
};

}  // namespace blink::simulation

#endif  // BLINK_TESTS_SIMULATION_DISK_H_
