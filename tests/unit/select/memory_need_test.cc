#include "aggregator_server/select/memory_need.h"

#include "common/wire/training_spec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

ProblemSize SizeOfNodes(uint32_t nodes, double links) {
  return {.nodes = nodes,
          .feature_values = uint64_t{8} * nodes,
          .scaled_values = uint64_t{8} * nodes,
          .classes = 7,
          .links = links};
}

MemoryNeed NeedOf(uint32_t nodes, const char* epsilon_and, v1::Implausible implausible = v1::IMPLAUSIBLE_FLAG,
                  v1::Variant variant = v1::VARIANT_HARD, v1::Prior prior = v1::PRIOR_BETA) {
  v1::TrainingSpec spec;
  spec.set_variant(variant);
  spec.set_prior(prior);
  spec.set_candidates(0);
  const uint64_t micro = std::stoull(epsilon_and) * 1'000'000;
  const PrivacyParameters parameters = PrivacyParameters::Create(micro, 50'000, nodes).value();
  return EstimateMemoryNeed(NormalizeTrainingSpec(spec).value(), SizeOfNodes(nodes, 1.95 * nodes),
                            ReportsInMemory::Of(&parameters, implausible));
}

// Peaks that `blink simulate` reached on generated graphs, on the reference machine.
TEST(MemoryNeed, IsWithinAQuarterOfMeasuredPeaks) {
  const auto expect_near = [](const MemoryNeed& need, double measured) {
    EXPECT_THAT(need.bytes(), AllOf(Ge(0.8 * measured), Le(1.25 * measured)));
  };
  expect_near(NeedOf(40'000, "1"), 409e6);
  expect_near(NeedOf(40'000, "1", v1::IMPLAUSIBLE_FLAG, v1::VARIANT_SOFT), 807e6);
  expect_near(NeedOf(10'000, "8", v1::IMPLAUSIBLE_FLAG, v1::VARIANT_HARD, v1::PRIOR_ATTRIBUTED), 743e6);
}

// Of trainings on the true links, of which nothing is drawn: on 10^6 nodes with 5 * 10^6 links and 10^7 feature values,
// and on 300,000 with dense features.
TEST(MemoryNeed, OfTrainingsOnAMillionNodesIsWithinAQuarterOfMeasuredPeaks) {
  const auto need = [](v1::Model model, uint32_t hidden, uint32_t layers, const ProblemSize& size) {
    v1::TrainingSpec spec;
    spec.set_model(model);
    spec.set_hidden(hidden);
    spec.set_layers(layers);
    spec.set_candidates(0);
    return EstimateMemoryNeed(NormalizeTrainingSpec(spec).value(), size,
                              ReportsInMemory::Of(nullptr, v1::IMPLAUSIBLE_FLAG))
        .bytes();
  };
  const ProblemSize million{
      .nodes = 1'000'000, .feature_values = 10'000'000, .scaled_values = 10'000'000, .classes = 7, .links = 5'000'000};
  const auto near = [](double measured) { return AllOf(Ge(0.8 * measured), Le(1.25 * measured)); };
  EXPECT_THAT(need(v1::MODEL_GCN, 16, 2, million), near(1409e6));
  EXPECT_THAT(need(v1::MODEL_GCN, 64, 2, million), near(2205e6));
  EXPECT_THAT(need(v1::MODEL_GRAPHSAGE, 64, 2, million), near(2261e6));
  EXPECT_THAT(need(v1::MODEL_GAT, 64, 2, million), near(3936e6));
  const ProblemSize dense{.nodes = 300'000,
                          .feature_values = 19'200'000,
                          .scaled_values = 19'200'000,
                          .features_are_dense = true,
                          .classes = 7,
                          .links = 1'500'000};
  EXPECT_THAT(need(v1::MODEL_GCN, 64, 2, dense), near(940e6));
  const ProblemSize many_classes{
      .nodes = 300'000, .feature_values = 1'500'000, .scaled_values = 1'500'000, .classes = 40, .links = 600'000};
  EXPECT_THAT(need(v1::MODEL_GCN, 16, 2, many_classes), near(751e6));
}

TEST(MemoryNeed, GrowsWithTheSquareOfTheNodesWhereOnesAreCommon) {
  EXPECT_NEAR(NeedOf(300'000, "4").reports, 300'000.0 * 300'000 / 8, 1e8);
  EXPECT_GT(NeedOf(300'000, "4").bytes(), 11.2e9);
  EXPECT_NEAR(NeedOf(300'000, "4", v1::IMPLAUSIBLE_DROP).reports, 2 * NeedOf(300'000, "4").reports, 1);
}

TEST(MemoryNeed, IsSmallWhereOnesAreRare) {
  EXPECT_LT(NeedOf(300'000, "8").reports, 6e8);
  EXPECT_EQ(NeedOf(300'000, "8", v1::IMPLAUSIBLE_DROP).reports, NeedOf(300'000, "8").reports);
  EXPECT_LT(NeedOf(1'000'000, "8").reports, 1e9) << "most of it is on the disk";
  const PrivacyParameters parameters = PrivacyParameters::Create(8'000'000, 50'000, 1'000'000).value();
  EXPECT_GT(ReportsInMemory::Of(&parameters, v1::IMPLAUSIBLE_FLAG, /*on_disk=*/false).bytes, 2e9);
}

TEST(MemoryNeed, IsSmallWhereNoBitIsSentOrNoReportIsNeeded) {
  const PrivacyParameters degrees = PrivacyParameters::Create(6'000'000, 1'000'000, 300'000).value();
  const v1::TrainingSpec spec = NormalizeTrainingSpec(v1::TrainingSpec()).value();
  const ProblemSize size = SizeOfNodes(300'000, 0);
  EXPECT_LT(EstimateMemoryNeed(spec, size, ReportsInMemory::Of(&degrees, v1::IMPLAUSIBLE_FLAG)).bytes(), 2e9);
  EXPECT_EQ(EstimateMemoryNeed(spec, size, ReportsInMemory::Of(nullptr, v1::IMPLAUSIBLE_FLAG)).reports, 0);
}

Candidate OnSamples(uint32_t batch_nodes, std::vector<uint32_t> fan_out) {
  Candidate candidate{.variant = Variant::kHard};
  candidate.options.model = Model::kGraphSage;
  candidate.options.hidden = 256;
  candidate.options.batch_nodes = batch_nodes;
  candidate.options.fan_out = std::move(fan_out);
  return candidate;
}

TEST(TrainingBytes, OnSamplesGrowWithTheBatchAndHardlyWithTheFeatures) {
  ProblemSize size = SizeOfNodes(1'000'000, 1e7);
  size.labelled_train = 500'000;
  const double full = TrainingBytes(OnSamples(0, {}), size), small = TrainingBytes(OnSamples(512, {10, 10}), size);
  EXPECT_LT(small, 0.7 * full);
  EXPECT_GT(small, 2.0 * 1'000'000 * 256 * 4) << "an evaluation holds two matrices of all nodes";
  EXPECT_LT(small, TrainingBytes(OnSamples(8192, {10, 10}), size));
  EXPECT_EQ(TrainingBytes(OnSamples(8192, {1000, 1000}), size), TrainingBytes(OnSamples(8192, {20, 1000}), size))
      << "no more links are drawn of a node than it has: 20";
  ProblemSize wide = size;
  wide.feature_values *= 10;
  EXPECT_EQ(TrainingBytes(OnSamples(512, {10, 10}), wide), small) << "no copy of all of them";
  EXPECT_GT(TrainingBytes(OnSamples(0, {}), wide), full + 1e9);
}

TEST(NominalSeconds, OnSamplesGrowWithTheStepsThatSeeTheSameNodesAgain) {
  ProblemSize size = SizeOfNodes(100'000, 1e6);
  size.labelled_train = 50'000;
  const double full = NominalSeconds(OnSamples(0, {}), size);
  EXPECT_GT(NominalSeconds(OnSamples(1000, {10, 10}), size), full);
  EXPECT_GT(NominalSeconds(OnSamples(100, {10, 10}), size), NominalSeconds(OnSamples(1000, {10, 10}), size));
  EXPECT_LT(NominalSeconds(OnSamples(1000, {2, 2}), size), NominalSeconds(OnSamples(1000, {10, 10}), size));
}

TEST(CheckMemory, RefusesWhatThereIsNotAndSaysWhatHelps) {
  const MemoryNeed need = NeedOf(300'000, "4");
  EXPECT_TRUE(CheckMemory(need, 16'000'000'000, "this machine").ok());
  const absl::Status refused = CheckMemory(need, 8'000'000'000, "this machine");
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("11.3 GB of them for the bits of the reports"), HasSubstr("this machine has 8.0 GB"),
                    HasSubstr("--ignore-memory")));
}

}  // namespace
}  // namespace blink
