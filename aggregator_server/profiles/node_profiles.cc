#include "aggregator_server/profiles/node_profiles.h"

#include <algorithm>
#include <cmath>

#include "aggregator_server/profiles/latent.h"
#include "common/base/run_on_threads.h"

namespace blink {
namespace {

// f(column, value) for every value of a row that is not 0, in whichever form.
template <typename F>
void ForEachValue(const FeatureMatrix& features, uint32_t row, F f) {
  if (features.sparse) {
    for (int64_t k = features.row_offsets[row]; k < features.row_offsets[row + 1]; ++k) {
      if (features.values[k] != 0) f(static_cast<uint32_t>(features.columns[k]), features.values[k]);
    }
    return;
  }
  const float* values = features.values.data() + size_t{row} * features.cols;
  for (uint32_t c = 0; c < features.cols; ++c) {
    if (values[c] != 0) f(c, values[c]);
  }
}

// Below `least` a norm is rounding.
double InverseOrZero(double norm, double least = 0) { return norm > least ? 1 / norm : 0; }
constexpr double kRounding = 1e-6;  // of floats

FeatureMatrix TfIdf(const FeatureMatrix& features) {
  std::vector<uint32_t> rows_with(features.cols, 0);
  for (uint32_t i = 0; i < features.rows; ++i) ForEachValue(features, i, [&](uint32_t c, float) { ++rows_with[c]; });
  FeatureMatrix scaled;
  scaled.rows = features.rows;
  scaled.cols = features.cols;
  scaled.sparse = true;
  scaled.row_offsets.assign(1, 0);
  std::vector<double> row;
  for (uint32_t i = 0; i < features.rows; ++i) {
    row.clear();
    double squares = 0;
    ForEachValue(features, i, [&](uint32_t c, float value) {
      row.push_back(value * (1 + std::log((1.0 + features.rows) / (1.0 + rows_with[c]))));
      squares += row.back() * row.back();
      scaled.columns.push_back(static_cast<int32_t>(c));
    });
    const double inverse = InverseOrZero(std::sqrt(squares));
    for (const double value : row) scaled.values.push_back(static_cast<float>(value * inverse));
    scaled.row_offsets.push_back(static_cast<int64_t>(scaled.values.size()));
  }
  return scaled;
}

// Means of the columns, and 1 over their standard deviations: 0 for a column that is constant, or so but for rounding.
struct Columns {
  std::vector<double> mean, inverse;
};
Columns MeasureColumns(const FeatureMatrix& dense) {
  Columns columns{std::vector<double>(dense.cols, 0.0), std::vector<double>(dense.cols, 0.0)};
  std::vector<double> largest(dense.cols, 0.0);
  const auto for_each = [&](auto f) {
    for (uint32_t i = 0; i < dense.rows; ++i) {
      for (uint32_t c = 0; c < dense.cols; ++c) f(c, double{dense.values[size_t{i} * dense.cols + c]});
    }
  };
  for_each([&](uint32_t c, double value) {
    columns.mean[c] += value / dense.rows;
    largest[c] = std::max(largest[c], std::abs(value));
  });
  for_each([&](uint32_t c, double value) {
    columns.inverse[c] += (value - columns.mean[c]) * (value - columns.mean[c]) / dense.rows;  // the variance, at first
  });
  for (uint32_t c = 0; c < dense.cols; ++c) {
    const double deviation = std::sqrt(columns.inverse[c]);
    columns.inverse[c] = deviation > kRounding * largest[c] ? 1 / deviation : 0;
  }
  return columns;
}

FeatureMatrix Standardised(const FeatureMatrix& features) {
  FeatureMatrix dense;
  dense.rows = features.rows;
  dense.cols = features.cols;
  dense.values.assign(size_t{features.rows} * features.cols, 0.0f);
  for (uint32_t i = 0; i < features.rows; ++i) {
    float* row = &dense.values[size_t{i} * features.cols];
    ForEachValue(features, i, [&](uint32_t c, float value) { row[c] = value; });
  }
  const Columns columns = MeasureColumns(dense);
  std::vector<double> scaled(features.cols);
  for (uint32_t i = 0; i < features.rows; ++i) {
    float* row = &dense.values[size_t{i} * features.cols];
    double squares = 0;
    for (uint32_t c = 0; c < features.cols; ++c) {
      scaled[c] = (row[c] - columns.mean[c]) * columns.inverse[c];
      squares += scaled[c] * scaled[c];
    }
    const double inverse = InverseOrZero(std::sqrt(squares), kRounding * std::sqrt(features.cols));
    for (uint32_t c = 0; c < features.cols; ++c) row[c] = static_cast<float>(scaled[c] * inverse);
  }
  return dense;
}

}  // namespace

bool LooksLikeCounts(const FeatureMatrix& features) {
  uint64_t filled = 0;
  for (const float value : features.values) {
    if (value < 0) return false;
    filled += value != 0;
  }
  return static_cast<double>(filled) <= kCountsShareMax * features.rows * features.cols;
}

NodeProfiles MakeNodeProfiles(const FeatureMatrix& features, int threads) {
  NodeProfiles profiles;
  if (features.rows == 0 || features.cols == 0) {
    profiles.scaled.rows = features.rows;
    return profiles;
  }
  profiles.scaled = LooksLikeCounts(features) ? TfIdf(features) : Standardised(features);
  profiles.latent_width = std::min({kLatentWidth, features.cols, features.rows});
  profiles.latent = LatentRows(profiles.scaled, profiles.latent_width, ThreadsOrCores(threads));
  return profiles;
}

}  // namespace blink
