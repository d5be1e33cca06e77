// The inner loops of W x for a fixed number of columns, compiled for several instruction sets. Internal to this folder.
#ifndef BLINK_AGGREGATOR_SERVER_LINKS_ROW_KERNELS_H_
#define BLINK_AGGREGATOR_SERVER_LINKS_ROW_KERNELS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "aggregator_server/links/link_weights.h"
#include "common/simd/instruction_set.h"

namespace blink {

inline constexpr uint32_t kRowsOfBlock = 256;  // what a thread takes at a time

// A run of columns of PairOnes that lie in one word and are of one class, in groups of 4.
struct OnesSegment {
  uint32_t word = 0, shift = 0;  // its first column is bit `shift` of `word`
  uint32_t groups = 0;           // 1 .. 16
  uint32_t of_class = 0;
};
std::vector<OnesSegment> FindSegments(const LinkWeights& weights);

// Rows first .. end - 1 of the part of W x that is the pairs' own, added to y[0 .. end - first - 1]; both x and y have
// exactly the kernel's number of columns.
struct RowKernels {
  // x [n, columns].
  void (*list)(const LinkWeights& weights, const float* x, NodeIndex first, NodeIndex end, float* y);
  // x [64 * words, columns] in the order of PairOnes, zeros in the gaps. At most kRowsOfBlock rows.
  void (*ones)(const LinkWeights& weights, absl::Span<const OnesSegment> segments, const float* x, NodeIndex first,
               NodeIndex end, float* y);
};

// `columns`: 4, 8, 16 or 32.
RowKernels KernelsFor(int columns, InstructionSet set = UsedInstructionSet());

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_LINKS_ROW_KERNELS_H_
