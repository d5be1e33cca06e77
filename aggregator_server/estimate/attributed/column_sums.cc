#include "aggregator_server/estimate/attributed/column_sums.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "common/base/run_on_threads.h"
#include "common/simd/instruction_set.h"

namespace blink {
namespace {

constexpr int kPlanes = 8;                      // bits of a counter
constexpr uint32_t kRows = (1 << kPlanes) - 1;  // that such counters hold
constexpr uint32_t kWords = 512;                // counters of so many words stay in the nearest caches

// planes[k][w]: bit k of the counters of word w's columns. Adds one row: a ripple of carries.
struct AddRow {
  BLINK_INLINE static void Run(const uint64_t* row, uint32_t words, uint64_t* planes) {
    for (size_t w = 0; w < words; ++w) {  // of an index that could wrap around GCC makes no vectors
      uint64_t carry = row[w];
      for (int k = 0; k < kPlanes; ++k) {
        uint64_t& plane = planes[k * kWords + w];
        const uint64_t next = plane & carry;
        plane ^= carry;
        carry = next;
      }
    }
  }
};

void AddCounters(const uint64_t* planes, uint32_t words, uint32_t columns, uint32_t* sums) {
  for (uint32_t w = 0; w < words; ++w) {
    const uint32_t end = std::min(64u, columns - w * 64);
    for (int k = 0; k < kPlanes; ++k) {
      const uint64_t plane = planes[k * kWords + w];
      for (uint32_t b = 0; b < end; ++b) sums[w * 64 + b] += static_cast<uint32_t>((plane >> b) & 1) << k;
    }
  }
}

}  // namespace

std::vector<uint32_t> ColumnSums(const ReportSet& reports, int threads) {
  const uint32_t n = reports.node_count(), words = reports.words_per_row();
  std::vector<uint32_t> sums(n, 0);
  if (words == 0 || reports.report_count() == 0) return sums;
  if (reports.storage() == RowStorage::kGaps) {
    for (NodeIndex i = 0; i < n; ++i) reports.ForEachOne(i, [&](NodeIndex j) { ++sums[j]; });
    return sums;
  }
  const uint32_t pieces = (n + kRows - 1) / kRows;
  const auto add_row = CodeOf<AddRow>();
  std::atomic<uint32_t> next{0};
  std::mutex mutex;
  RunOnThreads(static_cast<int>(std::min<uint32_t>(ThreadsOrCores(threads), pieces)), [&](int) {
    std::vector<uint64_t> planes(size_t{kPlanes} * kWords);
    std::vector<uint32_t> mine(n, 0);
    for (uint32_t piece; (piece = next.fetch_add(1)) < pieces;) {
      const NodeIndex begin = piece * kRows, end = std::min(n, begin + kRows);
      for (uint32_t from = 0; from < words; from += kWords) {
        const uint32_t count = std::min(kWords, words - from);
        std::fill(planes.begin(), planes.end(), 0);
        for (NodeIndex i = begin; i < end; ++i) {
          if (reports.reported(i)) add_row(reports.row(i).data() + from, count, planes.data());
        }
        AddCounters(planes.data(), count, n - from * 64, &mine[from * 64]);
      }
    }
    const std::lock_guard<std::mutex> lock(mutex);
    for (uint32_t j = 0; j < n; ++j) sums[j] += mine[j];  // integers: in any order
  });
  return sums;
}

}  // namespace blink
