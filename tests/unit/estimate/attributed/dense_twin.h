// The attributed prior as its formulas read: dense matrices of doubles, one loop for each sum.
#ifndef BLINK_TESTS_UNIT_ESTIMATE_ATTRIBUTED_DENSE_TWIN_H_
#define BLINK_TESTS_UNIT_ESTIMATE_ATTRIBUTED_DENSE_TWIN_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "aggregator_server/estimate/attributed/attributed.h"
#include "aggregator_server/estimate/attributed/degree_posterior.h"
#include "aggregator_server/estimate/attributed/theta_fit.h"
#include "aggregator_server/estimate/received_rows.h"

namespace blink {

using Dense = std::vector<std::vector<double>>;  // [rows][columns]

inline Dense Products(const Dense& x, const Dense& y) {  // x y^T
  Dense out(x.size(), std::vector<double>(y.size(), 0.0));
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < y.size(); ++j) {
      for (size_t k = 0; k < x[i].size(); ++k) out[i][j] += x[i][k] * y[j][k];
    }
  }
  return out;
}

inline Dense RowsOfFloats(const std::vector<float>& values, uint32_t n, uint32_t width) {
  Dense rows(n);
  for (uint32_t i = 0; i < n; ++i) rows[i].assign(values.begin() + i * width, values.begin() + (i + 1) * width);
  return rows;
}

inline Dense DenseFeatures(const FeatureMatrix& features, uint32_t n) {
  if (!features.sparse) return RowsOfFloats(features.values, n, features.cols);
  Dense rows(n, std::vector<double>(features.cols, 0.0));
  for (uint32_t i = 0; i < n; ++i) {
    for (int64_t e = features.row_offsets[i]; e < features.row_offsets[i + 1]; ++e) {
      rows[i][features.columns[e]] = features.values[e];
    }
  }
  return rows;
}

struct TwinPosterior {
  Dense log_odds, p;
  double expected = 0;
};

struct DenseTwin {
  TwinPosterior links, training;
  std::vector<double> theta;

  DenseTwin(const ReportSet& reports, const NodeProfiles& profiles, const ClassProbabilities& classes,
            int network_rounds, Ingredients use = {})
      : n_(reports.node_count()),
        sharp_(reports.parameters().epsilon_list() >= 2.5 && reports.report_count() >= 0.8 * n_) {
    const DegreePosterior degrees = EstimateDegreePosterior(reports, 1, use.degrees);
    double total = 0;
    for (uint32_t i = 0; i < n_; ++i) total += std::max(degrees.mean[i], 1e-3);
    base_ = evidence_ = Dense(n_, std::vector<double>(n_));
    for (uint32_t i = 0; i < n_; ++i) {
      for (uint32_t j = 0; j < n_; ++j) {
        base_[i][j] =
            std::log(std::max(degrees.mean[i], 1e-3)) + std::log(std::max(degrees.mean[j], 1e-3)) - std::log(total);
        if (i == j) continue;
        const Evidence evidence = EvidenceOf(reports, i, j);
        evidence_[i][j] = (2 * evidence.ones - evidence.reports) * reports.bit_log_odds();
        const bool unobserved = reports.mirrored() && evidence.ones == 1;  // two halves that cancel
        if (!reports.parameters().sends_bits() || unobserved) continue;
        base_[i][j] -=
            (degrees.influence[i] + degrees.influence[j]) *
            DegreePosterior::OwnBits(evidence.reports, evidence.ones, reports.parameters().flip_probability());
      }
    }
    std::vector<Dense> known;  // of profiles
    if (use.features && profiles.scaled.cols > 0) {
      const Dense rows = DenseFeatures(profiles.scaled, n_), c = Products(rows, rows);
      known.push_back(c);
      for (const double most : {0.05, 0.1, 0.2, 0.4})
        known.push_back(Each(c, [&](double x) { return std::min(x, most); }));
    }
    Dense z;
    if (use.latent && profiles.latent_width > 0) {
      z = RowsOfFloats(profiles.latent, n_, profiles.latent_width);
      const Dense cosine = Products(z, z);
      known.push_back(cosine);
      known.push_back(Each(cosine, [](double x) { return x * x; }));
    }
    Dense q[2];
    std::vector<Dense> features[2] = {known, known}, network[2];
    if (use.classes && classes.class_count > 1) {
      q[0] = RowsOfFloats(classes.clamped, n_, classes.class_count);
      q[1] = RowsOfFloats(classes.open, n_, classes.class_count);
      for (int kind = 0; kind < 2; ++kind) {
        const Dense same = Products(q[kind], q[kind]);
        features[kind].push_back(same);
        features[kind].push_back(Each(same, [](double x) { return std::log(0.05 + x); }));
      }
    }
    for (int round = 0; round <= network_rounds; ++round) {
      std::vector<Dense> all[2];
      for (int kind = 0; kind < 2; ++kind) {
        all[kind] = features[kind];
        all[kind].insert(all[kind].end(), network[kind].begin(), network[kind].end());
      }
      if (reports.parameters().sends_bits()) {
        Fit(all[0], degrees, use);
      } else {
        theta.assign(1 + all[0].size(), 0.0);
      }
      TwinPosterior* const posteriors[2] = {&links, &training};
      for (int kind = 0; kind < 2; ++kind) {
        Apply(all[kind], *posteriors[kind]);
        network[kind] = Network(posteriors[kind]->p, z, q[kind]);
      }
    }
  }

 private:
  Dense Each(Dense x, const std::function<double(double)>& f) const {
    for (auto& row : x) {
      for (double& value : row) value = f(value);
    }
    return x;
  }

  void Fit(const std::vector<Dense>& features, const DegreePosterior& degrees, const Ingredients& use) {
    PairSample sample;
    sample.width = static_cast<uint32_t>(features.size()) + 1;
    for (uint32_t i = 0; i < n_; ++i) {
      for (uint32_t j = i + 1; j < n_; ++j) {
        sample.features.push_back(1);
        for (const Dense& feature : features) sample.features.push_back(static_cast<float>(feature[i][j]));
        sample.base.push_back(static_cast<float>(base_[i][j]));
        sample.evidence.push_back(static_cast<float>(evidence_[i][j]));
        sample.weights.push_back(1);
      }
    }
    ThetaOptions options{.links = degrees.links,
                         .links_variance = use.degree_total ? degrees.links_variance : INFINITY};
    options.start = theta;
    options.start.resize(sample.width, 0.0);
    const auto fit = FitThetaWithinLinks(sample, options);
    ASSERT_TRUE(fit.ok()) << fit.status();
    theta = fit->theta;
  }

  void Apply(const std::vector<Dense>& features, TwinPosterior& posterior) const {
    posterior = {base_, base_, 0};
    for (uint32_t i = 0; i < n_; ++i) {
      for (uint32_t j = 0; j < n_; ++j) {
        double& x = posterior.log_odds[i][j];
        x += theta[0] + evidence_[i][j];
        for (size_t k = 0; k < features.size(); ++k) x += theta[k + 1] * features[k][i][j];
        posterior.p[i][j] = i == j ? 0 : 1 / (1 + std::exp(-x));
        posterior.expected += posterior.p[i][j] / 2;
      }
    }
  }

  // Each pair for itself, leaving out what the two ends say of each other.
  std::vector<Dense> Network(const Dense& p, const Dense& z, const Dense& q) const {
    const Dense zeros(n_, std::vector<double>(n_, 0.0));
    Dense common = zeros, of_latent = zeros, of_classes = zeros, overlap = zeros;
    const auto others = [&](uint32_t i, uint32_t j) {  // of i's neighbours, without j
      double sum = 0.5;
      for (uint32_t k = 0; k < n_; ++k) sum += k == j ? 0 : p[i][k];
      return sum;
    };
    const auto mean = [&](uint32_t i, uint32_t j,
                          const Dense& same) {  // over the neighbours of i, of what they share with j
      double sum = 0, weight = 0.5;
      for (uint32_t k = 0; k < n_; ++k) {
        if (k == j) continue;
        sum += p[i][k] * same[k][j];
        weight += p[i][k];
      }
      return sum / weight;
    };
    const Dense zz = z.empty() ? zeros : Products(z, z), qq = q.empty() ? zeros : Products(q, q);
    for (uint32_t i = 0; i < n_; ++i) {
      for (uint32_t j = 0; j < n_; ++j) {
        double shared = 0;
        for (uint32_t k = 0; k < n_; ++k) {
          if (k != i && k != j && p[i][k] > kKeptMin && p[k][j] > kKeptMin) shared += p[i][k] * p[k][j];
        }
        common[i][j] = std::log(1 + 10 * shared);
        overlap[i][j] = shared / std::sqrt(others(i, j) * others(j, i));
        of_latent[i][j] = mean(i, j, zz) + mean(j, i, zz);
        of_classes[i][j] = mean(i, j, qq) + mean(j, i, qq);
      }
    }
    std::vector<Dense> features = {common};
    if (!z.empty()) features.push_back(of_latent);
    if (!q.empty()) features.push_back(of_classes);
    if (!sharp_) return features;
    features.push_back(overlap);
    for (const double most : {0.01, 0.03, 0.1, 0.3})
      features.push_back(Each(overlap, [&](double x) { return std::min(x, most); }));
    return features;
  }

  const uint32_t n_;
  const bool sharp_;
  Dense base_, evidence_;
};

}  // namespace blink

#endif  // BLINK_TESTS_UNIT_ESTIMATE_ATTRIBUTED_DENSE_TWIN_H_
