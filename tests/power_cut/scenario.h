// What is done while the power may go, and what has to be true afterwards.
#ifndef BLINK_TESTS_POWER_CUT_SCENARIO_H_
#define BLINK_TESTS_POWER_CUT_SCENARIO_H_

#include <functional>
#include <string>
#include <vector>

namespace blink::power_cut {

using Notes = std::vector<std::string>;

struct Scenario {
  std::string name;
  // In a recorded process. Started on what an earlier one left, it goes on from there.
  std::function<void(const std::string& root)> run;
  // The real recovery, on a copy. Says what of the promises in `notes` is broken, "" if nothing. `in_order`: every
  // file holds a beginning of what was written to it. Otherwise it may also refuse what it finds as damaged.
  std::function<std::string(const std::string& root, const Notes& notes, bool in_order)> check;
  // Operations between two of those after which the process is killed and started again.
  size_t kill_stride = 1;
  // RocksDB needs a file system that changes names in the order in which they were asked for, as all with a journal do.
  bool names_in_order = false;
};

// Of the recorded process: promises `text` from here on.
void Note(const std::string& text);

Scenario JournalScenario();
Scenario LateAnchorScenario();
Scenario StoreScenario();
Scenario RoundFolderScenario();
Scenario DeletedRoundScenario();
Scenario ResultScenario();
Scenario CheckpointScenario();
Scenario FilesScenario();
Scenario NewFolderScenario();
Scenario AuditLogScenario();
Scenario BackupScenario();

}  // namespace blink::power_cut

#endif  // BLINK_TESTS_POWER_CUT_SCENARIO_H_
