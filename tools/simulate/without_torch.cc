// Takes the place of command.cc in a build without LibTorch.
#include "tools/simulate/command.h"

namespace blink {

void AddSimulateCommand(CLI::App&, std::function<int()>*) {}  // a simulation trains: there is no such command

}  // namespace blink
