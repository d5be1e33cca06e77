// Samples of pairs with bits drawn from a known theta, for the tests of its fit.
#ifndef BLINK_TESTS_UNIT_ESTIMATE_ATTRIBUTED_THETA_SAMPLE_H_
#define BLINK_TESTS_UNIT_ESTIMATE_ATTRIBUTED_THETA_SAMPLE_H_

#include <cmath>
#include <random>
#include <vector>

#include "aggregator_server/estimate/attributed/theta_fit.h"

namespace blink {

inline double Sigma(double x) { return 1 / (1 + std::exp(-x)); }

// Features: 1, normal numbers of deviation 1, 0.1, 0.01 in turn. Each pair has a link by sigma(base + theta . phi), and
// two bits of it, each flipped with probability p.
inline PairSample DrawSample(size_t pairs, const std::vector<double>& theta, double p, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const auto uniform = [&] { return (random() >> 11) * 0x1p-53; };
  PairSample sample;
  sample.width = static_cast<uint32_t>(theta.size());
  const double log_odds = std::log((1 - p) / p);
  for (size_t m = 0; m < pairs; ++m) {
    sample.base.push_back(static_cast<float>(-3 + normal(random)));
    double eta = sample.base.back();
    for (size_t k = 0; k < theta.size(); ++k) {
      const double scale[] = {1, 0.1, 0.01};
      sample.features.push_back(k == 0 ? 1.0f : static_cast<float>(scale[k % 3] * normal(random)));
      eta += theta[k] * sample.features.back();
    }
    const bool link = uniform() < Sigma(eta);
    int evidence = 0;
    for (int report = 0; report < 2; ++report) evidence += link != (uniform() < p) ? 1 : -1;
    sample.evidence.push_back(static_cast<float>(evidence * log_odds));
    sample.weights.push_back(1);
  }
  return sample;
}

}  // namespace blink

#endif  // BLINK_TESTS_UNIT_ESTIMATE_ATTRIBUTED_THETA_SAMPLE_H_
