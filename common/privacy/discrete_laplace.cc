#include "common/privacy/discrete_laplace.h"

#include <numeric>

namespace blink {

bool DrawBernoulliExp(uint64_t numerator, uint64_t denominator, RandomBits& random) {
  // Algorithm 1 for gamma = numerator / denominator in [0, 1]: K is the first k whose Bernoulli(gamma / k) fails;
  // Pr[K odd] = sum over k of (-gamma)^k / k! = exp(-gamma). Bernoulli(gamma / k) is drawn as the conjunction of
  // Bernoulli(gamma) and Bernoulli(1 / k), so that denominator * k need not be formed.
  uint64_t k = 1;
  while (random.ok() && random.NextBelow(denominator) < numerator && random.NextBelow(k) == 0) ++k;
  return k % 2 == 1;
}

int64_t DrawDiscreteLaplace(uint64_t numerator, uint64_t denominator, RandomBits& random) {
  // Algorithm 2 with s = numerator, t = denominator, in lowest terms.
  const uint64_t divisor = std::gcd(numerator, denominator);
  const uint64_t s = numerator / divisor, t = denominator / divisor;
  while (random.ok()) {
    const uint64_t u = random.NextBelow(t);
    if (!DrawBernoulliExp(u, t, random)) continue;
    uint64_t v = 0;
    while (random.ok() && DrawBernoulliExp(1, 1, random)) ++v;
    // x = u + t v is geometric with Pr[x] proportional to exp(-x / t); x / s is geometric with exp(-s / t).
    const unsigned __int128 magnitude = (u + static_cast<unsigned __int128>(t) * v) / s;
    const bool negative = random.NextBelow(2) == 1;
    if (negative && magnitude == 0) continue;  // or zero would be counted twice
    const uint64_t residue = static_cast<uint64_t>(magnitude);
    return static_cast<int64_t>(negative ? 0 - residue : residue);
  }
  return 0;  // the source failed; random.status() says so
}

}  // namespace blink
