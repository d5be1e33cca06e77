#include "tools/dataset/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>

#include "common/base/durable_file.h"
#include "common/base/exit_code.h"
#include "tests/testing/temp_folder.h"
#include "tests/unit/tools/dataset/run_command.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

class DatasetFilesTest : public testing::FolderTest {
 protected:
  void WriteKit(const std::string& name, int first, int last, int node_count) {
    Write("out/kits/" + name + "/kit.json", "{\"format\":1,\"nodes\":{\"first\":" + std::to_string(first) +
                                                ",\"last\":" + std::to_string(last) +
                                                "},\"node_count\":" + std::to_string(node_count) + "}");
  }
  const Dataset dataset_ =
      *GenerateDataset({.nodes = 20, .classes = 2, .mean_degree = 3, .features = 10, .words_per_node = 2});
};

TEST_F(DatasetFilesTest, ShardsEachListIntoItsKitAndNowhereElse) {
  WriteKit("nodes-0-11", 0, 11, 20);
  WriteKit("node-12", 12, 12, 20);
  const auto report = ShardDataset(dataset_, Path("out"));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->kits, 2u);
  EXPECT_EQ(report->nodes, 13u);
  std::string expected = "node,neighbour\n";
  for (const NodeIndex j : dataset_.graph.NeighboursOf(12)) expected += "12," + std::to_string(j) + "\n";
  EXPECT_EQ(Read("out/kits/node-12/lists.csv"), expected);
  struct stat info;
  ASSERT_EQ(::stat(Path("out/kits/node-12/lists.csv").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const auto attributes = ReadAttributes(Path("out/aggregator/attributes"));  // refuses a folder with links
  ASSERT_TRUE(attributes.ok()) << attributes.status();
  EXPECT_EQ(attributes->labels, dataset_.attributes.labels);
}

TEST_F(DatasetFilesTest, ShardRefusesAKitOfAnotherSizeBeforeItWritesAnything) {
  WriteKit("nodes-0-9", 0, 9, 20);
  WriteKit("nodes-10-19", 10, 19, 21);
  const auto report = ShardDataset(dataset_, Path("out"));
  EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(report.status().message(), HasSubstr("made for 21 nodes, but the data set has 20"));
  EXPECT_FALSE(std::filesystem::exists(Path("out/kits/nodes-0-9/lists.csv")));
}

TEST_F(DatasetFilesTest, ShardRefusesANodeInTwoKits) {
  WriteKit("nodes-0-9", 0, 9, 20);
  WriteKit("nodes-9-19", 9, 19, 20);
  EXPECT_THAT(ShardDataset(dataset_, Path("out")).status().message(), HasSubstr("both host node 9"));
}

TEST_F(DatasetFilesTest, ShardRefusesWhatIsNoProvisioningFolder) {
  EXPECT_EQ(ShardDataset(dataset_, Path("out")).status().code(), absl::StatusCode::kNotFound);
  for (const std::string json :
       {"", "[]", "{\"nodes\":{\"first\":-1,\"last\":2},\"node_count\":20}",
        "{\"nodes\":{\"first\":5,\"last\":2},\"node_count\":20}",
        "{\"nodes\":{\"first\":5,\"last\":20},\"node_count\":20}", "{\"nodes\":7,\"node_count\":20}"}) {
    Write("out/kits/a/kit.json", json);
    EXPECT_EQ(ShardDataset(dataset_, Path("out")).status().code(), absl::StatusCode::kInvalidArgument) << json;
  }
}

TEST_F(DatasetFilesTest, TheFirstArgumentMayBeAnOptionIsNeededOnceAndListedOnce) {
  ASSERT_TRUE(WriteDataset(dataset_, Path("set")).ok());
  EXPECT_EQ(RunDatasetCommand({"dataset", "info", Path("set")}), 0);
  EXPECT_EQ(RunDatasetCommand({"dataset", "info", "--dataset", Path("set")}), 0);
  EXPECT_THROW(RunDatasetCommand({"dataset", "info"}), CLI::RequiredError);
  EXPECT_THROW(RunDatasetCommand({"dataset", "convert", "--output", Path("x")}), CLI::RequiredError);
  EXPECT_THROW(RunDatasetCommand({"dataset", "info", Path("set"), "--dataset", Path("set")}), CLI::ExcludesError);
  CLI::App app;
  std::function<int()> command;
  AddDatasetCommand(app, &command);
  const std::string help = app.get_subcommand("dataset")->get_subcommand("info")->help();
  EXPECT_THAT(help, HasSubstr("dataset REQUIRED"));
  EXPECT_THAT(help, ::testing::Not(HasSubstr("--dataset")));
}

TEST_F(DatasetFilesTest, SummaryCountsWhatIsThere) {
  Dataset small;
  small.graph = *CsrGraph::FromLinks(4, {{0, 1}, {1, 2}});
  small.attributes.node_count = 4;
  small.attributes.labels = {0, 0, 1, -1};
  small.attributes.split = {Split::kTrain, Split::kTrain, Split::kTest, Split::kNone};
  small.attributes.class_count = 2;
  const DatasetSummary summary = SummariseDataset(small);
  EXPECT_EQ(summary.isolated, 1u);
  EXPECT_EQ(summary.degree_max, 2u);
  EXPECT_DOUBLE_EQ(summary.homophily, 0.5);
  EXPECT_EQ(summary.unlabelled, 1u);
  small.graph = *CsrGraph::FromLinks(4, {});
  EXPECT_TRUE(std::isnan(SummariseDataset(small).homophily));
}

TEST_F(DatasetFilesTest, TheCommandEndsWithADocumentedCode) {
  EXPECT_EQ(RunDatasetCommand({"dataset", "generate", "--nodes", "50", "--features", "40", "--words-per-node", "5",
                               "--output", Path("made")}),
            0);
  EXPECT_EQ(RunDatasetCommand({"dataset", "info", Path("made"), "--json"}), 0);
  EXPECT_EQ(RunDatasetCommand({"dataset", "generate", "--output", Path("made")}),
            static_cast<int>(ExitCode::kBadInput));
  EXPECT_EQ(RunDatasetCommand({"dataset", "generate", "--nodes", "2", "--output", Path("other")}),
            static_cast<int>(ExitCode::kUsage));
  EXPECT_EQ(RunDatasetCommand({"dataset", "info", Path("nothing")}), static_cast<int>(ExitCode::kBadInput));
  WriteKit("nodes-0-49", 0, 49, 50);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(RunDatasetCommand({"dataset", "shard", "--dataset", Path("made"), "--out", Path("outt")}),
            static_cast<int>(ExitCode::kBadInput));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("did you mean " + Path("out") + "?"));
  EXPECT_EQ(RunDatasetCommand({"dataset", "convert", Path("made/edges.csv"), "--output", Path("converted")}), 0);
}

}  // namespace
}  // namespace blink
