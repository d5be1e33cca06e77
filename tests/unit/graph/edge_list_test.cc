#include "common/graph/edge_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "common/base/durable_file.h"
#include "common/graph/csr_graph.h"
#include "common/graph/dataset.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Graph {
  CsrGraph graph;
  EdgeList list;
  std::vector<std::string> ids;
  bool mapped = false;
};

absl::StatusOr<Graph> GraphOf(absl::StatusOr<EdgeList> list) {
  if (!list.ok()) return list.status();
  Graph result;
  const std::vector<NodeIndex> number = list->ids.Sort();
  for (auto& [a, b] : list->links) a = number[a], b = number[b];
  for (NodeIndex i = 0; i < list->ids.size(); ++i) result.ids.push_back(list->ids.TextOf(i));
  result.mapped = !list->ids.AreNumbers();
  result.graph = *CsrGraph::FromLinks(static_cast<uint32_t>(list->ids.size()), list->links);
  result.list = *std::move(list);
  return result;
}

class EdgeListTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  absl::StatusOr<Graph> Read(absl::string_view text, const EdgeListOptions& options = {}) {
    EXPECT_TRUE(WriteFileAtomically(path_, text).ok());
    return GraphOf(ReadEdgeList(path_, options));
  }
  std::string Error(absl::string_view text, const EdgeListOptions& options = {}) {
    const auto read = Read(text, options);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << text;
    return std::string(read.status().message());
  }
  static EdgeListOptions Columns(std::vector<std::string> columns) {
    return {.table = {.columns = std::move(columns)}};
  }
  std::string path_ = ::testing::TempDir() + "/edges_" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name() + std::to_string(::getpid());
};

TEST_F(EdgeListTest, AllFormsGiveTheSameGraph) {
  for (const std::string text :
       {"source,target\n0,1\n1,2\n0,3\n", "0,1\n1,2\n0,3\n", "0\t1\r\n1\t2\r\n0\t3\r\n",
        "# SNAP\n# FromNodeId\tToNodeId\n0 1\n1  2\n 0   3", "% comment\n\n0;1\n1;2\n0;3\n",
        "id_1,id_2\n\"0\",\"1\"\n1,2\n0,3\n", "\xEF\xBB\xBFu,v\n0, 1\n1, 2\n0, 3\n",
        "a column,another\n0,1\n1,0\n1,2\n2,1\n0,3\n3,0\n2,2\n", "id1|id2\n0|1\n1|2\n0|3\n", "0.0,1.0\n1.0,2.0\n0,3\n",
        "0.000000000000000000e+00 1.000000000000000000e+00\n1. 2.00e0\n0.0 30.0e-1\n"}) {
    const auto read = Read(text);
    ASSERT_TRUE(read.ok()) << read.status() << text;
    EXPECT_FALSE(read->mapped) << text;
    EXPECT_EQ(read->graph.node_count(), 4u) << text;
    EXPECT_EQ(read->graph.link_count(), 3u) << text;
    EXPECT_TRUE(read->graph.HasLink(3, 0)) << text;
  }
}

TEST_F(EdgeListTest, CountsWhatItDrops) {
  const auto read = Read("0 1\n1 0\n1 2\n2 2\n1 2\n");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->list.table.lines, 5u);
  EXPECT_EQ(read->list.links.size() - read->graph.link_count(), 2u);
  EXPECT_EQ(read->list.self_loops_dropped, 1u);
}

TEST_F(EdgeListTest, MapsSparseIdsInTheirOrder) {
  const auto read = Read("1000,20\n20,-3\n");
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->mapped);
  EXPECT_EQ(read->ids, (std::vector<std::string>{"-3", "20", "1000"}));
  EXPECT_TRUE(read->graph.HasLink(1, 2));
}

TEST_F(EdgeListTest, MapsNamesAsTheyAppear) {
  const auto read = Read("source\ttarget\nanna\tbert\nbert\tcarl smith\n");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->ids, (std::vector<std::string>{"anna", "bert", "carl smith"}));
}

TEST_F(EdgeListTest, KeepsAFirstLineOfNamesThatIsNoHeader) {
  const auto read = Read("anna bert\nbert carl\n");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->graph.link_count(), 2u);
  EXPECT_EQ(read->ids, (std::vector<std::string>{"anna", "bert", "carl"}));
}

TEST_F(EdgeListTest, DropsAnUnknownHeaderEvenOfOneName) {
  for (const std::string header : {"node,node\n", "my id,your id\n"}) {
    const auto read = Read(header + "0,1\n1,2\n");
    ASSERT_TRUE(read.ok());
    EXPECT_FALSE(read->mapped);
    EXPECT_EQ(read->graph.link_count(), 2u);
    EXPECT_EQ(read->list.self_loops_dropped, 0u);
  }
}

TEST_F(EdgeListTest, DoesNotMergeIdsThatAreSpeltDifferently) {
  const auto read = Read("7,07\n07,1\n");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->graph.node_count(), 3u);
}

TEST_F(EdgeListTest, TakesNoOtherNumberForAnInteger) {
  for (const std::string id :
       {"1.5", "1e3", "01.0", "+1.0", "0x1.0p3", "1.0.0", "9007199254740994.0", "1.0e300", ".0"}) {
    const auto read = Read("a," + id + "\n" + id + ",b\n");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->ids[1], id);
    EXPECT_THAT(Error("1,2\n2," + id + "\n"), HasSubstr("line 2: the id \"" + id + "\" is no integer"));
  }
  EXPECT_EQ(Read("-7.0,-9007199254740992.0\n-7,3\n")->ids, (std::vector<std::string>{"-9007199254740992", "-7", "3"}));
}

TEST_F(EdgeListTest, RefusesNamesThatAreNotUtf8) {
  for (const std::string name : {"M\xfcller", "\xff", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                 "\xe2\x82", "\xf0\x8f\xbf\xbf", "\xe0\x9f\xbf", "\x80"}) {
    EXPECT_THAT(Error("anna,bert\nbert," + name + "\n"),
                AllOf(HasSubstr("line 2: an id is not UTF-8"), HasSubstr("iconv")));
  }
  for (const std::string name :
       {"Müller", "李雷", "🙂", "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf", "\xc2\x80"})
    EXPECT_EQ(Read("anna,bert\nbert," + name + "\n")->ids[2], name);
}

TEST_F(EdgeListTest, AsksWhetherAFirstRowIsAHeaderOrALinkWhereItMayBeBoth) {
  using FirstRow = EdgeListOptions::FirstRow;
  for (const std::string text : {"u,v\nv,w\nw,u\n", "i j\nj k\nk i\n", "to\tfrom\nfrom\twith\nwith\tto\n"}) {
    EXPECT_THAT(Error(text), AllOf(HasSubstr("line 1: "), HasSubstr("--columns"), HasSubstr("--first-row link")))
        << text;
    EXPECT_EQ(Read(text, {.first_row = FirstRow::kLink})->graph.link_count(), 3u) << text;
  }
  EXPECT_EQ(Read("u,v\nv,w\nw,u\n", Columns({"u", "v"}))->graph.link_count(), 2u);
  const std::string weighted = "u,v,7\nv,w,8\nw,u,9\n";
  EXPECT_THAT(Error(weighted, Columns({"1", "2"})), HasSubstr("--first-row link"));
  EXPECT_EQ(Read(weighted, {.table = {.columns = {"1", "2"}}, .first_row = FirstRow::kLink})->graph.link_count(), 3u);
  EXPECT_EQ(Read("Source,Target\nsource,x\nx,y\n")->graph.link_count(), 2u) << "other letters";
  EXPECT_EQ(Read("u,v\n0,1\n1,2\n", {.first_row = FirstRow::kLink})->graph.link_count(), 2u) << "no id is a name";
  EXPECT_THAT(Error("source,target\nanna,bert\nbert,carl\nsource,target\n"), HasSubstr("may be a header or a row"))
      << "two files in one";
}

TEST_F(EdgeListTest, ReadsGzip) {
  gzFile file = gzopen(path_.c_str(), "wb");
  for (int i = 0; i < 5000; ++i) gzprintf(file, "%d,%d\n", i, i + 1);
  gzclose(file);
  const auto read = GraphOf(ReadEdgeList(path_));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->graph.link_count(), 5000u);
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
  EXPECT_THAT(Error("0,1\n1,2,3\n"), AllOf(HasSubstr("line 2: expected two ids a line"), HasSubstr("found 3")));
  EXPECT_THAT(Error("0,1\n1 2\n"), HasSubstr("line 2"));
  EXPECT_THAT(Error("0,1\n1,\n"), HasSubstr("line 2: an id is empty"));
  EXPECT_THAT(Error(absl::string_view("0,1\n1,2\0\n", 9)), HasSubstr("binary"));
  EXPECT_THAT(Error("anna,bert\nbert,ca\x01rl\n"), HasSubstr("line 2: an id holds a control character"));
  EXPECT_THAT(Error(std::string(200000, 'x')), HasSubstr("line 1"));
  EXPECT_THAT(Error("source,target\n0)1\n1,2\n2,3\n"), HasSubstr("line 2: expected two ids"));
  EXPECT_THAT(Error("0,1\n1,\"2\n"), HasSubstr("line 2: a quotation mark is not closed"));
  EXPECT_THAT(Error("0,1\n1,\"2\"3\n"), HasSubstr("line 2: text follows a quotation mark"));
  EXPECT_THAT(Error("0,1\r1,2\r"), HasSubstr("CR alone"));
}

TEST_F(EdgeListTest, RefusesAStrayNameAmongIntegersInsteadOfRenumberingThem) {
  for (const std::string line : {"2,x3\n", "x3,2\n", "x3,x3\n"}) {
    EXPECT_THAT(Error("0,1\n1,2\n" + line), AllOf(HasSubstr(path_ + ", line 3: the id \"x3\""), HasSubstr("--names")));
    EXPECT_THAT(Error("source,target\n0,1\n" + line + "1,2\n"), HasSubstr("line 3"));
  }
  EXPECT_THAT(Error("0,0\n1,02\n1,2\n"), HasSubstr("line 2: the id \"02\""));
}

TEST_F(EdgeListTest, TakesNamesThatLookLikeNumbersWhenItIsTold) {
  const auto read = Read("100157 2\nbradley98 100157\n", {.table = {.names = true}});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->ids, (std::vector<std::string>{"100157", "2", "bradley98"}));
}

TEST_F(EdgeListTest, OfNothingIsNothing) {
  for (const char* text : {"", "\n\n", "# nothing\n"}) {
    const auto read = Read(text);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->ids.size(), 0u);
  }
}

TEST_F(EdgeListTest, KeepsIdsThatBeginWithTheMarkOfAComment) {
  for (const std::string text :
       {"#a,#b\n#b,#c\nd,#a\n%x,d\ne,%x\n", "#a\t#b\n#b\t#c\nd\t#a\n%x\td\ne\t%x\n", "#a #b\n#b #c\nd #a\n%x d\ne %x\n",
        "source,target\n#a,#b\n#b,#c\nd,#a\n%x,d\ne,%x\n"}) {
    const auto read = Read(text);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->graph.link_count(), 5u) << text;
    EXPECT_EQ(read->list.table.comments, 0u);
    EXPECT_EQ(read->ids, (std::vector<std::string>{"#a", "#b", "#c", "d", "%x", "e"}));
  }
  EXPECT_EQ(Read("#a,#b\n#b,#c\n#c,#d\n")->graph.link_count(), 3u) << "no line without the mark";
}

TEST_F(EdgeListTest, CountsTheCommentsThatItSkips) {
  const auto snap = Read("# Directed graph\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n# the end\n\n");
  ASSERT_TRUE(snap.ok()) << snap.status();
  EXPECT_EQ(snap->list.table.comments, 3u);
  EXPECT_EQ(snap->list.table.blank, 1u);
  EXPECT_EQ(snap->list.table.first_comment, "# Directed graph");
  EXPECT_EQ(Read("% sym unweighted\n% 2 3 3\nanna bert\nbert carl\n")->list.table.comments, 2u);
  EXPECT_EQ(Read("#source,target\n1,2\n2,3\n")->list.table.comments, 1u);
  EXPECT_EQ(Read("#source,target\nanna,bert\nbert,carl\n")->list.table.comments, 1u);
}

TEST_F(EdgeListTest, RefusesALineThatMayBeACommentOrALink) {
  EXPECT_THAT(Error("0,1\n#2,3\n1,2\n"), AllOf(HasSubstr("line 2"), HasSubstr("--comment '#'"), HasSubstr("--names")));
  EXPECT_THAT(Error("%2,3\n0,1\n1,2\n"), AllOf(HasSubstr("line 1"), HasSubstr("--comment '%'")));
  EXPECT_THAT(Error("anna,bert\n# a part\nbert,carl\n"), AllOf(HasSubstr("line 2"), HasSubstr("--comment")));
}

TEST_F(EdgeListTest, TakesTheCharacterOfCommentsThatItIsTold) {
  EXPECT_EQ(Read("0,1\n#2,3\n1,2\n", {.table = {.comment = "#"}})->graph.link_count(), 2u);
  EXPECT_EQ(Read("; old\n0,1\n1,2\n", {.table = {.comment = ";"}})->list.table.comments, 1u);
  EXPECT_EQ(Read("0,1\n#2,3\n1,2\n", {.table = {.comment = "none", .names = true}})->graph.link_count(), 3u);
  for (const char* wrong : {"", "##", "a", "\"", "no"}) {
    EXPECT_THAT(Error("0,1\n1,2\n", {.table = {.comment = wrong}}), HasSubstr("--comment"));
  }
}

TEST_F(EdgeListTest, FindsTheColumnsByTheHeaderOrAsItIsTold) {
  const std::string weighted = "source,target,weight\n0,1,0.5\n1,2,3\n";
  for (const auto& [text, options] : std::vector<std::pair<std::string, EdgeListOptions>>{
           {weighted, {}},
           {",src,dst\n0,0,1\n1,1,2\n", {}},
           {"\"src\" \"dst\"\n\"1\" 0 1\n\"2\" 1 2\n", {}},  // R's write.table
           {weighted, Columns({"source", "target"})},
           {weighted, Columns({"1", "2"})},
           {"when;a;b\n2020-01-01;0;1\n2020-01-02;1;2\n", Columns({"a", "b"})},
           {"0 1 17\n1 2 18\n", Columns({"1", "2"})},
           {"0 1 17\n1 2 18 19\n", Columns({"1-2"})},
           {"7\t1\t0\n7\t2\t1\n", Columns({"2", "3"})},
           {"# from to when\n0 1 17\n1 2 18\n", Columns({"from", "to"})}}) {
    const auto read = Read(text, options);
    ASSERT_TRUE(read.ok()) << read.status() << text;
    EXPECT_EQ(read->graph.link_count(), 2u) << text;
    EXPECT_EQ(read->graph.node_count(), 3u) << text;
  }
  EXPECT_EQ(Read(weighted)->list.table.unused, std::vector<std::string>{"weight"});
}

TEST_F(EdgeListTest, RefusesColumnsThatAreNotClear) {
  for (const char* text : {"0:1\n1:2\n", "(0)-(1)\n", "0->1\n1->2\n"})
    EXPECT_THAT(Error(text), AllOf(HasSubstr("line 1: expected two ids a line, found one field"), HasSubstr("commas")));
  EXPECT_THAT(Error("0 1 2 3\n1 2\n"), HasSubstr("if a line is a node and all its neighbours: awk"));
  EXPECT_THAT(Error("0 1 17\n1 2 18\n"), AllOf(HasSubstr("line 1"), HasSubstr("--columns 1,2")));
  EXPECT_THAT(Error("a,b,c\nanna,bert,1\n"), HasSubstr("--columns"));
  EXPECT_THAT(Error("0 1 17\n1 2 18\n", Columns({"1", "4"})), HasSubstr("column 4, but there are 3"));
  EXPECT_THAT(Error("0 1 17\n1 2 18\n", Columns({"1"})), HasSubstr("--columns names 1 column"));
  EXPECT_THAT(Error("a,b,c\n0,1,2\n", Columns({"a", "d"})), AllOf(HasSubstr("\"d\""), HasSubstr("a, b, c")));
  EXPECT_THAT(Error("0,1,2\n0,1\n", Columns({"1", "3"})), HasSubstr("line 2"));
  EXPECT_THAT(Error("0,1\n", Columns({"0", "1"})), HasSubstr("from 1"));
  EXPECT_THAT(Error("0,1\n", Columns({"1", "1"})), HasSubstr("names column 1 twice"));
  EXPECT_THAT(Error("a,b\n0,1\n", Columns({"b", "2"})), HasSubstr("names column 2 twice"));
  Error("0,1\n", Columns({"99999999999", "1"}));
  Error("0,1\n", Columns({"1-4000000000"}));
}

TEST_F(EdgeListTest, KnowsAFirstRowOfCountsByWhatFollows) {
  const std::tuple<std::string, std::string, uint32_t> cases[] = {
      {"5 4\n0 1\n1 2\n2 3\n3 4\n", "5 4", 5},
      {"4 5\n0 1\n1 2\n2 3\n3 4\n", "4 5", 5},
      {"5 8\n10 11\n11 12\n12 13\n13 14\n", "5 8", 5},  // both directions counted
      {"7 4\n0 1\n1 2\n2 3\n3 4\n", "7 4", 7},
      {"5 5 4\n1 2\n2 3\n3 4\n4 5\n", "5 5 4", 5},
      {"5\n1 2\n2 3\n3 4\n4 5\n", "5", 5},
      {"# counts\n5,4\n0,1\n1,2\n2,3\n3,4\n", "5 4", 5},
      {"4 5\nanna bert\nbert carl\n", "", 0}};
  for (const auto& [text, sizes, nodes] : cases) {
    const auto read = Read(text);
    if (sizes.empty()) continue;
    ASSERT_TRUE(read.ok()) << read.status() << text;
    EXPECT_EQ(read->list.sizes, sizes) << text;
    EXPECT_EQ(read->list.nodes_by_sizes, nodes) << text;
    EXPECT_EQ(read->graph.link_count(), 4u) << text;
  }
}

TEST_F(EdgeListTest, KeepsAFirstLinkThatIsNoCount) {
  for (const std::string text :
       {"0 1\n1 2\n2 3\n", "9 4\n0 1\n1 2\n2 3\n", "100 3\n0 1\n1 2\n2 200\n", "source,target\n4,3\n0,1\n1,2\n2,3\n"}) {
    const auto read = Read(text);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->list.sizes, "") << text;
    EXPECT_EQ(read->graph.link_count(),
              static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n')) - (text[0] == 's' ? 1 : 0))
        << text;
  }
}

TEST_F(EdgeListTest, AsksWhetherAFirstRowIsALinkOrCounts) {
  const std::string text = "4 3\n1 2\n2 3\n1 4\n";  // 4 nodes, 3 rows, and 4-3 would be a link
  EXPECT_THAT(Error(text), AllOf(HasSubstr("line 1"), HasSubstr("--first-row link"), HasSubstr("--first-row sizes")));
  using FirstRow = EdgeListOptions::FirstRow;
  EXPECT_EQ(Read(text, {.first_row = FirstRow::kLink})->graph.link_count(), 4u);
  EXPECT_EQ(Read(text, {.first_row = FirstRow::kSizes})->graph.link_count(), 3u);
  EXPECT_EQ(Read("3 4\n")->list.sizes, "") << "nothing follows";
  EXPECT_THAT(Error("9 9 9\n1 2\n2 3\n1 4\n"), HasSubstr("line 1: expected two ids a line, found 3 integers"));
}

TEST_F(EdgeListTest, AddsNodesThatHaveNoLink) {
  const auto added = [](std::vector<int64_t> ids, uint32_t nodes) -> absl::StatusOr<std::string> {
    NodeIds all(true);
    for (const int64_t id : ids) all.AddInteger(id);
    const absl::Status status = AddNodesUpTo(nodes, all);
    if (!status.ok()) return status;
    all.Sort();
    return all.TextOf(0) + " to " + all.TextOf(static_cast<NodeIndex>(all.size() - 1));
  };
  EXPECT_EQ(*added({0, 3}, 5), "0 to 4");
  EXPECT_EQ(*added({1, 5}, 5), "1 to 5");
  EXPECT_EQ(*added({7, 100}, 2), "7 to 100");
  EXPECT_EQ(*added({}, 3), "0 to 2");
  EXPECT_THAT(std::string(added({0, 5}, 5).status().message()), HasSubstr("from 0 to 5"));
  EXPECT_FALSE(added({-1, 3}, 5).ok());
  EXPECT_THAT(std::string(added({0, 1, 2}, 2).status().message()), HasSubstr("there are 3 nodes, more than 2"));
  NodeIds names(false);
  names.AddName("anna");
  EXPECT_THAT(std::string(AddNodesUpTo(3, names).message()), HasSubstr("have no names"));
}

TEST_F(EdgeListTest, ReadsSeveralMembersOfGzipAndRefusesWhatFollowsThem) {
  const auto gzip = [&](const std::string& text) {
    gzFile file = gzopen(path_.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return *ReadFile(path_, 1 << 20);
  };
  const std::string first = gzip("0,1\n1,"), second = gzip("2\n2,3\n");
  EXPECT_EQ(Read(first + second)->graph.link_count(), 3u);
  EXPECT_THAT(Error(first + "2\n"), HasSubstr("gzip"));
}

// The first megabyte decides; a file is longer than that.
TEST_F(EdgeListTest, ReadsALongFileToItsEnd) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i) + " " + std::to_string(i + 1) + "\n";
  ASSERT_GT(text.size(), 2u << 20);
  EXPECT_EQ(Read(text)->graph.link_count(), 200'000u);
  EXPECT_THAT(Error(text + "anna 7\n"), HasSubstr("line 200001: the id \"anna\""));
  EXPECT_THAT(Error(text + "7\n"), HasSubstr("line 200001: expected two ids"));
}

TEST_F(EdgeListTest, NamesWhatIsNoTextAndWhatToDo) {
  const std::pair<absl::string_view, const char*> cases[] = {
      {"PK\x03\x04..x.npy", "numpy"},
      {"PK\x03\x04..archive/data.pkl", "torch.load"},
      {"PK\x03\x04..[Content_Types].xml", "read_excel"},
      {"PK\x03\x04..anything", "unzip"},
      {"\x93NUMPY\x01", "numpy.load"},
      {"\x80\x04\x95..", "pickle"},
      {"\x80\x02\x8a\x0al\xfc\x9c\x46\xf9", "PyTorch"},
      {"<?xml version=\"1.0\"?>\n<graphml>", "read_graphml"},
      {"<gexf>", "XML"},
      {"<!DOCTYPE html><html>", "web page"},
      {"graph [\n  node [ id 0 ]", "read_gml"},
      {"Creator \"x\"\ngraph\n[", "read_gml"},
      {"digraph g {\n a -> b }", "DOT"},
      {"*Vertices 3", "Pajek"},
      {"{\"nodes\": []}", "JSON"},
      {"[[0, 1], [1, 2]]", "JSON"},
      {"\n [\n {\"a\": 1}]", "JSON"},
      {"(1, 2)\n(2, 3)\n", "re.findall"},
      {"('anna', 'bert'),\n('bert', 'carl')\n", "re.findall"},
      {"- [0, 1]\n- [1, 2]\n", "re.findall"},
      {"%%MatrixMarket matrix coordinate\n3 3 2\n1 2\n", "mmread"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n", "git lfs pull"},
      {absl::string_view("\xfd\x37zXZ\0...", 9), "xz -dc"},
      {"BZh91AY", "bzip2 -dc"},
      {"\x28\xb5\x2f\xfd....", "zstd -dc"},
      {"\x04\x22\x4d\x18....", "lz4 -dc"},
      {absl::string_view("\xff\xfe"
                         "0\0,\0",
                         6),
       "iconv -f UTF-16"},
      {absl::string_view("0\0,\0001\0\n\0", 8), "iconv -f UTF-16"},
      {absl::string_view("\0000\0,\0001\0\n", 8), "iconv -f UTF-16"},
      {"\x89HDF\r\n\x1a\n", "HDF5"},
      {"PAR1....", "read_parquet"},
      {absl::string_view("SQLite format 3\0", 16), "sqlite3"},
      {"MATLAB 5.0 MAT-file, Platform", "loadmat"},
      {absl::string_view("abc\0\1\2", 6), "binary"}};
  for (const auto& [bytes, expected] : cases) {
    EXPECT_THAT(Error(bytes), AllOf(HasSubstr(path_), HasSubstr(expected), HasSubstr("not an edge list")));
  }
}

TEST_F(EdgeListTest, TakesTextThatLooksALittleLikeAnotherFormat) {
  for (const std::string text :
       {"graph,theory\ntheory,sets\n", "[x],[y]\n[y],[z]\n", "{a} {b}\n{b} {c}\n", "BZ,h\nh,x\n", "<a>,<b>\n<b>,<c>\n",
        "PK,x\nx,y\n", "(a),(b)\n(b),(c)\n", "(a, b\nb, c)\n", "- x\nx y\n"}) {
    EXPECT_TRUE(Read(text).ok()) << Read(text).status();
  }
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
    const auto read = GraphOf(ReadEdgeList(std::string(root) + "/" + set + "/orig/" + file));
    ASSERT_TRUE(read.ok()) << read.status();
    const auto canonical = ReadDataset(std::string(root) + "/" + set);
    ASSERT_TRUE(canonical.ok());
    EXPECT_EQ(read->mapped, mapped) << set;
    EXPECT_EQ(read->graph.link_count(), canonical->graph.link_count()) << set;
    EXPECT_EQ(read->graph.neighbours() == canonical->graph.neighbours(), !mapped) << set;
  }
}

}  // namespace
}  // namespace blink
