// LookAtProgram: `PROGRAM --version`, with a limit on its time.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/durable_file.h"
#include "common/base/program.h"
#include "common/doctor/checks.h"

extern char** environ;

namespace blink {
namespace {

constexpr absl::Duration kAnswerMax = absl::Seconds(30);  // a busy machine loads LibTorch slowly
constexpr size_t kAnswerBytesMax = 4096;

// Reads until the end, or until the time or the bytes are up. Closes `fd`.
std::string ReadAnswer(int fd) {
  std::string answer;
  const absl::Time end = absl::Now() + kAnswerMax;
  while (answer.size() < kAnswerBytesMax) {
    pollfd waiting = {.fd = fd, .events = POLLIN, .revents = 0};
    const int64_t left_ms = absl::ToInt64Milliseconds(end - absl::Now());
    if (left_ms <= 0 || ::poll(&waiting, 1, static_cast<int>(left_ms)) <= 0) break;
    char bytes[512];
    const ssize_t got = ::read(fd, bytes, sizeof(bytes));
    if (got <= 0) break;
    answer.append(bytes, static_cast<size_t>(got));
  }
  ::close(fd);
  return answer;
}

// What the program prints, of both its outputs. FAILED_PRECONDITION: it ends with an error, or does not end.
absl::StatusOr<std::string> AskVersion(const std::string& path) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return absl::ResourceExhaustedError("no descriptor is left");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::string program = path, flag = "--version";
  char* const arguments[] = {program.data(), flag.data(), nullptr};
  pid_t child = 0;
  const int error = ::posix_spawn(&child, path.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    return FileError(error, "run", path);
  }
  std::string answer(absl::StripAsciiWhitespace(ReadAnswer(ends[0])));
  int status = 0;
  const absl::Time end = absl::Now() + absl::Seconds(1);
  pid_t reaped = 0;
  while ((reaped = ::waitpid(child, &status, WNOHANG)) == 0 && absl::Now() < end) absl::SleepFor(absl::Milliseconds(5));
  if (reaped == 0) {
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return absl::FailedPreconditionError(absl::StrCat(path, " --version does not end"));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return answer;
  const std::string why = answer.substr(0, answer.find('\n'));
  return absl::FailedPreconditionError(absl::StrCat(path, " does not start: ", why.empty() ? "it says nothing" : why));
}

}  // namespace

void LookAtProgram(const std::string& path, Diagnosis& diagnosis) {
  const absl::StatusOr<std::string> version = AskVersion(path);
  if (!version.ok()) {
    diagnosis.Error("version", path, version.status());
    return;
  }
  // A program may call itself otherwise than its file.
  const auto without_name = [](const std::string& text) { return text.substr(std::min(text.find(' '), text.size())); };
  if (without_name(*version) == without_name(VersionText("blink"))) {
    diagnosis.Ok("version", path, absl::StrCat("is", without_name(*version), ", as this program"));
    return;
  }
  diagnosis.Warn("version", path,
                 absl::StrCat("is \"", version->substr(0, version->find('\n')), "\", and this program is \"",
                              VersionText("blink"), "\""),
                 "install all of blink's programs from one build");
}

}  // namespace blink
