#include "aggregator_server/train/nearest_shares.h"

#include <algorithm>
#include <cmath>

namespace blink {
namespace {

void ToLogShares(std::vector<float>& sums, uint32_t classes) {
  constexpr double kSmall = 1e-2;
  for (size_t row = 0; row < sums.size(); row += classes) {
    double total = 0;
    for (uint32_t c = 0; c < classes; ++c) total += sums[row + c] + kSmall;
    for (uint32_t c = 0; c < classes; ++c) sums[row + c] = static_cast<float>(std::log((sums[row + c] + kSmall) / total));
  }
}

}  // namespace

std::vector<float> SideBySide(const std::vector<float>& left, uint32_t left_width, const std::vector<float>& right,
                              uint32_t right_width) {
  std::vector<float> both;
  both.reserve(left.size() + right.size());
  for (size_t i = 0; i * left_width < left.size(); ++i) {
    both.insert(both.end(), left.begin() + i * left_width, left.begin() + (i + 1) * left_width);
    both.insert(both.end(), right.begin() + i * right_width, right.begin() + (i + 1) * right_width);
  }
  return both;
}

NearestShares NearestSharesOf(const NearestNodes& nearest, const ClassProbabilities& classes) {
  NearestShares shares;
  for (const Nearest* of : {&nearest.scaled, &nearest.latent}) {
    if (of->count == 0) continue;
    for (const uint32_t count : {10u, kNearestCount}) {
      std::vector<float> block = SumsOfNearest(*of, count, classes.clamped, classes.class_count);
      ToLogShares(block, classes.class_count);
      shares.values = shares.width == 0 ? std::move(block) : SideBySide(shares.values, shares.width, block, classes.class_count);
      shares.width += classes.class_count;
    }
  }
  return shares;
}

}  // namespace blink
