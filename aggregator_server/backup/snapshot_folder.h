// Where a snapshot of the store lies in the data folder until it is copied: DATA/store.snapshot-<random>. Each backup
// has one of its own.
#ifndef BLINK_AGGREGATOR_SERVER_BACKUP_SNAPSHOT_FOLDER_H_
#define BLINK_AGGREGATOR_SERVER_BACKUP_SNAPSHOT_FOLDER_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"

namespace blink {

// A name that no other backup has; nothing is made.
absl::StatusOr<std::string> NewSnapshotFolder(const std::string& data_folder);

// Removes those of backups that were killed: what nobody holds, and is a minute old. They may have reports that were
// deleted meanwhile.
void RemoveOldSnapshots(const std::string& data_folder);

// Does that now and once a minute, on a thread of its own: a slow disk holds up nobody else.
class OldSnapshots {
 public:
  explicit OldSnapshots(std::string data_folder, std::chrono::milliseconds every = std::chrono::minutes(1));
  ~OldSnapshots();  // waits for the removal that has begun
  OldSnapshots(const OldSnapshots&) = delete;
  OldSnapshots& operator=(const OldSnapshots&) = delete;

 private:
  void Run();

  const std::string data_folder_;
  const std::chrono::milliseconds every_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;
};

// Holds a snapshot while it is copied, and removes it afterwards.
class HeldSnapshot {
 public:
  explicit HeldSnapshot(std::string folder);
  ~HeldSnapshot();
  HeldSnapshot(const HeldSnapshot&) = delete;
  HeldSnapshot& operator=(const HeldSnapshot&) = delete;

 private:
  const std::string folder_;
  const int fd_;  // locked, until this process ends however it does
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_BACKUP_SNAPSHOT_FOLDER_H_
