// --output: refused before anything is done, and nothing of a stranger's is touched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/base/durable_file.h"
#include "tests/unit/tools/simulate/simulate_fixture.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

using SimulatedOutput = SimulateTest;

// The result folder is what leaves the machine: it says itself what it is.
TEST_F(SimulatedOutput, TheResultFolderSaysWhereItsReportsCameFrom) {
  const auto privacy = [&](SimulateOptions options, const std::string& name) {
    options.output = folder_ + "/" + name;
    options.trials = 1;
    EXPECT_TRUE(Simulate(options).ok());
    return nlohmann::json::parse(ReadFile(options.output + "/metrics.json", 1 << 20).value());
  };
  const auto drawn = privacy(Options(), "drawn");
  EXPECT_EQ(drawn["kind"], "simulation");
  EXPECT_EQ(drawn["privacy"]["private"], true);
  EXPECT_EQ(drawn["privacy"]["simulated"], true);
  EXPECT_EQ(drawn["privacy"]["noise"], "cryptographic");
  EXPECT_LE(drawn["privacy"]["achieved_epsilon"], 6.0);
  SimulateOptions seeded_options = Options();
  seeded_options.insecure_seeded_noise = true;
  const auto seeded = privacy(seeded_options, "seeded");
  EXPECT_EQ(seeded["kind"], "simulation");
  EXPECT_EQ(seeded["privacy"]["private"], false);
  EXPECT_EQ(seeded["privacy"]["noise"], "seeded");
  EXPECT_TRUE(seeded["privacy"]["achieved_epsilon"].is_null());
  EXPECT_TRUE(seeded["privacy"]["achieved_epsilon_per_undirected_link"].is_null());
  const auto replay = privacy(Replay(), "replay");
  EXPECT_EQ(replay["kind"], "replay");
  EXPECT_EQ(replay["privacy"]["private"], true);
  EXPECT_EQ(replay["privacy"]["noise"], "nodes");
}

TEST_F(SimulatedOutput, RefusesAnOutputThatHoldsSomethingElseBeforeItTrains) {
  SimulateOptions options = Options();
  options.dataset = folder_ + "/nowhere";  // it is not even read
  options.output = folder_ + "/mine";
  std::filesystem::create_directories(options.output);
  std::ofstream(options.output + "/thesis.tex") << "x";
  for (const bool replace : {false, true}) {
    options.replace_output = replace;
    ExpectRefused(options, "holds thesis.tex, which is not part of a result");
  }
  EXPECT_EQ(ReadFile(options.output + "/thesis.tex", 10).value(), "x");
  EXPECT_FALSE(std::filesystem::exists(options.output + ".tmp"));
  options.output = folder_ + "/mine/thesis.tex";
  ExpectRefused(options, "is not a folder");
  options.output = folder_ + "/no/parent";
  EXPECT_EQ(Simulate(options).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(SimulatedOutput, ReplacesAnEarlierResultOnlyWhenItIsTold) {
  SimulateOptions options = Options();
  options.trials = 1;
  options.output = folder_ + "/result";
  ASSERT_TRUE(Simulate(options).ok());
  const std::string first = ReadFile(options.output + "/predictions.csv", 1 << 20).value();
  ExpectRefused(options, "--replace");
  EXPECT_EQ(ReadFile(options.output + "/predictions.csv", 1 << 20).value(), first);
  options.replace_output = true;
  options.training.set_epochs(3);
  ASSERT_TRUE(Simulate(options).ok());
  EXPECT_EQ(nlohmann::json::parse(ReadFile(options.output + "/metrics.json", 1 << 20).value())["train"]["epochs"], 3);
  EXPECT_FALSE(std::filesystem::exists(options.output + ".tmp"));
  options.output.clear();
  ExpectRefused(options, "--replace");
}

TEST_F(SimulatedOutput, AFailedSimulationLeavesNoOutputBehind) {
  SimulateOptions options = Options();
  options.dataset = folder_ + "/nowhere";
  options.output = folder_ + "/result";
  EXPECT_FALSE(Simulate(options).ok());
  EXPECT_FALSE(std::filesystem::exists(options.output));
  EXPECT_FALSE(std::filesystem::exists(options.output + ".tmp"));
}

}  // namespace
}  // namespace blink
