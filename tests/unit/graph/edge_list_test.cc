#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>

#include "common/base/durable_file.h"
#include "common/graph/dataset.h"

namespace blink {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class EdgeListTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  absl::StatusOr<std::pair<CsrGraph, EdgeListReport>> Read(absl::string_view text) {
    EXPECT_TRUE(WriteFileAtomically(path_, text).ok());
    return ReadEdgeList(path_);
  }
  std::string Error(absl::string_view text) {
    const auto read = Read(text);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << text;
    return std::string(read.status().message());
  }
  std::string path_ = testing::TempDir() + "/edges_" + testing::UnitTest::GetInstance()->current_test_info()->name() +
                      std::to_string(::getpid());
};

TEST_F(EdgeListTest, AllFormsGiveTheSameGraph) {
  for (const std::string text : {"source,target\n0,1\n1,2\n0,3\n", "0,1\n1,2\n0,3\n", "0\t1\r\n1\t2\r\n0\t3\r\n",
                                 "# SNAP\n# FromNodeId\tToNodeId\n0 1\n1  2\n 0   3", "% comment\n\n0;1\n1;2\n0;3\n",
                                 "id_1,id_2\n\"0\",\"1\"\n1,2\n0,3\n", "\xEF\xBB\xBFu,v\n0, 1\n1, 2\n0, 3\n",
                                 "a column,another\n0,1\n1,0\n1,2\n2,1\n0,3\n3,0\n2,2\n"}) {
    const auto read = Read(text);
    ASSERT_TRUE(read.ok()) << read.status() << text;
    EXPECT_FALSE(read->second.mapped) << text;
    EXPECT_EQ(read->first.node_count(), 4u) << text;
    EXPECT_EQ(read->first.link_count(), 3u) << text;
    EXPECT_TRUE(read->first.HasLink(3, 0)) << text;
  }
}

TEST_F(EdgeListTest, CountsWhatItDrops) {
  const auto read = Read("0 1\n1 0\n1 2\n2 2\n1 2\n");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->second.lines, 5u);
  EXPECT_EQ(read->second.duplicates_dropped, 2u);
  EXPECT_EQ(read->second.self_loops_dropped, 1u);
}

TEST_F(EdgeListTest, MapsSparseIdsInTheirOrder) {
  const auto read = Read("1000,20\n20,-3\n");
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->second.mapped);
  EXPECT_EQ(read->second.names, (std::vector<std::string>{"-3", "20", "1000"}));
  EXPECT_TRUE(read->first.HasLink(1, 2));
}

TEST_F(EdgeListTest, MapsNamesAsTheyAppear) {
  const auto read = Read("source\ttarget\nanna\tbert\nbert\tcarl smith\n");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->second.names, (std::vector<std::string>{"anna", "bert", "carl smith"}));
}

TEST_F(EdgeListTest, KeepsAFirstLineOfNamesThatIsNoHeader) {
  const auto read = Read("anna bert\nbert carl\n");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->first.link_count(), 2u);
  EXPECT_EQ(read->second.names, (std::vector<std::string>{"anna", "bert", "carl"}));
}

TEST_F(EdgeListTest, DropsAnUnknownHeaderEvenOfOneName) {
  for (const std::string header : {"node,node\n", "my id,your id\n"}) {
    const auto read = Read(header + "0,1\n1,2\n");
    ASSERT_TRUE(read.ok());
    EXPECT_FALSE(read->second.mapped);
    EXPECT_EQ(read->first.link_count(), 2u);
    EXPECT_EQ(read->second.self_loops_dropped, 0u);
  }
}

TEST_F(EdgeListTest, DoesNotMergeIdsThatAreSpeltDifferently) {
  const auto read = Read("7,07\n07,1\n");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->first.node_count(), 3u);
}

TEST_F(EdgeListTest, ReadsGzip) {
  gzFile file = gzopen(path_.c_str(), "wb");
  for (int i = 0; i < 5000; ++i) gzprintf(file, "%d,%d\n", i, i + 1);
  gzclose(file);
  const auto read = ReadEdgeList(path_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->first.link_count(), 5000u);
}

TEST_F(EdgeListTest, RefusesACutGzipStream) {
  gzFile file = gzopen(path_.c_str(), "wb");
  for (int i = 0; i < 5000; ++i) gzprintf(file, "%d,%d\n", i, i * 7919 % 5000 + 1);
  gzclose(file);
  const std::string bytes = *ReadFile(path_, 1 << 20);
  for (const size_t keep : {bytes.size() / 2, bytes.size() - 4})
    EXPECT_THAT(Error(absl::string_view(bytes).substr(0, keep)), HasSubstr("gzip"));
}

TEST_F(EdgeListTest, NamesTheMalformedLine) {
  EXPECT_THAT(Error("0,1\n1,2\n1\n"), HasSubstr("line 3: expected two ids"));
  EXPECT_THAT(Error("0,1\n1,2,3\n"), HasSubstr("line 2: expected two ids a line, found 3"));
  EXPECT_THAT(Error("0,1\n1 2\n"), HasSubstr("line 2"));
  EXPECT_THAT(Error("0,1\n1,\n"), HasSubstr("line 2: an id is empty"));
  EXPECT_THAT(Error(absl::string_view("0,1\n1,2\0\n", 9)), HasSubstr("line 2"));
  EXPECT_THAT(Error(std::string(200000, 'x')), HasSubstr("line 1"));
}

TEST_F(EdgeListTest, RefusesAStrayNameAmongIntegersInsteadOfRenumberingThem) {
  for (const std::string line : {"2,x3\n", "x3,2\n", "x3,x3\n"}) {
    EXPECT_THAT(Error("0,1\n1,2\n" + line), AllOf(HasSubstr(path_ + ", line 3: the id \"x3\""), HasSubstr("--names")));
    EXPECT_THAT(Error("source,target\n0,1\n" + line + "1,2\n"), HasSubstr("line 3"));
  }
  EXPECT_THAT(Error("0,0\n1,02\n1,2\n"), HasSubstr("line 2: the id \"02\""));
}

TEST_F(EdgeListTest, RefusesALabelOfANameWhereIdsAreIntegers) {
  ASSERT_TRUE(WriteFileAtomically(path_, "0,1\n1,2\n").ok());
  const absl::Status refused = ReadEdgeList(path_, {"1", "3", "x4"}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr(path_), HasSubstr("\"x4\"")));
}

TEST_F(EdgeListTest, TakesNamesThatLookLikeNumbersWhenItIsTold) {
  ASSERT_TRUE(WriteFileAtomically(path_, "100157 2\nbradley98 100157\n").ok());
  const auto read = ReadEdgeList(path_, {"7", "carl"}, EdgeListIds::kNames);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->second.names, (std::vector<std::string>{"100157", "2", "bradley98", "7", "carl"}));
}

TEST_F(EdgeListTest, RefusesTooSmallAGraph) {
  Error("");
  Error("# nothing\n");
  Error("0,1\n");
}

TEST_F(EdgeListTest, AMissingFileIsNotFound) {
  EXPECT_EQ(ReadEdgeList(path_ + "x").status().code(), absl::StatusCode::kNotFound);
}

TEST(RealEdgeLists, AreReadAsTheyAreFound) {
  const char* root = std::getenv("BLINK_DATASETS");
  if (root == nullptr || *root == '\0') GTEST_SKIP() << "BLINK_DATASETS is not set: the real data sets are not here";
  const std::tuple<std::string, std::string, bool> files[] = {{"cora", "linqs/cora.cites", true},
                                                              {"facebook", "facebook_edges.csv", false},
                                                              {"lastfm", "lastfm_asia_edges.csv", false},
                                                              {"twitch_ptbr", "PTBR_edges.csv", false}};
  for (const auto& [set, file, mapped] : files) {
    const auto read = ReadEdgeList(std::string(root) + "/" + set + "/orig/" + file);
    ASSERT_TRUE(read.ok()) << read.status();
    const auto canonical = ReadDataset(std::string(root) + "/" + set);
    ASSERT_TRUE(canonical.ok());
    EXPECT_EQ(read->second.mapped, mapped) << set;
    EXPECT_EQ(read->first.link_count(), canonical->graph.link_count()) << set;
    EXPECT_EQ(read->first.neighbours() == canonical->graph.neighbours(), !mapped) << set;
  }
}

}  // namespace
}  // namespace blink
