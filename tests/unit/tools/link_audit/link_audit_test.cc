// Whole audits of a small graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "tests/unit/worker/small_round.h"
#include "tools/link_audit/report.h"
#include "tools/link_audit/run.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

class LinkAuditTest : public testing::SmallRound {
 protected:
  LinkAuditOptions Options() const {
    LinkAuditOptions options;
    options.dataset = folder_ + "/dataset";
    options.epsilon_micro = {1'000'000, 8'000'000};
    options.trials = 2;
    options.training = testing::SmallSpec();
    options.influence_nodes = 20;
    options.insecure_seeded_noise = true;
    options.progress = false;
    return options;
  }
  static absl::StatusOr<LinkAudit> Audit(const LinkAuditOptions& options) {
    LinkAuditSoFar so_far;
    return AuditLinks(options, so_far);
  }
  static const AttackResult& Attack(const LinkAudit& audit, size_t victim, const std::string& name, size_t trial = 0) {
    for (const AttackResult& attack : audit.trials[trial].victims[victim].attacks) {
      if (attack.name == name) return attack;
    }
    static const AttackResult none;
    ADD_FAILURE() << "victim " << victim << " has no attack " << name;
    return none;
  }
  static double Auc(const LinkAudit& audit, size_t victim, const std::string& name) {
    return Attack(audit, victim, name).groups[kEveryNode].auc.value_or(-1);
  }
  void ExpectRefused(const LinkAuditOptions& options, const std::string& text) const {
    const auto audit = Audit(options);
    EXPECT_EQ(audit.status().code(), absl::StatusCode::kInvalidArgument) << audit.status();
    EXPECT_THAT(std::string(audit.status().message()), HasSubstr(text));
  }
};

TEST_F(LinkAuditTest, AttacksEachVictimInEachTrial) {
  const auto audit = Audit(Options());
  ASSERT_TRUE(audit.ok()) << audit.status();
  ASSERT_EQ(audit->victims.size(), 4u);
  EXPECT_EQ(audit->victims[0].kind, VictimKind::kFeaturesOnly);
  EXPECT_EQ(audit->victims[1].kind, VictimKind::kTrueLinks);
  EXPECT_EQ(audit->victims[3].epsilon_micro, 8'000'000u);
  ASSERT_EQ(audit->trials.size(), 2u);
  EXPECT_FALSE(audit->partial());
  EXPECT_EQ(audit->trials[1].seed, 2u);
  for (const AuditTrial& trial : audit->trials) {
    ASSERT_EQ(trial.victims.size(), 4u);
    EXPECT_EQ(trial.victims[0].attacks.size(), 10u) << "features, eight distances, influence";
    EXPECT_EQ(trial.victims[1].attacks.size(), 9u);
    EXPECT_EQ(trial.victims[2].attacks.size(), 10u) << "posterior, eight distances, influence";
    for (const VictimTrial& victim : trial.victims) EXPECT_GT(victim.test_accuracy, 0.2);
  }
  EXPECT_EQ(Attack(*audit, 2, "posterior").groups[kEveryNode].links, data_.graph.link_count());
  EXPECT_EQ(Attack(*audit, 2, "posterior").groups[kEveryNode].pairs, 200u * 199 / 2);
  EXPECT_EQ(Attack(*audit, 2, "influence").groups[kEveryNode].pairs, 20u * 199);
}

TEST_F(LinkAuditTest, FindsMoreWithALargerBudgetAndMostWithoutPrivacy) {
  const LinkAudit audit = Audit(Options()).value();
  EXPECT_GT(Auc(audit, 3, "posterior"), 0.99);
  EXPECT_GT(Auc(audit, 3, "posterior"), Auc(audit, 2, "posterior") + 0.1);
  EXPECT_GT(Auc(audit, 1, "influence"), 0.95) << "LinkTeller on the true links";
  EXPECT_GT(Auc(audit, 1, "influence"), Auc(audit, 2, "influence"));
  EXPECT_DOUBLE_EQ(Auc(audit, 0, "influence"), 0.5) << "an MLP reads no other node";
}

TEST_F(LinkAuditTest, IsTheSameAgainFromSeededNoise) {
  EXPECT_EQ(LinkAuditJson(Audit(Options()).value()), LinkAuditJson(Audit(Options()).value()));
}

TEST_F(LinkAuditTest, DrawsOtherNoiseInEachTrialAndForEachBudget) {
  const LinkAudit audit = Audit(Options()).value();
  EXPECT_NE(Attack(audit, 2, "posterior", 0).groups[kEveryNode].auc,
            Attack(audit, 2, "posterior", 1).groups[kEveryNode].auc);
}

TEST_F(LinkAuditTest, TakesAllNodesForTheInfluenceWhereThereAreFewer) {
  LinkAuditOptions options = Options();
  options.influence_nodes = 500;
  options.trials = 1;
  const LinkAudit audit = Audit(options).value();
  EXPECT_EQ(audit.influence_nodes, 200u);
  EXPECT_EQ(Attack(audit, 1, "influence").groups[kEveryNode].pairs, 200u * 199) << "both directions";
}

TEST_F(LinkAuditTest, RanksEveryPairUnderTheAttributedPrior) {
  LinkAuditOptions options = Options();
  options.trials = 1;
  options.epsilon_micro = {8'000'000};
  options.training.set_prior(v1::PRIOR_ATTRIBUTED);
  const auto audit = Audit(options);
  ASSERT_TRUE(audit.ok()) << audit.status();
  EXPECT_EQ(audit->prior, Prior::kAttributed);
  EXPECT_GT(Auc(*audit, 2, "posterior"), 0.99);
  EXPECT_GT(Auc(*audit, 1, "influence"), 0.95);
}

TEST_F(LinkAuditTest, HasNoModelOfFeaturesWhereThereAreNone) {
  Dataset bare = data_;
  bare.attributes.features = {};
  const std::string folder = folder_ + "/bare";
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(WriteDataset(bare, folder).ok());
  LinkAuditOptions options = Options();
  options.dataset = folder;
  options.trials = 1;
  const auto audit = Audit(options);
  ASSERT_TRUE(audit.ok()) << audit.status();
  EXPECT_EQ(audit->victims[0].kind, VictimKind::kTrueLinks);
}

TEST_F(LinkAuditTest, RefusesAGraphWithoutALink) {
  Dataset empty = data_;
  empty.graph = CsrGraph::FromLinks(200, {}).value();
  const std::string folder = folder_ + "/empty";
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(WriteDataset(empty, folder).ok());
  LinkAuditOptions options = Options();
  options.dataset = folder;
  ExpectRefused(options, "200 nodes and 0 links: an audit needs 3 nodes and a link to find");
}

TEST_F(LinkAuditTest, RefusesOptionsOutOfRangeBeforeItReadsAnything) {
  LinkAuditOptions options = Options();
  options.dataset = folder_ + "/nowhere";
  options.trials = 0;
  ExpectRefused(options, "--trials is 0");
}

TEST_F(LinkAuditTest, FailsWhereThereIsNoDataSet) {
  LinkAuditOptions options = Options();
  options.dataset = folder_ + "/nowhere";
  EXPECT_EQ(Audit(options).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace blink
