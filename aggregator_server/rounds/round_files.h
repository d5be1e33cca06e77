// The folder of a round, DATA/rounds/<id>:
//
//   round.json, reports.blr, groups
//                            what a worker reads, also blink-worker when it is started by hand; groups where the round
//                            asks about some
//   result/                  what the worker leaves for the operator
//   result.tmp/, result.checkpoint/
//                            what the worker keeps to go on from, until the round has ended
#ifndef BLINK_AGGREGATOR_SERVER_ROUNDS_ROUND_FILES_H_
#define BLINK_AGGREGATOR_SERVER_ROUNDS_ROUND_FILES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "aggregator_server/store/report_store.h"
#include "blink/v1/operator.pb.h"

namespace blink {

class RoundFiles {
 public:
  RoundFiles(const std::string& rounds_folder, const std::string& round_id);

  const std::string& folder() const { return folder_; }
  std::string result() const { return folder_ + "/result"; }

  // Makes the folder and writes what a worker reads, from the reports in `store`. RESOURCE_EXHAUSTED: the disk is full.
  absl::Status Write(const v1::Round& round, ReportStore& store) const;
  // Whether the round has ended and has reports, and they are not written here: because it was cancelled or failed, or
  // because its folder was lost.
  bool LacksReportsOf(const v1::Round& round) const;

  // Leaves no report here, nor what a worker made of them on its way. OK: they are gone from the disk.
  absl::Status RemoveReports() const;
  // Likewise, and of the whole folder.
  absl::Status RemoveFolder() const;

  // How far a worker has come, as the size of its checkpoints: a checkpoint grows with every epoch, and a search has
  // one more with every candidate.
  uint64_t CheckpointBytes() const;
  // When the newest of them was written; nullopt: there is none.
  std::optional<absl::Time> CheckpointTime() const;
  void RemoveWhatWorkersKept() const;

 private:
  std::string checkpoint_folder() const { return folder_ + "/result.checkpoint"; }

  const std::string folder_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ROUNDS_ROUND_FILES_H_
