// `blink doctor`: what would stop an operator's commands.
#ifndef BLINK_TOOLS_ROUND_DOCTOR_COMMAND_H_
#define BLINK_TOOLS_ROUND_DOCTOR_COMMAND_H_

#include <functional>

#include "CLI/CLI.hpp"

namespace blink {

void AddDoctorCommand(CLI::App& app, std::function<int()>* run);

}  // namespace blink

#endif  // BLINK_TOOLS_ROUND_DOCTOR_COMMAND_H_
