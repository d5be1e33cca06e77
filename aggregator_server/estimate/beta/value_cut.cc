#include "aggregator_server/estimate/beta/value_cut.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "common/base/progress_parts.h"

namespace blink {
namespace {

constexpr int kCells = 1 << 16;

// A division of a range of values into cells, ascending with the value: what lies outside is in the first or last cell.
struct Cells {
  double low = 0, high = 0;
  int CellOf(double value) const {
    const double place = (value - low) * (kCells / (high - low));
    return !(place > 0) ? 0 : place >= kCells ? kCells - 1 : static_cast<int>(place);
  }
  double Begin(int cell) const { return low + (high - low) * cell / kCells; }
  // Whether the cells of a division of one of these would still tell doubles apart.
  bool CanBeDivided() const { return (high - low) / kCells > 1e-14 * std::max(1.0, std::max(-low, high)); }
};

// A cell of cells of cells.
struct Place {
  std::vector<std::pair<Cells, int>> levels;
  bool Holds(double value) const {
    return std::all_of(levels.begin(), levels.end(),
                       [&](const auto& level) { return level.first.CellOf(value) == level.second; });
  }
};

struct Histogram {
  std::vector<int64_t> pairs = std::vector<int64_t>(kCells, 0);
  std::vector<uint64_t> entries = std::vector<uint64_t>(kCells, 0);  // of the table
};

using Progress = std::function<void(double)>;

// Each class adds what it has at once, so that the threads seldom meet.
Histogram CountInto(PairCounts& counts, const Place& place, const Cells& cells, const Progress& progress) {
  Histogram histogram;
  std::mutex mutex;
  counts.ForEachClass(
      [&](uint32_t a, absl::Span<const uint64_t> with_ones) {
        std::vector<double> prior;
        std::vector<std::pair<int, int64_t>> found;
        counts.ForEachValue(a, with_ones, prior, [&](double value, int64_t pairs) {
          if (place.Holds(value)) found.emplace_back(cells.CellOf(value), pairs);
        });
        const std::lock_guard<std::mutex> lock(mutex);
        for (const auto& [cell, pairs] : found) {
          histogram.pairs[cell] += pairs;
          ++histogram.entries[cell];
        }
      },
      progress);
  return histogram;
}

using Values = std::vector<std::pair<double, int64_t>>;  // value, pairs

void SortAndMerge(Values& values) {
  std::sort(values.begin(), values.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
  size_t end = 0;
  for (size_t k = 0; k < values.size(); ++k) {
    if (end > 0 && values[end - 1].first == values[k].first) {
      values[end - 1].second += values[k].second;
    } else {
      values[end++] = values[k];
    }
  }
  values.resize(end);
}

// The values of a place, falling; equal ones are one.
Values Gather(PairCounts& counts, const Place& place, size_t values_max, const Progress& progress) {
  Values all;
  std::mutex mutex;
  size_t merge_at = values_max;
  counts.ForEachClass(
      [&](uint32_t a, absl::Span<const uint64_t> with_ones) {
        std::vector<double> prior;
        Values found;
        counts.ForEachValue(a, with_ones, prior, [&](double value, int64_t pairs) {
          if (place.Holds(value)) found.emplace_back(value, pairs);
        });
        const std::lock_guard<std::mutex> lock(mutex);
        all.insert(all.end(), found.begin(), found.end());
        if (all.size() < merge_at) return;
        SortAndMerge(all);
        merge_at = std::max(values_max, 2 * all.size());
      },
      progress);
  SortAndMerge(all);
  return all;
}

// Between the smallest and the largest log-odds that a pair can have.
Cells AllValues(const PairCounts& counts) {
  Cells cells{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  std::vector<double> prior(counts.class_count());
  for (uint32_t a = 0; a < counts.class_count(); ++a) {
    counts.posterior().prior().FillLogOdds(a, prior.data());
    const auto [least, greatest] = std::minmax_element(prior.begin(), prior.end());
    cells.low = std::min(cells.low, counts.posterior().With(*least, {2, 0}));
    cells.high = std::max(cells.high, counts.posterior().With(*greatest, {2, 2}));
  }
  return cells;
}

}  // namespace

ValueCut FindValueCut(PairCounts& counts, uint64_t wanted, const Progress& progress, size_t values_max) {
  Place place;
  auto left = static_cast<int64_t>(wanted);
  ProgressParts parts(progress, 1);
  double part = 0.5;  // every pass takes half of what is left of the progress
  for (Cells cells = AllValues(counts); cells.CanBeDivided();) {
    const Histogram histogram = CountInto(counts, place, cells, parts.Next(part));
    part /= 2;
    int cell = kCells - 1;
    while (cell > 0 && histogram.pairs[cell] < left) left -= histogram.pairs[cell--];
    place.levels.emplace_back(cells, cell);
    if (histogram.entries[cell] <= values_max) break;
    cells = {cells.Begin(cell), cells.Begin(cell + 1)};
  }
  ValueCut cut;
  for (const auto& [value, pairs] : Gather(counts, place, values_max, parts.Next(part))) {
    if (left == 0) break;
    if (pairs == 0) continue;
    cut = {value, static_cast<uint64_t>(pairs), static_cast<uint64_t>(std::min(left, pairs))};
    left -= static_cast<int64_t>(cut.taken);
  }
  return cut;
}

}  // namespace blink
