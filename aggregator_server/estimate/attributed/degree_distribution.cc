#include "aggregator_server/estimate/attributed/degree_distribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/base/tasks.h"
#include "common/simd/vector_code.h"

namespace blink {
namespace {

constexpr int kGrid = 60;            // degrees of the distribution
constexpr int kRow = 64;             // kGrid, in whole vectors
constexpr int kFine = 8;             // degrees of the finer grid for one of the distribution's
constexpr int kSteps = 200;          // of EM
constexpr double kSmoothing = 0.02;  // of a degree's weight goes to each neighbour, a step
constexpr double kSmallestDegree = 0.3;
constexpr double kWeightMin = 1e-30;  // a float holds it, and what it is multiplied by
constexpr size_t kNodesOfFit = 1 << 15;
constexpr size_t kNodesAPiece = 1 << 10;  // nodes that one thread sums at a time
constexpr double kLogMin = -40;           // below the largest, a likelihood is nothing

// share [kRow] = the sum of the rows [count, kRow] of likelihoods, each over (row . weights).
struct SumShares {
  BLINK_INLINE static void Run(const float* rows, size_t count, const float* weights, float* share) {
    constexpr int kVectors = kRow / kLanes;
    Floats sums[kVectors] = {};
    for (size_t i = 0; i < count; ++i) {
      const float* row = rows + i * kRow;
      Floats dot = {};
      for (int v = 0; v < kVectors; ++v) dot += Load(row + v * kLanes) * Load(weights + v * kLanes);
      float evidence = 0;
      for (int lane = 0; lane < kLanes; ++lane) evidence += dot[lane];
      const float inverse = 1 / evidence;
      for (int v = 0; v < kVectors; ++v) sums[v] += Load(row + v * kLanes) * inverse;
    }
    for (int v = 0; v < kVectors; ++v) Store(share + v * kLanes, sums[v]);
  }
};

// Likelihoods of the grid's degrees over the largest of them, a row of kRow for each node of the fit.
std::vector<float> Likelihoods(const std::vector<DegreeEvidence>& nodes, size_t stride, size_t count,
                               const std::vector<double>& degrees, int threads) {
  std::vector<float> table(count * kRow, 0.0f);
  const int pieces = static_cast<int>((count + kNodesAPiece - 1) / kNodesAPiece);
  std::atomic<int> next{0};
  RunOnThreads(std::min(threads, pieces), [&](int) {
    for (int piece; (piece = next.fetch_add(1)) < pieces;) {
      for (size_t i = piece * kNodesAPiece; i < std::min(count, (piece + 1) * kNodesAPiece); ++i) {
        double logs[kGrid], largest = -HUGE_VAL;
        for (int k = 0; k < kGrid; ++k)
          largest = std::max(largest, logs[k] = nodes[i * stride].LogLikelihood(degrees[k]));
        for (int k = 0; k < kGrid; ++k) table[i * kRow + k] = static_cast<float>(std::exp(logs[k] - largest));
      }
    }
  });
  return table;
}

void Smooth(std::vector<double>& weights) {
  const std::vector<double> before = weights;
  for (int k = 0; k < kGrid; ++k) {
    const double left = before[std::max(k - 1, 0)], right = before[std::min(k + 1, kGrid - 1)];
    weights[k] = std::max(kWeightMin, (1 - 2 * kSmoothing) * before[k] + kSmoothing * (left + right));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
}

}  // namespace

double DegreeEvidence::LogLikelihood(double degree) const {
  double log = 0;
  if (sum.has_value()) log -= (*sum - degree) * (*sum - degree) / (2 * variance);
  if (noisy.has_value()) log -= epsilon * std::abs(*noisy - degree);
  return log;
}

DegreeDistribution::DegreeDistribution(uint32_t node_count) : degrees_(kGrid), weights_(kGrid, 1.0 / kGrid) {
  const double ratio = std::log((node_count - 1.0) / kSmallestDegree);
  constexpr int kFineGrid = (kGrid - 1) * kFine + 1;
  fine_degrees_.resize(kFineGrid);
  for (int f = 0; f < kFineGrid; ++f) fine_degrees_[f] = kSmallestDegree * std::exp(ratio * f / (kFineGrid - 1));
  for (int k = 0; k < kGrid; ++k) degrees_[k] = fine_degrees_[k * kFine];
}

DegreeDistribution DegreeDistribution::Fit(const std::vector<DegreeEvidence>& nodes, int threads) {
  DegreeDistribution distribution(static_cast<uint32_t>(nodes.size()));
  const size_t stride = (nodes.size() + kNodesOfFit - 1) / kNodesOfFit, count = (nodes.size() + stride - 1) / stride;
  const std::vector<float> table = Likelihoods(nodes, stride, count, distribution.degrees_, threads);
  const auto sum_shares = CodeOf<SumShares>();
  float weights[kRow] = {};
  for (int step = 0; step < kSteps; ++step) {
    std::copy(distribution.weights_.begin(), distribution.weights_.end(), weights);
    std::vector<double> sums(kGrid, 0.0);
    for (size_t begin = 0; begin < count; begin += kNodesAPiece) {
      float shares[kRow];
      sum_shares(&table[begin * kRow], std::min(kNodesAPiece, count - begin), weights, shares);
      for (int k = 0; k < kGrid; ++k) sums[k] += shares[k];
    }
    for (int k = 0; k < kGrid; ++k) distribution.weights_[k] *= sums[k] / static_cast<double>(count);
    Smooth(distribution.weights_);
  }
  distribution.fine_weights_.resize(distribution.fine_degrees_.size());
  for (size_t f = 0; f < distribution.fine_weights_.size(); ++f) {
    const size_t k = std::min<size_t>(f / kFine, kGrid - 2);
    const double part = static_cast<double>(f - k * kFine) / kFine;
    distribution.fine_weights_[f] = (1 - part) * distribution.weights_[k] + part * distribution.weights_[k + 1];
  }
  return distribution;
}

DegreeDistribution::Moments DegreeDistribution::PosteriorMoments(const DegreeEvidence& evidence) const {
  constexpr size_t kFineGrid = (kGrid - 1) * kFine + 1;
  double logs[kFineGrid], largest = -HUGE_VAL;
  for (size_t f = 0; f < kFineGrid; ++f)
    largest = std::max(largest, logs[f] = evidence.LogLikelihood(fine_degrees_[f]));
  double sum = 0, moment = 0, square = 0;
  for (size_t f = 0; f < kFineGrid; ++f) {
    if (logs[f] < largest + kLogMin) continue;
    const double share = fine_weights_[f] * std::exp(logs[f] - largest);
    sum += share;
    moment += share * fine_degrees_[f];
    square += share * fine_degrees_[f] * fine_degrees_[f];
  }
  const double mean = moment / sum;
  return {mean, std::max(0.0, square / sum - mean * mean)};
}

}  // namespace blink
