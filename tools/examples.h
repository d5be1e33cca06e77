// The examples at the end of each command's --help. A test parses every one of them.
#ifndef BLINK_TOOLS_EXAMPLES_H_
#define BLINK_TOOLS_EXAMPLES_H_

#include <vector>

#include "common/cli/help.h"

namespace blink {

// Two or more for each command of `blink`.
const std::vector<CommandExamples>& ExamplesOfBlink();

}  // namespace blink

#endif  // BLINK_TOOLS_EXAMPLES_H_
