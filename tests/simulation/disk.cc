#include "tests/simulation/disk.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "rocksdb/file_system.h"

namespace blink::simulation {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

IOStatus NoPower() { return IOStatus::IOError("the power is cut"); }

bool IsLog(const std::string& path) { return absl::EndsWith(path, ".log"); }

// Passes on what is written, and remembers how much of it a sync has made durable.
class File final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  File(std::unique_ptr<rocksdb::FSWritableFile> file, std::string path, std::shared_ptr<DiskState> state)
      : FSWritableFileOwnerWrapper(std::move(file)), path_(std::move(path)), state_(std::move(state)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    return Write(data, [&] { return FSWritableFileOwnerWrapper::Append(data, options, debug); });
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo& info,
                  IODebugContext* debug) override {
    return Write(data, [&] { return FSWritableFileOwnerWrapper::Append(data, options, info, debug); });
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    if (state_->is_dead) return NoPower();
    DiskState::File& file = state_->files[path_];
    file.size = size;
    file.synced = std::min(file.synced, size);
    return FSWritableFileOwnerWrapper::Truncate(size, options, debug);
  }
  // The file lies in memory: only what is remembered of it is made durable.
  IOStatus Sync(const IOOptions&, IODebugContext*) override { return MakeDurable(); }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return MakeDurable(); }
  IOStatus RangeSync(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Allocate(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  void PrepareWrite(size_t, size_t, const IOOptions&, IODebugContext*) override {}

 private:
  template <typename Append>
  IOStatus Write(const Slice& data, const Append& append) {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    if (state_->is_dead) return NoPower();
    IOStatus written = append();
    if (written.ok()) state_->files[path_].size += data.size();
    return written;
  }

  IOStatus MakeDurable() {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    if (state_->is_dead) return NoPower();
    DiskState::File& file = state_->files[path_];
    if (!IsLog(path_)) {
      file.synced = file.size;
      return IOStatus::OK();
    }
    state_->clock->Advance(state_->sync_time);
    switch (std::exchange(state_->next_sync, DiskState::NextSync::kSucceeds)) {
      case DiskState::NextSync::kSucceeds:
        if (!state_->lies_about_syncs) file.synced = file.size;
        return IOStatus::OK();
      case DiskState::NextSync::kFails:
        return IOStatus::IOError("the disk failed");
      case DiskState::NextSync::kCutsPower:
        state_->is_dead = true;
        return NoPower();
    }
    return IOStatus::OK();
  }

  const std::string path_;
  const std::shared_ptr<DiskState> state_;
};

class FileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit FileSystem(std::shared_ptr<DiskState> state)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), state_(std::move(state)) {}
  const char* Name() const override { return "SimulatedDisk"; }

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext* debug) override {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    if (state_->is_dead) return NoPower();
    std::unique_ptr<rocksdb::FSWritableFile> file;
    IOStatus made = FileSystemWrapper::NewWritableFile(path, options, &file, debug);
    if (!made.ok()) return made;
    state_->files[path] = {};
    *result = std::make_unique<File>(std::move(file), path, state_);
    return made;
  }
  // The store asks for neither of them.
  IOStatus ReopenWritableFile(const std::string&, const rocksdb::FileOptions&,
                              std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) override {
    return IOStatus::NotSupported("of a simulated disk");
  }
  IOStatus ReuseWritableFile(const std::string&, const std::string&, const rocksdb::FileOptions&,
                             std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) override {
    return IOStatus::NotSupported("of a simulated disk");
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* debug) override {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    if (state_->is_dead) return NoPower();
    const auto renamed = state_->files.extract(from);
    state_->files.erase(to);
    if (!renamed.empty()) state_->files[to] = renamed.mapped();
    return FileSystemWrapper::RenameFile(from, to, options, debug);
  }
  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                    IODebugContext* debug) override {
    if (state_->is_dead) return NoPower();
    return FileSystemWrapper::LinkFile(from, to, options, debug);
  }
  IOStatus DeleteFile(const std::string& path, const IOOptions& options, IODebugContext* debug) override {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    if (state_->is_dead) return NoPower();
    state_->files.erase(path);
    return FileSystemWrapper::DeleteFile(path, options, debug);
  }

 private:
  const std::shared_ptr<DiskState> state_;
};

}  // namespace

class SimulatedDisk::Env final : public rocksdb::EnvWrapper {
 public:
  explicit Env(const std::shared_ptr<DiskState>& state) : Env(std::make_shared<FileSystem>(state)) {}
  const char* Name() const override { return "SimulatedDisk"; }

  void Schedule(void (*function)(void*), void* argument, Priority priority, void* tag, void (*undo)(void*)) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    jobs_.push_back({function, argument, priority, tag, undo});
  }
  int UnSchedule(void* tag, Priority priority) override {
    std::vector<Job> removed;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (auto job = jobs_.begin(); job != jobs_.end();) {
        if (job->tag != tag || job->priority != priority) {
          ++job;
          continue;
        }
        removed.push_back(*job);
        job = jobs_.erase(job);
      }
    }
    for (const Job& job : removed) {
      if (job.undo != nullptr) job.undo(job.argument);
    }
    return static_cast<int>(removed.size());
  }
  unsigned int GetThreadPoolQueueLen(Priority) const override { return 0; }

  void RunAll() {
    while (true) {
      Job job;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (jobs_.empty()) return;
        job = jobs_.front();
        jobs_.erase(jobs_.begin());
      }
      job.function(job.argument);
    }
  }

 private:
  struct Job {
    void (*function)(void*) = nullptr;
    void* argument = nullptr;
    Priority priority = LOW;
    void* tag = nullptr;
    void (*undo)(void*) = nullptr;
  };

  explicit Env(const std::shared_ptr<FileSystem>& file_system) : EnvWrapper(rocksdb::NewCompositeEnv(file_system)) {
    file_system_ = file_system;
    system_clock_ = target()->GetSystemClock();
  }

  std::mutex mutex_;
  std::vector<Job> jobs_;
};

SimulatedDisk::SimulatedDisk(testing::ManualClock& clock, Random& random)
    : state_(std::make_shared<DiskState>()), env_(std::make_unique<Env>(state_)) {
  state_->clock = &clock;
  state_->random = &random;
}

SimulatedDisk::~SimulatedDisk() = default;

rocksdb::Env* SimulatedDisk::env() { return env_.get(); }

std::function<std::optional<uint64_t>(const std::string&)> SimulatedDisk::FreeBytes() {
  return [state = state_](const std::string&) { return state->is_full ? uint64_t{0} : uint64_t{1} << 40; };
}

void SimulatedDisk::RunBackgroundWork() { env_->RunAll(); }

// After a failed write, RocksDB waits for its background work.
void SimulatedDisk::Fail(DiskState::NextSync next_sync) {
  RunBackgroundWork();
  state_->next_sync = next_sync;
}

void SimulatedDisk::CutPowerUnderWriters() {
  RunBackgroundWork();
  state_->is_dead = true;
}

void SimulatedDisk::Restart() {
  for (const auto& [path, file] : state_->files) {
    if (file.synced >= file.size) continue;
    Random& random = *state_->random;
    const uint64_t unsynced = file.size - file.synced;
    const uint64_t kept = random.OneIn(3) ? 0 : random.OneIn(3) ? unsynced : random.Below(unsynced + 1);
    std::error_code error;
    std::filesystem::resize_file(path, file.synced + kept, error);
    if (error || !random.OneIn(4)) continue;
    std::filesystem::resize_file(path, file.synced, error);  // or the file grew without its bytes
    std::filesystem::resize_file(path, file.synced + kept, error);
  }
  state_->files.clear();
  state_->is_dead = false;
  state_->next_sync = DiskState::NextSync::kSucceeds;
}

}  // namespace blink::simulation
