#include "tools/dataset/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/graph/npy_array.h"
#include "common/graph/numpy_file.h"
#include "tests/testing/temp_folder.h"
#include "tests/unit/tools/dataset/run_command.h"
#include "tools/dataset/files.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ConvertTest : public testing::FolderTest {
 protected:
  ConvertTest() {
    options_.input = Path("edges");
    options_.output = Path("set");
  }
  void WriteDense(const std::string& name, uint32_t cols, std::vector<float> values) {
    const FeatureMatrix matrix{.rows = static_cast<uint32_t>(values.size() / cols), .cols = cols, .values = values};
    ASSERT_TRUE(WriteDenseNpy(matrix, Path(name)).ok());
  }
  // Sets an option to a file of this content.
  std::string Given(const std::string& name, absl::string_view content) {
    Write(name, content);
    return Path(name);
  }
  // Converts, and reads the folder as any program would.
  Dataset Convert() {
    std::filesystem::remove_all(options_.output);
    auto converted = ConvertToDataset(options_);
    EXPECT_TRUE(converted.ok()) << converted.status();
    if (!converted.ok()) return {};
    report_ = converted->report;
    auto read = ReadDataset(options_.output);
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? *std::move(read) : Dataset();
  }
  // The message of a refusal, which leaves nothing behind.
  std::string Refusal() {
    std::filesystem::remove_all(options_.output);
    const absl::Status status = ConvertToDataset(options_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      EXPECT_FALSE(entry.is_directory()) << entry.path() << " was left behind";
    }
    return std::string(status.message());
  }
  ConvertOptions options_;
  ConvertReport report_;
};

TEST_F(ConvertTest, TakesNamesLabelsAndASplitAlong) {
  Write("edges", "anna\tbert\nbert\tcarl\n");
  options_.labels = Given("labels", "node,label\nbert,1\nanna,0\ncarl,1\n");
  options_.split = Given("split", "node,split\nanna,train\nbert,val\ncarl,test\n");
  const Dataset read = Convert();
  EXPECT_EQ(read.attributes.ids, (std::vector<std::string>{"anna", "bert", "carl"}));
  EXPECT_EQ(read.attributes.labels, (std::vector<int32_t>{0, 1, 1}));
  EXPECT_TRUE(read.graph.HasLink(1, 2));
}

TEST_F(ConvertTest, KeepsIdsThatNeedQuotationMarks) {
  Write("edges", "\"Smith, John\",\"5\"\" pipe\"\n\"5\"\" pipe\",#tag\n");
  EXPECT_EQ(Convert().attributes.ids, (std::vector<std::string>{"Smith, John", "5\" pipe", "#tag"}));
}

TEST_F(ConvertTest, KeepsNodesThatHaveALabelButNoLinkAndTakesAnyHeader) {
  Write("edges", "from,to\n0,2\n2,4\n");
  options_.labels = Given("labels", "\xEF\xBB\xBFid,target\r\n4,1\r\n0,0\r\n1,1\r\n3,-1\r\n2,0\r\n");
  options_.split = Given("split", "0,train\n1,val\n2,test\n3,none\n4,train\n");
  const Dataset read = Convert();
  EXPECT_THAT(report_.notes, Contains(HasSubstr("2 nodes have a label but no link")));
  EXPECT_FALSE(report_.renumbered) << "with them, ids are 0 .. n-1";
  EXPECT_EQ(read.graph.DegreeOf(1), 0u);
  EXPECT_EQ(read.attributes.labels, (std::vector<int32_t>{0, 1, 0, -1, 1}));
}

TEST_F(ConvertTest, NodesWithoutALabelGetMinusOneAndAreCounted) {
  Write("edges", "0 1\n1 2\n2 3\n");
  options_.labels = Given("labels", "1,0\n3,1\n");
  options_.split = Given("split", "1,train\n3,val\n");
  EXPECT_EQ(Convert().attributes.labels, (std::vector<int32_t>{-1, 0, -1, 1}));
  EXPECT_THAT(report_.notes, Contains(HasSubstr("2 of 4 nodes have no label")));
}

TEST_F(ConvertTest, ReadsLabelsInEveryForm) {
  Write("edges", "0 1\n1 2\n2 3\n");
  const std::pair<std::string, std::vector<std::string>> forms[] = {
      {"0,1\n1,2\n2,1\n", {"1", "2"}},
      {"0\t1\n1\t2\n2\t1\n", {"1", "2"}},
      {"0 7\n1 9\n2 7\n3 nan\n", {"7", "9"}},
      {"0;0\n1;1\n2;0\n", {}},
      {"node,label\n0,0.0\n1,1.0\n2,0.0\n3,\n", {}},
      {"# made by hand\nid,mature\n0,False\n1,True\n2,False\n", {"False", "True"}},
      {"0,blue\n1,red\n2,blue\n3,?\n", {"blue", "red"}},
      {"\"0\",\"a, b\"\n\"1\",\"c\"\n\"2\",\"a, b\"\n", {"a, b", "c"}},
      {"id,days,label\n0,5,x\n1,6,y\n2,7,x\n", {"x", "y"}}};
  for (const auto& [text, names] : forms) {
    options_.labels = Given("labels", text);
    const NodeAttributes attributes = Convert().attributes;
    EXPECT_EQ(attributes.labels, (std::vector<int32_t>{0, 1, 0, -1})) << text;
    EXPECT_EQ(attributes.class_count, 2u) << text;
    EXPECT_EQ(attributes.class_names, names) << text;
  }
  options_.labels = Given("labels", "id,page,kind\n0,x,b\n1,y,a\n");
  options_.label_columns = {"id", "kind"};
  EXPECT_EQ(Convert().attributes.class_names, (std::vector<std::string>{"a", "b"}));
}

TEST_F(ConvertTest, NamesTheLineOfAWrongLabel) {
  Write("edges", "0,1\n1,2\n");
  const std::pair<const char*, const char*> cases[] = {
      {"0,0\n1,-2\n", "labels, line 2: the label -2 is negative"},
      {"0,red\n1,-7\n", "labels, line 2: the label -7 is negative"},
      {"0,0\n1,2000000000\n", "labels, line 2: the label 2000000000 is above 9999"},
      {"0,0.5\n1,1\n", "labels, line 1: the label 0.5 is a fraction"},
      {"0,0\n1,1\n0,0\n", "labels, line 3: node \"0\" stands twice, first on line 1"},
      {"0,0\n1,1\n1\n", "labels, line 3: expected an id and a label"},
      {"0,0\n,1\n", "labels, line 2: an id is empty"},
      {"0,0\nx,1\n", "labels, line 2: the id \"x\" is no integer"},
      {"id,days,new_id\n7,3,0\n", "labels, line 1: expected an id and a label"},
      {"7,0\n8,1\n", "labels: no id of it is in "},
      {"0\n1\n0\n", "line 1: expected an id and a label a line, found one field (0)"},
      {"0,a\n1,M\xfcller\n", "labels, line 2: the label is not UTF-8"},
      {"0,a\n1,b\x01\n", "labels, line 2: the label holds a control character"},
      {"0,a\n\xff,b\n", "labels, line 2: the id is not UTF-8"},
      {"0,-1\n1,nan\n", "labels: no node has a known label"},
      {"", "labels holds no row"},
      {"id,label\n", "labels holds no row"},
      {"[[0, 1]]", "labels is JSON"}};
  for (const auto& [text, expected] : cases) {
    options_.labels = Given("labels", text);
    EXPECT_THAT(Refusal(), HasSubstr(expected)) << text;
  }
  options_.labels = Given("labels", "0," + std::string(300, 'x') + "\n");
  EXPECT_THAT(Refusal(), HasSubstr("line 1: the name of a class has more than 256 bytes"));
}

TEST_F(ConvertTest, ReadsSplitsInEverySpelling) {
  Write("edges", "0 1\n1 2\n2 3\n");
  const std::vector<Split> expected = {Split::kTrain, Split::kValidation, Split::kTest, Split::kNone};
  for (const char* text :
       {"0,train\n1,val\n2,test\n3,none\n", "0 Training\n1 VALID\n2 Testing\n",
        "node,fold\n0,train\n1,validation\n2,test\n3,\n", "id\tsplit\n0\ttrain\n1\tdev\n2\ttest\n",
        "node,train_mask,val_mask,test_mask\n0,True,False,False\n1,false,true,false\n2,0,0,1\n3,0,0,0\n",
        "node,train,valid,test\n0,1,0,0\n1,0,1,0\n2,0,0,1\n", "ID,IsTrain,IsVal,IsTest\n0,1,0,0\n1,0,1,0\n2,0,0,1\n",
        "id,train_mask_0,val_mask_0,test_mask_0\n0,1,0,0\n1,0,1,0\n2,0,0,1\n"}) {
    options_.split = Given("split", text);
    EXPECT_EQ(Convert().attributes.split, expected) << text;
  }
}

TEST_F(ConvertTest, TakesTheMasksOfOneSplitOfSeveral) {
  Write("edges", "0 1\n1 2\n");
  options_.split =
      Given("split", "id,train_mask_0,val_mask_0,train_mask_1,val_mask_1\n0,1,0,0,1\n1,0,1,0,0\n2,0,0,1,0\n");
  options_.split_columns = {"id", "train_mask_1", "val_mask_1"};
  EXPECT_EQ(Convert().attributes.split, (std::vector<Split>{Split::kValidation, Split::kNone, Split::kTrain}));
}

TEST_F(ConvertTest, NamesTheLineOfAWrongSplit) {
  Write("edges", "0,1\n1,2\n");
  const std::pair<const char*, const char*> cases[] = {
      {"0,train\n1,later\n", "split, line 2: \"later\" is no split"},
      {"0,train1\n1,val\n", "split, line 1: \"train1\" is no split"},
      {"0,train\n9,val\n", "split, line 2: neither the edge list nor the labels have node \"9\""},
      {"0,train\n0,val\n", "split, line 2: node \"0\" stands twice"},
      {"node,train_mask,val_mask\n0,1,1\n", "split, line 2: node 0 is in two parts"},
      {"id,train_mask_0,val_mask_0,train_mask_1\n0,1,0,0\n", "train_mask_0 and train_mask_1 are of one part: choose"},
      {"0\n1\n", "split, line 1: expected an id and a split a line, found one field (0)"},
      {"node,train_mask,val_mask\n0,1,maybe\n", "split, line 2: \"maybe\" is neither true nor false"},
      {"", "split holds no row"}};
  for (const auto& [text, expected] : cases) {
    options_.split = Given("split", text);
    EXPECT_THAT(Refusal(), HasSubstr(expected)) << text;
  }
}

TEST_F(ConvertTest, KnowsWordsForAnUnknownLabel) {
  Write("edges", "0 1\n1 2\n2 3\n");
  for (const char* word : {"unknown", "Unknown", "unlabelled", "UNLABELED", "NA", "?"}) {
    options_.labels = Given("labels", absl::StrCat("txId,class\n0,", word, "\n1,2\n2,1\n3,", word, "\n"));
    EXPECT_EQ(Convert().attributes.labels, (std::vector<int32_t>{-1, 1, 0, -1})) << word;
    EXPECT_THAT(report_.notes, Contains(HasSubstr("2 of 4 nodes have no label")));
  }
}

TEST_F(ConvertTest, WarnsWhereOneClassIsLeftBesideMinusOne) {
  Write("edges", "0 1\n1 2\n");
  options_.labels = Given("labels", "0,-1\n1,1\n2,-1\n");
  Convert();
  EXPECT_THAT(report_.warnings, Contains(HasSubstr("-1 stands for an unknown label")));
}

TEST_F(ConvertTest, WarnsWhereOneFileBeginsAtZeroAndAnotherAtOne) {
  const auto is_warned = [&](const char* edges, const char* labels) {
    Write("edges", edges);
    options_.labels = Given("labels", labels);
    Convert();
    return std::any_of(report_.warnings.begin(), report_.warnings.end(),
                       [](const std::string& warning) { return absl::StrContains(warning, "begin at 0"); });
  };
  EXPECT_TRUE(is_warned("0 1\n1 2\n", "1,5\n2,6\n3,5\n"));
  EXPECT_TRUE(is_warned("1 2\n2 3\n", "2,5\n0,6\n1,5\n"));
  EXPECT_FALSE(is_warned("0 1\n1 2\n", "0,5\n1,6\n2,5\n"));
  EXPECT_FALSE(is_warned("0 1\n1 2\n", "0,5\n1,6\n2,5\n3,5\n")) << "one more node";
  EXPECT_FALSE(is_warned("0 1\n1 5\n", "1,5\n5,6\n6,5\n")) << "not all";
  EXPECT_FALSE(is_warned("a b\nb c\n", "b,5\nc,6\nd,5\n"));
}

TEST_F(ConvertTest, WarnsOfOneClassAndOfTrainingNodesWithoutALabel) {
  Write("edges", "0,1\n1,2\n");
  options_.labels = Given("labels", "0,4\n1,4\n");
  options_.split = Given("split", "0,train\n2,train\n");
  Convert();
  EXPECT_THAT(report_.warnings, Contains(HasSubstr("one class")));
  EXPECT_THAT(report_.warnings, Contains(HasSubstr("1 of 2 nodes of the training split have no label")));
  EXPECT_THAT(report_.warnings, Contains(HasSubstr("no node is in the part \"val\"")));
}

TEST_F(ConvertTest, FeaturesFollowTheirIds) {
  Write("edges", "30,10\n10,20\n");
  WriteDense("x.npy", 2, {30, 1, 10, 2, 20, 3});
  options_.features = Path("x.npy");
  options_.feature_ids = Given("ids", "30\n10\n20\n");
  const std::vector<float> expected = {10, 2, 20, 3, 30, 1};
  EXPECT_EQ(Convert().attributes.features.values, expected);
  options_.feature_ids = Given("ids", "number,id\n1,30\n2,10\n3,20\n");
  EXPECT_EQ(Convert().attributes.features.values, expected);
  const int8_t numbers[] = {30, 10, 20};
  const uint32_t letters[] = {'3', '0', '1', '0', '2', '0'};
  for (const std::string& ids : {NpyBytes("|i1", {3}, numbers, 3), NpyBytes("<U2", {3, 1}, letters, 24)}) {
    options_.feature_ids = Given("ids", ids);
    EXPECT_EQ(Convert().attributes.features.values, expected);
  }
  options_.feature_ids.clear();
  for (const char* text : {"30,30,1\n10,10,2\n20,20,3\n", "id\ta\tb\n20\t20\t3\n30\t30\t1\n10\t10\t2\n"}) {
    options_.features = Given("x.csv", text);
    EXPECT_EQ(Convert().attributes.features.values, expected);
  }
  const FeatureMatrix sparse{
      .rows = 3, .cols = 2, .sparse = true, .row_offsets = {0, 1, 1, 2}, .columns = {1, 0}, .values = {5, 6}};
  ASSERT_TRUE(WriteSparseNpz(sparse, Path("x.npz")).ok());
  options_.features = Path("x.npz");
  options_.feature_ids = Given("ids", "30\n10\n20\n");
  const FeatureMatrix read = Convert().attributes.features;
  EXPECT_EQ(read.row_offsets, (std::vector<int64_t>{0, 0, 1, 2}));
  EXPECT_EQ(read.values, (std::vector<float>{6, 5}));
}

TEST_F(ConvertTest, AMarkInFeaturesWithoutIdsBeginsAComment) {
  Write("edges", "0,1\n1,2\n");
  options_.feature_ids = Given("ids", "0\n1\n2\n");
  for (const char* text : {"#1,2\n0,1\n1,1\n2,1\n", "0,1\n #,\n1,1\n2,1\n", "0,1\n1,1\n%2,1\n2,1\n"}) {
    options_.features = Given("x.csv", text);
    EXPECT_EQ(Convert().attributes.features.values, (std::vector<float>{0, 1, 1, 1, 2, 1})) << text;
  }
  options_.features = Given("x.csv", "#0,1\n#1,1\n");
  EXPECT_THAT(Refusal(), HasSubstr("x.csv holds no row"));
}

TEST_F(ConvertTest, FeaturesWithoutIdsAreRefusedWhereIdsWereRenumbered) {
  Write("edges", "carl,anna\nanna,bert\n");
  WriteDense("x.npy", 1, {1, 2, 3});
  options_.features = Path("x.npy");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("x.npy"), HasSubstr("--feature-ids"), HasSubstr("--row-order")));
  options_.row_order = RowOrder::kAsIs;
  EXPECT_EQ(Convert().attributes.features.values, (std::vector<float>{1, 2, 3}));
  options_.row_order = RowOrder::kIdsSorted;  // anna, bert, carl
  EXPECT_EQ(Convert().attributes.features.values, (std::vector<float>{3, 1, 2}));
  Write("edges", "0,1\n1,2\n");
  options_.row_order = RowOrder::kUnknown;
  EXPECT_EQ(Convert().attributes.features.values, (std::vector<float>{1, 2, 3})) << "ids are the numbers of the rows";
}

TEST_F(ConvertTest, RefusesFeaturesThatDoNotFit) {
  Write("edges", "0,1\n1,2\n");
  WriteDense("x.npy", 1, {1, 2, 3, 4});
  options_.features = Path("x.npy");
  EXPECT_THAT(Refusal(), HasSubstr("has 4 rows, but there are 3 nodes"));
  options_.feature_ids = Given("ids", "0\n1\n2\n");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("holds 3 ids"), HasSubstr("has 4 rows")));
  options_.feature_ids = Given("ids", "0\n1\n2\n1\n");
  EXPECT_THAT(Refusal(), HasSubstr("ids, line 4: node \"1\" stands twice, first on line 2"));
  const uint32_t empty[] = {'0', '1', 0, '2'};
  options_.feature_ids = Given("ids", NpyBytes("<U1", {4}, empty, 16));
  EXPECT_THAT(Refusal(), HasSubstr("ids, line 3: the id is empty"));
  options_.feature_ids = Given("ids", NpyBytes("<U1", {2, 2}, empty, 16));
  EXPECT_THAT(Refusal(), HasSubstr("ids has 2 dimensions"));
  options_.feature_ids.clear();
  const std::pair<const char*, const char*> cases[] = {
      {"0,1\n1,nan\n2,3\n", "line 2: column 2 is NaN"},
      {"0,1\n1,2\n2,-inf\n", "line 3: column 2 is infinite"},
      {"0,1\n1,1e99\n2,2\n", "line 2: column 2 is infinite or too large"},
      {"0,1\n1,red\n2,2\n", "line 2: column 2 is \"red\""},
      {"0,1\n1,\n2,2\n", "line 2: column 2 is \"\""},
      {"0,1,2\n1,1\n", "line 2: expected an id and numbers"},
      {"0\n1\n2\n", "line 1: expected an id and numbers"}};
  for (const auto& [text, expected] : cases) {
    options_.features = Given("x.csv", text);
    EXPECT_THAT(Refusal(), HasSubstr(expected)) << text;
  }
}

TEST_F(ConvertTest, NodesWithoutFeaturesHaveZerosAndAreTold) {
  Write("edges", "0,1\n1,2\n");
  options_.features = Given("x.csv", "2,5\n0,4\n");
  const FeatureMatrix features = Convert().attributes.features;
  EXPECT_EQ(features.rows, 3u);
  EXPECT_THAT(report_.warnings, Contains(HasSubstr("1 of 3 nodes have no row")));
}

TEST_F(ConvertTest, AddsNodesThatHaveNoLink) {
  Write("edges", "0,1\n4,3\n");
  options_.nodes = 7;
  EXPECT_EQ(Convert().graph.node_count(), 7u);
  EXPECT_FALSE(report_.renumbered);
  options_.nodes = 3;
  EXPECT_THAT(Refusal(), HasSubstr("--nodes 3: there are 4 nodes"));
  options_.nodes.reset();
  Write("edges", "6 3\n0 1\n1 2\n2 4\n");
  EXPECT_EQ(Convert().graph.node_count(), 6u);
  EXPECT_THAT(report_.notes, Contains(HasSubstr("(6 3) holds the counts")));
}

TEST_F(ConvertTest, TellsWhatItSkipped) {
  Write("edges", "# SNAP\nsource,target,weight\n0,1,7\n\n1,2,7\n");
  Convert();
  EXPECT_THAT(report_.notes, Contains(AllOf(HasSubstr("skipped 1 comment line, the first is line 1 \"# SNAP\""),
                                            HasSubstr("skipped 1 empty line"), HasSubstr("line 2 is a header"),
                                            HasSubstr("not used: column weight"))));
}

TEST_F(ConvertTest, SaysWhenTheFirstLineMayBeAHeader) {
  Write("edges", "person,friend\nanna,bert\nbert,carl\n");
  Convert();
  EXPECT_THAT(report_.warnings, Contains(HasSubstr("--columns")));
  options_.columns = {"person", "friend"};
  EXPECT_EQ(Convert().graph.node_count(), 3u);
  EXPECT_THAT(report_.warnings, IsEmpty());
  options_.columns.clear();
  Write("edges", "carl,bert\nanna,bert\n");
  Convert();
  EXPECT_THAT(report_.warnings, IsEmpty());
}

TEST_F(ConvertTest, RefusesTooSmallAGraphAndAFolderInUse) {
  for (const char* text : {"", "# nothing\n", "0,1\n"}) {
    Write("edges", text);
    EXPECT_THAT(Refusal(), HasSubstr("at least 3 are needed")) << text;
  }
  Write("edges", "0,1\n1,2\n");
  std::filesystem::create_directories(Path("set"));
  EXPECT_TRUE(ConvertToDataset(options_).ok()) << "an empty folder";
  EXPECT_THAT(std::string(ConvertToDataset(options_).status().message()), HasSubstr("exists already"));
}

TEST_F(ConvertTest, AMissingFileIsNotFoundAndLeavesNothing) {
  EXPECT_EQ(ConvertToDataset(options_).status().code(), absl::StatusCode::kNotFound);
  Write("edges", "0,1\n1,2\n");
  options_.labels = Path("missing");
  EXPECT_EQ(ConvertToDataset(options_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(options_.output));
}

TEST_F(ConvertTest, SuggestsTheFileBesideAMistypedInput) {
  for (const char* name : {"links.csv", "classes.csv", "parts.csv", "words.csv", "papers.csv"})
    Write(name, "0,1\n1,2\n");
  const auto refusal = [&](std::vector<std::string> inputs) {
    inputs.insert(inputs.begin(), {"dataset", "convert"});
    inputs.insert(inputs.end(), {"--output", Path("set")});
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(RunDatasetCommand(inputs), 3);
    return ::testing::internal::GetCapturedStderr();
  };
  const auto suggests = [&](const char* name) { return HasSubstr(absl::StrCat(": did you mean ", Path(name), "?\n")); };
  EXPECT_THAT(refusal({Path("lniks.csv")}), suggests("links.csv"));
  EXPECT_THAT(refusal({Path("links.csv"), "--labels", Path("class.csv")}), suggests("classes.csv"));
  EXPECT_THAT(refusal({Path("links.csv"), "--split", Path("part.csv")}), suggests("parts.csv"));
  EXPECT_THAT(refusal({Path("links.csv"), "--features", Path("word.csv")}), suggests("words.csv"));
  EXPECT_THAT(refusal({Path("links.csv"), "--features", Path("words.csv"), "--feature-ids", Path("paper.csv")}),
              suggests("papers.csv"));
  EXPECT_THAT(refusal({Path("lniks.csv"), "--labels", Path("class.csv")}), suggests("links.csv")) << "of the one named";
  EXPECT_THAT(refusal({Path("quite-another")}), Not(HasSubstr("did you mean")));
}

TEST_F(ConvertTest, RefusesFlagsThatContradictEachOther) {
  const auto refused = [&](void (*change)(ConvertOptions&), const char* flag) {
    ConvertOptions options = options_;
    change(options);
    EXPECT_THAT(std::string(CheckConvertOptions(options).message()), HasSubstr(flag));
  };
  refused([](ConvertOptions& o) { o.feature_ids = "x"; }, "--feature-ids");
  refused([](ConvertOptions& o) { o.row_order = RowOrder::kAsIs; }, "--row-order");
  refused([](ConvertOptions& o) { o.features = o.feature_ids = "x", o.row_order = RowOrder::kAsIs; }, "--row-order");
  refused([](ConvertOptions& o) { o.label_columns = {"1"}; }, "--label-columns");
  refused(
      [](ConvertOptions& o) {
        o.attributes.label_attribute = "age";
        o.attributes.feature_attributes = {"sex", "age"};
      },
      "--feature-attributes both name age");
  refused([](ConvertOptions& o) { o.split_columns = {"1"}; }, "--split-columns");
  refused([](ConvertOptions& o) { o.feature_id_column = {"1"}; }, "--feature-id-column");
  refused([](ConvertOptions& o) { o.input = o.labels = "-"; }, "standard input");
  refused([](ConvertOptions& o) { o.comment = "xx"; }, "--comment");
}

TEST_F(ConvertTest, ConvertDrawsASplitOfTheLabelledNodes) {
  Write("edges.txt", "0 1\n1 2\n2 3\n3 4\n4 5\n5 6\n6 7\n7 8\n8 9\n");
  Write("labels.csv", "0,1\n1,0\n2,1\n3,0\n4,1\n5,0\n6,1\n7,0\n8,-1\n9,-1\n");
  const std::vector<std::string> convert = {
      "dataset", "convert", Path("edges.txt"), "--labels", Path("labels.csv"), "--random-split", "7"};
  for (const char* name : {"one", "two"}) {
    std::vector<std::string> arguments = convert;
    arguments.insert(arguments.end(), {"--output", Path(name)});
    ASSERT_EQ(RunDatasetCommand(arguments), 0);
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

TEST_F(ConvertTest, ConvertRefusesToDrawASplitOfNothingOrBesideAnother) {
  Write("edges.txt", "0 1\n1 2\n");
  Write("labels.csv", "0,1\n1,0\n2,1\n");
  const std::vector<std::string> convert = {"dataset",        "convert", Path("edges.txt"), "--output", Path("x"),
                                            "--random-split", "7"};
  EXPECT_EQ(RunDatasetCommand(convert), 3);
  std::vector<std::string> labelled = convert;
  labelled.insert(labelled.end(), {"--labels", Path("labels.csv")});
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(RunDatasetCommand(labelled), 3);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("labels.csv: 3 nodes have a label: a split needs 4"));
  EXPECT_FALSE(std::filesystem::exists(Path("x/edges.csv")));
  Write("labels.csv", "0,-1\n1,-1\n");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(RunDatasetCommand(labelled), 3);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("leave --labels and --random-split out"));
  labelled.insert(labelled.end(), {"--split", Path("labels.csv")});
  EXPECT_EQ(RunDatasetCommand(labelled), 2);
}

}  // namespace
}  // namespace blink
