// A backup of an aggregator's data folder, as a folder of plain files:
//
//   BACKUP/backup.json         what it holds, with the size and SHA-256 of each file; written last
//   BACKUP/data/store/         the store, as of one moment
//   BACKUP/data/rounds/<id>/   of each round that was sealed by then
//   BACKUP/data/rosters/, audit.log, revoked.crl.pem
//
// The store is copied from a snapshot that was made of it at that moment (ReportStore::MakeSnapshot), so an aggregator
// may run meanwhile. What a worker keeps to go on from is left out: after a restore a training begins anew.
#ifndef BLINK_AGGREGATOR_SERVER_BACKUP_BACKUP_H_
#define BLINK_AGGREGATOR_SERVER_BACKUP_BACKUP_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace blink {

struct BackupSource {
  std::string data_folder;
  std::string store_snapshot;
  std::vector<std::string> round_ids;  // sealed before the snapshot was made
};

struct BackupSummary {
  absl::Time made;
  uint64_t rounds = 0;  // that have a folder
  uint64_t files = 0;
  uint64_t bytes = 0;
  std::string digest;  // of backup.json, in hexadecimal
};

using BackupProgress = std::function<void(uint64_t files_done, uint64_t files_total)>;

// Makes `folder`, which must not exist. It has that name only once everything is on the disk; until then, and after an
// error, it is FOLDER.partial, which the next try clears. RESOURCE_EXHAUSTED: the disk is full.
absl::StatusOr<BackupSummary> MakeBackup(const BackupSource& source, const std::string& folder, absl::Time now,
                                         const BackupProgress& progress);

// Reads everything. NOT_FOUND: no backup. DATA_LOSS naming the first file that is missing, changed, or not listed.
absl::StatusOr<BackupSummary> VerifyBackup(const std::string& folder, const BackupProgress& progress);

// Makes `data_folder`, which must not exist or be empty, from a backup that it verifies while it copies. As MakeBackup,
// it has the name only when it is whole. FAILED_PRECONDITION: there is something in it.
absl::StatusOr<BackupSummary> RestoreBackup(const std::string& folder, const std::string& data_folder,
                                            const BackupProgress& progress);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_BACKUP_BACKUP_H_
