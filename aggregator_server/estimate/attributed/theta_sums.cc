#include "aggregator_server/estimate/attributed/theta_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "common/base/tasks.h"
#include "common/simd/vector_code.h"

namespace blink {
namespace {

constexpr size_t kBlock = 256;                 // pairs whose numbers stay in the nearest cache
constexpr size_t kPairsAPiece = 128 * kBlock;  // pairs that one thread sums at a time

// Doubles at once, as many as fit into Floats.
constexpr size_t kDoubles = kLanes / 2;
using Doubles = double __attribute__((vector_size(8 * kDoubles), aligned(8), may_alias));
using Longs = int64_t __attribute__((vector_size(8 * kDoubles), aligned(8), may_alias));

BLINK_INLINE Doubles LoadDoubles(const double* from) {
  Doubles value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}
BLINK_INLINE void StoreFloats(float* to, Doubles value) {
  for (size_t lane = 0; lane < kDoubles; ++lane) to[lane] = static_cast<float>(value[lane]);
}
BLINK_INLINE Doubles Select(Longs mask, Doubles yes, Doubles no) {
  return reinterpret_cast<Doubles>((reinterpret_cast<Longs>(yes) & mask) | (reinterpret_cast<Longs>(no) & ~mask));
}

// exp(x) for -700 <= x <= 0, relative error below 1e-13: x = k ln 2 + r with |r| <= ln 2 / 2, and Taylor's series of r.
BLINK_INLINE Doubles ExpOfSmall(Doubles x) {
  constexpr double kRound = 0x1.8p52;  // adding it rounds to an integer and leaves that in the lowest bits
  const Doubles shifted = x * 1.4426950408889634 + kRound;
  const Doubles k = shifted - kRound;
  const Doubles r = (x - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
  constexpr double kFactorials[] = {39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2, 1, 1};
  Doubles p = r * 0;
  for (const double factorial : kFactorials) p = p * r + 1 / factorial;
  const Longs exponent = (reinterpret_cast<Longs>(shifted) + 1023) << 52;
  return p * reinterpret_cast<Doubles>(exponent);
}

// log(1 + t) for 0 <= t <= 1, relative error below 1e-11: twice the inverse hyperbolic tangent of t / (2 + t) <= 1/3.
BLINK_INLINE Doubles LogOfOneAnd(Doubles t) {
  const Doubles u = t / (2 + t), v = u * u;
  Doubles p = v * 0;
  for (int odd = 23; odd >= 1; odd -= 2) p = p * v + 1.0 / odd;
  return 2 * u * p;
}

struct Logistic {
  Doubles sigma, softplus;  // 1 / (1 + e^-x) and log(1 + e^x)
};
BLINK_INLINE Logistic LogisticOf(Doubles x) {
  const Longs negative = x < 0;
  const Doubles size = Select(negative, -x, x);
  const Doubles t = ExpOfSmall(Select(size < 700, -size, x * 0 - 700)), share = 1 / (1 + t);
  return {Select(negative, t * share, share), Select(negative, x * 0, x) + LogOfOneAnd(t)};
}

BLINK_INLINE float Total(Floats v) {
  float total = 0;
  for (int lane = 0; lane < kLanes; ++lane) total += v[lane];
  return total;
}

// sum of x[b] y[b] over a block
BLINK_INLINE float Dot(const float* x, const float* y) {
  Floats even = {}, odd = {};
  for (size_t b = 0; b < kBlock; b += 2 * kLanes) {
    even += Load(x + b) * Load(y + b);
    odd += Load(x + b + kLanes) * Load(y + b + kLanes);
  }
  return Total(even + odd);
}

// One block: its pairs, theta, and where its sums are added.
struct Block {
  const float *features, *base, *evidence, *weights;  // [count, width], [count] each
  size_t count;                                       // at most kBlock
  size_t width;
  const double* theta;                         // [width]
  bool hessian;                                // whether `curvature` is that, or the outer product
  float* columns;                              // [width, kBlock] work space
  double* likelihood_links;                    // [2]
  double *gradient, *links_slope, *curvature;  // [width], [width], [width, width] of which the lower half is summed
};

struct AddBlock {
  BLINK_INLINE static void Run(const Block& block) {
    const size_t count = block.count, width = block.width;
    double eta[kBlock] = {}, evidence[kBlock] = {}, weight[kBlock] = {};  // pairs past `count` have weight 0
    std::copy_n(block.base, count, eta);
    std::copy_n(block.evidence, count, evidence);
    std::copy_n(block.weights, count, weight);
    float residual[kBlock], slope[kBlock], curve[kBlock];
    if (count < kBlock) std::fill_n(block.columns, width * kBlock, 0.0f);
    for (size_t b = 0; b < count; ++b) {
      for (size_t k = 0; k < width; ++k) block.columns[k * kBlock + b] = block.features[b * width + k];
    }
    for (size_t k = 0; k < width; ++k) {
      const float* column = block.columns + k * kBlock;
      const double theta = block.theta[k];
      for (size_t b = 0; b < kBlock; ++b) eta[b] += theta * column[b];
    }
    Doubles likelihood = {}, links = {};
    for (size_t b = 0; b < kBlock; b += kDoubles) {
      const Doubles x = LoadDoubles(eta + b), w = LoadDoubles(weight + b);
      const Logistic before = LogisticOf(x), after = LogisticOf(x + LoadDoubles(evidence + b));
      const Doubles r = after.sigma - before.sigma, weighted = w * r;
      likelihood += w * (after.softplus - before.softplus);
      links += w * before.sigma;
      StoreFloats(residual + b, weighted);
      StoreFloats(slope + b, w * before.sigma * (1 - before.sigma));
      // s - s^2 - (s+ - s+^2) = (s+ - s) (s+ + s - 1)
      StoreFloats(curve + b, weighted * (block.hessian ? after.sigma + before.sigma - 1 : r));
    }
    for (size_t lane = 0; lane < kDoubles; ++lane) {
      block.likelihood_links[0] += likelihood[lane];
      block.likelihood_links[1] += links[lane];
    }
    for (size_t k = 0; k < width; ++k) {
      const float* column = block.columns + k * kBlock;
      block.gradient[k] += Dot(column, residual);
      block.links_slope[k] += Dot(column, slope);
      float curved[kBlock];  // the feature times the pair's factor
      for (size_t b = 0; b < kBlock; b += kLanes) Store(curved + b, Load(column + b) * Load(curve + b));
      AddProducts(block, k, curved);
    }
  }

  // Row k of the curvature up to its diagonal; four products share the loads of `column`.
  BLINK_INLINE static void AddProducts(const Block& block, size_t k, const float* column) {
    double* row = block.curvature + k * block.width;
    size_t l = 0;
    for (; l + 4 <= k + 1; l += 4) {
      const float* other = block.columns + l * kBlock;
      Floats a = {}, b = {}, c = {}, d = {};
      for (size_t at = 0; at < kBlock; at += kLanes) {
        const Floats mine = Load(column + at);
        a += mine * Load(other + at);
        b += mine * Load(other + kBlock + at);
        c += mine * Load(other + 2 * kBlock + at);
        d += mine * Load(other + 3 * kBlock + at);
      }
      row[l] += Total(a), row[l + 1] += Total(b), row[l + 2] += Total(c), row[l + 3] += Total(d);
    }
    for (; l <= k; ++l) row[l] += Dot(column, block.columns + l * kBlock);
  }
};

}  // namespace

ThetaSums SumPairs(const PairSample& sample, absl::Span<const double> theta, int threads, Curvature curvature) {
  const size_t width = sample.width, of_piece = 2 + 2 * width + width * width;
  const size_t pieces = (sample.size() + kPairsAPiece - 1) / kPairsAPiece;
  std::vector<double> sums(pieces * of_piece, 0.0);
  const auto add_block = CodeOf<AddBlock>();
  std::atomic<size_t> next{0};
  const int workers = static_cast<int>(std::clamp<size_t>(pieces, 1, ThreadsOrCores(threads)));
  RunOnThreads(workers, [&](int) {
    std::vector<float> columns(width * kBlock);
    for (size_t piece; (piece = next.fetch_add(1)) < pieces;) {
      double* of = &sums[piece * of_piece];
      const size_t end = std::min(sample.size(), (piece + 1) * kPairsAPiece);
      for (size_t begin = piece * kPairsAPiece; begin < end; begin += kBlock) {
        add_block({&sample.features[begin * width], &sample.base[begin], &sample.evidence[begin],
                   &sample.weights[begin], std::min(kBlock, end - begin), width, theta.data(),
                   curvature == Curvature::kHessian, columns.data(), of, of + 2, of + 2 + width, of + 2 + 2 * width});
      }
    }
  });
  std::vector<double> all(of_piece, 0.0);
  for (size_t piece = 0; piece < pieces; ++piece) {
    for (size_t k = 0; k < of_piece; ++k) all[k] += sums[piece * of_piece + k];
  }
  ThetaSums result{all[0], all[1], {}, {}, std::vector<double>(width * width)};
  result.gradient.assign(&all[2], &all[2] + width);
  result.links_slope.assign(&all[2] + width, &all[2] + 2 * width);
  const double* products = &all[2] + 2 * width;
  for (size_t k = 0; k < width; ++k) {
    for (size_t l = 0; l <= k; ++l)
      result.curvature[k * width + l] = result.curvature[l * width + k] = products[k * width + l];
  }
  return result;
}

}  // namespace blink
