// Data sets that are folders, and the real ones as they are found.
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "common/graph/numpy_file.h"
#include "tests/unit/tools/dataset/import/fixture.h"
#include "tests/unit/tools/dataset/import/pickle_writer.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class FolderTest : public ImportTest {
 protected:
  // Nodes 0 to 2 are known, 3 is missing, 5 and 4 are the test nodes in this order.
  void WritePlanetoid() {
    using pickled::Whole;
    Write("ind.toy.x", Whole(pickled::Csr(1, 2, {0, 1}, {0}, {1})));
    Write("ind.toy.allx", Whole(pickled::Csr(3, 2, {0, 1, 2, 2}, {0, 1}, {1, 1})));
    Write("ind.toy.tx", Whole(pickled::Csr(2, 2, {0, 1, 3}, {1, 0, 1}, {5, 4, 4})));
    Write("ind.toy.y", Whole(pickled::Array<int32_t>("i4", {1, 2}, {0, 1})));
    Write("ind.toy.ally", Whole(pickled::Array<int32_t>("i4", {3, 2}, {0, 1, 1, 0, 0, 1})));
    Write("ind.toy.ty", Whole(pickled::Array<int32_t>("i4", {2, 2}, {1, 0, 0, 1})));
    Write("ind.toy.test.index", "5\n4\n");
    Write("ind.toy.graph",
          Whole(pickled::Adjacency({{0, {1, 1, 3}}, {1, {0}}, {2, {2}}, {3, {0, 5}}, {4, {}}, {5, {3}}})));
  }
  // As Write, compressed.
  void WriteGzip(const std::string& name, const std::string& text) {
    z_stream stream = {};
    ASSERT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string packed(text.size() + 1000, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    packed.resize(packed.size() - stream.avail_out);
    deflateEnd(&stream);
    Write(name, packed);
  }
};

TEST_F(FolderTest, ReadsPlanetoidWithAGapBetweenTheTestNodes) {
  WritePlanetoid();
  const Dataset read = Convert();
  EXPECT_EQ(LinksOf(read.graph), (Links{{0, 1}, {0, 3}, {3, 5}}));
  EXPECT_EQ(read.attributes.labels, (std::vector<int32_t>{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(Values(read), (std::vector<float>{1, 0, 0, 1, 0, 0, 0, 0, 4, 4, 0, 5}));
  EXPECT_EQ(read.attributes.split, (std::vector<Split>{Split::kTrain, Split::kValidation, Split::kValidation,
                                                       Split::kNone, Split::kTest, Split::kTest}));
  EXPECT_THAT(report_.notes, Contains(HasSubstr("1 nodes between the test nodes are missing")));
  EXPECT_EQ(report_.self_loops_dropped, 1u);
}

TEST_F(FolderTest, NamesTheWrongFileOfPlanetoid) {
  using pickled::Whole;
  const std::tuple<const char*, std::string, const char*> cases[] = {
      {"ind.toy.test.index", "5\n1\n", "line 2: node 1 is one of the 3 nodes"},
      {"ind.toy.test.index", "5\n5\n", "line 2: node 5 stands twice"},
      {"ind.toy.test.index", "5\nx\n", "line 2: \"x\" is no node"},
      {"ind.toy.test.index", "5\n", "has 2 rows, but"},
      {"ind.toy.tx", Whole(pickled::Csr(2, 3, {0, 1, 2}, {1, 0}, {5, 4})), "have 2 and 3 columns"},
      {"ind.toy.ty", Whole(pickled::Array<int32_t>("i4", {1, 2}, {1, 0})), "ind.toy.ty: has 1 rows"},
      {"ind.toy.ally", Whole(pickled::Array<int32_t>("i4", {3, 2}, {1, 1, 1, 0, 0, 1})), "several labels"},
      {"ind.toy.y", Whole(pickled::Array<int32_t>("i4", {1, 2}, {1, 0})), "is not the beginning of"},
      {"ind.toy.graph", Whole(pickled::Adjacency({{0, {6}}})), "the link from 0 to 6 is beyond the 6 nodes"},
      {"ind.toy.graph", Whole("cos\nsystem\n(" + pickled::Text("true") + "tR"), "names os.system"}};
  for (const auto& [name, content, expected] : cases) {
    WritePlanetoid();
    Write(name, content);
    EXPECT_THAT(Refusal(), AllOf(HasSubstr(name), HasSubstr(expected)));
  }
  WritePlanetoid();
  std::filesystem::remove(Path("ind.toy.ty"));
  EXPECT_THAT(Refusal(), HasSubstr("a file ind.NAME.ty is missing"));
  WritePlanetoid();
  Write("ind.other.x", "");
  EXPECT_THAT(Refusal(), HasSubstr("several data sets (ind.other.x, ind.toy.x)"));
}

TEST_F(FolderTest, ReadsLinqsAndLeavesUnknownPapersOut) {
  Write("toy.content", "p9\t1\t0\tAgents\n7\t0\t0.5\tML\nx1\t0\t0\tAgents\n");
  Write("toy.cites", "p9\t7\nx1\t7\nx1\tghost\n");
  Write("README", "Anything.");
  const Dataset read = Convert();
  EXPECT_EQ(read.attributes.ids, (std::vector<std::string>{"p9", "7", "x1"}));
  EXPECT_EQ(LinksOf(read.graph), (Links{{0, 1}, {1, 2}}));
  EXPECT_EQ(read.attributes.class_names, (std::vector<std::string>{"Agents", "ML"}));
  EXPECT_EQ(Values(read), (std::vector<float>{1, 0, 0, 0.5, 0, 0}));
  EXPECT_THAT(report_.notes, Contains(HasSubstr("left out 1 links to papers that are not in")));
  Write("toy.content", "p9\t1\t0\tAgents\n7\t0\tML\n");
  EXPECT_THAT(Refusal(), HasSubstr("toy.content, line 2: has 3 fields, while the first line has 4"));
  Write("toy.content", "p9\t1\t0\tA\np9\t0\t0\tB\n");
  EXPECT_THAT(Refusal(), HasSubstr("line 2: the node \"p9\" stands twice"));
  Write("toy.content", "caf\xe9\t1\t0\tA\n");
  EXPECT_THAT(Refusal(), HasSubstr("line 1: the id is not UTF-8: convert the file, as by iconv"));
  Write("toy.content", "p9\t1\t0\tA\n7\t0\t0\tcaf\xe9\n");
  EXPECT_THAT(Refusal(), HasSubstr("which is not UTF-8: convert the file, as by iconv"));
  Write("toy.content", "a\t1\t0\tA\nb\t0\t0\tB\nc\t0\t0\tB\n");
  EXPECT_THAT(Refusal(), HasSubstr("no id of it is in"));
}

TEST_F(FolderTest, ReadsMusae) {
  Write("toy_edges.csv", "from,to\n0,1\n1,2\n3,2\n");
  Write("toy_target.csv", "id,days,mature,new_id\n90,5,True,1\n91,6,False,0\n92,7,False,2\n93,8,True,3\n");
  Write("toy_features.json", "{\"3\": [0], \"0\": [2], \"1\": [], \"2\": [1, 2]}");
  const Dataset read = Convert();
  EXPECT_EQ(LinksOf(read.graph), kPath);
  EXPECT_TRUE(read.attributes.ids.empty());
  EXPECT_EQ(read.attributes.labels, (std::vector<int32_t>{0, 1, 0, 1}));
  EXPECT_EQ(Values(read), (std::vector<float>{0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0}));
  options_.attributes.label_attribute = "days";
  EXPECT_EQ(Convert().attributes.class_names, (std::vector<std::string>{"5", "6", "7", "8"}));
  Write("toy_edges.csv", "from,to\n0,1\n1,9\n");
  EXPECT_THAT(Refusal(), HasSubstr("toy_edges.csv, row 2: the node \"9\" is not in the table"));
}

// The target of MUSAE's Wikipedia is the traffic of a page.
TEST_F(FolderTest, TakesNoLabelFromATargetThatIsAnAmountUnlessAsked) {
  Write("toy_edges.csv", "id1,id2\n0,1\n1,2\n3,2\n");
  Write("toy_target.csv", "id,target\n0,57000\n1,20\n2,3\n3,9\n");
  EXPECT_FALSE(Convert().attributes.has_labels());
  EXPECT_THAT(report_.notes, Contains(HasSubstr("the attribute target holds names or amounts")));
  options_.attributes.label_attribute = "target";
  EXPECT_THAT(Refusal(), HasSubstr("\"57000\", which is above 9999"));
}

TEST_F(FolderTest, ReadsGeomGcnWithFeaturesAndWithWordNumbers) {
  Write("out1_graph_edges.txt", "node_id\tnode_id\n0\t1\n2\t1\n3\t2\n");
  Write("out1_node_feature_label.txt", "node_id\tfeature\tlabel\n2\t0,1\t1\n0\t1,0\t0\n1\t0,0\t2\n3\t1,1\t0\n");
  for (const char* name : {"toy_split_0.npz", "toy_split_1.npz"}) {
    WriteArchive(name, {Member<uint8_t>("train_mask", "|u1", {4}, {1, 1, 0, 0}),
                        Member<uint8_t>("val_mask", "|u1", {4}, {0, 0, 1, 0}),
                        Member<uint8_t>("test_mask", "|u1", {4}, {0, 0, 0, 1})});
  }
  Dataset read = Convert();
  EXPECT_EQ(LinksOf(read.graph), kPath);
  EXPECT_EQ(read.attributes.labels, (std::vector<int32_t>{0, 2, 1, 0}));
  EXPECT_EQ(Values(read), (std::vector<float>{1, 0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(read.attributes.split,
            (std::vector<Split>{Split::kTrain, Split::kTrain, Split::kValidation, Split::kTest}));
  EXPECT_THAT(report_.notes, Contains(HasSubstr("the first of 2 splits")));
  Write("out1_node_feature_label.txt", "node_id\tfeature\tlabel\n0\t3\t0\n1\t0,3\t2\n2\t1\t1\n3\t2\t0\n");
  read = Convert();
  EXPECT_EQ(Values(read), (std::vector<float>{0, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0}));
  Write("out1_graph_edges.txt", "node_id\tnode_id\n0\t8\n");
  EXPECT_THAT(Refusal(), HasSubstr("out1_graph_edges.txt, line 2: the node \"8\" has no features"));
  std::filesystem::remove(Path("out1_graph_edges.txt"));
  EXPECT_THAT(Refusal(), HasSubstr("the file of the links is missing"));
}

TEST_F(FolderTest, ReadsOgbCompressedAndPlain) {
  WriteGzip("raw/edge.csv.gz", "0,1\n1,2\n2,3\n");
  Write("raw/num-node-list.csv", "4\n");
  WriteGzip("raw/node-feat.csv.gz", "0.5,-1\n0,2\n3,4\n5,6\n");
  WriteGzip("raw/node-label.csv.gz", "1\n0\nnan\n1\n");
  WriteGzip("split/time/train.csv.gz", "0\n");
  WriteGzip("split/time/valid.csv.gz", "1\n");
  Write("split/time/test.csv", "3\n");
  Write("mapping/README.md", "Anything.");
  const Dataset read = Convert();
  EXPECT_EQ(LinksOf(read.graph), kPath);
  EXPECT_EQ(read.attributes.labels, (std::vector<int32_t>{1, 0, -1, 1}));
  EXPECT_EQ(Values(read), (std::vector<float>{0.5, -1, 0, 2, 3, 4, 5, 6}));
  EXPECT_EQ(read.attributes.split, (std::vector<Split>{Split::kTrain, Split::kValidation, Split::kNone, Split::kTest}));
  EXPECT_EQ(LinksOf(Convert("raw").graph), kPath) << "the folder raw alone";
}

TEST_F(FolderTest, NamesAFileThatIsDamagedOrEmptyWhateverItWouldHold) {
  for (const char* name :
       {"raw/edge.csv.gz", "raw/node-feat.csv.gz", "raw/node-label.csv.gz", "split/time/test.csv.gz"}) {
    WriteGzip("raw/edge.csv.gz", "0,1\n1,2\n2,3\n");
    Write("raw/num-node-list.csv", "4\n");
    WriteGzip("raw/node-feat.csv.gz", "0.5,-1\n0,2\n3,4\n5,6\n");
    WriteGzip("raw/node-label.csv.gz", "1\n0\nnan\n1\n");
    WriteGzip("split/time/test.csv.gz", "0\n1\n");
    Convert();
    std::filesystem::resize_file(Path(name), std::filesystem::file_size(Path(name)) / 2);
    EXPECT_THAT(Refusal(), AllOf(HasSubstr(name), HasSubstr("gzip stream is cut off"), HasSubstr("or move it out")));
    WriteGzip(name, "");
    EXPECT_THAT(Refusal(), AllOf(HasSubstr(name), HasSubstr("is empty")));
    std::filesystem::resize_file(Path(name), 0);
    EXPECT_THAT(Refusal(), AllOf(HasSubstr(name), HasSubstr("is empty")));
  }
}

TEST_F(FolderTest, NamesTheWrongFileOfOgb) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"edge.csv", "0,1\n1,4\n", "edge.csv, line 2: \"4\" is no node from 0 to 3"},
      {"edge.csv", "0,1,2\n", "edge.csv, line 1: expected two nodes"},
      {"num-node-list.csv", "4\n5\n", "line 2: a second graph"},
      {"num-node-list.csv", "400000000\n", "is no number of nodes up to"},
      {"node-feat.csv", "1\n2\n3\n", "node-feat.csv: has 3 rows for 4 nodes"},
      {"node-feat.csv", "1,2\n2\n", "line 2: has 1 features, the first row 2"},
      {"node-feat.csv", "1\ninf\n", "line 2: \"inf\" is no finite number"},
      {"node-label.csv", "1,0\n", "line 1: has 2 labels"},
      {"node-label.csv", "1\n0.5\n1\n1\n", "which is a fraction"},
      {"triplet-type-list.csv", "a,b,c\n", "several types"}};
  for (const auto& [name, content, expected] : cases) {
    std::filesystem::remove_all(folder_ + "/in");
    Write("edge.csv", "0,1\n1,2\n");
    Write("num-node-list.csv", "4\n");
    Write(name, content);
    EXPECT_THAT(Refusal(), HasSubstr(expected));
  }
}

TEST_F(FolderTest, ReadsDglCsv) {
  Write("meta.yaml", "dataset_name: toy\nedge_data:\n- file_name: e.csv\nnode_data:\n- file_name: n.csv\n");
  Write("e.csv", "src_id,dst_id,weight\n0,1,0.5\n1,2,1\n2,3,2\n");
  Write("n.csv",
        "node_id,label,train_mask,val_mask,test_mask,feat\n0,1,True,False,False,\"0.5, 1\"\n"
        "1,0,False,True,False,\"2, 0\"\n2,1,False,False,True,\"3, 4\"\n3,0,False,False,False,\"5, 6\"\n");
  const Dataset read = Convert();
  EXPECT_EQ(LinksOf(read.graph), kPath);
  EXPECT_EQ(read.attributes.labels, (std::vector<int32_t>{1, 0, 1, 0}));
  EXPECT_EQ(Values(read), (std::vector<float>{0.5, 1, 2, 0, 3, 4, 5, 6}));
  EXPECT_EQ(read.attributes.split, (std::vector<Split>{Split::kTrain, Split::kValidation, Split::kTest, Split::kNone}));
  Write("n.csv", "node_id,label,feat\n0,1,\"1, 2\"\n1,0,\"3\"\n2,0,\"1, 2\"\n3,0,\"1, 2\"\n");
  EXPECT_THAT(Refusal(), HasSubstr("the attribute feat of node 1 is \"3\", which has 1 numbers, while others have 2"));
  Write("n.csv", "node_id,label\n0,1\n1\n");
  EXPECT_THAT(Refusal(), HasSubstr("n.csv, line 3: has 1 fields, while the header has 2"));
  Write("more.csv", "node_id,label\n0,1\n");
  EXPECT_THAT(Refusal(), HasSubstr("several files of nodes (more.csv, n.csv)"));
  std::filesystem::remove(Path("more.csv"));
  Write("n.csv", "graph_id,node_id\n0,0\n");
  EXPECT_THAT(Refusal(), HasSubstr("graph_id"));
}

TEST_F(FolderTest, SaysWhatAFolderHoldsThatIsNoDataSet) {
  EXPECT_THAT(Refusal(), HasSubstr("is a folder with no files"));
  Write("notes.txt", "nothing here\n");
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("notes.txt"), HasSubstr("give the file of the links")));
  Write("edges.csv", "source,target\n0,1\n");
  Write("labels.csv", "node,label\n0,1\n1,0\n");
  EXPECT_THAT(Refusal(), HasSubstr("is a data-set folder already"));
}

// ---- the real data sets, as they are found ----

class RealDataSets : public ImportTest {
 protected:
  void SetUp() override {
    ImportTest::SetUp();
    const char* root = std::getenv("BLINK_DATASETS");
    if (root == nullptr || *root == '\0') GTEST_SKIP() << "BLINK_DATASETS is not set: the real data sets are not here";
    root_ = root;
  }
  Dataset Canonical(const std::string& set) const {
    auto read = ReadDataset(root_ + "/" + set);
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? *std::move(read) : Dataset();
  }
  Dataset Import(const std::string& set, const std::string& folder) {
    std::filesystem::remove_all(folder_ + "/in");
    std::filesystem::create_directory_symlink(root_ + "/" + set + "/orig" + folder, folder_ + "/in");
    return Convert();
  }
  // Whether both are the same when node i of `a` is node to[i] of `b`, and classes go by `class_to`.
  static void ExpectSame(const Dataset& a, const Dataset& b, const std::vector<NodeIndex>& to,
                         const std::vector<int32_t>& class_to) {
    ASSERT_EQ(a.graph.node_count(), to.size());
    ASSERT_EQ(a.graph.link_count(), b.graph.link_count());
    ASSERT_EQ(a.attributes.features.cols, b.attributes.features.cols);
    for (NodeIndex i = 0; i < to.size(); ++i) {
      for (const NodeIndex j : a.graph.NeighboursOf(i)) ASSERT_TRUE(b.graph.HasLink(to[i], to[j])) << i << " " << j;
      ASSERT_EQ(class_to[a.attributes.labels[i]], b.attributes.labels[to[i]]) << i;
      if (a.attributes.features.cols == 0) continue;
      ASSERT_EQ(RowOf(a, i), RowOf(b, to[i])) << i;
    }
  }
  static std::map<int32_t, float> RowOf(const Dataset& dataset, NodeIndex i) {
    const FeatureMatrix& m = dataset.attributes.features;
    std::map<int32_t, float> row;
    for (int64_t k = m.row_offsets[i]; k < m.row_offsets[i + 1]; ++k) row[m.columns[k]] = m.values[k];
    return row;
  }
  static std::vector<NodeIndex> Identity(uint32_t n) {
    std::vector<NodeIndex> to(n);
    for (NodeIndex i = 0; i < n; ++i) to[i] = i;
    return to;
  }
  static std::vector<int32_t> ByName(const Dataset& a, const Dataset& b) {
    std::vector<int32_t> to;
    for (const std::string& name : a.attributes.class_names) {
      const auto& names = b.attributes.class_names;
      const auto found = std::find(names.begin(), names.end(), name);
      EXPECT_NE(found, names.end()) << name;
      to.push_back(static_cast<int32_t>(found - names.begin()));
    }
    return to;
  }
  static std::vector<int32_t> SameClasses(const Dataset& dataset) {
    std::vector<int32_t> to(dataset.attributes.class_count);
    for (size_t c = 0; c < to.size(); ++c) to[c] = static_cast<int32_t>(c);
    return to;
  }

  std::string root_;
};

TEST_F(RealDataSets, PlanetoidGivesTheCanonicalOnes) {
  for (const std::string set : {"cora", "citeseer"}) {
    const Dataset canonical = Canonical(set), read = Import(set, "/planetoid");
    EXPECT_EQ(LinksOf(read.graph) == LinksOf(canonical.graph), true) << set;
    ExpectSame(read, canonical, Identity(canonical.graph.node_count()), SameClasses(canonical));
    EXPECT_EQ(std::count(read.attributes.split.begin(), read.attributes.split.end(), Split::kTrain),
              20 * canonical.attributes.class_count);
    EXPECT_EQ(std::count(read.attributes.split.begin(), read.attributes.split.end(), Split::kTest), 1000);
  }
}

TEST_F(RealDataSets, MusaeGivesTheCanonicalOnes) {
  for (const std::string set : {"twitch_ptbr", "lastfm"}) {
    const Dataset canonical = Canonical(set);
    Dataset read = Import(set, "");
    EXPECT_EQ(LinksOf(read.graph) == LinksOf(canonical.graph), true) << set;
    // All sets of Twitch share their features, and nobody here has the last one.
    if (set == "twitch_ptbr") {
      EXPECT_EQ(std::exchange(read.attributes.features.cols, 3170u), 3169u);
    }
    ExpectSame(read, canonical, Identity(canonical.graph.node_count()), SameClasses(canonical));
  }
  // The canonical features of Facebook are the singular vectors of these ones, which are beside them.
  Dataset canonical = Canonical("facebook");
  const auto raw = ReadSparseNpz(root_ + "/facebook/features_raw.npz");
  ASSERT_TRUE(raw.ok()) << raw.status();
  canonical.attributes.features = *raw;
  const Dataset read = Import("facebook", "");
  EXPECT_EQ(LinksOf(read.graph) == LinksOf(canonical.graph), true);
  ExpectSame(read, canonical, Identity(canonical.graph.node_count()), ByName(read, canonical));
}

TEST_F(RealDataSets, LinqsAndGnnBenchmarkGiveTheCanonicalCora) {
  const Dataset canonical = Canonical("cora");
  std::map<std::string, NodeIndex> node_of;  // by the paper's id
  const auto map = ReadFile(root_ + "/cora/orig/linqs/linqs_to_planetoid.csv", 1 << 20);
  ASSERT_TRUE(map.ok()) << map.status();
  for (size_t at = map->find('\n') + 1; at < map->size(); at = map->find('\n', at) + 1) {
    const size_t first = map->find(',', at), second = map->find(',', first + 1);
    node_of[map->substr(first + 1, second - first - 1)] = std::stoul(map->substr(second + 1));
  }
  for (const std::string folder : {"/linqs", "/gnn-benchmark"}) {
    const Dataset read = Import("cora", folder);
    ASSERT_EQ(read.attributes.ids.size(), node_of.size()) << folder;
    std::vector<NodeIndex> to;
    for (const std::string& id : read.attributes.ids) to.push_back(node_of.at(id));
    if (folder == "/linqs") ExpectSame(read, canonical, to, ByName(read, canonical));
    EXPECT_EQ(read.graph.link_count(), canonical.graph.link_count()) << folder;
    for (NodeIndex i = 0; i < to.size(); ++i) {
      for (const NodeIndex j : read.graph.NeighboursOf(i)) ASSERT_TRUE(canonical.graph.HasLink(to[i], to[j]));
    }
  }
}

TEST_F(RealDataSets, GnnBenchmarkGivesTheCiteseerOfTheNodesThatItHas) {
  const Dataset canonical = Canonical("citeseer"), read = Import("citeseer", "/gnn-benchmark");
  EXPECT_EQ(read.graph.node_count(), 3312u);
  EXPECT_EQ(read.graph.link_count(), 4536u);
  EXPECT_EQ(read.attributes.features.cols, canonical.attributes.features.cols);
  EXPECT_EQ(read.attributes.class_count, canonical.attributes.class_count);
}

}  // namespace
}  // namespace blink
