// Where few nodes have a label: what a search under the attributed prior then tries. No LibTorch.
#include <gtest/gtest.h>

#include <set>

#include "aggregator_server/select/candidate_grid.h"
#include "tests/unit/select/attributed_grid.h"

namespace blink {
namespace {

ProblemSize WithLabels(uint32_t train, uint32_t validation, uint32_t nodes = 200) {
  return {.nodes = nodes,
          .feature_values = 1000,
          .scaled_values = 1000,
          .classes = 3,
          .labelled_train = train,
          .labelled_validation = validation,
          .flip_probability = 0.1,
          .links = 400,
          .attributed_links = 400,
          .attributed_kept = 800};
}

TEST(FewLabels, AreThoseBelowWhichOneSplitPicksByLuck) {
  EXPECT_TRUE(HasFewLabels(WithLabels(90, 60)));
  EXPECT_TRUE(HasFewLabels(WithLabels(1000, 277, 3000)));
  EXPECT_FALSE(HasFewLabels(WithLabels(1000, 278, 3000)));
  EXPECT_FALSE(HasFewLabels(WithLabels(90, 60, 3001))) << "too large to train everything five times";
  EXPECT_FALSE(HasFewLabels(WithLabels(15, 4))) << "four nodes a fold at least";
  EXPECT_TRUE(HasFewLabels(WithLabels(16, 4)));
  EXPECT_FALSE(HasFewLabels(WithLabels(90, 0)));
}

TEST(FewLabels, MakeASearchUnderTheAttributedPriorTrainOnFoldsAndNoOther) {
  EXPECT_TRUE(CandidateGrid::Create(AttributedSpec(24), true, WithLabels(90, 60))->cross_validates());
  EXPECT_TRUE(CandidateGrid::Create(AttributedSpec(24), false, WithLabels(90, 60))->cross_validates());
  EXPECT_FALSE(CandidateGrid::Create(AttributedSpec(24), true, WithLabels(900, 600, 3000))->cross_validates());
  v1::TrainingSpec beta = AttributedSpec(24);
  beta.set_prior(v1::PRIOR_BETA);
  EXPECT_FALSE(CandidateGrid::Create(beta, true, WithLabels(90, 60))->cross_validates());
}

TEST(FewLabels, LetASearchTryEverySettingOfABetaSearchAndLargeRatesFirst) {
  const ProblemSize few = WithLabels(90, 60);
  const CandidateGrid grid = CandidateGrid::Create(AttributedSpec(1000), true, few).value();
  const auto all = Everything(grid);
  std::set<std::string> names;
  for (const Candidate& candidate : all) names.insert(CandidateName(candidate));
  v1::TrainingSpec beta = AttributedSpec(1000);
  beta.set_prior(v1::PRIOR_BETA);
  for (const Candidate& candidate : Everything(CandidateGrid::Create(beta, true, few).value())) {
    if (PairName(candidate) == "gat soft") continue;
    EXPECT_EQ(names.count(CandidateName(candidate)), 1u) << CandidateName(candidate);
  }
  EXPECT_EQ(all[0].options.model, Model::kMlp);
  EXPECT_EQ(all[0].options.learning_rate, 0.1);
  for (const Candidate& pair : grid.pairs())
    EXPECT_EQ(pair.options.patience, IsNetwork(pair.options.model) ? 100 : 0) << PairName(pair);
}

TEST(FewLabels, LeaveRoomForHalfAsManyOtherSettings) {
  const CandidateGrid grid = CandidateGrid::Create(AttributedSpec(24), true, WithLabels(90, 60)).value();
  EXPECT_EQ(grid.count(), 36);
  EXPECT_EQ(Everything(grid).size(), 36u);
  v1::TrainingSpec spec = AttributedSpec(24);
  spec.set_learning_rate(0.02);
  spec.set_patience(0);
  for (const Candidate& candidate : Everything(CandidateGrid::Create(spec, true, WithLabels(90, 60)).value())) {
    if (!IsNetwork(candidate.options.model)) continue;
    EXPECT_EQ(candidate.options.learning_rate, 0.02) << "what is set restricts them all the same";
    EXPECT_EQ(candidate.options.patience, 0);
  }
}

}  // namespace
}  // namespace blink
