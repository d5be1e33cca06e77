// `blink audit randomness`: tests that threads, and nodes that are forked or cloned from one process, share no noise.
//
//   the parent draws (so that its generator has a state worth copying)
//     fork() / clone() per process:  draws -> threads draw -> forks once more -> draws
//   the parent's threads draw; then all draws of all of them are compared
//
// A draw is what a node would use: the noise of one report (DrawNoise) and 16 raw bytes, both from the source under
// audit. Two draws collide when they have 128 aligned bits in common anywhere. An honest generator has a collision with
// probability below draws^2 / 2^120.
//
// The audit cannot see a whole machine that is copied. A virtual machine or container that is suspended and resumed
// twice has the same kernel state, the same process number and the same generator in both copies. See
// common/privacy/README.md.
#ifndef BLINK_TOOLS_AUDIT_RANDOMNESS_H_
#define BLINK_TOOLS_AUDIT_RANDOMNESS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/privacy/random_source.h"

namespace blink {

struct RandomnessAuditOptions {
  int processes = 64;  // forked (even ones) and cloned (odd ones) from the parent, 1 .. 400; each makes another
  int threads = 4;     // in the parent and in every forked process, 1 .. 64
  int draws = 64;      // of each process and each thread, 1 .. 10,000
  bool progress = false;
  int stop = -1;  // a descriptor: when it can be read, the audit ends with what it has compared
  std::function<RandomSource&()> source = SecureRandom;
};

struct RandomnessAudit {
  int processes = 0;  // whose draws were compared, the parent and the children's children among them
  int processes_asked = 0;
  uint64_t threads = 0;
  uint64_t draws = 0;
  uint64_t values = 0;  // of 128 bits, compared
  uint64_t collisions = 0;
  std::vector<std::string> examples;  // "fork 3 and clone 5", a few
  bool partial() const { return processes < processes_asked; }
  bool passed() const { return collisions == 0; }
};

// Bytes that all values of an audit take while they are compared, roughly.
double RandomnessAuditBytes(const RandomnessAuditOptions& options);

// The caller must have no other threads. Returns INVALID_ARGUMENT for options out of range, UNAVAILABLE when the source
// fails in any process, and RESOURCE_EXHAUSTED when the system gives no more processes.
absl::StatusOr<RandomnessAudit> AuditRandomness(const RandomnessAuditOptions& options);

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_RANDOMNESS_H_
