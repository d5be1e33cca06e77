// FitTheta finds the theta that the bits were drawn with. Fixed seeds; over seeds, an estimate that is normal around
// the truth with the deviation that the curvature tells would be further than 5 deviations off in one of 6e-7 trials:
// for the 14 coefficients here below 1e-5 in all.
#include <gtest/gtest.h>

#include "Eigen/Dense"
#include "aggregator_server/estimate/attributed/theta_sums.h"
#include "tests/unit/estimate/attributed/theta_sample.h"

namespace blink {
namespace {

// `largest_weight`: at most so much larger than the inverse of sum w r^2 phi phi^T the variances are.
void ExpectRecovers(const PairSample& sample, const std::vector<double>& truth, double largest_weight) {
  const auto fit = FitTheta(sample, {.ridge = 1e-3, .threads = 2});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_TRUE(fit->converged);
  const ThetaSums sums = SumPairs(sample, fit->theta, 2);
  const auto width = static_cast<Eigen::Index>(truth.size());
  const Eigen::MatrixXd inverse = Eigen::Map<const Eigen::MatrixXd>(sums.curvature.data(), width, width).inverse();
  for (size_t k = 0; k < truth.size(); ++k) {
    const double deviation =
        std::sqrt(largest_weight * inverse(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(k)));
    EXPECT_LT(deviation, 0.2 * std::abs(truth[k])) << "the sample says too little to test anything";
    EXPECT_LT(std::abs(fit->theta[k] - truth[k]), 5 * deviation + 1e-3 * std::abs(truth[k])) << k;
  }
}

TEST(ThetaRecovery, FindsWhatTheBitsWereDrawnWith) {
  const std::vector<double> truth = {0.8, -8, 60, 1.2, 5};
  ExpectRecovers(DrawSample(300'000, truth, 0.05, 21), truth, 1);
  ExpectRecovers(DrawSample(1'000'000, truth, 0.2, 22), truth, 1);
}

// All pairs with a one, and a tenth of the others, which stand for ten: the deviation is at most that of 1/10 of the
// pairs.
TEST(ThetaRecovery, FindsItInAWeightedSample) {
  const std::vector<double> truth = {0.8, -8, 60, 1.2};
  const PairSample all = DrawSample(1'000'000, truth, 0.1, 23);
  PairSample sample;
  sample.width = all.width;
  for (size_t m = 0; m < all.size(); ++m) {
    const bool ones = all.evidence[m] > -4;  // 2 ln 9 for two zeros
    if (!ones && m % 10 != 0) continue;
    sample.features.insert(sample.features.end(), &all.features[m * 4], &all.features[m * 4] + 4);
    sample.base.push_back(all.base[m]);
    sample.evidence.push_back(all.evidence[m]);
    sample.weights.push_back(ones ? 1 : 10);
  }
  ExpectRecovers(sample, truth, 10);
}

}  // namespace
}  // namespace blink
