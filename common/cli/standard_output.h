// The end of a program that prints its result: a result that did not arrive is no success.
#ifndef BLINK_COMMON_CLI_STANDARD_OUTPUT_H_
#define BLINK_COMMON_CLI_STANDARD_OUTPUT_H_

#include "absl/status/status.h"

namespace blink {

// Flushes standard output (stdio's, which std::cout shares). A FileError when something of all that was printed could
// not be written: a full disk is RESOURCE_EXHAUSTED, a reader that has gone INTERNAL.
absl::Status FlushStandardOutput();

// How a program ends: `exit_code`, unless it is 0 and what was printed did not arrive; then the code of that error,
// which is told on standard error as "<program>: <text>".
//
//   int main(int argc, char** argv) { return blink::EndProgram("blink", Main(argc, argv)); }
int EndProgram(const char* program, int exit_code);

}  // namespace blink

#endif  // BLINK_COMMON_CLI_STANDARD_OUTPUT_H_
