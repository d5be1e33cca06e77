// Ends a program that prints its result. A program fails when its result could not be written.
#ifndef BLINK_COMMON_CLI_STANDARD_OUTPUT_H_
#define BLINK_COMMON_CLI_STANDARD_OUTPUT_H_

#include "absl/status/status.h"

namespace blink {

// Flushes standard output (stdio's, which std::cout shares). Returns a FileError when any part of what was printed
// could not be written: RESOURCE_EXHAUSTED for a full disk, INTERNAL for a reader that has gone.
absl::Status FlushStandardOutput();

// Returns the exit code of `program`. That is `exit_code`, unless it is 0 and what was printed could not be written.
// Then it is the code of that error, which is printed on standard error as "<program>: <text>".
//
//   int main(int argc, char** argv) { return blink::EndProgram("blink", Main(argc, argv)); }
int EndProgram(const char* program, int exit_code);

}  // namespace blink

#endif  // BLINK_COMMON_CLI_STANDARD_OUTPUT_H_
