// Profiles and class probabilities of small rounds, for comparisons with dense twins.
#ifndef BLINK_TESTS_UNIT_ESTIMATE_ATTRIBUTED_SMALL_INPUTS_H_
#define BLINK_TESTS_UNIT_ESTIMATE_ATTRIBUTED_SMALL_INPUTS_H_

#include <cmath>
#include <random>
#include <vector>

#include "aggregator_server/profiles/class_probabilities.h"
#include "aggregator_server/profiles/node_profiles.h"

namespace blink {

enum class ProfileForm { kSparse, kDense, kNone };

inline void NormaliseRow(float* row, uint32_t width) {
  double square = 0;
  for (uint32_t k = 0; k < width; ++k) square += double{row[k]} * row[k];
  for (uint32_t k = 0; k < width && square > 0; ++k) row[k] = static_cast<float>(row[k] / std::sqrt(square));
}

// Nodes i and j are alike when i % 5 == j % 5. Every 17th node has no features.
inline NodeProfiles MakeProfiles(uint32_t n, ProfileForm form, uint64_t seed, uint32_t cols = 37, uint32_t latent = 9) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<float>((random() >> 11) * 0x1p-53); };
  NodeProfiles profiles;
  if (form == ProfileForm::kNone) return profiles;
  profiles.scaled.rows = n;
  profiles.scaled.cols = cols;
  profiles.scaled.sparse = form == ProfileForm::kSparse;
  profiles.latent_width = latent;
  profiles.latent.assign(size_t{n} * latent, 0.0f);
  if (profiles.scaled.sparse) profiles.scaled.row_offsets.push_back(0);
  for (uint32_t i = 0; i < n; ++i) {
    std::vector<float> row(cols, 0.0f);
    for (uint32_t k = 0; k < cols && i % 17 != 5; ++k) {
      const bool own = k % 5 == i % 5;
      row[k] = profiles.scaled.sparse ? (uniform() < (own ? 0.6f : 0.1f) ? 1 + uniform() : 0.0f)
                                      : uniform() - 0.5f + own * 0.6f;
    }
    NormaliseRow(row.data(), cols);
    for (uint32_t k = 0; k < cols; ++k) {
      if (profiles.scaled.sparse && row[k] == 0) continue;
      profiles.scaled.values.push_back(row[k]);
      if (profiles.scaled.sparse) profiles.scaled.columns.push_back(static_cast<int32_t>(k));
    }
    if (profiles.scaled.sparse)
      profiles.scaled.row_offsets.push_back(static_cast<int64_t>(profiles.scaled.values.size()));
    float* z = &profiles.latent[size_t{i} * latent];
    for (uint32_t k = 0; k < latent && i % 17 != 5; ++k) z[k] = uniform() - 0.5f + (k % 5 == i % 5);
    NormaliseRow(z, latent);
  }
  return profiles;
}

// Class i % class_count is the likeliest; every third node is labelled.
inline ClassProbabilities MakeClasses(uint32_t n, uint32_t class_count, uint64_t seed) {
  std::mt19937_64 random(seed);
  ClassProbabilities classes{n, class_count, {}, {}};
  for (uint32_t i = 0; i < n; ++i) {
    std::vector<double> row(class_count);
    double sum = 0;
    for (uint32_t c = 0; c < class_count; ++c)
      sum += row[c] = 0.1 + (random() >> 11) * 0x1p-53 + (c == i % class_count);
    for (uint32_t c = 0; c < class_count; ++c) {
      classes.open.push_back(static_cast<float>(row[c] / sum));
      classes.clamped.push_back(i % 3 == 0 ? (c == i % class_count ? 1.0f : 0.0f) : classes.open.back());
    }
  }
  return classes;
}

}  // namespace blink

#endif  // BLINK_TESTS_UNIT_ESTIMATE_ATTRIBUTED_SMALL_INPUTS_H_
