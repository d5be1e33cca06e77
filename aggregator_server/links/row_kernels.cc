#include "aggregator_server/links/row_kernels.h"

#include <algorithm>
#include <bit>

#include "common/simd/instruction_set.h"
#include "common/simd/vector_row.h"

namespace blink {
namespace {

template <int kColumns, int kLanesMax>
struct ListBody {
  BLINK_INLINE static void Run(const LinkWeights& weights, const float* x, NodeIndex first, NodeIndex end, float* y) {
    // sums of a row, so that an addition need not wait for the one before, as far as there are registers for them
    constexpr int kChains = VectorRow<kColumns, kLanesMax>::kParts > 4 ? 2 : 4;
    const uint64_t* offsets = weights.links.offsets().data();
    const NodeIndex* neighbours = weights.links.neighbours().data();
    const float* values = weights.values.empty() ? nullptr : weights.values.data();
    for (NodeIndex i = first; i < end; ++i, y += kColumns) {
      VectorRow<kColumns, kLanesMax> sums[kChains], row;
      const uint64_t row_end = offsets[i + 1];
      uint64_t k = offsets[i];
      for (; k + kChains <= row_end; k += kChains) {
        for (int chain = 0; chain < kChains; ++chain) {
          const float value = values == nullptr ? 1.0f : values[k + chain];
          sums[chain].AddScaled(value, x + size_t{neighbours[k + chain]} * kColumns);
        }
      }
      for (; k < row_end; ++k) {
        sums[0].AddScaled(values == nullptr ? 1.0f : values[k], x + size_t{neighbours[k]} * kColumns);
      }
      for (int chain = 0; chain < kChains; chain += 2) sums[chain].Add(sums[chain + 1]);
      if constexpr (kChains == 4) sums[0].Add(sums[2]);
      row.Load(y);
      row.Add(sums[0]);
      row.Store(y);
    }
  }
};

// The sum of the columns whose bits are set, from the table below: two groups at a time, each in a sum of its own, so
// that an addition need not wait for the one before.
template <typename Sum, int kColumns>
BLINK_INLINE void LookUp(const float* table, uint32_t groups, uint64_t bits, Sum& even) {
  Sum odd;
  for (uint32_t group = 0; group < groups; group += 2, bits >>= 8, table += 2 * 16 * kColumns) {
    even.Add(table + (bits & 15) * kColumns);
    odd.Add(table + (16 + (bits >> 4 & 15)) * kColumns);
  }
  even.Add(odd);
}

// A cache line of each row's bits, turned so that a word of all rows lies side by side.
struct Turned {
  static constexpr uint32_t kWords = 8;
  uint64_t any[kWords][kRowsOfBlock], both[kWords][kRowsOfBlock];

  BLINK_INLINE void Load(const PairOnes& ones, uint32_t first_word, NodeIndex first, NodeIndex end) {
    const uint32_t words = std::min(kWords, ones.words - first_word);
    for (NodeIndex i = first; i < end; ++i) {
      const uint64_t* any_row = &ones.any[size_t{i} * ones.words + first_word];
      const uint64_t* both_row = &ones.both[size_t{i} * ones.words + first_word];
      if (words == kWords) {  // what the next words will need
        __builtin_prefetch(any_row + 2 * kWords - 1);
        __builtin_prefetch(both_row + 2 * kWords - 1);
      }
      for (uint32_t w = 0; w < words; ++w) {
        any[w][i - first] = any_row[w];
        both[w][i - first] = both_row[w];
      }
    }
  }
};

// The sums that the columns of each group of a segment can have, [groups][bits][columns]; x as for RowKernels::ones.
template <typename Sum, int kColumns>
BLINK_INLINE void FillTable(const OnesSegment& segment, const float* x, float* table) {
  for (uint32_t group = 0; group < segment.groups; ++group) {
    const float* columns = x + (size_t{64} * segment.word + segment.shift + 4 * group) * kColumns;
    float* sums = table + group * 16 * kColumns;
    Sum().Store(sums);
    for (uint32_t bits = 1; bits < 16; ++bits) {
      Sum sum;
      sum.Load(sums + (bits & (bits - 1)) * kColumns);
      sum.Add(columns + std::countr_zero(bits) * kColumns);
      sum.Store(sums + bits * kColumns);
    }
  }
  // With an odd number of groups the last look-up is of no bits in a group that is not there.
  if (segment.groups % 2 == 1) Sum().Store(table + segment.groups * 16 * kColumns);
}

// The method of the four Russians: the 16 sums that 4 columns can have are computed once for a block of rows, and a row
// then looks up one for each 4 bits of `any`, and one for each of `both`. The 16 groups of a word have 16 KB of sums
// for 16 columns: they stay in the innermost cache.
template <int kColumns, int kLanesMax>
struct OnesBody {
  BLINK_INLINE static void Run(const LinkWeights& weights, absl::Span<const OnesSegment> segments, const float* x,
                               NodeIndex first, NodeIndex end, float* y) {
    using Sum = VectorRow<kColumns, kLanesMax>;
    alignas(64) float table[16 * 16 * kColumns];
    Turned turned;
    uint32_t turned_end = 0;  // words that have been loaded
    for (const OnesSegment& segment : segments) {
      if (segment.word >= turned_end) {
        turned_end = segment.word / Turned::kWords * Turned::kWords;
        turned.Load(weights.ones, turned_end, first, end);
        turned_end += Turned::kWords;
      }
      FillTable<Sum, kColumns>(segment, x, table);
      const float* of_class = &weights.by_ones[size_t{2} * segment.of_class * weights.class_count];
      const uint64_t* any_words = turned.any[segment.word % Turned::kWords];
      const uint64_t* both_words = turned.both[segment.word % Turned::kWords];
      const uint64_t own = segment.groups == 16 ? ~uint64_t{0} : (uint64_t{1} << 4 * segment.groups) - 1;
      for (NodeIndex i = first; i < end; ++i, y += kColumns) {
        const uint64_t any = *any_words++ >> segment.shift & own;
        const uint64_t both = *both_words++ >> segment.shift & own;
        Sum with_any, with_both, row;
        LookUp<Sum, kColumns>(table, segment.groups, any, with_any);
        if (both != 0) LookUp<Sum, kColumns>(table, segment.groups, both, with_both);  // rare from epsilon_list = 3 up
        const float one = of_class[2 * weights.class_of_node[i]];
        const float more = of_class[2 * weights.class_of_node[i] + 1] - one;
        row.Load(y);
        row.AddScaled(one, with_any);
        row.AddScaled(more, with_both);
        row.Store(y);
      }
      y -= size_t{end - first} * kColumns;
    }
  }
};

// One body a loop, compiled per instruction set with vectors of its length.
template <int kColumns>
RowKernels KernelsOf(InstructionSet set) {
  return {CodeOf<ListBody<kColumns, 4>, ListBody<kColumns, 8>, ListBody<kColumns, 16>>(set),
          CodeOf<OnesBody<kColumns, 4>, OnesBody<kColumns, 8>, OnesBody<kColumns, 16>>(set)};
}

}  // namespace

std::vector<OnesSegment> FindSegments(const LinkWeights& weights) {
  const PairOnes& ones = weights.ones;
  std::vector<OnesSegment> segments;
  for (uint32_t position = 0; position < 64 * ones.words; position += 4) {
    const NodeIndex node = ones.node_at[position];
    if (node == PairOnes::kNoNode) continue;  // past the last class: a group of a class begins with a node of it
    const uint32_t of_class = weights.class_of_node[node];
    if (!segments.empty() && segments.back().word == position / 64 && segments.back().of_class == of_class) {
      ++segments.back().groups;
    } else {
      segments.push_back({position / 64, position % 64, 1, of_class});
    }
  }
  return segments;
}

RowKernels KernelsFor(int columns, InstructionSet set) {
  if (columns <= 4) return KernelsOf<4>(set);
  if (columns <= 8) return KernelsOf<8>(set);
  return columns <= 16 ? KernelsOf<16>(set) : KernelsOf<32>(set);
}

}  // namespace blink
