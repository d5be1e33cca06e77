// What every JSON result says of the program that printed it.
#ifndef BLINK_COMMON_CLI_PROGRAM_JSON_H_
#define BLINK_COMMON_CLI_PROGRAM_JSON_H_

#include "common/base/program.h"
#include "nlohmann/json.hpp"

namespace blink {

// {version, commit, arguments}, where arguments begins with the program as it was called.
inline nlohmann::ordered_json ProgramJson() {
  return {{"version", ProgramVersion()}, {"commit", ProgramCommit()}, {"arguments", ProgramArguments()}};
}

}  // namespace blink

#endif  // BLINK_COMMON_CLI_PROGRAM_JSON_H_
