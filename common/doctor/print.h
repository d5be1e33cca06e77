// How the programs tell of a diagnosis.
#ifndef BLINK_COMMON_DOCTOR_PRINT_H_
#define BLINK_COMMON_DOCTOR_PRINT_H_

#include <unistd.h>

#include <cstdio>
#include <string>

#include "common/cli/terminal.h"
#include "common/doctor/diagnosis.h"

namespace blink {

// Prints it on standard output, folded where that is a terminal, or as JSON. Returns the exit code of the program.
inline int PrintDiagnosis(const Diagnosis& diagnosis, const std::string& program, bool json) {
  const size_t columns = ::isatty(STDOUT_FILENO) != 0 ? TerminalColumns(STDOUT_FILENO) : 0;
  const std::string text = json ? diagnosis.ToJson(program) : diagnosis.ToText(columns);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return static_cast<int>(diagnosis.exit_code());
}

}  // namespace blink

#endif  // BLINK_COMMON_DOCTOR_PRINT_H_
