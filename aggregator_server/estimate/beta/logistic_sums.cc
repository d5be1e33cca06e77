#include "aggregator_server/estimate/beta/logistic_sums.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numbers>
#include <utility>

#include "common/base/run_on_threads.h"
#include "common/simd/instruction_set.h"

namespace blink {
namespace {

constexpr double kCellLength = 2.0;
// DirectSums takes so many sums at a time, over so many terms (which stay in the first cache).
constexpr size_t kClassesAtATime = 64, kTermsAtATime = 1024;
constexpr size_t kLanes = 8;

// 1 / (1 + e^-x) and 1 / (1 + e^x), each to its last digits.
std::pair<double, double> BothSides(double x) {
  const double e = std::exp(-std::abs(x));
  const double near = 1.0 / (1.0 + e), far = e / (1.0 + e);
  return x >= 0 ? std::pair(near, far) : std::pair(far, near);
}

double Sum4(const double sums[4]) { return (sums[0] + sums[1]) + (sums[2] + sums[3]); }

double Dot(const double* x, const double* y, size_t count) {
  double sums[4] = {0, 0, 0, 0};
  size_t b = 0;
  for (; b + 4 <= count; b += 4) {
    for (size_t lane = 0; lane < 4; ++lane) sums[lane] += x[b + lane] * y[b + lane];
  }
  for (; b < count; ++b) sums[0] += x[b] * y[b];
  return Sum4(sums);
}

// sum_b size_b / (1 + u v_b): two fractions are brought to one denominator, because a division costs more than six
// multiplications. u v_b is at most e^100, so nothing overflows.
struct SumOfFractions {
  BLINK_INLINE static double Run(double u, const double* v, const double* size, size_t count) {
    double sums[kLanes] = {};
    size_t b = 0;
    for (; b + 2 * kLanes <= count; b += 2 * kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        const double x = 1.0 + u * v[b + lane], y = 1.0 + u * v[b + kLanes + lane];
        sums[lane] += (size[b + lane] * y + size[b + kLanes + lane] * x) / (x * y);
      }
    }
    double sum = 0;
    for (; b < count; ++b) sum += size[b] / (1.0 + u * v[b]);
    for (const double of_lane : sums) sum += of_lane;
    return sum;
  }
};

}  // namespace

LogisticSums::LogisticSums(std::vector<double> size)
    : size_(std::move(size)),
      members_(size_.size()),
      links_(size_.size()),
      gaps_(size_.size()),
      curvature_(size_.size()),
      own_curvature_(size_.size()) {}

bool LogisticSums::MoveTo(const std::vector<double>& beta) {
  for (const double b : beta) {
    if (!(std::abs(b) <= kBetaMax)) return false;
  }
  MakeCells(beta);
  for (const Cell& cell : cells_) Interpolate(cell, beta);
  SumOverPoints();
  FromPoints(point_links_, links_);
  FromPoints(point_gaps_, gaps_);
  FromPoints(point_curvature_, curvature_);
  for (size_t a = 0; a < beta.size(); ++a) {  // a node has no pair with itself
    const auto [link, gap] = BothSides(2 * beta[a]);
    own_curvature_[a] = link * gap;
    links_[a] -= link;
    gaps_[a] -= gap;
    curvature_[a] -= own_curvature_[a];
  }
  return true;
}

void LogisticSums::MakeCells(const std::vector<double>& beta) {
  const double lowest = *std::min_element(beta.begin(), beta.end());
  const auto cell_of = [&](double b) { return static_cast<size_t>((b - lowest) / kCellLength); };
  std::vector<size_t> begin(cell_of(*std::max_element(beta.begin(), beta.end())) + 2, 0);
  for (const double b : beta) ++begin[cell_of(b) + 1];
  for (size_t c = 1; c < begin.size(); ++c) begin[c] += begin[c - 1];
  std::vector<size_t> next = begin;
  for (size_t a = 0; a < beta.size(); ++a) members_[next[cell_of(beta[a])]++] = a;

  cells_.clear();
  size_t points = 0;
  bool interpolated = false;
  for (size_t c = 0; c + 1 < begin.size(); ++c) {
    const size_t count = begin[c + 1] - begin[c];
    if (count == 0) continue;
    cells_.push_back({begin[c], begin[c + 1], points, count > kPointsOfCell});
    points += std::min(count, kPointsOfCell);
    interpolated |= count > kPointsOfCell;
  }
  point_.resize(points);
  if (interpolated) weights_.resize(beta.size() * kPointsOfCell);
}

// Barycentric interpolation at Chebyshev points of the first kind between the cell's least and greatest beta.
void LogisticSums::Interpolate(const Cell& cell, const std::vector<double>& beta) {
  double* const point = &point_[cell.first];
  if (!cell.interpolated) {
    for (size_t m = cell.begin; m < cell.end; ++m) point[m - cell.begin] = beta[members_[m]];
    return;
  }
  double low = beta[members_[cell.begin]], high = low;
  for (size_t m = cell.begin; m < cell.end; ++m) {
    low = std::min(low, beta[members_[m]]);
    high = std::max(high, beta[members_[m]]);
  }
  const double half = std::max(0.5 * (high - low), 1e-6), middle = 0.5 * (high + low);  // distinct points in any case
  double share[kPointsOfCell];
  for (size_t k = 0; k < kPointsOfCell; ++k) {
    const double angle = std::numbers::pi * (2.0 * static_cast<double>(k) + 1) / (2.0 * kPointsOfCell);
    point[k] = middle + half * std::cos(angle);
    share[k] = (k % 2 == 0 ? 1.0 : -1.0) * std::sin(angle);
  }
  for (size_t m = cell.begin; m < cell.end; ++m) {
    const double b = beta[members_[m]];
    double* const row = &weights_[m * kPointsOfCell];
    double sum = 0;
    size_t hit = kPointsOfCell;
    for (size_t k = 0; k < kPointsOfCell; ++k) {
      const double difference = b - point[k];
      if (difference == 0) hit = k;
      row[k] = share[k] / difference;
      sum += row[k];
    }
    for (size_t k = 0; k < kPointsOfCell; ++k) row[k] = hit < kPointsOfCell ? (k == hit ? 1.0 : 0.0) : row[k] / sum;
  }
}

void LogisticSums::SumOverPoints() {
  const size_t count = point_.size();
  std::vector<double> mass(count), decay(count);
  ToPoints(std::vector<double>(size_.size(), 1.0), mass);
  for (size_t p = 0; p < count; ++p) decay[p] = std::exp(-point_[p]);
  slope_.resize(count * count);
  point_links_.resize(count);
  point_gaps_.resize(count);
  point_curvature_.resize(count);
  for (size_t p = 0; p < count; ++p) {
    double links[4] = {0, 0, 0, 0}, gaps[4] = {0, 0, 0, 0}, curvature[4] = {0, 0, 0, 0};
    double* const slope = &slope_[p * count];
    const auto add = [&](size_t q, size_t lane) {
      const double odds_of_gap = decay[p] * decay[q], link = 1.0 / (1.0 + odds_of_gap), gap = odds_of_gap * link;
      slope[q] = link * gap;
      links[lane] += mass[q] * link;
      gaps[lane] += mass[q] * gap;
      curvature[lane] += mass[q] * slope[q];
    };
    size_t q = 0;
    for (; q + 4 <= count; q += 4) {
      for (size_t lane = 0; lane < 4; ++lane) add(q + lane, lane);
    }
    for (; q < count; ++q) add(q, 0);
    point_links_[p] = Sum4(links);
    point_gaps_[p] = Sum4(gaps);
    point_curvature_[p] = Sum4(curvature);
  }
}

void LogisticSums::ToPoints(const std::vector<double>& of_node, std::vector<double>& of_point) const {
  for (const Cell& cell : cells_) {
    double* const out = &of_point[cell.first];
    if (!cell.interpolated) {
      for (size_t m = cell.begin; m < cell.end; ++m) out[m - cell.begin] = size_[members_[m]] * of_node[members_[m]];
      continue;
    }
    double sums[kPointsOfCell] = {};
    for (size_t m = cell.begin; m < cell.end; ++m) {
      const double x = size_[members_[m]] * of_node[members_[m]];
      const double* const row = &weights_[m * kPointsOfCell];
      for (size_t k = 0; k < kPointsOfCell; ++k) sums[k] += row[k] * x;
    }
    std::copy(sums, sums + kPointsOfCell, out);
  }
}

void LogisticSums::FromPoints(const std::vector<double>& of_point, std::vector<double>& of_node) const {
  for (const Cell& cell : cells_) {
    const double* const in = &of_point[cell.first];
    for (size_t m = cell.begin; m < cell.end; ++m) {
      of_node[members_[m]] =
          cell.interpolated ? Dot(&weights_[m * kPointsOfCell], in, kPointsOfCell) : in[m - cell.begin];
    }
  }
}

void LogisticSums::Multiply(const std::vector<double>& x, std::vector<double>& y) const {
  const size_t count = point_.size();
  std::vector<double> in(count), out(count);
  ToPoints(x, in);
  for (size_t p = 0; p < count; ++p) out[p] = Dot(&slope_[p * count], in.data(), count);
  FromPoints(out, y);
  for (size_t a = 0; a < x.size(); ++a) y[a] -= own_curvature_[a] * x[a];
}

std::vector<double> DirectSums(const std::vector<double>& beta, const std::vector<double>& size,
                               const std::vector<bool>& gaps, int threads,
                               const std::function<bool(double)>& keep_going) {
  const size_t count = beta.size();
  std::vector<double> falling(count), rising(count), sums(count);
  for (size_t a = 0; a < count; ++a) {
    falling[a] = std::exp(-beta[a]);
    rising[a] = std::exp(beta[a]);
  }
  auto* const sum_of_fractions = CodeOf<SumOfFractions, SumOfFractions, SumOfFractions>();
  std::atomic<size_t> next = 0;
  std::atomic<bool> stop = false;
  const auto work = [&](int thread) {
    for (size_t begin; !stop && (begin = next.fetch_add(kClassesAtATime)) < count;) {
      const size_t end = std::min(count, begin + kClassesAtATime);
      for (size_t from = 0; from < count; from += kTermsAtATime) {
        const size_t terms = std::min(kTermsAtATime, count - from);
        for (size_t a = begin; a < end; ++a) {
          const std::vector<double>& base = gaps[a] ? rising : falling;
          sums[a] += sum_of_fractions(base[a], &base[from], &size[from], terms);
        }
      }
      for (size_t a = begin; a < end; ++a) {
        const std::vector<double>& base = gaps[a] ? rising : falling;
        sums[a] -= 1.0 / (1.0 + base[a] * base[a]);
      }
      if (thread == 0 && keep_going && !keep_going(static_cast<double>(begin) / static_cast<double>(count)))
        stop = true;
    }
  };
  const bool worth_threads = count >= 4 * kClassesAtATime;
  RunOnThreads(worth_threads ? ThreadsOrCores(threads) : 1, work);
  if (stop) sums.clear();
  return sums;
}

}  // namespace blink
