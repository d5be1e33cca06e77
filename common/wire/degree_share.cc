#include "common/wire/degree_share.h"

#include <algorithm>

namespace blink {

uint32_t DefaultDegreeSharePpm(uint64_t epsilon_micro, Prior prior) {
  // The attributed prior takes the degrees from the sums of the bits as well; the noisy degrees are left to say what
  // the bits cannot, the number of links in all, in which their noise cancels.
  if (prior == Prior::kAttributed) {
    const uint64_t beyond = std::min<uint64_t>(epsilon_micro, 50'000'000) * 3 / 100;
    return static_cast<uint32_t>(std::clamp<int64_t>(80'000 - static_cast<int64_t>(beyond), 20'000, 50'000));
  }
  // Chosen on two citation graphs and a generated one, by the error of the estimate and the accuracy;
  // experiments/choices.md says what a second measurement confirmed of it. The degree needs a noise that is small
  // beside the degrees, whatever epsilon is: a small budget gives more of itself.
  if (epsilon_micro < 1'500'000) return 200'000;
  return epsilon_micro < 2'500'000 ? 100'000 : 50'000;
}

}  // namespace blink
