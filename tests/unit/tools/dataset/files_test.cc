#include "tools/dataset/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "common/base/durable_file.h"
#include "common/base/exit_code.h"
#include "tools/dataset/command.h"

namespace blink {
namespace {

using testing::HasSubstr;

class DatasetFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/files_" + testing::UnitTest::GetInstance()->current_test_info()->name() +
              std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
    dataset_ = *GenerateDataset({.nodes = 20, .classes = 2, .mean_degree = 3, .features = 10, .words_per_node = 2});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Write(const std::string& name, absl::string_view content) {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    ASSERT_TRUE(WriteFileAtomically(Path(name), content).ok());
  }
  std::string Read(const std::string& name) const { return ReadFile(Path(name), 1 << 20).value_or("(missing)"); }
  void WriteKit(const std::string& name, int first, int last, int node_count) {
    Write("out/kits/" + name + "/kit.json", "{\"format\":1,\"nodes\":{\"first\":" + std::to_string(first) +
                                                ",\"last\":" + std::to_string(last) +
                                                "},\"node_count\":" + std::to_string(node_count) + "}");
  }
  int Run(std::vector<std::string> arguments) {
    CLI::App app;
    std::function<int()> command;
    AddDatasetCommand(app, &command);
    std::reverse(arguments.begin(), arguments.end());
    app.parse(arguments);
    return command();
  }
  std::string folder_;
  Dataset dataset_;
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

TEST_F(DatasetFilesTest, ConvertsNamesAndTakesLabelsAlong) {
  Write("in.tsv", "anna\tbert\nbert\tcarl\n");
  Write("labels.csv", "node,label\nbert,1\nanna,0\ncarl,1\n");
  Write("split.csv", "node,split\nanna,train\nbert,val\ncarl,test\n");
  CsrGraph graph;
  const auto report = ConvertEdgeList({Path("in.tsv"), Path("set"), Path("labels.csv"), Path("split.csv"), ""}, &graph);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(Read("set/nodes.csv"), "node,id\n0,anna\n1,bert\n2,carl\n");
  const auto read = ReadDataset(Path("set"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->attributes.labels, (std::vector<int32_t>{0, 1, 1}));
  EXPECT_TRUE(read->graph.HasLink(1, 2));
}

TEST_F(DatasetFilesTest, ConvertKeepsNodesThatHaveALabelButNoLinkAndTakesAnyHeader) {
  Write("in.csv", "from,to\n0,2\n2,4\n");
  Write("labels.csv", "\xEF\xBB\xBFid,target\r\n4,1\r\n0,0\r\n1,1\r\n3,-1\r\n2,0\r\n");
  Write("split.csv", "0,train\n1,val\n2,test\n3,none\n4,train\n");
  CsrGraph graph;
  const auto report = ConvertEdgeList({Path("in.csv"), Path("set"), Path("labels.csv"), Path("split.csv"), ""}, &graph);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->nodes_added, 2u);
  EXPECT_FALSE(report->mapped) << "with them, ids are 0 .. n-1";
  EXPECT_EQ(graph.DegreeOf(1), 0u);
  const auto read = ReadDataset(Path("set"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->attributes.labels, (std::vector<int32_t>{0, 1, 0, -1, 1}));
}

TEST_F(DatasetFilesTest, ConvertRefusesLabelsOfAnotherForm) {
  Write("in.csv", "0,1\n1,2\n");
  CsrGraph graph;
  const auto refusal = [&](const std::string& labels) {
    Write("labels.csv", labels);
    return std::string(
        ConvertEdgeList({Path("in.csv"), Path("set"), Path("labels.csv"), "", ""}, &graph).status().message());
  };
  EXPECT_THAT(refusal("id,days,new_id\n7,3,0\n"), HasSubstr("labels.csv, line 1: expected the two columns node,label"));
  EXPECT_THAT(refusal("id,type\n0,tvshow\n"), HasSubstr("labels.csv, line 2: \"tvshow\" is not"));
  EXPECT_THAT(refusal("id,type\n0\n"), HasSubstr("labels.csv, line 2: expected"));
}

TEST_F(DatasetFilesTest, ConvertSaysWhenTheFirstLineMayBeAHeader) {
  CsrGraph graph;
  Write("in.csv", "person,friend\nanna,bert\nbert,carl\n");
  EXPECT_TRUE(ConvertEdgeList({Path("in.csv"), Path("a"), "", "", ""}, &graph)->maybe_header);
  Write("in.csv", "carl,bert\nanna,bert\n");
  EXPECT_FALSE(ConvertEdgeList({Path("in.csv"), Path("b"), "", "", ""}, &graph)->maybe_header);
}

TEST_F(DatasetFilesTest, ConvertRefusesASplitOfAnUnknownNodeAndAFolderInUse) {
  Write("in.tsv", "anna\tbert\nbert\tcarl\n");
  Write("split.csv", "node,split\nbert,val\ndora,test\n");
  CsrGraph graph;
  EXPECT_THAT(ConvertEdgeList({Path("in.tsv"), Path("set"), "", Path("split.csv"), ""}, &graph).status().message(),
              HasSubstr("line 3: neither the edge list nor the labels have node \"dora\""));
  Write("used/edges.csv", "");
  EXPECT_EQ(ConvertEdgeList({Path("in.tsv"), Path("used"), "", "", ""}, &graph).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(DatasetFilesTest, ConvertDrawsASplitOfTheLabelledNodes) {
  Write("edges.txt", "0 1\n1 2\n2 3\n3 4\n4 5\n5 6\n6 7\n7 8\n8 9\n");
  Write("labels.csv", "0,1\n1,0\n2,1\n3,0\n4,1\n5,0\n6,1\n7,0\n8,-1\n9,-1\n");
  const std::vector<std::string> convert = {
      "dataset", "convert", Path("edges.txt"), "--labels", Path("labels.csv"), "--random-split", "7"};
  for (const char* name : {"one", "two"}) {
    std::vector<std::string> arguments = convert;
    arguments.insert(arguments.end(), {"--output", Path(name)});
    ASSERT_EQ(Run(arguments), 0);
  }
  EXPECT_EQ(Read("one/split.csv"), Read("two/split.csv"));
  const auto read = ReadDataset(Path("one"));
  ASSERT_TRUE(read.ok()) << read.status();
  const DatasetSummary summary = SummariseDataset(*read);
  EXPECT_EQ(summary.train, 4u);
  EXPECT_EQ(summary.validation, 2u);
  EXPECT_EQ(summary.test, 2u);
  EXPECT_EQ(read->attributes.split[8], Split::kNone);
  EXPECT_EQ(read->attributes.split[9], Split::kNone);
  EXPECT_NE(*DrawSplit(std::vector<int32_t>(100, 0), 1), *DrawSplit(std::vector<int32_t>(100, 0), 2));
}

TEST_F(DatasetFilesTest, ConvertRefusesToDrawASplitOfNothingOrBesideAnother) {
  Write("edges.txt", "0 1\n1 2\n");
  Write("labels.csv", "0,1\n1,0\n2,1\n");
  const std::vector<std::string> convert = {"dataset",        "convert", Path("edges.txt"), "--output", Path("x"),
                                            "--random-split", "7"};
  EXPECT_EQ(Run(convert), 2);
  std::vector<std::string> labelled = convert;
  labelled.insert(labelled.end(), {"--labels", Path("labels.csv")});
  testing::internal::CaptureStderr();
  EXPECT_EQ(Run(labelled), 3);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("labels.csv: 3 nodes have a label: a split needs 4"));
  EXPECT_FALSE(std::filesystem::exists(Path("x/edges.csv")));
  labelled.insert(labelled.end(), {"--split", Path("labels.csv")});
  EXPECT_EQ(Run(labelled), 2);
}

TEST_F(DatasetFilesTest, TheFirstArgumentMayBeAnOptionIsNeededOnceAndListedOnce) {
  ASSERT_TRUE(WriteDataset(dataset_, Path("set")).ok());
  EXPECT_EQ(Run({"dataset", "info", Path("set")}), 0);
  EXPECT_EQ(Run({"dataset", "info", "--dataset", Path("set")}), 0);
  EXPECT_THROW(Run({"dataset", "info"}), CLI::RequiredError);
  EXPECT_THROW(Run({"dataset", "convert", "--output", Path("x")}), CLI::RequiredError);
  EXPECT_THROW(Run({"dataset", "info", Path("set"), "--dataset", Path("set")}), CLI::ExcludesError);
  CLI::App app;
  std::function<int()> command;
  AddDatasetCommand(app, &command);
  const std::string help = app.get_subcommand("dataset")->get_subcommand("info")->help();
  EXPECT_THAT(help, HasSubstr("dataset REQUIRED"));
  EXPECT_THAT(help, testing::Not(HasSubstr("--dataset")));
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
  EXPECT_EQ(Run({"dataset", "generate", "--nodes", "50", "--features", "40", "--words-per-node", "5", "--output",
                 Path("made")}),
            0);
  EXPECT_EQ(Run({"dataset", "info", Path("made"), "--json"}), 0);
  EXPECT_EQ(Run({"dataset", "generate", "--output", Path("made")}), static_cast<int>(ExitCode::kBadInput));
  EXPECT_EQ(Run({"dataset", "generate", "--nodes", "2", "--output", Path("other")}),
            static_cast<int>(ExitCode::kUsage));
  EXPECT_EQ(Run({"dataset", "info", Path("nothing")}), static_cast<int>(ExitCode::kBadInput));
  EXPECT_EQ(Run({"dataset", "shard", "--dataset", Path("made"), "--out", Path("nothing")}),
            static_cast<int>(ExitCode::kBadInput));
  EXPECT_EQ(Run({"dataset", "convert", Path("made/edges.csv"), "--output", Path("converted")}), 0);
}

}  // namespace
}  // namespace blink
