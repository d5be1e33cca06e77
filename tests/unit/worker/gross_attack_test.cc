// One node of twenty claims 500 links that it has not, at Cora's size. The harm shows in the result. Dropping the
// flagged reports gives the result of a fleet in which these nodes never reported. Fixed seeds; prints the figures.
#include <gtest/gtest.h>

#include <cstdio>

#include "aggregator_server/worker/analyse.h"
#include "common/graph/dataset.h"
#include "tests/unit/plausibility/fleet.h"

namespace blink {
namespace {

struct Figures {
  double mae = 0, accuracy = 0;
  size_t flagged = 0;
  std::vector<int32_t> predictions;  // [n]
};

Figures Measure(const Dataset& data, const ReportSet& reports, v1::Implausible policy) {
  AnalysisOptions options;
  options.truth = &data.graph;
  options.implausible = policy;
  v1::TrainingSpec spec;
  spec.set_epochs(60);
  spec.set_seed(3);
  spec.set_device("cpu");
  const Analysis analysis = Analyse(reports, data.attributes, spec, options).value();
  return {analysis.estimates.beta.mae, analysis.training.test_accuracy, analysis.checks.found.flagged.size(),
          analysis.training.predictions};
}

class GrossAttack : public ::testing::TestWithParam<double> {};

TEST_P(GrossAttack, LeavesNothingInTheResultWhenWhatIsFlaggedIsDropped) {
  SyntheticOptions synthetic;
  synthetic.features = 300;
  const Dataset data = GenerateDataset(synthetic).value();
  const uint32_t n = data.graph.node_count();
  const auto parameters = PrivacyParameters::Create(static_cast<uint64_t>(GetParam() * 1e6), 100'000, n).value();
  testing::List liars;
  for (NodeIndex i = 7; i < n; i += 20) liars.push_back(i);

  const ReportSet honest = testing::Gather(parameters, testing::DrawFleet(data.graph, parameters, 21));
  ReportSet without_liars = honest;
  for (const NodeIndex liar : liars) without_liars.Drop(liar);
  const ReportSet attacked =
      testing::Gather(parameters, testing::DrawFleet(data.graph, parameters, 21, liars, testing::Inflate(n, 500, 4)));
  const Figures clean = Measure(data, honest, v1::IMPLAUSIBLE_FLAG);
  const Figures flag = Measure(data, attacked, v1::IMPLAUSIBLE_FLAG);
  const Figures drop = Measure(data, attacked, v1::IMPLAUSIBLE_DROP);
  const Figures absent = Measure(data, without_liars, v1::IMPLAUSIBLE_FLAG);
  for (const auto& [name, figures] : {std::pair("honest", clean), std::pair("attacked, flag", flag),
                                      std::pair("attacked, drop", drop), std::pair("without liars", absent)}) {
    std::printf("epsilon %g, %-15s flagged %3zu of %zu liars, MAE %.6f, test accuracy %.3f\n", GetParam(), name,
                figures.flagged, liars.size(), figures.mae, figures.accuracy);
  }
  EXPECT_EQ(clean.flagged, 0u);
  EXPECT_EQ(flag.flagged, liars.size());
  EXPECT_EQ(drop.flagged, liars.size());
  // Where epsilon is 2, the regularised fit takes most of the harm away before anything is dropped.
  EXPECT_GT(flag.mae, 1.05 * clean.mae);
  EXPECT_LT(flag.accuracy, clean.accuracy);
  EXPECT_EQ(drop.mae, absent.mae);
  EXPECT_EQ(drop.accuracy, absent.accuracy);
  EXPECT_EQ(drop.predictions, absent.predictions);
}

INSTANTIATE_TEST_SUITE_P(Epsilon, GrossAttack, ::testing::Values(2.0, 4.0, 6.0, 8.0),
                         [](const auto& info) { return "Is" + std::to_string(static_cast<int>(info.param)); });

}  // namespace
}  // namespace blink
