// Deaths, disks, backups and networks.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/backup/backup.h"
#include "common/base/durable_file.h"
#include "common/wire/round.h"
#include "tests/simulation/world.h"

namespace blink::simulation {

namespace fs = std::filesystem;

std::string World::DataFolder() const { return folder_ / "data"; }
std::string World::RoundsFolder() const { return DataFolder() + "/rounds"; }

Process* World::Start(size_t i) {
  Clock& clock = options_.fault == Fault::kSealsByTheWallClock ? static_cast<Clock&>(wall_clock_) : clock_;
  const ProcessPlace place{DataFolder(), &clock, disk_.get(), database_.get()};
  auto started = Process::Start(
      place,
      [this, i](const std::vector<std::string>& arguments, const WorkerLimits&,
                const std::function<void(const WorkerProgress&)>& progress, const std::function<bool()>& should_stop,
                const std::function<void(pid_t)>& run, const std::optional<SecretKey>&) {
        run(1);
        return RunWorker(i, arguments, progress, should_stop);
      },
      [this] { return DrawRoundId(); });
  Note(absl::StrCat("aggregator ", i, " starts: ", absl::StatusCodeToString(started.status().code())));
  if (!started.ok()) {
    const bool is_full = disk_ != nullptr && disk_->is_full() && absl::IsResourceExhausted(started.status());
    if (!is_full) Violate(absl::StrCat("an aggregator cannot start: ", started.status().message()));
    return nullptr;
  }
  processes_[i] = *std::move(started);
  Process& process = *processes_[i];
  if (disk_ != nullptr) mark_ = ReadFile(DataFolder() + "/store/acknowledged", 1 << 10).value_or("");
  AdoptRounds(process.store());
  NoteTakenUp(process);
  CheckStates(process.store());
  CheckReports(process.store());
  return &process;
}

void World::Drop(size_t i, bool is_crash) {
  if (processes_[i] == nullptr) return;
  Note(absl::StrCat("aggregator ", i, is_crash ? " dies" : " ends"));
  if (disk_ == nullptr) {
    if (!is_crash) processes_[i]->shared()->GiveLeaseBack();
    return processes_[i].reset();
  }
  if (is_crash && !disk_->is_dead()) disk_->CutPower();
  processes_[i].reset();
  if (!is_crash) return;
  disk_->Restart();
  // The mark is not synced: it is there, or an older one, or nothing of it.
  const std::string mark = DataFolder() + "/store/acknowledged";
  if (random_.OneIn(4)) std::ofstream(mark, std::ios::trunc) << mark_;
  if (random_.OneIn(8)) std::ofstream(mark, std::ios::trunc) << "";
}

void World::BuryTheDead() {
  if (disk_ != nullptr && disk_->is_dead()) Drop(0, /*is_crash=*/true);
}

void World::Crash() {
  const size_t i = options_.is_shared ? random_.Below(2) : 0;
  Drop(i, /*is_crash=*/true);
  if (!random_.OneIn(3)) Start(i);
}

void World::Restart() {
  const size_t i = options_.is_shared ? random_.Below(2) : 0;
  Drop(i, /*is_crash=*/false);
  Start(i);
}

void World::ChangeSomething() {
  switch (random_.Below(5)) {
    case 0:
      return SealRound();
    case 1:
      return CreateRound();
    case 2:
      return SubmitBatch();
    case 3:
      return TurnOfAggregator();
    default:
      return SubmitReport();
  }
}

void World::CrashInAWrite() {
  if (Any() == nullptr) return;
  is_fragile_ = true;
  disk_->CutPowerAtNextSync();
  ChangeSomething();
  is_fragile_ = false;
  Drop(0, /*is_crash=*/true);
  Start(0);
}

void World::FailDisk() {
  Process* const process = Any();
  if (process == nullptr) return;
  Note("the disk fails once");
  process->is_broken = true;
  disk_->FailNextSync();
  ChangeSomething();
  if (processes_[0] == nullptr) return;
  Drop(0, /*is_crash=*/random_.OneIn(2));
  disk_->ForgetNextSync();
  Start(0);
}

void World::ChangeDisk() {
  if (disk_->is_full() || random_.OneIn(2)) {
    disk_->SetFull(!disk_->is_full());
    Note(disk_->is_full() ? "the disk is full" : "the disk has space");
  } else {
    const auto time = absl::Seconds(random_.OneIn(2) ? random_.Below(40) : 0);
    Note(absl::StrCat("a sync takes ", absl::FormatDuration(time)));
    disk_->SetSyncTime(time);
  }
}

void World::Backup() {
  Process* const process = Any();
  if (process == nullptr || !IsHealthy(*process)) return;
  BackupSource source{DataFolder(), folder_ / "snapshot", {}};
  fs::remove_all(source.store_snapshot);
  // A snapshot waits for a flush, which is background work.
  std::future<absl::Status> made =
      std::async(std::launch::async, [&] { return process->store().MakeSnapshot(source.store_snapshot); });
  while (made.wait_for(std::chrono::microseconds(50)) != std::future_status::ready) disk_->RunBackgroundWork();
  absl::Status status = made.get();
  for (const auto& [id, known] : model_.rounds()) {
    if (!known.is_open()) source.round_ids.push_back(id);
  }
  const std::string folder = folder_ / absl::StrCat("backup-", backups_ + 1);
  if (status.ok()) status = MakeBackup(source, folder, clock_.Now(), [](uint64_t, uint64_t) {}).status();
  Note(absl::StrCat("backup: ", absl::StatusCodeToString(status.code())));
  if (!status.ok()) return Violate(absl::StrCat("no backup can be made: ", status.message()));
  CheckStates(process->store());
  CheckReports(process->store());
  ++backups_;
  backup_ = model_;
}

// What the backup holds is the truth from now on. Nodes send again.
void World::RestoreBackup() {
  if (!backup_.has_value()) return;
  Drop(0, /*is_crash=*/random_.OneIn(2));
  fs::remove_all(DataFolder());
  const auto restored =
      ::blink::RestoreBackup(folder_ / absl::StrCat("backup-", backups_), DataFolder(), [](uint64_t, uint64_t) {});
  Note(absl::StrCat("a backup is restored: ", absl::StatusCodeToString(restored.status().code())));
  if (!restored.ok()) return Violate(absl::StrCat("a backup cannot be restored: ", restored.status().message()));
  model_.GoBackTo(*backup_);
  last_request_.clear();
  Start(0);
}

void World::ChangeNetwork() {
  Process* const process = Any();
  if (process == nullptr) return;
  process->SetReachable(!process->is_reachable || random_.OneIn(2));
  Note(process->is_reachable ? "the database can be reached" : "the database cannot be reached");
}

void World::LoseAnswer() {
  Process* const process = Any();
  if (process == nullptr) return;
  is_fragile_ = true;
  for (const auto& one : processes_) {
    if (one != nullptr) one->shared()->LoseNextAnswer(true);
  }
  Note("an answer of the database is lost");
  ChangeSomething();
  for (const auto& one : processes_) {
    if (one != nullptr) one->shared()->LoseNextAnswer(false);
  }
  is_fragile_ = false;
  for (const auto& one : processes_) {
    if (one != nullptr) AdoptRounds(one->store());
  }
}

}  // namespace blink::simulation
