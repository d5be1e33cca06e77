// Links from a file, a split by a seed, and reports that are kept for others.
#include "tools/simulate/given_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>
#include <csignal>
#include <filesystem>

#include "aggregator_server/reports/report_file.h"
#include "common/base/durable_file.h"
#include "common/graph/numpy_file.h"
#include "tests/unit/worker/small_round.h"
#include "tools/simulate/json_report.h"
#include "tools/simulate/run.h"
#include "tools/simulate/text_report.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

FeatureMatrix Dense(uint32_t n, const std::vector<float>& values) {
  return FeatureMatrix{.rows = n, .cols = n, .values = values};
}

CsrGraph Path() { return CsrGraph::FromLinks(3, {{0, 1}, {1, 2}}).value(); }

void ExpectNoLinks(const FeatureMatrix& matrix, const std::string& text) {
  const auto given = GivenLinksOf(matrix, "m.npz", Path());
  EXPECT_EQ(given.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(given.status().message()), HasSubstr(text));
}

TEST(GivenLinks, AreTheEntriesThatAreNotZeroAndKnowHowManyAreTrue) {
  const GivenLinks given = GivenLinksOf(Dense(3, {0, 1, 1, 1, 0, 0, 1, 0, 0}), "m", Path()).value();
  EXPECT_EQ(given.figures.links, 2u);
  EXPECT_EQ(given.figures.true_positives, 1u);
  EXPECT_FALSE(given.figures.weighted);
  EXPECT_FALSE(given.weights.weighted);
  EXPECT_TRUE(given.weights.links.HasLink(0, 2));
  EXPECT_FALSE(given.weights.links.HasLink(1, 2));
}

TEST(GivenLinks, HaveWeightsWhereAValueIsNotOne) {
  const GivenLinks given = GivenLinksOf(Dense(3, {0, 0.5, 0, 0.5, 0, 1, 0, 1, 0}), "m", Path()).value();
  EXPECT_TRUE(given.weights.weighted);
  std::vector<float> row(3);
  FillRow(given.weights, 1, row.data());
  EXPECT_THAT(row, ::testing::ElementsAre(0.5f, 0.0f, 1.0f));
  EXPECT_NE(given.digest, GivenLinksOf(Dense(3, {0, 0.25, 0, 0.25, 0, 1, 0, 1, 0}), "m", Path())->digest);
}

TEST(GivenLinks, OfASparseMatrixMayHaveZerosThatAreStored) {
  const FeatureMatrix sparse{.rows = 3,
                             .cols = 3,
                             .sparse = true,
                             .row_offsets = {0, 2, 3, 4},
                             .columns = {1, 2, 0, 0},
                             .values = {1, 0, 1, 0}};
  EXPECT_EQ(GivenLinksOf(sparse, "m", Path())->figures.links, 1u);
}

TEST(GivenLinks, AreRefusedWithTheEntryAndTheRemedy) {
  ExpectNoLinks(Dense(2, {0, 1, 1, 0}), "is a matrix of 2 x 2, but the data set has 3 nodes");
  ExpectNoLinks(Dense(3, {1, 0, 0, 0, 0, 0, 0, 0, 0}), "node 0 has a link to itself: call m.setdiag(0)");
  ExpectNoLinks(Dense(3, {0, 1, 0, 0, 0, 0, 0, 0, 0}), "entry (0, 1) is 1 and entry (1, 0) is 0");
  ExpectNoLinks(Dense(3, {0, 1, 0, 0.5, 0, 0, 0, 0, 0}), "save m.maximum(m.T)");
  ExpectNoLinks(Dense(3, {0, -1, 0, -1, 0, 0, 0, 0, 0}), "the weight of the pair (0, 1) is -1");
}

class GivenLinksSimulation : public testing::SmallRound {
 protected:
  SimulateOptions Options() const {
    SimulateOptions options;
    options.dataset = folder_ + "/dataset";
    options.trials = 1;
    options.training = testing::SmallSpec();
    options.training.clear_variant();
    options.progress = false;
    return options;
  }
  std::string WriteLinks(float weight) const {
    const CsrGraph& graph = data_.graph;
    FeatureMatrix matrix{.rows = graph.node_count(), .cols = graph.node_count(), .sparse = true};
    matrix.row_offsets.assign(graph.offsets().begin(), graph.offsets().end());
    matrix.columns.assign(graph.neighbours().begin(), graph.neighbours().end());
    matrix.values.assign(matrix.columns.size(), weight);
    const std::string path = folder_ + "/links.npz";
    EXPECT_TRUE(WriteSparseNpz(matrix, path).ok());
    return path;
  }
  void ExpectRefused(const SimulateOptions& options, const std::string& text) const {
    const auto simulation = Simulate(options);
    EXPECT_EQ(simulation.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(simulation.status().message()), HasSubstr(text));
  }
};

TEST_F(GivenLinksSimulation, TrainsOnTheTrueLinksFromAFileAsOnTheTrueGraph) {
  SimulateOptions options = Options();
  options.graph = SimulatedGraph::kTrue;
  const Simulation wanted = Simulate(options).value();
  options.graph = SimulatedGraph::kBlink;
  options.links = WriteLinks(1);
  const Simulation given = Simulate(options).value();
  EXPECT_EQ(given.trials[0].training.logits, wanted.trials[0].training.logits);
  const auto json = SimulationJson(FiguresOf(given, 1));
  EXPECT_EQ(json["graph"], "given");
  EXPECT_EQ(json["given_links"]["true_positives"], data_.graph.link_count());
  EXPECT_TRUE(json["privacy"]["private"].is_null()) << "only who made the links knows";
  EXPECT_THAT(SimulationText(FiguresOf(given, 1), 80), AllOf(HasSubstr("--links"), HasSubstr("of them are true, of ")));
  options.links = WriteLinks(0.5);
  EXPECT_NE(Simulate(options)->trials[0].training.logits, wanted.trials[0].training.logits) << "weights count";
}

TEST_F(GivenLinksSimulation, IsRefusedTogetherWithWhatIsAboutReports) {
  SimulateOptions options = Options();
  options.links = WriteLinks(1);
  const auto refused = [&](const char* flag, auto change) {
    SimulateOptions changed = options;
    change(changed);
    ExpectRefused(changed, std::string("leave out ") + flag);
  };
  refused("--epsilon", [](SimulateOptions& o) { o.epsilon_micro = 1; });
  refused("--degree-share", [](SimulateOptions& o) { o.degree_share_ppm = 1; });
  refused("--graph true", [](SimulateOptions& o) { o.graph = SimulatedGraph::kTrue; });
  refused("--mechanism", [](SimulateOptions& o) { o.mechanism = MechanismKind::kNone; });
  refused("--save-reports", [](SimulateOptions& o) { o.save_reports = "s"; });
  refused("--reports", [](SimulateOptions& o) { o.reports = "r"; });
  refused("--bounds", [](SimulateOptions& o) { o.bounds = true; });
  refused("--output", [](SimulateOptions& o) { o.output = "o"; });
  refused("--missing", [](SimulateOptions& o) { o.missing = 0.5; });
  refused("--variant", [](SimulateOptions& o) { o.training.set_variant(v1::VARIANT_SOFT); });
  refused("--model none", [](SimulateOptions& o) { o.training.set_model(v1::MODEL_NONE); });
}

TEST_F(GivenLinksSimulation, DrawsTheSplitThatTheSeedSays) {
  SimulateOptions options = Options();
  options.graph = SimulatedGraph::kTrue;
  options.split_seed = 5;
  const Simulation one = Simulate(options).value(), again = Simulate(options).value();
  EXPECT_EQ(one.attributes_sha256, again.attributes_sha256);
  options.split_seed = 6;
  const Simulation other = Simulate(options).value();
  EXPECT_NE(one.attributes_sha256, other.attributes_sha256);
  EXPECT_EQ(SimulationJson(FiguresOf(other, 1))["split_seed"], 6);
  options.split_seed.reset();
  EXPECT_TRUE(SimulationJson(FiguresOf(Simulate(options).value(), 1))["split_seed"].is_null());
}

TEST_F(GivenLinksSimulation, KeepsReportsThatReplayAsTheyWere) {
  SimulateOptions options = Options();
  options.epsilon_micro = 6'000'000;
  options.training.set_variant(v1::VARIANT_HARD);  // Hybrid's ties hang on the round's id
  options.save_reports = folder_ + "/kept";
  const Simulation drawn = Simulate(options).value();
  struct stat status {};
  ASSERT_EQ(::stat(options.save_reports.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  SimulateOptions replay = Options();
  replay.training.clear_seed();  // the round's
  replay.reports = options.save_reports + "/trial-1";
  const Simulation replayed = Simulate(replay).value();
  EXPECT_EQ(replayed.trials[0].estimates->beta.mae, drawn.trials[0].estimates->beta.mae);
  EXPECT_EQ(replayed.trials[0].training.logits, drawn.trials[0].training.logits);
  ExpectRefused(options, "is there already and is left as it is");
}

TEST_F(GivenLinksSimulation, ReportsThatCannotBeWrittenLeaveNothingThatBlocksTheNextAttempt) {
  SimulateOptions options = Options();
  options.epsilon_micro = 6'000'000;
  options.save_reports = folder_ + "/kept";
  std::signal(SIGXFSZ, SIG_IGN);  // the write fails instead
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit little = {.rlim_cur = 100, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  const absl::Status failed = Simulate(options).status();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(failed.code(), absl::StatusCode::kResourceExhausted) << failed;
  EXPECT_TRUE(std::filesystem::is_empty(options.save_reports));
  EXPECT_TRUE(Simulate(options).ok());
}

TEST_F(GivenLinksSimulation, RefusesToKeepReportsThatAreNotDrawnOrKeptAlready) {
  SimulateOptions options = Options();
  options.save_reports = folder_ + "/kept";
  options.graph = SimulatedGraph::kTrue;
  ExpectRefused(options, "--save-reports keeps the reports that are drawn");
  options.graph = SimulatedGraph::kBlink;
  options.reports = folder_ + "/round";
  ExpectRefused(options, "--save-reports keeps the reports that are drawn");
  options.reports.clear();
  options.epsilon_micro = 6'000'000;
  options.checkpoint = folder_ + "/states";
  ExpectRefused(options, "--checkpoint keeps the reports already");
  options.checkpoint.clear();
  options.mechanism = MechanismKind::kRr;
  ExpectRefused(options, "--save-reports keeps reports of blink");
  options.mechanism = MechanismKind::kBlink;
  options.save_reports = folder_ + "/dataset";
  ExpectRefused(options, "name a folder that is absent or empty");
}

}  // namespace
}  // namespace blink
