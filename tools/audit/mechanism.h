// `blink audit mechanism`: runs a privatiser millions of times and tries to prove that it breaks its promise.
//
//   AuditMechanism(options, ShippedMechanism(parameters))
//     three lists: `sparse`, `neighbour` (sparse and one entry more), `dense` (every second entry)
//     options.reports of each, in threads       -> ListCounts       (audit/counts.h)
//     lower bounds on epsilon, tests of every claim of the proof -> MechanismAudit   (audit/findings.cc)
//
// The mechanism is a black box for the audit, which sees lists, reports and the parameters that the mechanism promises.
// It knows the flip probability p' and the distribution of the degree noise as formulas, never the sampler's code.
#ifndef BLINK_TOOLS_AUDIT_MECHANISM_H_
#define BLINK_TOOLS_AUDIT_MECHANISM_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/privacy/bit_row.h"
#include "common/privacy/parameters.h"

namespace blink {

// One report as a mechanism puts it out. The degree is a double, not the integer of PrivateReport. So a mechanism that
// leaks through its floating-point digits has a place to show them. Every integer below 2^53 passes through unchanged.
// Noise beyond that has a probability below e^-9000 for every budget that PrivacyParameters admits.
struct AuditedReport {
  BitRow bits;        // [n]; empty when s = 1
  double degree = 0;  // meaningless when s = 0
};

// A mechanism under audit, used by one thread.
class AuditedMechanism {
 public:
  virtual ~AuditedMechanism() = default;
  // A fresh report of node `self`'s list. An error ends the audit with that error.
  virtual absl::StatusOr<AuditedReport> Report(NodeIndex self, absl::Span<const NodeIndex> neighbours) = 0;
};

// Makes the mechanism of thread `thread`.
using AuditedMechanismFactory = std::function<std::unique_ptr<AuditedMechanism>(int thread)>;

// The mechanism that blink-node ships: DrawNoise with SecureRandom(), then ApplyNoise, and nothing else.
AuditedMechanismFactory ShippedMechanism(const PrivacyParameters& parameters);

// Probability that an honest mechanism is accused of anything. It is split evenly among kAuditFamiliesMax families of
// tests, and within a family among its tests (Bonferroni).
inline constexpr double kFalseAlarmMax = 1e-6;
inline constexpr int kAuditFamiliesMax = 32;

// Every pair is looked at among this many first bits. That takes two tables of 4 bytes a pair (128 MiB), and a time
// that grows with the square. All other tests are made for every bit.
inline constexpr size_t kPairedBitsMax = 4096;

// The mechanism spends at least `lower` on this, with confidence. It is a violation when `lower` exceeds `promised`.
struct EpsilonBound {
  std::string of;
  double lower = 0;
  double promised = 0;
  bool violated = false;
};

// A family of tests of one claim. `smallest_p` below `threshold` = kFalseAlarmMax / kAuditFamiliesMax / tests is a
// violation.
struct AuditCheck {
  std::string claim;
  uint64_t tests = 0;
  double smallest_p = 1;
  double threshold = 0;
  std::string worst;  // the test with the smallest p, for a person
  bool violated = false;
};

// The faults that the audit would have noticed.
struct DetectionPower {
  double flip_rate_change = 0;          // relative change of p' over all bits, noticed with probability 0.99
  double one_bit_flip_rate_change = 0;  // ... of one bit alone
  double noise_scale_change = 0;        // relative change of the scale of the degree noise, ...
  double reused_coin_miss = 1;          // probability that one coin used for two bits goes unnoticed
  // A random stream that every second report reads again, from at most so many flips further on, is noticed with
  // probability 0.99. None: no such stream is, or flips are not rare (audit/shared_gaps.h).
  std::optional<uint64_t> shared_stream_flips;
};

struct MechanismAudit {
  PrivacyParameters parameters;
  uint64_t reports_per_list = 0;  // the fewest of a list
  uint64_t reports_asked = 0;     // more: the audit was stopped, and what it found holds for fewer reports
  uint64_t pair_sample = 0;       // reports in which every pair of (the first kPairedBitsMax) bits was looked at
  int threads = 0;
  double seconds = 0;
  std::vector<EpsilonBound> bounds;
  std::vector<AuditCheck> checks;
  DetectionPower detection_power;
  bool passed() const;
  bool partial() const { return reports_per_list < reports_asked; }
};

struct MechanismAuditOptions {
  PrivacyParameters parameters;
  uint64_t reports = 1'000'000;  // of each list, 1,000 .. 10^9
  int threads = 1;               // 1 .. 1024
  bool progress = false;
  const std::atomic<bool>* stop = nullptr;  // becomes true: judge what is there
};

// Bytes that an audit takes at its peak, roughly: counts of every bit for each thread, and the tables of pairs.
double MechanismAuditBytes(const MechanismAuditOptions& options);

// Returns INVALID_ARGUMENT for options out of range (n is 1,024 .. 1,000,000), the mechanism's own error, or the
// findings. A seeded mechanism gives the same findings every time, for the same number of threads.
absl::StatusOr<MechanismAudit> AuditMechanism(const MechanismAuditOptions& options,
                                              const AuditedMechanismFactory& factory);

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_MECHANISM_H_
