#include "aggregator_server/rounds/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/durable_file.h"
#include "common/base/exit_code.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace blink {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr int kPollMs = 50;
constexpr size_t kLineBytesMax = 64 << 10;
constexpr size_t kTextBytesMax = 200;
constexpr size_t kErrorBytesMax = 1000;
constexpr auto kLookForLifeEvery = std::chrono::seconds(1);
constexpr absl::Duration kTellOfSilenceAfter = absl::Seconds(30);
constexpr auto kTermGrace = std::chrono::seconds(5);  // for an epoch and its checkpoint

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { Close(); }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read, write;
};

absl::StatusOr<Pipe> MakePipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return FileError(errno, "make a pipe for", "the worker");
  return Pipe{Fd(fds[0]), Fd(fds[1])};
}

// What the worker says goes to terminals and logs: printable, and short.
std::string MakePrintable(absl::string_view text, size_t bytes_max) {
  std::string out(text.substr(0, bytes_max));
  for (char& c : out) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  return out;
}

// Splits what arrives into lines; the rest of an overlong line is dropped.
class LineReader {
 public:
  // False at the end of the stream. Reads what is there, without waiting.
  bool Read(int fd, const std::function<void(const std::string&)>& line) {
    char buffer[16 << 10];
    while (true) {
      const ssize_t got = ::read(fd, buffer, sizeof(buffer));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno == EAGAIN;
      if (got == 0) {
        if (!partial_.empty()) line(std::exchange(partial_, ""));
        return false;
      }
      for (ssize_t i = 0; i < got; ++i) {
        if (buffer[i] == '\n') {
          line(std::exchange(partial_, ""));
        } else if (partial_.size() < kLineBytesMax) {
          partial_.push_back(buffer[i]);
        }
      }
    }
  }

 private:
  std::string partial_;
};

// Everything the child needs, made before the fork: after it only async-signal-safe calls are allowed.
struct ChildSetup {
  std::vector<char*> argv;
  pid_t parent = 0;
  int null_fd = -1, stdout_fd = -1, stderr_fd = -1, status_fd = -1;
  int key_fd = -1;  // -1: there is no key; otherwise above kWorkerKeyDescriptor
  WorkerLimits limits;
};

// `grace` above it the kernel kills outright; at the limit of processor time it first sends SIGXCPU, which says why.
void SetLimit(int resource, uint64_t value, uint64_t grace = 0) {
  if (value == 0) return;
  const rlimit limit{value, value + grace};
  ::setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

[[noreturn]] void BecomeWorker(const ChildSetup& setup) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != setup.parent) ::_exit(127);  // the parent died before the line above
  sigset_t none;
  sigemptyset(&none);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // The descriptors are above 2 (program_start.cc holds 0..2), so that no dup2 overwrites one that is still needed.
  ::dup2(setup.null_fd, 0);
  ::dup2(setup.stdout_fd, 1);
  ::dup2(setup.stderr_fd, 2);
  int status_fd = ::dup2(setup.status_fd, 3);
  ::fcntl(status_fd, F_SETFD, FD_CLOEXEC);
  if (setup.key_fd >= 0) ::dup2(setup.key_fd, kWorkerKeyDescriptor);
  ::close_range(kWorkerKeyDescriptor + (setup.key_fd >= 0 ? 1 : 0), ~0U, 0);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);  // a core would hold the features
  SetLimit(RLIMIT_AS, setup.limits.memory_bytes);
  SetLimit(RLIMIT_CPU, setup.limits.cpu_seconds, 5);
  (void)!::nice(setup.limits.niceness);
  ::execv(setup.argv[0], setup.argv.data());
  const int error = errno;
  [[maybe_unused]] ssize_t ignored = ::write(status_fd, &error, sizeof(error));
  ::_exit(127);
}

struct Child {
  pid_t pid = -1;
  Fd output, errors;
};

// The end to read of a pipe that holds the key.
absl::StatusOr<Fd> PutIntoPipe(const SecretKey& key) {
  BLINK_ASSIGN_OR_RETURN(Pipe pipe, MakePipe());
  std::string bytes = key.bytes();
  const ssize_t put = ::write(pipe.write.get(), bytes.data(), bytes.size());  // an empty pipe has room for it
  Cleanse(bytes);
  if (put != static_cast<ssize_t>(SecretKey::kBytes)) return FileError(errno, "write to a pipe for", "the worker");
  Fd high(::fcntl(pipe.read.get(), F_DUPFD_CLOEXEC, kWorkerKeyDescriptor + 1));
  if (high.get() < 0) return FileError(errno, "make a pipe for", "the worker");
  return high;
}

absl::StatusOr<Child> StartChild(const std::vector<std::string>& arguments, const WorkerLimits& limits,
                                 const std::optional<SecretKey>& key) {
  BLINK_ASSIGN_OR_RETURN(Pipe output, MakePipe());
  BLINK_ASSIGN_OR_RETURN(Pipe errors, MakePipe());
  BLINK_ASSIGN_OR_RETURN(Pipe status, MakePipe());
  Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (null.get() < 0) return FileError(errno, "open", "/dev/null");
  ChildSetup setup;
  for (const std::string& argument : arguments) setup.argv.push_back(const_cast<char*>(argument.c_str()));
  setup.argv.push_back(nullptr);
  setup.parent = ::getpid();
  setup.null_fd = null.get();
  setup.stdout_fd = output.write.get();
  setup.stderr_fd = errors.write.get();
  setup.status_fd = status.write.get();
  Fd key_end;
  if (key.has_value()) {
    BLINK_ASSIGN_OR_RETURN(key_end, PutIntoPipe(*key));
  }
  setup.key_fd = key_end.get();
  setup.limits = limits;
  const pid_t pid = ::fork();
  if (pid < 0) return FileError(errno == EAGAIN || errno == ENOMEM ? EMFILE : errno, "start", arguments[0]);
  if (pid == 0) BecomeWorker(setup);
  ::setpgid(pid, pid);  // whoever comes first, so that the group exists from here on
  output.write.Close();
  errors.write.Close();
  status.write.Close();
  int error = 0;
  ssize_t got;
  do {
    got = ::read(status.read.get(), &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  if (got == sizeof(error)) {
    ::waitpid(pid, nullptr, 0);
    return FileError(error, "start the worker", arguments[0]);
  }
  ::fcntl(output.read.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(errors.read.get(), F_SETFL, O_NONBLOCK);
  return Child{pid, std::move(output.read), std::move(errors.read)};
}

// What the child has said so far.
struct Speech {
  bool has_begun = false;  // there was a line of the protocol
  std::string error;       // of its error line
  bool waits_for_disk = false, waits_for_worker = false;
  std::string last_words;  // last line of standard error, for a person only
  std::optional<Gpus> gpus;
};

void TakeOutputLine(const std::string& line, Speech& speech,
                    const std::function<void(const WorkerProgress&)>& progress) {
  const nlohmann::json said = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!said.is_object()) return;
  speech.has_begun = true;
  if (const auto error = said.find("error"); error != said.end() && error->is_string()) {
    speech.error = MakePrintable(error->get_ref<const std::string&>(), kErrorBytesMax);
    const auto waits = said.find("waits_for");
    speech.waits_for_disk = waits != said.end() && *waits == "disk";
    speech.waits_for_worker = waits != said.end() && *waits == "worker";
    return;
  }
  if (const auto gpus = said.find("gpus"); gpus != said.end() && gpus->is_number_integer()) {
    speech.gpus = Gpus{.count = gpus->get<int>(), .why_none = MakePrintable(said.value("why_none", ""), kTextBytesMax)};
    return;
  }
  const auto stage = said.find("stage");
  if (stage == said.end() || !stage->is_string()) return;
  WorkerProgress now;
  if (*stage == "training") {
    now.stage = v1::ROUND_STATE_TRAINING;
  } else if (*stage != "estimating") {
    return;
  }
  if (const auto value = said.find("progress"); value != said.end() && value->is_number()) {
    const double fraction = value->get<double>();
    now.progress = fraction > 0 ? std::min(fraction, 1.0) : 0.0;
  }
  if (const auto text = said.find("text"); text != said.end() && text->is_string()) {
    now.text = MakePrintable(text->get_ref<const std::string&>(), kTextBytesMax);
  }
  progress(now);
}

void TakeErrorLine(const std::string& line, Speech& speech) {
  const std::string text = MakePrintable(line, kErrorBytesMax);
  if (absl::StripAsciiWhitespace(text).empty()) return;
  spdlog::info("worker: {}", text);
  speech.last_words = text.substr(0, 300);
}

// Processor time that the process has used, in ticks; 0 where it is not known. The fields of /proc/PID/stat are counted
// from behind the program's name, which may hold anything.
uint64_t TicksUsed(pid_t pid) {
  const absl::StatusOr<std::string> stat = ReadFile(absl::StrCat("/proc/", pid, "/stat"), 4096);
  if (!stat.ok()) return 0;
  const std::vector<absl::string_view> fields =
      absl::StrSplit(stat->substr(std::min(stat->size(), stat->rfind(')') + 1)), ' ', absl::SkipEmpty());
  constexpr size_t kUser = 11, kSystem = 12;
  uint64_t user = 0, system = 0;
  if (fields.size() <= kSystem || !absl::SimpleAtoi(fields[kUser], &user) ||
      !absl::SimpleAtoi(fields[kSystem], &system))
    return 0;
  return user + system;
}

// Since when a worker has given no sign of life. Whoever is stopped, or waits for ever, writes nothing and uses no
// processor time.
class SignsOfLife {
 public:
  explicit SignsOfLife(pid_t pid) : pid_(pid) {}
  void NoteLine() { last_ = SteadyClock::now(); }
  absl::Duration SilentFor() {
    const auto now = SteadyClock::now();
    if (now >= next_look_) {
      next_look_ = now + kLookForLifeEvery;
      if (const uint64_t ticks = TicksUsed(pid_); ticks != ticks_) {
        ticks_ = ticks;
        last_ = now;
      }
    }
    return absl::FromChrono(now - last_);
  }

 private:
  const pid_t pid_;
  uint64_t ticks_ = 0;
  SteadyClock::time_point last_ = SteadyClock::now(), next_look_ = last_;
};

// Repeats the last progress with the time of silence, at every whole multiple of kTellOfSilenceAfter.
void TellOfSilence(absl::Duration silent_for, WorkerProgress& last,
                   const std::function<void(const WorkerProgress&)>& progress) {
  const absl::Duration told = silent_for - silent_for % kTellOfSilenceAfter;
  if (told == last.silent_for) return;
  last.silent_for = told;
  progress(last);
}

// A worker that lacks memory says so itself, in an error line, once its main function runs. Before that, under a limit
// on the address space, it can only die without a line: the loader cannot map a library and exits with 127, or a
// library's initialization aborts.
bool ProbablyRanOutOfMemory(int status, const Speech& speech, const WorkerLimits& limits) {
  constexpr int kLoaderFailed = 127;
  if (limits.memory_bytes == 0 || speech.has_begun) return false;
  return WIFSIGNALED(status) ? WTERMSIG(status) == SIGABRT : WEXITSTATUS(status) == kLoaderFailed;
}

std::string DescribeSignal(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return absl::StrCat("signal ", signal, " (SIG", name ? name : "?", ")");
}

std::string DescribeMemoryRemedy(const WorkerLimits& limits) {
  return absl::StrCat(
      "--worker-memory-bytes limits it to ", limits.memory_bytes,
      " bytes of address space, of which its libraries alone take about 600,000,000: raise the limit, or leave it out");
}

WorkerExit JudgeExit(int status, const Speech& speech, const WorkerLimits& limits) {
  WorkerExit result;
  result.gpus = speech.gpus;
  const std::string last_words =
      speech.last_words.empty() ? std::string() : absl::StrCat("; its last words: ", speech.last_words);
  const bool limited = limits.memory_bytes > 0;
  if (ProbablyRanOutOfMemory(status, speech, limits)) {  // a second try would end likewise
    result.kind = WorkerExit::Kind::kError;
    result.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    const std::string how = WIFSIGNALED(status) ? DescribeSignal(result.code) : absl::StrCat("exit code ", result.code);
    result.message = absl::StrCat("the worker probably ran out of memory, as it ended with ", how,
                                  " before its first line: ", DescribeMemoryRemedy(limits), last_words);
    return result;
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {  // a second try would take as long
    result.kind = WorkerExit::Kind::kError;
    result.code = SIGXCPU;
    result.message = absl::StrCat(
        "the worker used up its processor time: --worker-cpu-seconds limits it to ", limits.cpu_seconds,
        " s of all its threads together: raise the limit, leave it out, or ask for less training", last_words);
    return result;
  }
  if (WIFSIGNALED(status)) {
    result.kind = WorkerExit::Kind::kSignal;
    result.code = WTERMSIG(status);
    result.message =
        absl::StrCat("the worker was killed by ", DescribeSignal(result.code),
                     result.code == SIGKILL ? ", perhaps for want of memory" : "",
                     limited ? absl::StrCat(" (", DescribeMemoryRemedy(limits), ")") : std::string(), last_words);
    return result;
  }
  result.code = WEXITSTATUS(status);
  if (result.code == 0) return result;
  const bool disk_full = speech.waits_for_disk && result.code == static_cast<int>(ExitCode::kNoResources);
  const bool occupied = speech.waits_for_worker && result.code == static_cast<int>(ExitCode::kInternal);
  result.kind = disk_full  ? WorkerExit::Kind::kDiskFull
                : occupied ? WorkerExit::Kind::kOccupied
                           : WorkerExit::Kind::kError;
  result.message =
      speech.error.empty() ? absl::StrCat("the worker ended with exit code ", result.code, last_words) : speech.error;
  return result;
}

}  // namespace

absl::StatusOr<WorkerExit> RunWorker(const std::vector<std::string>& arguments, const WorkerLimits& limits,
                                     const std::function<void(const WorkerProgress&)>& progress,
                                     const std::function<bool()>& should_stop,
                                     const std::function<void(pid_t)>& started_as,
                                     const std::optional<SecretKey>& key) {
  BLINK_ASSIGN_OR_RETURN(Child child, StartChild(arguments, limits, key));
  if (started_as) started_as(child.pid);
  const auto started = SteadyClock::now();
  Speech speech;
  LineReader output, errors;
  SignsOfLife life(child.pid);
  WorkerProgress last;
  const auto take_progress = [&](const WorkerProgress& now) {
    last = now;
    progress(now);
  };
  const auto take_output = [&](const std::string& line) {
    life.NoteLine();
    TakeOutputLine(line, speech, take_progress);
  };
  const auto take_errors = [&](const std::string& line) {
    life.NoteLine();
    TakeErrorLine(line, speech);
  };
  bool stopped = false, timed_out = false, fell_silent = false, killed = false;
  SteadyClock::time_point asked;
  int status = 0;
  while (true) {
    pollfd fds[2] = {{child.output.get(), POLLIN, 0}, {child.errors.get(), POLLIN, 0}};  // a closed one (-1) is ignored
    ::poll(fds, 2, kPollMs);
    if (child.output.get() >= 0 && !output.Read(child.output.get(), take_output)) child.output.Close();
    if (child.errors.get() >= 0 && !errors.Read(child.errors.get(), take_errors)) child.errors.Close();
    if (child.output.get() < 0 && child.errors.get() < 0) ::usleep(5000);  // poll no longer waits for anything
    const pid_t reaped = ::waitpid(child.pid, &status, WNOHANG);
    if (reaped == child.pid) break;
    if (reaped < 0 && errno != EINTR) return absl::InternalError("the worker was reaped by somebody else");
    if (!stopped && !timed_out && !fell_silent) {
      const absl::Duration silent_for = life.SilentFor();
      TellOfSilence(silent_for, last, progress);
      stopped = should_stop();
      timed_out = !stopped && absl::FromChrono(SteadyClock::now() - started) > limits.wall_time;
      fell_silent = !stopped && !timed_out && silent_for > limits.silence;
      if (stopped || timed_out || fell_silent) {
        asked = SteadyClock::now();
        ::kill(-child.pid, SIGTERM);
      }
    } else if (!killed && SteadyClock::now() - asked > kTermGrace) {
      killed = true;
      ::kill(-child.pid, SIGKILL);
    }
  }
  ::kill(-child.pid, SIGKILL);  // what it may have left behind in its group
  if (child.output.get() >= 0) output.Read(child.output.get(), take_output);
  if (child.errors.get() >= 0) errors.Read(child.errors.get(), take_errors);
  WorkerExit result = JudgeExit(status, speech, limits);
  // A worker that finished although it was asked to stop has finished.
  if (result.kind == WorkerExit::Kind::kDone) return result;
  if (stopped) {
    result.kind = WorkerExit::Kind::kStopped;
    result.message = "the worker was stopped";
  } else if (timed_out) {
    result.kind = WorkerExit::Kind::kTimeout;
    result.message = absl::StrCat("the worker ran longer than the limit of ", absl::FormatDuration(limits.wall_time),
                                  " and was ended");
  } else if (fell_silent) {
    result.kind = WorkerExit::Kind::kSilent;
    result.message = absl::StrCat("the worker gave no sign of life for ", absl::FormatDuration(limits.silence),
                                  ", neither a line nor the use of a processor (was it stopped, or does it wait for a "
                                  "device or a disk?), and was ended");
  }
  return result;
}

}  // namespace blink
