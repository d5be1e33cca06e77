#include "aggregator_server/prior/theta_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "aggregator_server/kernels/tasks.h"
#include "aggregator_server/kernels/vector_code.h"

namespace blink {
namespace {

constexpr size_t kBlock = 256;                  // pairs whose numbers stay in the nearest cache
constexpr size_t kPiece = 128 * kBlock;         // pairs that one thread sums at a time

// exp(x) for -700 <= x <= 0, relative error below 1e-13: x = k ln 2 + r with |r| <= ln 2 / 2, and Taylor's series of r.
BLINK_INLINE double ExpOfSmall(double x) {
  constexpr double kRound = 0x1.8p52;  // adding it rounds to an integer and leaves that in the lowest bits
  const double shifted = x * 1.4426950408889634 + kRound;
  const double k = shifted - kRound;
  const double r = (x - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
  double p = 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1;
  p = p * r + 1;
  const uint64_t exponent = (std::bit_cast<uint64_t>(shifted) + 1023) << 52;
  return p * std::bit_cast<double>(exponent);
}

// log(1 + t) for 0 <= t <= 1, relative error below 1e-11: twice the inverse hyperbolic tangent of t / (2 + t) <= 1/3.
BLINK_INLINE double LogOfOneAnd(double t) {
  const double u = t / (2 + t), v = u * u;
  double p = 1.0 / 23;
  p = p * v + 1.0 / 21;
  p = p * v + 1.0 / 19;
  p = p * v + 1.0 / 17;
  p = p * v + 1.0 / 15;
  p = p * v + 1.0 / 13;
  p = p * v + 1.0 / 11;
  p = p * v + 1.0 / 9;
  p = p * v + 1.0 / 7;
  p = p * v + 1.0 / 5;
  p = p * v + 1.0 / 3;
  return 2 * u * (1 + v * p);
}

struct Logistic {
  double sigma, softplus;  // 1 / (1 + e^-x) and log(1 + e^x)
};
BLINK_INLINE Logistic LogisticOf(double x) {
  const double size = x < 0 ? -x : x;
  const double t = ExpOfSmall(size < 700 ? -size : -700.0), share = 1 / (1 + t);
  return {x < 0 ? t * share : share, (x < 0 ? 0 : x) + LogOfOneAnd(t)};
}

BLINK_INLINE float Total(Floats v) {
  float total = 0;
  for (int lane = 0; lane < kLanes; ++lane) total += v[lane];
  return total;
}

// Of a block, in partial sums that vectors can hold.
BLINK_INLINE double Total(const double* x) {
  double partial[kLanes] = {}, total = 0;
  for (size_t b = 0; b < kBlock; b += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) partial[lane] += x[b + lane];
  }
  for (const double sum : partial) total += sum;
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
  const double* theta;    // [width]
  float* columns;         // [width, kBlock] work space
  double* likelihood_links;  // [2]
  double *gradient, *links_slope, *curvature;  // [width], [width], [width, width] of which the lower half is summed
};

struct AddBlock {
  BLINK_INLINE static void Run(const Block& block) {
    const size_t count = block.count, width = block.width;
    double eta[kBlock], evidence[kBlock], weight[kBlock], likelihood[kBlock], links[kBlock];
    float residual[kBlock], slope[kBlock], root[kBlock];
    for (size_t b = 0; b < kBlock; ++b) {  // pairs past `count` have weight 0
      eta[b] = b < count ? block.base[b] : 0;
      evidence[b] = b < count ? block.evidence[b] : 0;
      weight[b] = b < count ? block.weights[b] : 0;
    }
    if (count < kBlock) std::fill_n(block.columns, width * kBlock, 0.0f);
    for (size_t b = 0; b < count; ++b) {
      for (size_t k = 0; k < width; ++k) block.columns[k * kBlock + b] = block.features[b * width + k];
    }
    for (size_t k = 0; k < width; ++k) {
      const float* column = block.columns + k * kBlock;
      const double theta = block.theta[k];
      for (size_t b = 0; b < kBlock; ++b) eta[b] += theta * column[b];
    }
    for (size_t b = 0; b < kBlock; ++b) {
      const Logistic before = LogisticOf(eta[b]), after = LogisticOf(eta[b] + evidence[b]);
      const double r = after.sigma - before.sigma;
      likelihood[b] = weight[b] * (after.softplus - before.softplus);
      links[b] = weight[b] * before.sigma;
      residual[b] = static_cast<float>(weight[b] * r);
      slope[b] = static_cast<float>(weight[b] * before.sigma * (1 - before.sigma));
      root[b] = static_cast<float>(std::sqrt(weight[b]) * r);
    }
    block.likelihood_links[0] += Total(likelihood);
    block.likelihood_links[1] += Total(links);
    for (size_t k = 0; k < width; ++k) {
      float* column = block.columns + k * kBlock;
      block.gradient[k] += Dot(column, residual);
      block.links_slope[k] += Dot(column, slope);
      for (size_t b = 0; b < kBlock; b += kLanes) Store(column + b, Load(column + b) * Load(root + b));
    }
    for (size_t k = 0; k < width; ++k) AddProducts(block, k);
  }

  // Row k of the curvature up to its diagonal; four products share the loads of column k.
  BLINK_INLINE static void AddProducts(const Block& block, size_t k) {
    const float* column = block.columns + k * kBlock;
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

ThetaSums SumPairs(const PairSample& sample, absl::Span<const double> theta, int threads) {
  const size_t width = sample.width, of_piece = 2 + 2 * width + width * width;
  const size_t pieces = (sample.size() + kPiece - 1) / kPiece;
  std::vector<double> sums(pieces * of_piece, 0.0);
  const auto add_block = CodeOf<AddBlock>();
  std::atomic<size_t> next{0};
  const int workers = static_cast<int>(std::clamp<size_t>(pieces, 1, ThreadsOrCores(threads)));
  RunOnThreads(workers, [&](int) {
    std::vector<float> columns(width * kBlock);
    for (size_t piece; (piece = next.fetch_add(1)) < pieces;) {
      double* of = &sums[piece * of_piece];
      const size_t end = std::min(sample.size(), (piece + 1) * kPiece);
      for (size_t begin = piece * kPiece; begin < end; begin += kBlock) {
        add_block({&sample.features[begin * width], &sample.base[begin], &sample.evidence[begin],
                   &sample.weights[begin], std::min(kBlock, end - begin), width, theta.data(), columns.data(), of,
                   of + 2, of + 2 + width, of + 2 + 2 * width});
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
  const double* curvature = &all[2] + 2 * width;
  for (size_t k = 0; k < width; ++k) {
    for (size_t l = 0; l <= k; ++l)
      result.curvature[k * width + l] = result.curvature[l * width + k] = curvature[k * width + l];
  }
  return result;
}

}  // namespace blink
