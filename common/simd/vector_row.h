// A short row of floats in vector registers, which the inner loops of products sum rows in. For .cc files only.
#ifndef BLINK_COMMON_SIMD_VECTOR_ROW_H_
#define BLINK_COMMON_SIMD_VECTOR_ROW_H_

#include <cstring>

#include "common/simd/instruction_set.h"

namespace blink {

// A row of kColumns floats as parts of at most kLanesMax. Rows of an array stand at any float: parts are copied in and
// out of vectors, which compiles to one instruction each.
template <int kColumns, int kLanesMax>
struct VectorRow {
  static constexpr int kLanes = kColumns < kLanesMax ? kColumns : kLanesMax;
  static constexpr int kParts = kColumns / kLanes;
  typedef float Part __attribute__((vector_size(kLanes * 4)));

  Part parts[kParts] = {};

  BLINK_INLINE void Load(const float* from) {
    for (int k = 0; k < kParts; ++k) std::memcpy(&parts[k], from + k * kLanes, sizeof(Part));
  }
  BLINK_INLINE void Store(float* to) const {
    for (int k = 0; k < kParts; ++k) std::memcpy(to + k * kLanes, &parts[k], sizeof(Part));
  }
  BLINK_INLINE void Add(const VectorRow& other) {
    for (int k = 0; k < kParts; ++k) parts[k] += other.parts[k];
  }
  BLINK_INLINE void Add(const float* from) {
    VectorRow other;
    other.Load(from);
    Add(other);
  }
  BLINK_INLINE void AddScaled(float scale, const VectorRow& other) {
    for (int k = 0; k < kParts; ++k) parts[k] += scale * other.parts[k];
  }
  BLINK_INLINE void AddScaled(float scale, const float* from) {
    VectorRow other;
    other.Load(from);
    AddScaled(scale, other);
  }
};

}  // namespace blink

#endif  // BLINK_COMMON_SIMD_VECTOR_ROW_H_
