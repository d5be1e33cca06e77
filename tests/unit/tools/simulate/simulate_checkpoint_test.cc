// --checkpoint: states of training and kept reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "common/base/durable_file.h"
#include "tests/unit/tools/simulate/simulate_fixture.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

class SimulatedCheckpoint : public SimulateTest {
 protected:
  SimulateOptions Checkpointed(SimulateOptions options, int trials = 2) const {
    options.trials = trials;
    options.checkpoint = folder_ + "/checkpoints";
    return options;
  }
};

TEST_F(SimulatedCheckpoint, GoesOnFromItsCheckpointsWhereTheLinksAreTheSame) {
  SimulateOptions options = Checkpointed(OnTrueLinks());
  const Simulation a = Simulate(options).value(), b = Simulate(options).value();
  ASSERT_EQ(a.trials.size(), b.trials.size());
  for (size_t t = 0; t < a.trials.size(); ++t) {
    EXPECT_EQ(a.trials[t].training.resumed_from_epoch, 0);
    EXPECT_EQ(b.trials[t].training.resumed_from_epoch, static_cast<int>(b.trials[t].training.validation_losses.size()));
    EXPECT_EQ(a.trials[t].training.logits, b.trials[t].training.logits);
  }
}

TEST_F(SimulatedCheckpoint, RefusesACheckpointFolderWhereItsResultGoes) {
  SimulateOptions options = Options();
  options.insecure_seeded_noise = true;
  options.output = folder_ + "/out";
  for (const char* checkpoint :
       {"/out", "/out/", "/out/states", "/./out/../out/states", "/out.tmp", "/out.tmp/states", "/out.old"}) {
    options.checkpoint = folder_ + checkpoint;
    ExpectRefused(options, "name a folder apart from --output");
  }
  for (const char* checkpoint : {"/outer", "/out.states"}) {
    options.checkpoint = folder_ + checkpoint;
    EXPECT_TRUE(ValidateSimulateOptions(options).ok()) << checkpoint;
  }
}

TEST_F(SimulatedCheckpoint, RefusesACheckpointFolderThatIsNotThisSimulations) {
  SimulateOptions options = OnTrueLinks();
  options.trials = 1;
  options.checkpoint = folder_ + "/dataset/labels.csv";
  const std::string labels = ReadFile(options.checkpoint, 1 << 20).value();
  ExpectRefused(options, "is not a folder");
  EXPECT_EQ(ReadFile(options.checkpoint, 1 << 20).value(), labels);
  options.checkpoint = "/dev/zero";
  ExpectRefused(options, "is not a folder");
  options.checkpoint = folder_ + "/dataset";
  ExpectRefused(options, "holds something else");
  options.checkpoint = folder_ + "/checkpoints";
  ASSERT_TRUE(Simulate(options).ok());
  options.training.set_dropout(0.5);
  ExpectRefused(options, "is of another simulation");
  options.training.set_dropout(0.25);
  options.seed = 2;
  ExpectRefused(options, "is of another simulation");
  options.seed.reset();
  options.trials = 2;  // more of the same
  EXPECT_EQ(Simulate(options).value().trials[0].training.resumed_from_epoch, 20);
}

TEST_F(SimulatedCheckpoint, RefusesStatesThatAreNoneBeforeItTrains) {
  SimulateOptions options = Checkpointed(OnTrueLinks(), 1);
  ASSERT_TRUE(Simulate(options).ok());
  const std::string state = options.checkpoint + "/trial-1/training.checkpoint";
  const std::string good = ReadFile(state, 1 << 24).value();
  std::ofstream(state, std::ios::binary | std::ios::trunc) << good.substr(0, good.size() / 2);
  ExpectRefused(options, "truncated");
  std::ofstream(state, std::ios::binary | std::ios::trunc) << "my own notes";
  ExpectRefused(options, "remove it");
  EXPECT_EQ(ReadFile(state, 100).value(), "my own notes");
  std::filesystem::remove(state);
  ASSERT_EQ(::mkfifo(state.c_str(), 0600), 0);
  ExpectRefused(options, "not a regular file");
  std::filesystem::remove(state);
  std::filesystem::create_directories(state);
  ExpectRefused(options, "is a folder");
}

TEST_F(SimulatedCheckpoint, KeepsAStateAsOftenAsItIsTold) {
  SimulateOptions options = Checkpointed(OnTrueLinks());
  for (const double bad : {-1.0, 86'401.0, std::nan("")}) {
    options.checkpoint_every_s = bad;
    ExpectRefused(options, "--checkpoint-every");
  }
}

mode_t ModeOf(const std::string& path) {
  struct stat state {};
  EXPECT_EQ(::stat(path.c_str(), &state), 0) << path;
  return state.st_mode & 07777;
}

TEST_F(SimulatedCheckpoint, GoesOnWithTheReportsThatItKept) {
  SimulateOptions options = Checkpointed(Options());
  options.missing = 0.1;
  const Simulation a = Simulate(options).value(), b = Simulate(options).value();
  EXPECT_EQ(b.origin, ReportOrigin::kSimulation);
  for (size_t t = 0; t < a.trials.size(); ++t) {
    EXPECT_EQ(b.trials[t].training.resumed_from_epoch, 20);
    EXPECT_EQ(a.trials[t].training.logits, b.trials[t].training.logits);
    EXPECT_EQ(a.trials[t].estimates->beta.expected_links, b.trials[t].estimates->beta.expected_links);
    EXPECT_DOUBLE_EQ(a.trials[t].report->bytes_mean, b.trials[t].report->bytes_mean);
  }
  EXPECT_NE(a.trials[0].estimates->beta.expected_links, a.trials[1].estimates->beta.expected_links) << "drawn anew";
  options.trials = 3;
  EXPECT_EQ(Simulate(options).value().trials[2].training.resumed_from_epoch, 0) << "a trial more is drawn";
  const RoundFolder kept = ReadRoundFolder(options.checkpoint + "/trial-1").value();
  EXPECT_EQ(kept.reports.report_count(), 180u) << "a round's folder, which a replay takes";
}

TEST_F(SimulatedCheckpoint, ShowsTheReportsThatItKeepsToTheirOwnerAlone) {
  SimulateOptions options = Checkpointed(Options(), 1);
  std::filesystem::create_directories(options.checkpoint);
  ASSERT_EQ(::chmod(options.checkpoint.c_str(), 0755), 0);
  ASSERT_TRUE(Simulate(options).ok());
  EXPECT_EQ(ModeOf(options.checkpoint), 0700u);
  EXPECT_EQ(ModeOf(options.checkpoint + "/trial-1"), 0700u);
  for (const char* file : {"reports.blr", "round.json"}) {
    EXPECT_EQ(ModeOf(options.checkpoint + "/trial-1/" + file), 0600u) << file;
  }
}

TEST_F(SimulatedCheckpoint, RefusesKeptReportsThatAreDamagedOrOfAnotherDraw) {
  SimulateOptions options = Checkpointed(Options(), 1);
  ASSERT_TRUE(Simulate(options).ok());
  options.insecure_seeded_noise = true;
  ExpectRefused(options, "is of another simulation");
  options.insecure_seeded_noise = false;
  options.epsilon_micro = 5'000'000;
  ExpectRefused(options, "is of another simulation");
  options.epsilon_micro = 6'000'000;
  const std::string reports = options.checkpoint + "/trial-1/reports.blr";
  const std::string good = ReadFile(reports, 1 << 24).value();
  std::ofstream(reports, std::ios::binary | std::ios::trunc) << good.substr(0, good.size() / 2);
  ExpectRefused(options, "its trial is drawn anew");
  std::filesystem::remove_all(options.checkpoint + "/trial-1");
  EXPECT_EQ(Simulate(options).value().trials[0].training.resumed_from_epoch, 0);
}

TEST_F(SimulatedCheckpoint, DrawsAnewWhereNotAllReportsWereKept) {
  SimulateOptions options = Checkpointed(Options(), 1);
  ASSERT_TRUE(Simulate(options).ok());
  std::filesystem::remove(options.checkpoint + "/trial-1/round.json");  // written last
  std::filesystem::remove(options.checkpoint + "/trial-1/training.checkpoint");
  EXPECT_TRUE(Simulate(options).ok());
}

}  // namespace
}  // namespace blink
