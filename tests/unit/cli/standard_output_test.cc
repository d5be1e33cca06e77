// What becomes of a program whose output does not arrive. Every case runs in a process of its own, whose standard
// output it breaks.
#include "common/cli/standard_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>

#include "common/base/exit_code.h"
#include "gtest/gtest.h"

namespace blink {
namespace {

// Ends as a program that has printed `text`, stdio's and then iostream's, with `fd` as its standard output.
[[noreturn]] void PrintAndEnd(int fd, const std::string& text, int exit_code) {
  ::signal(SIGPIPE, SIG_IGN);
  ::dup2(fd, STDOUT_FILENO);
  std::printf("%s", text.c_str());
  std::cout << text;
  ::_exit(EndProgram("tool", exit_code));
}

int Full() { return ::open("/dev/full", O_WRONLY); }

TEST(EndProgram, KeepsTheCodeWhereTheOutputArrived) {
  const int null = ::open("/dev/null", O_WRONLY);
  EXPECT_EXIT(PrintAndEnd(null, "a result", 0), ::testing::ExitedWithCode(0), "^$");
  EXPECT_EXIT(PrintAndEnd(null, "a result", 8), ::testing::ExitedWithCode(8), "^$");
}

TEST(EndProgram, SaysThatTheDiskIsFull) {
  EXPECT_EXIT(PrintAndEnd(Full(), "a result", 0), ::testing::ExitedWithCode(9),
              "tool: cannot write standard output: No space left on device");
}

TEST(EndProgram, SaysSoOfAnOutputThatIsLargerThanTheBuffer) {
  EXPECT_EXIT(PrintAndEnd(Full(), std::string(1 << 20, 'x'), 0), ::testing::ExitedWithCode(9),
              "No space left on device");
}

TEST(EndProgram, KeepsAnErrorThatIsWorseThanALostOutput) {
  EXPECT_EXIT(PrintAndEnd(Full(), "a violation", 10), ::testing::ExitedWithCode(10), "No space left on device");
}

TEST(EndProgram, EndsQuietlyWhereTheReaderHasGone) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  for (const std::string& text : {std::string("a result"), std::string(1 << 20, 'x')}) {
    EXPECT_EXIT(PrintAndEnd(ends[1], text, 0), ::testing::ExitedWithCode(0), "^$");
    EXPECT_EXIT(PrintAndEnd(ends[1], text, 8), ::testing::ExitedWithCode(8), "^$");
  }
}

TEST(EndProgram, NothingPrintedIsNothingLost) {
  EXPECT_EXIT(PrintAndEnd(Full(), "", 0), ::testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace blink
