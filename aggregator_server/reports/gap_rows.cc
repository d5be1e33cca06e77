#include "aggregator_server/reports/gap_rows.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "common/base/progress_parts.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

// The k for which gaps of this mean are shortest: the greatest with 2^k at most 0.96 times the mean (Kiely 2004).
uint8_t RiceParameter(uint64_t columns, uint64_t ones) {
  const uint64_t mean = (columns - ones) / ones;
  return static_cast<uint8_t>(std::bit_width(std::max<uint64_t>(1, (mean * 31 + 16) / 32)) - 1);
}

}  // namespace

// The codes of some rows, one behind the other.
class GapRows::Coder {
 public:
  void Add(absl::Span<const uint32_t> places, uint32_t columns) {
    Row row{.ones = static_cast<uint32_t>(places.size())};
    starts_.push_back(code_.size());
    if (!places.empty()) row.k = RiceParameter(columns, places.size());
    rows_.push_back(row);
    const size_t skips = SkipsOf(row.ones), gaps = code_.size() + skips * sizeof(Skip);
    code_.resize(gaps);
    uint64_t next = 0;  // the least place that the next one may have
    for (size_t index = 0; index < places.size(); ++index) {
      if (index > 0 && index % kOnesOfSkip == 0) {
        const Skip skip{static_cast<uint32_t>(next - 1), static_cast<uint32_t>((code_.size() - gaps) * 8 + pending_)};
        std::memcpy(&code_[starts_.back() + (index / kOnesOfSkip - 1) * sizeof skip], &skip, sizeof skip);
      }
      Write(static_cast<uint32_t>(places[index] - next), row.k);
      next = uint64_t{places[index]} + 1;
    }
    if (pending_ > 0) code_.push_back(static_cast<uint8_t>(word_));
    word_ = pending_ = 0;
  }

  absl::Status Store(uint32_t first, GapRows& into) {
    uint8_t* code = nullptr;
    {
      const std::lock_guard<std::mutex> lock(into.mutex_);
      BLINK_ASSIGN_OR_RETURN(code, into.bytes_.Take(code_.size()));
    }
    if (!code_.empty()) std::memcpy(code, code_.data(), code_.size());
    for (size_t k = 0; k < rows_.size(); ++k) {
      rows_[k].code = code + starts_[k];
      into.rows_[first + k] = rows_[k];
    }
    return absl::OkStatus();
  }

 private:
  void Write(uint32_t gap, uint8_t k) {
    const uint32_t high = gap >> k;
    if (high >= kLong) {
      WriteBits((uint64_t{1} << kLong) - 1, kLong);
      WriteBits(gap, 32);
    } else {
      WriteBits((uint64_t{1} << high) - 1, high + 1);
      WriteBits(gap & ((uint32_t{1} << k) - 1), k);
    }
  }
  void WriteBits(uint64_t bits, uint32_t count) {  // at most 32, and fewer than 8 are pending
    word_ |= bits << pending_;
    for (pending_ += count; pending_ >= 8; pending_ -= 8, word_ >>= 8) code_.push_back(static_cast<uint8_t>(word_));
  }

  std::vector<uint8_t> code_;
  std::vector<size_t> starts_;  // of each row
  std::vector<Row> rows_;
  uint64_t word_ = 0;  // bits that do not fill a byte yet
  uint32_t pending_ = 0;
};

absl::Status GapRows::Set(uint32_t first, absl::Span<const uint64_t> offsets, absl::Span<const uint32_t> places) {
  Coder coder;
  for (size_t k = 0; k + 1 < offsets.size(); ++k) {
    coder.Add(places.subspan(offsets[k], offsets[k + 1] - offsets[k]), columns_);
  }
  return coder.Store(first, *this);
}

void GapRows::Rest(uint32_t first, uint32_t end) const {
  // Rows that were set together lie side by side.
  for (uint32_t row = first; row < end;) {
    const uint8_t* const begin = rows_[row].code;
    const uint8_t* last = begin;
    constexpr ptrdiff_t kNear = 1 << 20;
    while (row < end && rows_[row].code >= last && rows_[row].code - last < kNear) last = rows_[row++].code;
    if (last == begin) ++row;
    bytes_.Rest(begin, last);
  }
}

double GapRows::ExpectedBytes(double rows, double columns, double ones_share) {
  if (!(ones_share > 0)) return rows * sizeof(Row);
  const double share = std::min(ones_share, 0.5);
  const double entropy = (-share * std::log2(share) - (1 - share) * std::log1p(-share) / std::log(2.0)) / share;
  const double bits = entropy * 1.02 + 0.03 + 8.0 * sizeof(Skip) / kOnesOfSkip;
  return rows * (sizeof(Row) + 1 + columns * ones_share * bits / 8);
}

namespace {

constexpr uint32_t kColumnsOfTile = 512, kRowsOfPiece = 4096;

// The ones of every column.
std::vector<uint32_t> CountColumns(const GapRows& rows, int threads, const std::function<void(double)>& progress) {
  std::vector<uint32_t> counts(rows.columns(), 0);
  std::atomic<uint32_t> next{0};
  std::mutex mutex;
  RunOnThreads(threads, [&](int thread) {
    std::vector<uint32_t> mine(rows.columns(), 0);
    for (uint32_t first; (first = next.fetch_add(kRowsOfPiece)) < rows.rows();) {
      const uint32_t end = std::min(first + kRowsOfPiece, rows.rows());
      for (uint32_t i = first; i < end; ++i) rows.ForEachOne(i, [&](uint32_t j) { ++mine[j]; });
      rows.Rest(first, end);
      if (thread == 0) progress(static_cast<double>(end) / rows.rows());
    }
    const std::lock_guard<std::mutex> lock(mutex);
    for (size_t j = 0; j < counts.size(); ++j) counts[j] += mine[j];
  });
  return counts;
}

class Transposer {
 public:
  Transposer(const GapRows& rows, GapRows& result, std::vector<uint32_t> counts, uint64_t ones_max)
      : rows_(rows), result_(result), counts_(std::move(counts)) {
    uint64_t ones = 0;
    stripes_.push_back(0);
    for (uint32_t tile = 0; tile < rows.columns(); tile += kColumnsOfTile) {
      uint64_t of_tile = 0;
      for (uint32_t j = tile; j < std::min(tile + kColumnsOfTile, rows.columns()); ++j) of_tile += counts_[j];
      if (ones > 0 && ones + of_tile > ones_max) {
        stripes_.push_back(tile);
        ones = 0;
      }
      ones += of_tile;
    }
    stripes_.push_back(rows.columns());
  }

  absl::Status Run(int threads, const std::function<void(double)>& progress) {
    RunOnThreads(threads, [&](int thread) {
      for (size_t k; (k = next_.fetch_add(1)) + 1 < stripes_.size();) {
        const absl::Status done = Stripe(stripes_[k], stripes_[k + 1]);
        const std::lock_guard<std::mutex> lock(mutex_);
        status_.Update(done);
        if (thread == 0) progress(static_cast<double>(k + 1) / static_cast<double>(stripes_.size() - 1));
        if (!status_.ok()) return;
      }
    });
    return status_;
  }

 private:
  absl::Status Stripe(uint32_t begin, uint32_t end) {
    std::vector<uint64_t> offsets(size_t{end} - begin + 1, 0);
    for (uint32_t j = begin; j < end; ++j) offsets[j - begin + 1] = offsets[j - begin] + counts_[j];
    std::vector<uint32_t> places(offsets.back());
    std::vector<uint64_t> next(offsets.begin(), offsets.end() - 1);
    for (uint32_t i = 0; i < rows_.rows(); ++i) {
      rows_.ForEachOne(i, begin, end, [&](uint32_t j) { places[next[j - begin]++] = i; });
      if ((i + 1) % kRowsOfPiece == 0) rows_.Rest(i + 1 - kRowsOfPiece, i + 1);
    }
    for (uint32_t tile = begin; tile < end; tile += kColumnsOfTile) {
      const size_t columns = std::min(kColumnsOfTile, end - tile);
      BLINK_RETURN_IF_ERROR(result_.Set(tile, absl::MakeConstSpan(offsets).subspan(tile - begin, columns + 1), places));
    }
    return absl::OkStatus();
  }

  const GapRows& rows_;
  GapRows& result_;
  const std::vector<uint32_t> counts_;  // [columns]
  std::vector<uint32_t> stripes_;       // their first columns, and the end
  std::atomic<size_t> next_{0};
  std::mutex mutex_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const GapRows>> Transpose(const GapRows& rows, const std::string& scratch_folder,
                                                         int threads, uint64_t memory_bytes,
                                                         const std::function<void(double)>& progress) {
  const int workers = ThreadsOrCores(threads);
  ProgressParts parts(progress, 3);
  std::vector<uint32_t> counts = CountColumns(rows, workers, parts.Next(1));
  uint64_t ones = 0;
  for (const uint32_t count : counts) ones += count;
  const auto share = static_cast<uint64_t>(workers);
  const uint64_t ones_max = std::min(memory_bytes / sizeof(uint32_t) / share, ones / (2 * share) + 1);
  auto result = std::make_shared<GapRows>(rows.columns(), rows.rows(), scratch_folder);
  BLINK_RETURN_IF_ERROR(Transposer(rows, *result, std::move(counts), ones_max).Run(workers, parts.Next(2)));
  return result;
}

}  // namespace blink
