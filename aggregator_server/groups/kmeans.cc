#include "aggregator_server/groups/kmeans.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <random>

#include "aggregator_server/groups/uniform.h"
#include "aggregator_server/profiles/tile_kernels.h"
#include "common/base/run_on_threads.h"
#include "common/simd/instruction_set.h"

namespace blink {
namespace {

constexpr double kTolerance = 1e-4;
constexpr uint32_t kBlock = 64;  // points of a product

// Sums side by side, so that the compiler may use vectors of them.
struct SquaredDistance {
  static constexpr uint32_t kSums = 16;
  BLINK_INLINE static float Run(const float* a, const float* b, uint32_t width) {
    float sums[kSums] = {};
    uint32_t k = 0;
    for (; k + kSums <= width; k += kSums) {
      for (uint32_t s = 0; s < kSums; ++s) sums[s] += (a[k + s] - b[k + s]) * (a[k + s] - b[k + s]);
    }
    float sum = 0;
    for (const float part : sums) sum += part;
    for (; k < width; ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sum;
  }
};

class Lloyd {
 public:
  Lloyd(absl::Span<const float> points, uint32_t width, uint32_t groups, const KMeansOptions& options)
      : points_(points),
        n_(static_cast<uint32_t>(points.size() / width)),
        width_(width),
        groups_(groups),
        threads_(ThreadsOrCores(options.threads)),
        random_(options.seed),
        distance_(CodeOf<SquaredDistance>()),
        centres_(size_t{groups} * width),
        group_(n_, groups) {}

  std::vector<uint32_t> Run(int iterations) {
    ChooseCentres();
    const double enough = kTolerance * MeanVariance();
    for (int k = 0; k < iterations; ++k) {
      if (!Assign()) break;
      if (MoveCentres() <= enough) {
        Assign();
        break;
      }
    }
    return std::move(group_);
  }

 private:
  const float* Point(uint32_t i) const { return &points_[size_t{i} * width_]; }
  float* Centre(uint32_t c) { return &centres_[size_t{c} * width_]; }

  // Calls work(first, end) for blocks of points, from several threads.
  template <typename Work>
  void ForEachBlock(const Work& work) const {
    std::atomic<uint32_t> next{0};
    RunOnThreads(static_cast<int>(std::min<uint32_t>(threads_, (n_ + kBlock - 1) / kBlock)), [&](int) {
      for (uint32_t first; (first = next.fetch_add(kBlock)) < n_;) work(first, std::min(n_, first + kBlock));
    });
  }

  // Each next centre is a point, with a probability in proportion to its squared distance to the nearest one so far.
  void ChooseCentres() {
    std::vector<float> nearest(n_, std::numeric_limits<float>::infinity());
    for (uint32_t c = 0; c < groups_; ++c) {
      const uint32_t chosen = c == 0 ? static_cast<uint32_t>(Uniform(random_) * n_) : DrawByWeight(nearest);
      std::copy_n(Point(chosen), width_, Centre(c));
      ForEachBlock([&](uint32_t first, uint32_t end) {
        for (uint32_t i = first; i < end; ++i)
          nearest[i] = std::min(nearest[i], distance_(Point(i), Centre(c), width_));
      });
    }
  }

  uint32_t DrawByWeight(const std::vector<float>& weights) {
    double total = 0;
    for (const float weight : weights) total += weight;
    double left = Uniform(random_) * total;
    for (uint32_t i = 0; i < n_; ++i) {
      left -= weights[i];
      if (left < 0) return i;
    }
    return static_cast<uint32_t>(Uniform(random_) * n_);  // all weights are 0: every point is a centre already
  }

  double MeanVariance() const {
    double sum = 0;
    for (uint32_t d = 0; d < width_; ++d) {
      double mean = 0, squares = 0;
      for (uint32_t i = 0; i < n_; ++i) {
        mean += Point(i)[d];
        squares += static_cast<double>(Point(i)[d]) * Point(i)[d];
      }
      mean /= n_;
      sum += std::max(0.0, squares / n_ - mean * mean);
    }
    return sum / width_;
  }

  // The nearest centre c of x has the largest x.c - c.c / 2; of equal ones the first. Returns whether a point moved.
  bool Assign() {
    Panels panels;
    panels.PackTransposed(centres_.data(), groups_, width_, groups_);
    std::vector<float> half_square(groups_);
    for (uint32_t c = 0; c < groups_; ++c) {
      double sum = 0;
      for (uint32_t d = 0; d < width_; ++d) sum += static_cast<double>(Centre(c)[d]) * Centre(c)[d];
      half_square[c] = static_cast<float>(sum / 2);
    }
    std::atomic<bool> moved{false};
    const size_t stride = panels.padded_columns();
    ForEachBlock([&](uint32_t first, uint32_t end) {
      std::vector<float> block(size_t{kBlock} * width_, 0.0f);
      std::copy(Point(first), Point(first) + size_t{end - first} * width_, block.begin());
      AlignedFloats products;
      products.Resize(kBlock * stride);
      MultiplyPanels(block.data(), width_, kBlock, panels, /*add=*/false, products.data(), stride);
      for (uint32_t i = first; i < end; ++i) {
        const float* row = products.data() + (i - first) * stride;
        uint32_t best = 0;
        for (uint32_t c = 1; c < groups_; ++c) {
          if (row[c] - half_square[c] > row[best] - half_square[best]) best = c;
        }
        if (group_[i] != best) moved = true;
        group_[i] = best;
      }
    });
    return moved;
  }

  // Returns the sum of the squared ways. A group without points takes the point that is farthest from its centre.
  double MoveCentres() {
    std::vector<double> sums(centres_.size(), 0);
    std::vector<uint32_t> sizes(groups_, 0);
    for (uint32_t i = 0; i < n_; ++i) {
      ++sizes[group_[i]];
      for (uint32_t d = 0; d < width_; ++d) sums[size_t{group_[i]} * width_ + d] += Point(i)[d];
    }
    std::vector<float> away;  // [n] of the points from their centres; empty: not needed
    double moved = 0;
    for (uint32_t c = 0; c < groups_; ++c) {
      if (sizes[c] == 0) {
        if (away.empty()) away = Distances();
        const auto farthest = std::max_element(away.begin(), away.end());
        if (*farthest > 0) moved += MoveTo(c, Point(static_cast<uint32_t>(farthest - away.begin())));
        *farthest = 0;
        continue;
      }
      std::vector<float> mean(width_);
      for (uint32_t d = 0; d < width_; ++d) mean[d] = static_cast<float>(sums[size_t{c} * width_ + d] / sizes[c]);
      moved += MoveTo(c, mean.data());
    }
    return moved;
  }

  std::vector<float> Distances() {
    std::vector<float> away(n_);
    for (uint32_t i = 0; i < n_; ++i) away[i] = distance_(Point(i), Centre(group_[i]), width_);
    return away;
  }

  double MoveTo(uint32_t c, const float* to) {
    const double way = distance_(Centre(c), to, width_);
    std::copy_n(to, width_, Centre(c));
    return way;
  }

  const absl::Span<const float> points_;
  const uint32_t n_, width_, groups_;
  const int threads_;
  std::mt19937_64 random_;
  float (*const distance_)(const float*, const float*, uint32_t);
  std::vector<float> centres_;   // [groups, width]
  std::vector<uint32_t> group_;  // [n]
};

}  // namespace

std::vector<uint32_t> KMeans(absl::Span<const float> points, uint32_t width, uint32_t groups,
                             const KMeansOptions& options) {
  return Lloyd(points, width, groups, options).Run(options.iterations);
}

}  // namespace blink
