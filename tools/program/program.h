// The command line of `blink`, which two programs have. `blink` starts in an instant, also where LibTorch is not
// installed, and becomes `blink-simulate` for the one command that trains.
#ifndef BLINK_TOOLS_PROGRAM_PROGRAM_H_
#define BLINK_TOOLS_PROGRAM_PROGRAM_H_

#include "tools/simulate/command.h"

namespace blink {

// All of main(). `simulate` is called for `blink simulate`.
int BlinkMain(int argc, char** argv, const SimulateRunner& simulate);

}  // namespace blink

#endif  // BLINK_TOOLS_PROGRAM_PROGRAM_H_
