#include "aggregator_server/main/data_key.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/durable_file.h"
#include "common/base/private_file.h"
#include "common/base/status_macros.h"
#include "common/cli/config_file.h"

namespace blink {
namespace {

constexpr size_t kKeyTextMax = 4096;

absl::StatusOr<SecretKey> ParseKey(const std::string& source, std::string& text) {
  absl::StatusOr<SecretKey> key = SecretKey::FromText(text);
  Cleanse(text);
  if (key.ok()) return key;
  // Not INVALID_ARGUMENT: the flags are right, what they lead to is not.
  return absl::FailedPreconditionError(absl::StrCat(source, ": ", key.status().message()));
}

// Reads to the end, or until the time is over (false), or there is too much (false).
bool ReadUntil(int fd, std::chrono::steady_clock::time_point end, std::string& text) {
  char buffer[512];
  while (text.size() <= kKeyTextMax) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd waits = {fd, POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&waits, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t got = ::read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer, got);
  }
  explicit_bzero(buffer, sizeof(buffer));
  return text.size() <= kKeyTextMax;
}

// Its exit status; -1: it did not end in time, and was killed.
int WaitUntil(pid_t pid, std::chrono::steady_clock::time_point end) {
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= end) {
      ::kill(-pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return status;
}

}  // namespace

absl::StatusOr<SecretKey> ReadDataKeyFile(const std::string& path) {
  BLINK_ASSIGN_OR_RETURN(std::string text, ReadNamedFile(path, kKeyTextMax));
  WarnOfOpenKey(path);
  return ParseKey(path, text);
}

absl::StatusOr<SecretKey> ReadDataKeyOfCommand(const std::string& command, absl::Duration time_max) {
  std::vector<std::string> words = absl::StrSplit(command, ' ', absl::SkipEmpty());
  if (words.empty() || !absl::StartsWith(words[0], "/")) {
    return absl::InvalidArgumentError(
        "--data-key-command: name a program by its absolute path, and its arguments behind it, separated by blanks: no "
        "shell starts it");
  }
  const std::string& program = words[0];
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int output[2];
  if (::pipe2(output, O_CLOEXEC) != 0) return FileError(errno, "make a pipe for", program);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output[1], 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  ::close(output[1]);
  if (error != 0) {
    ::close(output[0]);
    return FileError(error, "start (--data-key-command)", program);
  }
  const auto end = std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(time_max);
  std::string text;
  text.reserve(2 * kKeyTextMax);  // so that it leaves no copy behind
  const bool is_whole = ReadUntil(output[0], end, text);
  ::close(output[0]);
  // It has closed its output, so that it is about to end, or has no more time.
  const int status = WaitUntil(pid, is_whole ? end : std::chrono::steady_clock::now());
  ::kill(-pid, SIGKILL);  // what it may have left behind in its group
  const std::string source = absl::StrCat("--data-key-command ", program);
  if (is_whole && status == 0) return ParseKey(source, text);
  Cleanse(text);
  if (is_whole && status > 0) {
    return absl::FailedPreconditionError(absl::StrCat(source,
                                                      WIFEXITED(status)
                                                          ? absl::StrCat(" ended with exit code ", WEXITSTATUS(status))
                                                          : absl::StrCat(" was ended by signal ", WTERMSIG(status)),
                                                      ": run it by hand as the aggregator's user, and see why"));
  }
  return absl::FailedPreconditionError(absl::StrCat(source, " did not end within ", absl::FormatDuration(time_max),
                                                    ", or printed more than a key: it must print the key and end"));
}

}  // namespace blink
