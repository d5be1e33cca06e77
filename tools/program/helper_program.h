// Commands of `blink` that are programs of their own. They lie beside `blink` in a build folder and in an installation.
#ifndef BLINK_TOOLS_PROGRAM_HELPER_PROGRAM_H_
#define BLINK_TOOLS_PROGRAM_HELPER_PROGRAM_H_

#include <string>

#include "CLI/CLI.hpp"

namespace blink {

// Becomes the program `name` with these arguments, which begin with a program's name and end with a null pointer. The
// program that lies beside this one is taken, never one from PATH. Returns only where that fails: the exit code, with
// the reason on standard error.
int BecomeHelper(const std::string& name, char** argv);

// Whether `blink WORD` becomes the Python program blink-WORD, which reads the rest of the command line itself.
bool IsPythonCommand(const std::string& word);

// Lists those commands in `app`'s help, its completion and its man page.
void AddPythonCommands(CLI::App& app);

}  // namespace blink

#endif  // BLINK_TOOLS_PROGRAM_HELPER_PROGRAM_H_
