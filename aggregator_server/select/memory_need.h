// How much memory an analysis takes, before it begins. Where ones are common, the bits of n reports are n^2 / 8 bytes,
// so a machine that served 30,000 nodes fails at 300,000.
#ifndef BLINK_AGGREGATOR_SERVER_SELECT_MEMORY_NEED_H_
#define BLINK_AGGREGATOR_SERVER_SELECT_MEMORY_NEED_H_

#include <string>

#include "absl/status/status.h"
#include "aggregator_server/select/training_cost.h"
#include "blink/v1/operator.pb.h"
#include "common/privacy/parameters.h"

namespace blink {

// What parts of an analysis hold at the peak, in bytes. Counted from sizes, so it is an estimate: where the reports are
// most of it, measured peaks were within a fifth of it (tests/e2e/terminal_test.py holds it to a quarter).
struct MemoryNeed {
  double program = 1.6e8;  // the program with LibTorch
  double reports = 0;      // their bits; twice where a second copy is made
  double estimate = 0;     // counts and weights of pairs
  double data = 0;         // attributes and links
  double training = 0;
  double bytes() const { return program + reports + estimate + data + training; }
};

struct ReportsInMemory {
  bool are_drawn_or_read = true;  // false: the links are given
  bool have_bits = true;          // false: the whole budget pays for degrees
  double bytes = 0;               // that their rows take
  double flip_probability = 0;    // decides how many pairs have a one
  double epsilon_degree = 0;      // decides how many distinct degrees there are; 0: no degrees
  double group_answers = 0;       // bytes of answers about groups, and of what becomes of them; 0: others
  double noise_links = 0;         // that noise in such answers makes, of a node

  // `parameters`: none where no report is drawn or read. `on_disk`: what is too much for memory may lie on the disk,
  // which is not so of an encrypted round.
  static ReportsInMemory Of(const PrivacyParameters* parameters, v1::Implausible implausible, bool on_disk = true);
};

// `spec` is normalised. size.links may be 0: then 5 a node are assumed.
MemoryNeed EstimateMemoryNeed(const v1::TrainingSpec& spec, const ProblemSize& size, const ReportsInMemory& reports);

// "about 11.9 GB of memory (11.3 GB of them for the bits of the reports)"
std::string DescribeMemoryNeed(const MemoryNeed& need);

// RESOURCE_EXHAUSTED when `need` is more than `had` bytes, which `of` has ("this machine").
absl::Status CheckMemory(const MemoryNeed& need, uint64_t had, const std::string& of);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SELECT_MEMORY_NEED_H_
