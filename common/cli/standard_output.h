// Ends a program that prints its result. A program fails when its result could not be written.
#ifndef BLINK_COMMON_CLI_STANDARD_OUTPUT_H_
#define BLINK_COMMON_CLI_STANDARD_OUTPUT_H_

#include "absl/status/status.h"

namespace blink {

// Flushes standard output (stdio's, which std::cout shares). Returns a FileError when any part of what was printed
// could not be written, such as RESOURCE_EXHAUSTED for a full disk. CANCELLED: the reader of a pipe has gone.
absl::Status FlushStandardOutput();

// Whether `written` says that the reader has gone, as in `blink ... | head -1`. It has what it wanted.
bool ReaderHasGone(const absl::Status& written);

// Returns the exit code of `program`. That is `exit_code`, unless it is 0 and what was printed could not be written.
// Then it is the code of that error, which is printed on standard error as "<program>: <text>". A reader that has gone
// is no error.
//
//   int main(int argc, char** argv) { return blink::EndProgram("blink", Main(argc, argv)); }
int EndProgram(const char* program, int exit_code);

}  // namespace blink

#endif  // BLINK_COMMON_CLI_STANDARD_OUTPUT_H_
