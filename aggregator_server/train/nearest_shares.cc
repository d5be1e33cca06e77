#include "aggregator_server/train/nearest_shares.h"

#include <algorithm>
#include <cmath>

namespace blink {

void WriteLogShares(const float* sums, uint32_t classes, float* shares, float* logs) {
  constexpr double kSmall = 1e-2;
  double total = 0;
  for (uint32_t c = 0; c < classes; ++c) total += std::max(0.0f, sums[c]) + kSmall;
  for (uint32_t c = 0; c < classes; ++c) {
    const double logarithm = std::log(std::max(0.0f, sums[c]) + kSmall);
    shares[c] = static_cast<float>(logarithm - std::log(total));
    if (logs != nullptr) logs[c] = static_cast<float>(logarithm);
  }
}

std::vector<float> LogsOfOpen(const ClassProbabilities& classes) {
  constexpr float kSmall = 1e-3f;
  std::vector<float> logs = classes.open;
  for (float& value : logs) value = std::log(value + kSmall);
  return logs;
}

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
      for (size_t row = 0; row < block.size(); row += classes.class_count) {
        WriteLogShares(&block[row], classes.class_count, &block[row], nullptr);
      }
      shares.values =
          shares.width == 0 ? std::move(block) : SideBySide(shares.values, shares.width, block, classes.class_count);
      shares.width += classes.class_count;
    }
  }
  return shares;
}

}  // namespace blink
