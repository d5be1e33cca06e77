// That the attributed prior is worth having: on a graph whose links follow the features its error is below that of the
// beta-model from the same reports.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "aggregator_server/estimate/denoise.h"
#include "aggregator_server/prior/attributed.h"
#include "common/graph/dataset.h"

namespace blink {
namespace {

ReportSet Draw(const CsrGraph& graph, uint64_t epsilon_micro, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return (random() >> 11) * 0x1p-53; };
  const uint32_t n = graph.node_count();
  ReportSet reports(*PrivacyParameters::Create(epsilon_micro, 50'000, n));
  const PrivacyParameters& parameters = reports.parameters();
  for (NodeIndex i = 0; i < n; ++i) {
    PrivateReport report{BitRow(n), std::nullopt};
    for (const NodeIndex j : graph.NeighboursOf(i)) report.bits.Set(j);
    for (NodeIndex j = 0; j < n; ++j) {
      if (j != i && uniform() < parameters.flip_probability()) report.bits.Flip(j);
    }
    const double noise = -std::log(1 - uniform()) / parameters.epsilon_degree() * (uniform() < 0.5 ? -1 : 1);
    report.noisy_degree = graph.DegreeOf(i) + std::llround(noise);
    EXPECT_TRUE(reports.Add(i, std::move(report)).ok());
  }
  return reports;
}

// One draw for each budget. The ratio of the errors varies by a few percent between draws, and the bounds stand off
// from what was seen (0.65 and 0.8) by several times that; the seeds are fixed.
TEST(AttributedError, IsBelowThatOfTheBetaModel) {
  const Dataset dataset = *GenerateDataset({.nodes = 900, .classes = 5, .mean_degree = 6, .features = 300});
  const uint32_t n = dataset.graph.node_count(), class_count = dataset.attributes.class_count;
  const NodeProfiles profiles = MakeNodeProfiles(dataset.attributes.features, 2);
  ClassProbabilities classes{n, class_count, {}, {}};  // half of the labels are known, and nothing of the others
  for (NodeIndex i = 0; i < n; ++i) {
    for (uint32_t c = 0; c < class_count; ++c) {
      classes.open.push_back(1.0f / static_cast<float>(class_count));
      const bool known = dataset.attributes.split[i] == Split::kTrain;
      const bool own = dataset.attributes.labels[i] == static_cast<int32_t>(c);
      classes.clamped.push_back(known ? (own ? 1.0f : 0.0f) : classes.open.back());
    }
  }
  for (const uint64_t epsilon_micro : {1'000'000u, 3'000'000u}) {
    const ReportSet reports = Draw(dataset.graph, epsilon_micro, 1);
    const auto beta = EstimateLinks(reports, {.threads = 2, .truth = &dataset.graph});
    const auto attributed = EstimateAttributed(reports, profiles, classes, {.threads = 2, .truth = &dataset.graph});
    ASSERT_TRUE(beta.ok() && attributed.ok());
    EXPECT_LT(attributed->links.mae, 0.9 * beta->mae) << epsilon_micro;
    RecordProperty("ratio_" + std::to_string(epsilon_micro), std::to_string(attributed->links.mae / beta->mae));
  }
}

}  // namespace
}  // namespace blink
