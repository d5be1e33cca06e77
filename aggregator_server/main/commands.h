// blink-aggregator's own commands, beside serving:
//
//   blink-aggregator backup  --data DATA --output BACKUP      also while an aggregator runs on DATA
//   blink-aggregator verify-backup BACKUP
//   blink-aggregator restore BACKUP --data DATA
//   blink-aggregator drain   --data DATA [--undo]
#ifndef BLINK_AGGREGATOR_SERVER_MAIN_COMMANDS_H_
#define BLINK_AGGREGATOR_SERVER_MAIN_COMMANDS_H_

#include <optional>

namespace blink {

// Runs the command that the first argument names, and returns the exit code. nullopt: it names none.
std::optional<int> RunCommand(int argc, char** argv);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_MAIN_COMMANDS_H_
