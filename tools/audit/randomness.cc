#include "tools/audit/randomness.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"
#include "common/cli/progress.h"
#include "common/privacy/parameters.h"
#include "common/privacy/privatizer.h"

namespace blink {
namespace {

// A 16-byte value that was drawn, or derived from draws by DrawNoise.
using Value = std::array<uint64_t, 2>;
struct ValueHash {
  size_t operator()(const Value& value) const { return value[0] ^ (value[1] * 0x9e3779b97f4a7c15u); }
};

constexpr uint32_t kNodes = 1024;
constexpr size_t kValuesPerDraw = 1 + kNodes / 128;

// p' within 0.025 of 1/2, so that 128 flips hold 127 bits of entropy.
PrivacyParameters NoiseParameters() { return *PrivacyParameters::Create(100'000, 100'000, kNodes); }

absl::Status DrawInto(RandomSource& source, int draws, std::vector<Value>& values) {
  const PrivacyParameters parameters = NoiseParameters();
  for (int d = 0; d < draws; ++d) {
    Value raw;
    BLINK_RETURN_IF_ERROR(source.Fill(absl::MakeSpan(reinterpret_cast<uint8_t*>(raw.data()), sizeof(raw))));
    values.push_back(raw);
    BLINK_ASSIGN_OR_RETURN(const ReportNoise noise, DrawNoise(parameters, 0, source));
    const absl::Span<const uint64_t> words = noise.flips.words();
    for (size_t w = 0; w + 1 < words.size(); w += 2) values.push_back({words[w], words[w + 1]});
  }
  return absl::OkStatus();
}

absl::Status DrawInThreads(const RandomnessAuditOptions& options, std::vector<Value>& values) {
  std::vector<std::vector<Value>> of_thread(options.threads);
  std::vector<std::optional<absl::Status>> statuses(options.threads);
  const auto draw = [&](int t) { statuses[t] = DrawInto(options.source(), options.draws, of_thread[t]); };
  // not from a counter: what is audited is that every thread has a stream of its own
  RunOnThreads(options.threads, draw);
  for (int t = 0; t < options.threads; ++t) {
    if (!statuses[t].has_value()) draw(t);  // a thread that the system did not start
    BLINK_RETURN_IF_ERROR(*statuses[t]);
    values.insert(values.end(), of_thread[t].begin(), of_thread[t].end());
  }
  return absl::OkStatus();
}

bool WriteAll(int file, const std::vector<Value>& values) {
  const char* next = reinterpret_cast<const char*>(values.data());
  size_t left = values.size() * sizeof(Value);
  while (left > 0) {
    const ssize_t written = write(file, next, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    next += written;
    left -= static_cast<size_t>(written);
  }
  return true;
}

// Waits until `file` can be read. False when `stop` can be read first.
bool WaitFor(int file, int stop) {
  pollfd files[2] = {{.fd = file, .events = POLLIN}, {.fd = stop, .events = POLLIN}};  // -1: never
  while (poll(files, 2, -1) < 0 && errno == EINTR) {
  }
  return files[1].revents == 0;
}

bool IsReadable(int file) {
  pollfd one = {.fd = file, .events = POLLIN};
  return poll(&one, 1, 0) > 0;
}

enum class Reading { kWhole, kFailed, kStopped };

Reading ReadAll(int file, int stop, std::vector<Value>& values) {
  std::vector<char> bytes;
  char buffer[65536];
  for (;;) {
    if (!WaitFor(file, stop)) return Reading::kStopped;
    const ssize_t count = read(file, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Reading::kFailed;
    if (count == 0) break;
    bytes.insert(bytes.end(), buffer, buffer + count);
  }
  values.resize(bytes.size() / sizeof(Value));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(Value));
  return bytes.size() % sizeof(Value) == 0 ? Reading::kWhole : Reading::kFailed;
}

// A copy of this process: by fork(), whose handlers a library may use to renew its state, or by the bare system call,
// which runs none.
pid_t Copy(bool bare) { return bare ? static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) : fork(); }

// True when `child` ended well.
bool EndedWell(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

constexpr int kSourceFailed = 1, kPipeFailed = 2, kNoProcess = 3;

// The life of a copied process; the value is its exit status. Only a forked one has threads: a bare clone's C library
// does not know of the copy.
int Live(const RandomnessAuditOptions& options, bool bare, int file) {
  std::vector<Value> values;
  if (!DrawInto(options.source(), options.draws, values).ok()) return kSourceFailed;
  if (!bare && !DrawInThreads(options, values).ok()) return kSourceFailed;
  if (!WriteAll(file, values)) return kPipeFailed;
  const pid_t grandchild = Copy(bare);
  if (grandchild < 0) return kNoProcess;
  if (grandchild == 0) {
    values.clear();
    const bool drawn = DrawInto(options.source(), options.draws, values).ok();
    _exit(drawn && WriteAll(file, values) ? 0 : kSourceFailed);
  }
  return EndedWell(grandchild) ? 0 : kSourceFailed;
}

struct Child {
  pid_t process = -1;
  int file = -1;  // what it draws
};

absl::StatusOr<Child> Start(const RandomnessAuditOptions& options, bool bare) {
  int ends[2];
  if (pipe(ends) != 0) return absl::ResourceExhaustedError(absl::StrCat("no pipe: ", std::strerror(errno)));
  const pid_t process = Copy(bare);
  if (process == 0) {
    close(ends[0]);
    _exit(Live(options, bare, ends[1]));
  }
  close(ends[1]);
  if (process < 0) {
    close(ends[0]);
    return absl::ResourceExhaustedError(absl::StrCat("no more processes: ", std::strerror(errno)));
  }
  return Child{process, ends[0]};
}

// Compares values as they come, by where they come from.
class Comparison {
 public:
  void Add(const std::string& who, const std::vector<Value>& values, RandomnessAudit& audit) {
    names_.push_back(who);
    audit.values += values.size();
    audit.draws += values.size() / kValuesPerDraw;
    for (const Value& value : values) {
      const auto [other, fresh] = seen_.try_emplace(value, names_.size() - 1);
      if (fresh) continue;
      ++audit.collisions;
      const std::string example = absl::StrCat(names_[other->second], " and ", who);
      if (audit.examples.size() < 5 && (audit.examples.empty() || audit.examples.back() != example))
        audit.examples.push_back(example);
    }
  }

 private:
  std::vector<std::string> names_;
  std::unordered_map<Value, size_t, ValueHash> seen_;
};

absl::Status CheckRange(const char* name, int value, int most) {
  if (value >= 1 && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " must be 1 .. ", most, ", not ", value));
}

// Waits for every child, whatever happens; the first failure is returned. When options.stop says so, ends those that
// have not handed over what they drew. (Their own children end when nobody reads from them.)
absl::Status Gather(const RandomnessAuditOptions& options, const std::vector<Child>& children, Comparison& comparison,
                    RandomnessAudit& audit) {
  absl::Status status;
  ProgressBar progress("processes", children.size(), options.progress);
  bool stopped = false;
  for (size_t c = 0; c < children.size(); ++c) {
    const bool forked = c % 2 == 0;
    std::vector<Value> values;
    const Reading read = stopped ? Reading::kStopped : ReadAll(children[c].file, options.stop, values);
    stopped = read == Reading::kStopped;
    if (stopped) kill(children[c].process, SIGKILL);
    close(children[c].file);
    const bool ended_well = EndedWell(children[c].process);
    if (stopped) continue;
    if (!ended_well || read == Reading::kFailed) {
      status.Update(
          absl::UnavailableError(absl::StrCat("process ", c, " could not draw, or could not hand over what it drew")));
    }
    comparison.Add(absl::StrCat(forked ? "fork " : "clone ", c), values, audit);
    audit.processes += 2;
    audit.threads += forked ? static_cast<uint64_t>(options.threads) : 0;
    progress.Update(c + 1);
  }
  return status;
}

}  // namespace

double RandomnessAuditBytes(const RandomnessAuditOptions& options) {
  constexpr double kPrograms = 3e7, kOfValue = 64;  // in a hash table
  const int halves = (options.processes + 1) / 2;
  const double drawing = 2 + 2.0 * options.processes + static_cast<double>(options.threads) * (1 + halves);
  return kPrograms + kOfValue * kValuesPerDraw * options.draws * drawing;
}

absl::StatusOr<RandomnessAudit> AuditRandomness(const RandomnessAuditOptions& options) {
  BLINK_RETURN_IF_ERROR(CheckRange("processes", options.processes, 400));
  BLINK_RETURN_IF_ERROR(CheckRange("threads", options.threads, 64));
  BLINK_RETURN_IF_ERROR(CheckRange("draws", options.draws, 10'000));
  RandomnessAudit audit{.processes = 1, .processes_asked = 1 + 2 * options.processes};
  Comparison comparison;
  std::vector<Value> parent;
  BLINK_RETURN_IF_ERROR(DrawInto(options.source(), options.draws, parent));
  std::vector<Child> children;
  absl::Status status;
  // One after the other draws while the next is started: what a parent does that hands its state to many.
  for (int c = 0; c < options.processes && status.ok() && !IsReadable(options.stop); ++c) {
    const absl::StatusOr<Child> child = Start(options, c % 2 == 1);
    status = child.status();
    if (child.ok()) children.push_back(*child);
  }
  status.Update(Gather(options, children, comparison, audit));
  BLINK_RETURN_IF_ERROR(status);
  if (!audit.partial()) {
    BLINK_RETURN_IF_ERROR(DrawInto(options.source(), options.draws, parent));
    BLINK_RETURN_IF_ERROR(DrawInThreads(options, parent));
    audit.threads += static_cast<uint64_t>(options.threads);
  }
  comparison.Add("the parent", parent, audit);
  return audit;
}

}  // namespace blink
