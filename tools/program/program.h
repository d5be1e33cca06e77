// The command line of `blink`, which two programs have. `blink` starts in an instant, also where LibTorch is not
// installed, and becomes `blink-simulate` for the commands that train.
#ifndef BLINK_TOOLS_PROGRAM_PROGRAM_H_
#define BLINK_TOOLS_PROGRAM_PROGRAM_H_

#include "tools/link_audit/command.h"
#include "tools/simulate/command.h"

namespace blink {

// What the commands that train call.
struct TrainingRunners {
  SimulateRunner simulate;
  LinkAuditRunner audit_links;
};

// All of main().
int BlinkMain(int argc, char** argv, const TrainingRunners& runners);

}  // namespace blink

#endif  // BLINK_TOOLS_PROGRAM_PROGRAM_H_
