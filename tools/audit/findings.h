// Makes the findings of a mechanism audit from its counts: every bound and every test, each with its share of the
// probability of a false alarm.
#ifndef BLINK_TOOLS_AUDIT_FINDINGS_H_
#define BLINK_TOOLS_AUDIT_FINDINGS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "tools/audit/counts.h"
#include "tools/audit/mechanism.h"

namespace blink {

enum AuditedListName { kSparse, kNeighbour, kDense, kAuditedLists };

// What is kept of the reports of an audit.
struct AuditEvidence {
  PrivacyParameters parameters;
  NodeIndex self = 0;
  NodeIndex target = 0;  // the entry in which kSparse and kNeighbour differ
  DegreeCells cells;
  double large_noise = 0;  // noise beyond +-large_noise is the class kNoiseLarge
  GapRuns gap_runs;
  std::array<AuditedList, kAuditedLists> lists;
  std::array<ListCounts, kAuditedLists> counts;
  // Pairs of bits are counted among the first `paired_bits` of a sample of the sparse list's reports; empty when s = 1.
  size_t paired_bits = 0;  // a multiple of 64; those from n on are never flipped
  uint64_t pair_reports = 0;
  std::vector<uint32_t> pair_counts;   // [paired_bits, paired_bits], i < j, of one report
  uint64_t cross_reports = 0;          // disjoint pairs of successive reports
  std::vector<uint32_t> cross_counts;  // [paired_bits, paired_bits], bit i of the first, j of the second
};

// The smallest m with Pr[|Y| > m] <= 1/2.
double ComputeMedianNoise(double epsilon_degree);

// How many reports to look at for pairs of bits: a power of two from 4,096 to 65,536. The least number in which one
// coin that is used for two bits is hardly missed.
uint64_t ChoosePairSample(double flip_probability);

// Fills `bounds`, `checks` and `detection_power`.
void JudgeEvidence(const AuditEvidence& evidence, MechanismAudit& audit);

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_FINDINGS_H_
