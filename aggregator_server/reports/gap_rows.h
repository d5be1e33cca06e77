// Rows of bits of which few are ones, coded next to their entropy: of each row the places of its ones, as gaps.
//
// A gap g is the number of zeros before a one, since the one before it. Of a row it is about geometric, for which the
// code of Rice and Plaunt (1971) takes 0.03 bits more than the entropy: g >> k ones, a zero, and the k low bits of g,
// with k from the mean gap. A gap with g >> k >= kLong is kLong ones and 32 bits. Bits fill bytes from the lowest.
//
//   row = a place in its code for every 128 ones, to begin there (8 bytes each)  |  gaps
//
// About 12 bits a one where one in 1,340 is, and 9.7 bits where one in 222 is.
#ifndef BLINK_AGGREGATOR_SERVER_REPORTS_GAP_ROWS_H_
#define BLINK_AGGREGATOR_SERVER_REPORTS_GAP_ROWS_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "aggregator_server/reports/scratch_bytes.h"

namespace blink {

static_assert(std::endian::native == std::endian::little);

class GapRows {
 public:
  // [rows, columns] of zeros. `scratch_folder`: as of ScratchBytes.
  GapRows(uint32_t rows, uint32_t columns, std::string scratch_folder)
      : columns_(columns), rows_(rows), bytes_(std::move(scratch_folder)) {}

  uint32_t rows() const { return static_cast<uint32_t>(rows_.size()); }
  uint32_t columns() const { return columns_; }

  // The ones of the rows first, first + 1 ..: `places` from offsets[k] to offsets[k + 1], ascending and below
  // columns(). Each row at most once; several threads may set rows of their own. Errors as of ScratchBytes::Take.
  absl::Status Set(uint32_t first, absl::Span<const uint64_t> offsets, absl::Span<const uint32_t> places);

  uint32_t Count(uint32_t row) const { return rows_[row].ones; }
  bool Test(uint32_t row, uint32_t column) const {
    bool found = false;
    ForEachOne(row, column, uint64_t{column} + 1, [&](uint32_t) { found = true; });
    return found;
  }

  // Calls visit(column) for the ones of the row from column `from` to before `end`, ascending.
  template <typename Visit>
  void ForEachOne(uint32_t row, uint32_t from, uint64_t end, const Visit& visit) const {
    const Row& of = rows_[row];
    const uint32_t skips = SkipsOf(of.ones);
    uint32_t skip = 0;  // so many times 128 ones lie before `from`
    for (uint32_t step = std::bit_floor(skips); step != 0; step /= 2) {
      if (skip + step <= skips && SkipAt(of, skip + step - 1).place < from) skip += step;
    }
    Decoder decoder{of.code + size_t{skips} * sizeof(Skip), 0, of.k};
    uint64_t place = 0;  // the least that the next one may have
    if (skip > 0) {
      const Skip at = SkipAt(of, skip - 1);
      decoder.bit = at.bit;
      place = uint64_t{at.place} + 1;
    }
    for (uint32_t left = of.ones - skip * kOnesOfSkip; left > 0; --left) {
      place += decoder.Next();
      if (place >= end) return;
      if (place >= from) visit(static_cast<uint32_t>(place));
      ++place;
    }
  }
  template <typename Visit>
  void ForEachOne(uint32_t row, const Visit& visit) const {
    ForEachOne(row, 0, columns_, visit);
  }

  // The rows first .. end - 1 are not read for some time (ScratchBytes::Rest).
  void Rest(uint32_t first, uint32_t end) const;

  uint64_t bytes() const { return bytes_.taken() + rows_.size() * sizeof(Row); }

  // The expected bytes of such rows where each bit is a one with this probability.
  static double ExpectedBytes(double rows, double columns, double ones_share);

 private:
  static constexpr uint32_t kLong = 24, kOnesOfSkip = 128;
  struct Row {
    const uint8_t* code = nullptr;
    uint32_t ones = 0;
    uint8_t k = 0;
  };
  struct Skip {
    uint32_t place = 0;  // of the last one before
    uint32_t bit = 0;    // where the next gap begins
  };
  // A gap ends at most 24 + 32 bits behind its begin, so one word that begins at its byte has all of it.
  struct Decoder {
    const uint8_t* code;
    uint64_t bit;
    uint8_t k;
    uint32_t Next() {
      uint64_t word;
      std::memcpy(&word, code + bit / 8, sizeof word);
      word >>= bit % 8;
      const auto high = static_cast<uint32_t>(std::countr_one(word));
      if (high >= kLong) {
        bit += kLong + 32;
        return static_cast<uint32_t>(word >> kLong);
      }
      bit += high + 1 + k;
      return high << k | (static_cast<uint32_t>(word >> (high + 1)) & ((uint32_t{1} << k) - 1));
    }
  };
  class Coder;

  static uint32_t SkipsOf(uint32_t ones) { return ones == 0 ? 0 : (ones - 1) / kOnesOfSkip; }
  static Skip SkipAt(const Row& row, uint32_t index) {
    Skip skip;
    std::memcpy(&skip, row.code + size_t{index} * sizeof skip, sizeof skip);
    return skip;
  }

  const uint32_t columns_;
  std::vector<Row> rows_;
  std::mutex mutex_;  // of bytes_
  ScratchBytes bytes_;
};

// Row j has a one at i where row i of `rows` has one at j. It takes up to `memory_bytes` beside the result, however
// large that is: the columns are made in stripes, each by a pass over all rows. Errors as of ScratchBytes::Take.
absl::StatusOr<std::shared_ptr<const GapRows>> Transpose(const GapRows& rows, const std::string& scratch_folder,
                                                         int threads, uint64_t memory_bytes,
                                                         const std::function<void(double fraction)>& progress);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_REPORTS_GAP_ROWS_H_
