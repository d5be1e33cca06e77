// Where a snapshot of the store lies in the data folder until it is copied: DATA/store.snapshot-<random>. Each backup
// has one of its own.
#ifndef BLINK_AGGREGATOR_SERVER_BACKUP_SNAPSHOT_FOLDER_H_
#define BLINK_AGGREGATOR_SERVER_BACKUP_SNAPSHOT_FOLDER_H_

#include <string>

#include "absl/status/statusor.h"

namespace blink {

// A name that no other backup has; nothing is made.
absl::StatusOr<std::string> NewSnapshotFolder(const std::string& data_folder);

// Removes those of backups that were killed: what is a day old.
void RemoveOldSnapshots(const std::string& data_folder);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_BACKUP_SNAPSHOT_FOLDER_H_
