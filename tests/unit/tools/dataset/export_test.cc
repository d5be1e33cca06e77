#include "tools/dataset/export/export.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "tests/testing/places.h"
#include "tests/unit/tools/dataset/import/fixture.h"
#include "tests/unit/tools/dataset/run_command.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Dataset Sample(bool sparse, bool named) {
  Dataset dataset;
  dataset.graph = *CsrGraph::FromLinks(5, {{0, 1}, {1, 2}, {2, 3}});  // node 4 has no link
  NodeAttributes& attributes = dataset.attributes;
  attributes = NodeAttributes::OfNothing(5);
  attributes.labels = {0, 1, -1, 1, 0};
  attributes.class_count = 2;
  attributes.split = {Split::kTrain, Split::kValidation, Split::kNone, Split::kTest, Split::kTrain};
  if (named) {
    attributes.ids = {"Smith, \"John\" & <co>", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x9f", "7", "'x'", "#y"};
    attributes.class_names = {"red & blue", "\xc3\xbc"};
  }
  // The last column is 0 for all nodes.
  FeatureMatrix dense{.rows = 5, .cols = 3, .values = {0.1f, 0, 0, 0, -2.5f, 0, 1e-7f, 3e8f, 0, 0, 0, 0, 1, 1, 0}};
  if (!sparse) {
    attributes.features = dense;
    return dataset;
  }
  attributes.features = {.rows = 5,
                         .cols = 3,
                         .sparse = true,
                         .row_offsets = {0, 1, 2, 4, 4, 6},
                         .columns = {0, 1, 0, 1, 0, 1},
                         .values = {0.1f, -2.5f, 1e-7f, 3e8f, 1, 1}};
  return dataset;
}

void ExpectSame(const Dataset& read, const Dataset& dataset) {
  EXPECT_EQ(LinksOf(read.graph), LinksOf(dataset.graph));
  EXPECT_EQ(read.graph.node_count(), dataset.graph.node_count());
  EXPECT_EQ(read.attributes.labels, dataset.attributes.labels);
  EXPECT_EQ(read.attributes.split, dataset.attributes.split);
  EXPECT_EQ(Values(read), Values(dataset));
  EXPECT_EQ(read.attributes.features.cols, dataset.attributes.features.cols);
}

class ExportTest : public ImportTest {};

TEST_F(ExportTest, NpzAndGraphMlKeepEverything) {
  for (const bool sparse : {false, true}) {
    for (const bool named : {false, true}) {
      const Dataset dataset = Sample(sparse, named);
      ASSERT_TRUE(ExportNpz(dataset, Path("graph.npz")).ok());
      ASSERT_TRUE(ExportGraphMl(dataset, Path("graph.graphml")).ok());
      for (const char* name : {"graph.npz", "graph.graphml"}) {
        const Dataset read = Convert(name);
        ExpectSame(read, dataset);
        EXPECT_EQ(read.attributes.ids, dataset.attributes.ids) << name;
        EXPECT_EQ(read.attributes.class_names, dataset.attributes.class_names) << name;
      }
    }
  }
}

TEST_F(ExportTest, NodesWithNumbersAsNamesKeepTheirOrder) {
  Dataset dataset = Sample(true, true);
  dataset.attributes.ids = {"31336", "40", "7", "1061127", "5"};
  ASSERT_TRUE(ExportNpz(dataset, Path("graph.npz")).ok());
  ASSERT_TRUE(ExportGraphMl(dataset, Path("graph.graphml")).ok());
  for (const char* name : {"graph.npz", "graph.graphml"}) {
    const Dataset read = Convert(name);
    ExpectSame(read, dataset);
    EXPECT_EQ(read.attributes.ids, dataset.attributes.ids) << name;
  }
}

// Other programs read no element of another namespace.
TEST_F(ExportTest, GraphMlIsInItsNamespace) {
  ASSERT_TRUE(ExportGraphMl(Sample(true, true), Path("graph.graphml")).ok());
  EXPECT_THAT(*ReadFile(Path("graph.graphml"), 1 << 20),
              HasSubstr("<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">"));
}

TEST_F(ExportTest, GraphMlRefusesNamesThatXmlCannotHold) {
  Dataset dataset = Sample(true, true);
  dataset.attributes.class_names[1] = "a\x02";
  EXPECT_THAT(std::string(ExportGraphMl(dataset, Path("graph.graphml")).message()),
              HasSubstr("name 1 (from 0) of classes.txt holds a control character"));
  dataset = Sample(true, true);
  dataset.attributes.ids[3] = "caf\xe9";
  EXPECT_THAT(std::string(ExportGraphMl(dataset, Path("graph.graphml")).message()),
              HasSubstr("name 3 (from 0) of nodes.csv is not UTF-8"));
  EXPECT_FALSE(std::filesystem::exists(Path("graph.graphml")));
}

TEST_F(ExportTest, OgbKeepsEverythingButNames) {
  for (const bool sparse : {false, true}) {
    std::filesystem::remove_all(folder_ + "/in");
    ASSERT_TRUE(ExportOgb(Sample(sparse, true), folder_ + "/in").ok());
    ExpectSame(Convert(), Sample(sparse, true));
  }
}

TEST_F(ExportTest, TheSameDataGiveTheSameFile) {
  ASSERT_TRUE(ExportTorch(Sample(true, true), Path("one")).ok());
  ASSERT_TRUE(ExportTorch(Sample(false, true), Path("two")).ok());
  EXPECT_EQ(*ReadFile(Path("one"), 1 << 20), *ReadFile(Path("two"), 1 << 20));
}

TEST_F(ExportTest, TorchReadsTheTensorsWithWeightsOnly) {
  if (testing::TorchParent().empty()) GTEST_SKIP() << "built without LibTorch";
  ASSERT_TRUE(ExportTorch(Sample(true, true), Path("graph.pt")).ok());
  Write("check.py", R"(
import sys, torch
d = torch.load(sys.argv[1], weights_only=True)
assert sorted(d) == ["edge_index", "test_mask", "train_mask", "val_mask", "x", "y"], sorted(d)
assert d["edge_index"].tolist() == [[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]], d["edge_index"]
assert d["x"].dtype == torch.float32 and d["x"].shape == (5, 3), d["x"]
assert torch.equal(d["x"][2], torch.tensor([1e-7, 3e8, 0.0])) and d["x"][1, 1] == -2.5, d["x"]
assert d["y"].dtype == torch.int64 and d["y"].tolist() == [0, 1, -1, 1, 0], d["y"]
assert d["train_mask"].dtype == torch.bool and d["train_mask"].tolist() == [True, False, False, False, True]
assert d["val_mask"].tolist() == [False, True, False, False, False] and d["test_mask"].sum() == 1
d["x"] += 1  # the tensor owns its memory
)");
  const std::string command = absl::StrCat(testing::InSources("tests/testing/python_with_torch"), " ",
                                           testing::TorchParent(), " ", Path("check.py"), " ", Path("graph.pt"));
  const int ended = std::system(command.c_str());
  if (WIFEXITED(ended) && WEXITSTATUS(ended) == 77) GTEST_SKIP() << "python3 cannot import torch here";
  EXPECT_EQ(ended, 0);
}

TEST_F(ExportTest, DenseFormsRefuseFeaturesThatNeedTooMuchMemory) {
  Dataset dataset = Sample(true, false);
  dataset.attributes.features.cols = 2'000'000'000;
  for (const absl::Status& status : {ExportTorch(dataset, Path("graph.pt")), ExportOgb(dataset, Path("graph"))}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("are 10000000000 values"), HasSubstr("choose --format npz")));
  }
}

TEST_F(ExportTest, TheCommandWritesEveryFormAndReplacesNothing) {
  std::filesystem::create_directories(Path("set"));
  ASSERT_TRUE(WriteDataset(Sample(true, true), Path("set")).ok());
  for (const char* format : {"npz", "graphml", "ogb", "torch"}) {
    const std::string output = Path(std::string("out.") + format);
    const std::vector<std::string> command = {"dataset", "export", Path("set"), "--format", format, "--output", output};
    EXPECT_EQ(RunDatasetCommand(command), 0) << format;
    EXPECT_TRUE(std::filesystem::exists(output));
    EXPECT_EQ(RunDatasetCommand(command), 3) << format;
  }
  EXPECT_THROW(RunDatasetCommand({"dataset", "export", Path("set"), "--format", "xlsx", "--output", Path("o")}),
               CLI::ParseError);
  EXPECT_EQ(RunDatasetCommand({"dataset", "export", Path("none"), "--format", "npz", "--output", Path("o")}), 3);
  EXPECT_FALSE(std::filesystem::exists(Path("o")));
}

// It would complain of the data set, which is missing, if it read that first.
TEST_F(ExportTest, TheCommandRefusesAPlaceBeforeItReadsTheDataSet) {
  Write("taken", "mine");
  for (const char* format : {"npz", "graphml", "ogb", "torch"}) {
    for (const std::string& output : {Path("taken"), Path("taken") + "/below"}) {
      ::testing::internal::CaptureStderr();
      EXPECT_EQ(RunDatasetCommand({"dataset", "export", Path("none"), "--format", format, "--output", output}), 3);
      EXPECT_THAT(::testing::internal::GetCapturedStderr(), AllOf(HasSubstr(Path("taken")), Not(HasSubstr("none"))))
          << format;
    }
  }
  EXPECT_EQ(*ReadFile(Path("taken"), 100), "mine");
}

}  // namespace
}  // namespace blink
