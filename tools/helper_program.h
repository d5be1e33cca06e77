// Commands of `blink` that are programs of their own: `blink sweep` runs blink-sweep with the rest of the command line,
// as git does. They are Python, and lie beside `blink` in a build folder and in an installation.
#ifndef BLINK_TOOLS_HELPER_PROGRAM_H_
#define BLINK_TOOLS_HELPER_PROGRAM_H_

#include <string>

#include "CLI/CLI.hpp"

namespace blink {

// Whether the first word of the command line is such a command.
bool IsHelperCommand(const std::string& word);

// Becomes blink-<command> with these arguments, which end with a null pointer. The program that lies beside this one is
// taken, never one from PATH. Returns only where that fails: the exit code, with the reason on standard error.
int RunHelperProgram(const std::string& command, char** arguments);

// Lists them in `app`'s help, its completion and its man page. They parse their own arguments.
void AddHelperCommands(CLI::App& app);

}  // namespace blink

#endif  // BLINK_TOOLS_HELPER_PROGRAM_H_
