// The degrees that R-MAT and Chung-Lu promise, and what cannot be made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "common/graph/dataset.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

SyntheticOptions Of(LinkModel model, uint32_t nodes, double mean_degree) {
  SyntheticOptions options{.model = model, .nodes = nodes, .classes = 4, .mean_degree = mean_degree};
  options.features = 0;
  return options;
}

std::vector<uint32_t> Degrees(const SyntheticOptions& options) {
  const auto made = GenerateDataset(options);
  EXPECT_TRUE(made.ok()) << made.status();
  std::vector<uint32_t> degrees;
  if (!made.ok()) return degrees;
  EXPECT_EQ(made->graph.link_count(), static_cast<uint64_t>(options.nodes * options.mean_degree / 2 + 0.5));
  for (NodeIndex i = 0; i < options.nodes; ++i) degrees.push_back(made->graph.DegreeOf(i));
  return degrees;
}

double CountFrom(const std::vector<uint32_t>& degrees, uint32_t least) {
  return static_cast<double>(std::count_if(degrees.begin(), degrees.end(), [&](uint32_t d) { return d >= least; }));
}

// P(degree >= k) falls as k to the power 1 - exponent.
TEST(ChungLu, DegreesFollowThePowerLaw) {
  for (const double exponent : {2.5, 3.0, 4.0}) {
    SyntheticOptions options = Of(LinkModel::kChungLu, 100'000, 12);
    options.degree_exponent = exponent;
    const std::vector<uint32_t> degrees = Degrees(options);
    const double ratio = CountFrom(degrees, 100) / CountFrom(degrees, 50);
    const double expected = std::pow(2.0, 1 - exponent);
    const double error = std::sqrt(expected * (1 - expected) / CountFrom(degrees, 50));
    EXPECT_NEAR(ratio, expected, 0.05 * expected + 4 * error) << exponent;
  }
}

// With b = c and p = a + b, a node whose id has z zeros of L bits expects 2 m p^z (1 - p)^(L - z) links, so the sum of
// the squares of the expected degrees is (2 m)^2 (p^2 + (1 - p)^2)^L. A Poisson degree adds its mean.
TEST(Rmat, DegreesHaveTheSecondMomentOfTheQuadrants) {
  SyntheticOptions options = Of(LinkModel::kRmat, 1 << 16, 8);
  options.rmat = {0.45, 0.15, 0.15, 0.25};
  const std::vector<uint32_t> degrees = Degrees(options);
  double squares = 0;
  for (const uint32_t d : degrees) squares += static_cast<double>(d) * d;
  const double ends = 8.0 * options.nodes;
  const double expected = ends + ends * ends * std::pow(0.6 * 0.6 + 0.4 * 0.4, 16);
  EXPECT_NEAR(squares / expected, 1, 0.03);
}

TEST(Rmat, OfEqualSharesIsAnErdosRenyiGraph) {
  SyntheticOptions options = Of(LinkModel::kRmat, 1 << 15, 10);
  options.rmat = {0.25, 0.25, 0.25, 0.25};
  const std::vector<uint32_t> degrees = Degrees(options);
  double variance = 0;
  for (const uint32_t d : degrees) variance += (d - 10.0) * (d - 10.0) / options.nodes;
  EXPECT_NEAR(variance, 10, 0.5) << "Poisson";
}

TEST(Rmat, MakesAnyNumberOfNodesAndHidesTheIdsOfTheHeavyOnes) {
  const std::vector<uint32_t> degrees = Degrees(Of(LinkModel::kRmat, 33'000, 8));  // just above 2^15
  EXPECT_GT(*std::max_element(degrees.begin(), degrees.end()), 300u);
  const double first_half = std::accumulate(degrees.begin(), degrees.begin() + 16'500, 0.0);
  EXPECT_NEAR(first_half / (8.0 * 33'000), 0.5, 0.1);
}

TEST(LinkModels, GiveTheSameGraphForASeedOnEveryMachine) {
  // Of every neighbour in its order. Computed once; another value means that seeds make other data sets than before.
  const auto hash = [](LinkModel model, uint64_t seed) {
    SyntheticOptions options = Of(model, 3000, 6);
    options.degree_exponent = 2.7;
    options.seed = seed;
    uint64_t sum = 0;
    const Dataset made = GenerateDataset(options).value();
    for (const NodeIndex j : made.graph.neighbours()) sum = sum * 6364136223846793005u + j + 1;
    return sum;
  };
  EXPECT_EQ(hash(LinkModel::kRmat, 1), 15877948007400613988u);
  EXPECT_EQ(hash(LinkModel::kChungLu, 1), 6834383330662266847u);
  EXPECT_EQ(hash(LinkModel::kDegreeCorrected, 1), 537713181314602467u);
  for (const LinkModel model : {LinkModel::kRmat, LinkModel::kChungLu}) EXPECT_NE(hash(model, 1), hash(model, 2));
}

TEST(LinkModels, GiveNodesLabelsFeaturesAndASplit) {
  const Dataset made =
      GenerateDataset({.model = LinkModel::kChungLu, .nodes = 500, .features = 40, .words_per_node = 6}).value();
  EXPECT_EQ(made.attributes.features.cols, 40u);
  EXPECT_EQ(std::count(made.attributes.split.begin(), made.attributes.split.end(), Split::kTrain), 250);
}

TEST(LinkModels, RefuseWhatCannotBeMade) {
  const auto refusal = [](SyntheticOptions options) {
    const absl::Status status = GenerateDataset(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  SyntheticOptions rmat = Of(LinkModel::kRmat, 1000, 8);
  rmat.rmat = {0.5, 0.2, 0.2, 0.2};
  EXPECT_THAT(refusal(rmat), HasSubstr("rmat has the sum 1.1"));
  rmat.rmat = {-0.1, 0.5, 0.5, 0.1};
  EXPECT_THAT(refusal(rmat), HasSubstr("rmat holds -0.1"));
  rmat.rmat = {std::nan(""), 0.5, 0.5, 0.1};
  EXPECT_THAT(refusal(rmat), HasSubstr("from 0 to 1"));
  rmat.rmat = {1, 0, 0, 0};  // one entry takes every link
  EXPECT_THAT(refusal(rmat), HasSubstr("mean_degree is too high for this model"));
  SyntheticOptions chung_lu = Of(LinkModel::kChungLu, 1000, 8);
  for (const double exponent : {2.0, 0.5, 10.5, std::nan("")}) {
    chung_lu.degree_exponent = exponent;
    EXPECT_THAT(refusal(chung_lu), HasSubstr("degree_exponent is"));
  }
}

}  // namespace
}  // namespace blink
