// Rows for the tests of the codec.
#ifndef BLINK_TESTS_UNIT_WIRE_CODEC_ROWS_H_
#define BLINK_TESTS_UNIT_WIRE_CODEC_ROWS_H_

#include <cstdint>
#include <random>

#include "common/privacy/bit_row.h"

namespace blink {

inline BitRow RandomRow(uint32_t n, double density, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::bernoulli_distribution one(density);
  BitRow row(n);
  for (uint32_t j = 0; j < n; ++j) {
    if (one(engine)) row.Set(j);
  }
  return row;
}

// Bit j is 1 where j * j mod 1009 is a multiple of `step`: the rows of golden_report_codec.py.
inline BitRow QuadraticRow(uint32_t n, uint32_t step) {
  BitRow row(n);
  for (uint32_t j = 0; j < n; ++j) {
    if (j * j % 1009 % step == 0) row.Set(j);
  }
  return row;
}

}  // namespace blink

#endif  // BLINK_TESTS_UNIT_WIRE_CODEC_ROWS_H_
