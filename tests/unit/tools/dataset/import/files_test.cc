// Graphs in one file. Every sample is the same graph unless a test says otherwise: the links 0-1, 1-2, 2-3.
#include <zlib.h>

#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/unit/tools/dataset/import/fixture.h"
#include "tests/unit/tools/dataset/import/pickle_writer.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr char kMatrix[] =
    "%%MatrixMarket matrix coordinate pattern symmetric\n% a comment\n4 4 4\n2 1\n3 2\n4 3\n1 1\n";

TEST_F(ImportTest, ReadsAMatrixMarketGraphUnderAnyNameAndCompressed) {
  Write("links.csv", kMatrix);
  const Dataset read = Convert("links.csv");
  EXPECT_EQ(LinksOf(read.graph), kPath);
  EXPECT_EQ(report_.format, "a Matrix Market matrix");
  EXPECT_EQ(report_.self_loops_dropped, 1u);
  for (const char* text :
       {"%%MatrixMarket MATRIX Coordinate real general\n4 4 4\n1 2 0.5\n2 3 1e-3\n4 3 -1\n1 4 0\n",
        "%%MatrixMarket matrix array integer symmetric\n4 4\n0\n1\n0\n0\n0\n1\n0\n0\n1\n0\n",
        "%%MatrixMarket matrix coordinate integer skew-symmetric\r\n4 4 3\r\n2 1 1\r\n3 2 1\r\n4 3 2"}) {
    Write("graph", text);
    EXPECT_EQ(LinksOf(Convert("graph").graph), kPath) << text;
  }
}

TEST_F(ImportTest, NamesTheLineOfAWrongMatrixMarketFile) {
  const std::string head = "%%MatrixMarket matrix coordinate real general\n";
  const std::pair<std::string, const char*> cases[] = {
      {"%%MatrixMarket vector coordinate real general\n", "line 1: expected"},
      {"%%MatrixMarket matrix coordinate complex general\n2 2 0\n", "line 1: complex"},
      {head, "the line of the sizes is missing"},
      {head + "4 4\n", "line 2: expected the numbers of rows, columns and entries"},
      {head + "4 5 1\n1 1 1\n", "4 rows and 5 columns"},
      {head + "4 4 9999999999\n", "line 2: \"9999999999\" is no integer from 0 to 1000000000"},
      {head + "99999999 99999999 1\n", "line 2: \"99999999\" is no integer"},
      {head + "4 4 2\n1 2 1\n", "holds 1 entries, but line 2 tells 2"},
      {head + "4 4 1\n1 2 1\n2 3 1\n", "line 4: more entries"},
      {head + "4 4 1\n0 2 1\n", "line 3: \"0\" is no integer from 1 to 4"},
      {head + "4 4 1\n1 5 1\n", "line 3: \"5\" is no integer from 1 to 4"},
      {head + "4 4 1\n1 2 nan\n", "line 3: \"nan\" is no finite number"},
      {head + "4 4 1\n1 2\n", "line 3: expected a row, a column and a value"}};
  for (const auto& [text, expected] : cases)
    EXPECT_THAT(RefusalOf(text), AllOf(HasSubstr("graph"), HasSubstr(expected)));
}

constexpr char kGml[] =
    "# by hand\nCreator \"someone\"\ngraph\n[\n  directed 0\n  comment \"a [ \"\n"
    "  node [ id 7 label \"Anna &amp; co\" value \"x\" graphics [ x 1 y 2 ] ]\n"
    "  node [ id 3 label \"Bert\" value \"y\" ]\n  node [ id 5 label \"Carl\" value \"x\" ]\n"
    "  edge [ source 7 target 3 weight 2.5 ]\n  edge [ source 3 target 5 ]\n]\n";

TEST_F(ImportTest, ReadsGmlWithNamesAndClasses) {
  Write("graph", kGml);
  const Dataset read = Convert("graph");
  EXPECT_EQ(read.attributes.ids, (std::vector<std::string>{"Anna & co", "Bert", "Carl"}));
  EXPECT_EQ(LinksOf(read.graph), (Links{{0, 1}, {1, 2}}));
  EXPECT_EQ(read.attributes.labels, (std::vector<int32_t>{0, 1, 0}));
  EXPECT_EQ(read.attributes.class_names, (std::vector<std::string>{"x", "y"}));
}

TEST_F(ImportTest, TakesTheLabelsOfGmlForClassesWhereTheyAreNoNames) {
  Write("graph",
        "graph [ node [ id 0 label \"b\" ] node [ id 1 label \"a\" ] node [ id 2 label \"b\" ] "
        "edge [ source 0 target 2 ] edge [ source 1 target 2 ] ]");
  const Dataset read = Convert("graph");
  EXPECT_TRUE(read.attributes.ids.empty());
  EXPECT_EQ(read.attributes.labels, (std::vector<int32_t>{1, 0, 1}));
}

TEST_F(ImportTest, ReadsTheListsAndCharactersThatNetworkXWritesAsGml) {
  Write("graph",
        "graph [\n  node [\n    id 0\n    label \"&#233;&#34;&#38;&x;\"\n    x 1.0\n    x 0.5\n    y 1\n  ]\n"
        "  node [\n    id 1\n    label \"b\"\n    x 0.0\n    x 2.0\n    y 0\n  ]\n"
        "  node [\n    id 2\n    label \"c\"\n    x 0.0\n    x 3.0\n    y 0\n  ]\n"
        "  edge [\n    source 0\n    target 1\n  ]\n]\n");
  Dataset read = Convert("graph");
  EXPECT_EQ(read.attributes.ids, (std::vector<std::string>{"\xc3\xa9\"&&x;", "b", "c"}));
  EXPECT_EQ(Values(read), (std::vector<float>{1, 0.5, 0, 2, 0, 3}));
  EXPECT_EQ(read.attributes.labels, (std::vector<int32_t>{1, 0, 0}));
  std::string lists_of_one = "graph [ edge [ source 0 target 1 ]";
  for (int i = 0; i < 3; ++i)
    absl::StrAppend(&lists_of_one, " node [ id ", i, " feat \"_networkx_list_start\" feat ", i + 3, " ]");
  Write("graph", lists_of_one + " ]");
  EXPECT_EQ(Values(Convert("graph")), (std::vector<float>{3, 4, 5}));
}

TEST_F(ImportTest, RefusesMoreAttributesThanTheMemoryHolds) {
  std::string text = "graph [";
  for (int i = 0; i < 10'001; ++i) absl::StrAppend(&text, " node [ id ", i, " ]");
  text += " node [ id 10001";
  for (int k = 0; k < 10'000; ++k) absl::StrAppend(&text, " a", k, " 1");
  EXPECT_THAT(RefusalOf(text + " ] ]"), HasSubstr("10000 attributes of 10002 nodes"));
}

TEST_F(ImportTest, NamesTheLineOfWrongGml) {
  const std::pair<const char*, const char*> cases[] = {
      {"graph [\n node [ id 0 ]\n node [ id 0 ] ]", "line 3: the node 0 stands twice"},
      {"graph [\n node [ label \"x\" ] ]", "line 2: a node has no id"},
      {"graph [\n node [ id 0 ]\n edge [ source 0 ] ]", "line 3: an edge lacks"},
      {"graph [ node [ id 0 ] edge [ source 0 target 9 ] ]", "the end 9"},
      {"graph [\n node [ id 0 ", "a \"]\" is missing"},
      {"graph [ node [ id \"0 ] ]", "no closing quotation mark"},
      {"graph [ node [ id 0 ] ] graph [ ]", "a second graph"},
      {"graph [ node [ id ] ]", "the key id has no value"},
      {"graph [ node [ id 0 5 ] ]", "expected a key, found 5"},
      {"graph [ node [ id 0 label \"caf\xe9\" ] ]", "the id of node 0 (from 0) is not UTF-8"}};
  for (const auto& [text, expected] : cases) EXPECT_THAT(RefusalOf(text), HasSubstr(expected)) << text;
  std::string deep = "graph [ a [ ";
  for (int k = 0; k < 5000; ++k) deep += "a [ ";
  EXPECT_THAT(RefusalOf(deep), HasSubstr("too deep"));
}

constexpr char kGraphMl[] = R"(<?xml version="1.0" encoding="UTF-8"?>
<g:graphml xmlns:g="http://graphml.graphdrawing.org/xmlns">
  <g:key id="d0" for="node" attr.name="class" attr.type="string"><g:default>none</g:default></g:key>
  <g:key id="d1" for="node" attr.name="x" attr.type="string"/>
  <g:key id="d2" for="node" attr.name="age" attr.type="double"/>
  <g:graph edgedefault="directed">
    <g:edge source="b" target="a"/><g:edge source="b" target="c"/><g:edge source="c" target="d"/>
    <g:node id="a"><g:data key="d0">red &amp; blue</g:data><g:data key="d1">1, 0, 0.5</g:data></g:node>
    <g:node id="b"><g:data key="d0">grey</g:data><g:data key="d1">0, 2, 0</g:data></g:node>
    <g:node id="c"/><g:node id="d"><g:data key="d0">grey</g:data><g:data key="d2">7.5</g:data></g:node>
  </g:graph>
</g:graphml>)";

TEST_F(ImportTest, ReadsGraphMlWithDefaultsAndFeatures) {
  Write("graph", kGraphMl);
  const Dataset read = Convert("graph");
  EXPECT_EQ(LinksOf(read.graph), kPath);
  EXPECT_EQ(read.attributes.ids, (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(read.attributes.labels, (std::vector<int32_t>{1, 0, -1, 0}));
  EXPECT_EQ(read.attributes.class_names, (std::vector<std::string>{"grey", "red & blue"}));
  EXPECT_EQ(Values(read), (std::vector<float>{1, 0, 0.5, 0, 2, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_THAT(report_.notes, Contains(HasSubstr("not used: age")));
  // Without "for" a key is for nodes too.
  Write("graph",
        "<graphml><key id=\"y\"><default>b</default></key><graph><node id=\"0\"><data key=\"y\">a</data></node>"
        "<node id=\"1\"/><node id=\"2\"/><edge source=\"0\" target=\"2\"/></graph></graphml>");
  EXPECT_EQ(Convert("graph").attributes.labels, (std::vector<int32_t>{0, 1, 1}));
}

TEST_F(ImportTest, LetsTheUserChooseTheAttributes) {
  Write("graph", kGraphMl);
  options_.attributes.feature_attributes = {"age"};
  options_.attributes.label_attribute = "x";
  EXPECT_EQ(Convert("graph").attributes.features.cols, 1u);
  options_.attributes.label_attribute = "shoe";
  EXPECT_THAT(Refusal("graph"), AllOf(HasSubstr("no attribute \"shoe\""), HasSubstr("class")));
  options_.attributes = {};
  options_.attributes.feature_attributes = {"class"};
  EXPECT_THAT(Refusal("graph"),
              HasSubstr("the attribute class of node a is \"red & blue\", which is no list of numbers"));
  Write("matrix", kMatrix);
  EXPECT_THAT(Refusal("matrix"), HasSubstr("leave --label-attribute and --feature-attributes out"));
  options_.attributes = {};
  options_.columns = {"1", "2"};
  EXPECT_THAT(Refusal("matrix"), HasSubstr("leave --columns"));
}

TEST_F(ImportTest, NamesTheLineOfWrongGraphMl) {
  const std::string head = "<graphml>\n<graph>\n";
  const std::pair<std::string, const char*> cases[] = {
      {head + "<node id=\"a\"/>\n<node id=\"a\"/>", "line 4: the node \"a\" stands twice"},
      {head + "<node/>", "line 3: a node has no id"},
      {head + "<edge source=\"a\"/>", "line 3: an edge lacks"},
      {head + "<node id=\"a\"/><edge source=\"a\" target=\"z\"/></graph></graphml>",
       "line 3: the edge has the end \"z\""},
      {head + "<node id=\"a\"><data key=\"k\">1</data></node>", "the key \"k\" is not declared"},
      {head + "<node id=\"a\"><graph>", "a graph within a node"},
      {head + "<hyperedge>", "a hyperedge"},
      {head + "<node id=\"a\">", "is no valid XML"},
      {"<graphml><key id=\"k\" for=\"node\"><default>" + std::string(300, 'x') + "</default>",
       "a default has more than"},
      {"<graphml></graphml>", "holds no graph"},
      {"<gexf></gexf>", "read_gexf"},
      {"<?xml version=\"1.0\"?>\n<!DOCTYPE x [<!ENTITY a \"aaaa\">]>\n<graphml>&a;</graphml>", "declares an entity"}};
  for (const auto& [text, expected] : cases) EXPECT_THAT(RefusalOf(text), HasSubstr(expected)) << text;
}

// ---- .npz ----

TEST_F(ImportTest, ReadsTheArchivesOfGnnBenchmarkAndSparseGraph) {
  const std::vector<uint32_t> names = {'a', 0, 'b', 'c', 0xe9, 0, 'd', 0};  // "a", "bc", "é", "d"
  const std::vector<uint32_t> classes = {'u', 0, 'v', 'w'};
  for (const std::string separator : {"_", "_matrix."}) {
    WriteArchive("graph",
                 {Member<float>("adj" + separator + "data", "<f4", {4}, {1, 1, 1, 1}),
                  Member<int32_t>("adj" + separator + "indices", "<i4", {4}, {1, 2, 0, 2}),
                  Member<int32_t>("adj" + separator + "indptr", "<i4", {5}, {0, 1, 3, 3, 4}),
                  Member<int64_t>("adj" + separator + "shape", "<i8", {2}, {4, 4}),
                  Member<float>("attr" + separator + "data", "<f4", {2}, {1, 3}),
                  Member<int32_t>("attr" + separator + "indices", "<i4", {2}, {2, 0}),
                  Member<int32_t>("attr" + separator + "indptr", "<i4", {5}, {0, 1, 1, 1, 2}),
                  Member<int64_t>("attr" + separator + "shape", "<i8", {2}, {4, 3}),
                  Member<int8_t>("labels", "|i1", {4}, {1, 0, 1, 0}), Member<uint32_t>("node_names", "<U2", {4}, names),
                  Member<uint32_t>("class_names", "<U2", {2}, classes)});
    const Dataset read = Convert("graph");
    EXPECT_EQ(LinksOf(read.graph), kPath);
    EXPECT_EQ(read.attributes.ids, (std::vector<std::string>{"a", "bc", "\xc3\xa9", "d"}));
    EXPECT_EQ(read.attributes.labels, (std::vector<int32_t>{1, 0, 1, 0}));
    EXPECT_EQ(read.attributes.class_names, (std::vector<std::string>{"u", "vw"}));
    EXPECT_EQ(Values(read), (std::vector<float>{0, 0, 1, 0, 0, 0, 0, 0, 0, 3, 0, 0}));
  }
}

TEST_F(ImportTest, ReadsNamesThatGraph2GaussPickles) {
  const std::string pickle =
      pickled::Whole("cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(" + pickled::Integer(0) + "t" +
                     pickled::Text("b") + "tR(" + pickled::Integer(1) + ")" + pickled::Type("O8", '|') + "\x89](}(" +
                     pickled::Integer(1) + pickled::Text("one") + pickled::Integer(0) + pickled::Text("zero") + "uetb");
  // The type "O8" is never looked at, since the items are no numbers.
  auto objects = NpyBytes("|O", {}, pickle.data(), pickle.size());
  WriteArchive("graph", {Member<float>("adj_data", "<f4", {3}, {1, 1, 1}),
                         Member<int32_t>("adj_indices", "<i4", {3}, {1, 2, 3}),
                         Member<int32_t>("adj_indptr", "<i4", {5}, {0, 1, 2, 3, 3}),
                         Member<int64_t>("adj_shape", "<i8", {2}, {4, 4}),
                         Member<int64_t>("labels", "<i8", {4}, {1, 0, 1, 0}),
                         {"idx_to_class.npy", objects}});
  const Dataset read = Convert("graph");
  EXPECT_EQ(LinksOf(read.graph), kPath);
  EXPECT_EQ(read.attributes.class_names, (std::vector<std::string>{"zero", "one"}));
}

TEST_F(ImportTest, ReadsHeterophilousArchivesWithTheFirstOfTheirSplits) {
  WriteArchive("graph", {Member<int64_t>("edges", "<i8", {3, 2}, {0, 1, 1, 2, 2, 3}),
                         Member<float>("node_features", "<f4", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
                         Member<int64_t>("node_labels", "<i8", {4}, {0, 1, 1, 0}),
                         Member<uint8_t>("train_masks", "|b1", {2, 4}, {1, 0, 0, 1, 0, 1, 0, 0}),
                         Member<uint8_t>("val_masks", "|b1", {2, 4}, {0, 1, 0, 0, 1, 0, 0, 0}),
                         Member<uint8_t>("test_masks", "|b1", {2, 4}, {0, 0, 1, 0, 0, 0, 1, 0})});
  const Dataset read = Convert("graph");
  EXPECT_EQ(LinksOf(read.graph), kPath);
  EXPECT_EQ(read.attributes.features.values, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(read.attributes.split,
            (std::vector<Split>{Split::kTrain, Split::kValidation, Split::kTest, Split::kTrain}));
  EXPECT_THAT(report_.notes, Contains(HasSubstr("the first of 2 splits")));
}

TEST_F(ImportTest, ReadsTheArchiveThatTheLinesForPyTorchWrite) {
  WriteArchive("graph",
               {Member<int64_t>("edge_index", "<i8", {2, 2}, {0, 1, 1, 2}),  // 0-1 and 1-2
                Member<float>("x", "<f4", {4, 1}, {1, 2, 3, 4}), Member<int64_t>("y", "<i8", {4, 1}, {0, 1, -1, 0})});
  const Dataset read = Convert("graph");
  EXPECT_EQ(LinksOf(read.graph), (Links{{0, 1}, {1, 2}}));
  EXPECT_EQ(read.attributes.labels, (std::vector<int32_t>{0, 1, -1, 0}));
}

TEST_F(ImportTest, NamesTheMemberOfAWrongArchive) {
  const auto refusal = [&](const std::vector<std::pair<std::string, std::string>>& members) {
    WriteArchive("graph", members);
    return Refusal("graph");
  };
  const auto edges = Member<int64_t>("edges", "<i8", {3, 2}, {0, 1, 1, 2, 2, 3});
  EXPECT_THAT(refusal({Member<float>("weights", "<f4", {1}, {1})}),
              AllOf(HasSubstr("weights.npy"), HasSubstr("numpy.savez")));
  EXPECT_THAT(refusal({Member<int64_t>("edges", "<i8", {3}, {0, 1, 1})}), HasSubstr("(edges.npy): links must have"));
  EXPECT_THAT(refusal({edges, Member<int64_t>("y", "<i8", {3}, {0, 1, 1})}),
              HasSubstr("link 2 (from 0) has the end 3, but there are 3 nodes"));
  EXPECT_THAT(refusal({edges, Member<float>("x", "<f4", {4, 1}, {1, NAN, 1, 1})}), HasSubstr("row 1, column 0"));
  EXPECT_THAT(
      refusal({edges, Member<float>("x", "<f4", {4, 1}, {1, 1, 1, 1}), Member<float>("y", "<f4", {4}, {0, 0.5, 0, 0})}),
      HasSubstr("(y.npy): item 1 (from 0) is 0.5"));
  EXPECT_THAT(refusal({edges, Member<int64_t>("y", "<i8", {4, 2}, {1, 1, 0, 1, 1, 0, 0, 1})}),
              HasSubstr("several labels"));
  EXPECT_THAT(refusal({edges, Member<int64_t>("y", "<i8", {4}, {0, 20000, 0, 0})}), HasSubstr("above 9999"));
  EXPECT_THAT(refusal({Member<float>("adj_data", "<f4", {1}, {1}), Member<int32_t>("adj_indices", "<i4", {1}, {9}),
                       Member<int32_t>("adj_indptr", "<i4", {4}, {0, 1, 1, 1}),
                       Member<int64_t>("adj_shape", "<i8", {2}, {3, 3})}),
              HasSubstr("indices[0] is 9"));
  EXPECT_THAT(refusal({Member<int64_t>("num_nodes", "<i8", {}, {99'000'000}), edges}),
              HasSubstr("(num_nodes.npy): 99000000 nodes are above the limit"));
  EXPECT_THAT(refusal({Member<float>("adj_data", "<f4", {1}, {1}), Member<int32_t>("adj_indices", "<i4", {1}, {1}),
                       Member<int32_t>("adj_indptr", "<i4", {4}, {0, 1, 1, 1}),
                       Member<int64_t>("adj_shape", "<i8", {2}, {3, 3}), Member<float>("attr_data", "<f4", {1}, {NAN}),
                       Member<int32_t>("attr_indices", "<i4", {1}, {0}),
                       Member<int32_t>("attr_indptr", "<i4", {4}, {0, 1, 1, 1}),
                       Member<int64_t>("attr_shape", "<i8", {2}, {3, 3})}),
              HasSubstr("(attr_*): the feature in row 0, column 0"));
  EXPECT_THAT(RefusalOf("PK\x03\x04....x.npy"), HasSubstr("not a readable zip"));
}

// ---- MATLAB ----

std::string Element(uint32_t type, const std::string& data) {
  std::string out = pickled::LittleEndian(type, 4) + pickled::LittleEndian(data.size(), 4) + data;
  out.resize((out.size() + 7) / 8 * 8);
  return out;
}
template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}
std::string Variable(uint32_t kind, const std::string& name, std::vector<int32_t> shape, const std::string& parts) {
  return Element(14, Element(6, Bytes<uint32_t>({kind, 0})) + Element(5, Bytes(shape)) + Element(1, name) + parts);
}
std::string MatFile(const std::string& variables) {
  std::string head = "MATLAB 5.0 MAT-file, made by a test";
  head.resize(124, ' ');
  return head + std::string("\0\1IM", 4) + variables;
}
// The path 0-1-2-3 as a symmetric sparse matrix.
std::string PathMatrix(const std::string& name) {
  return Variable(5, name, {4, 4},
                  Element(5, Bytes<int32_t>({1, 0, 2, 1, 3, 2})) + Element(5, Bytes<int32_t>({0, 1, 3, 5, 6})) +
                      Element(9, Bytes<double>({1, 1, 1, 1, 1, 1})));
}

TEST_F(ImportTest, ReadsANetworkOfFacebook100) {
  // By columns: student_fac, gender, major, second_major, dorm, year, high_school
  const std::vector<uint16_t> people = {1, 1, 2, 1, 1, 2, 0,    2,    9,    9, 8, 0, 0, 0,
                                        0, 0, 0, 0, 0, 0, 2004, 2005, 2004, 0, 0, 0, 0, 0};
  Write("graph", MatFile(PathMatrix("A") + Variable(6, "local_info", {4, 7}, Element(4, Bytes(people)))));
  const Dataset read = Convert("graph");
  EXPECT_EQ(LinksOf(read.graph), kPath);
  EXPECT_EQ(read.attributes.labels, (std::vector<int32_t>{0, 1, -1, 1}));
  EXPECT_EQ(read.attributes.class_names, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(read.attributes.features.cols, 6u) << "two of student_fac, two majors, two years; 0 is unknown";
  options_.attributes.label_attribute = "year";
  EXPECT_EQ(Convert("graph").attributes.labels, (std::vector<int32_t>{0, 1, 0, -1}));
  options_.attributes.label_attribute = "shoe";
  EXPECT_THAT(Refusal("graph"), HasSubstr("no attribute \"shoe\""));
  options_.attributes = {.feature_attributes = {"year"}};
  EXPECT_THAT(Refusal("graph"), HasSubstr("leave --feature-attributes out"));
  options_.attributes = {};
  std::vector<double> unknown(28, 1.0);
  unknown[5] = NAN;  // of the second of four people
  EXPECT_THAT(RefusalOf(MatFile(PathMatrix("A") + Variable(6, "local_info", {4, 7}, Element(9, Bytes(unknown))))),
              HasSubstr("row 2 of local_info holds a value that is not finite"));
}

TEST_F(ImportTest, ReadsAnySquareMatrixOfMatlabAndRefusesWhatIsDamaged) {
  const std::string file = MatFile(PathMatrix("Net"));
  Write("graph", file);
  EXPECT_EQ(LinksOf(Convert("graph").graph), kPath);
  for (size_t size = 130; size + 1 < file.size(); size += 7)
    EXPECT_THAT(RefusalOf(file.substr(0, size)), HasSubstr("graph")) << size;
  EXPECT_THAT(RefusalOf("MATLAB 7.3 MAT-file, ..." + std::string(200, ' ')), HasSubstr("-v7"));
  EXPECT_THAT(RefusalOf(MatFile(PathMatrix("B") + PathMatrix("C"))), HasSubstr("several square matrices (B, C)"));
  EXPECT_THAT(RefusalOf(MatFile(Variable(6, "x", {2000000000, 2}, Element(9, "")))), HasSubstr("(x): is implausibly"));
  EXPECT_THAT(RefusalOf(MatFile(Variable(6, "x", {2, 2}, Element(9, Bytes<double>({1, 2}))))),
              HasSubstr("(x): holds 2 numbers for 2 rows and 2 columns"));
  EXPECT_THAT(RefusalOf(MatFile(Element(15, "not compressed"))), HasSubstr("a compressed variable is damaged"));
  EXPECT_THAT(RefusalOf(MatFile("")), HasSubstr("holds no matrix"));
}

// ---- pickles and PyTorch ----

TEST_F(ImportTest, ReadsAPickledDictionaryOfNeighboursAndNeverRunsOne) {
  Write("graph", pickled::Whole(pickled::Adjacency({{0, {1}}, {1, {0, 2}}, {2, {3}}, {3, {3}}})));
  EXPECT_EQ(LinksOf(Convert("graph").graph), kPath);
  const std::string trace = Path("trace");
  EXPECT_THAT(RefusalOf(pickled::Whole("cos\nsystem\n(" + pickled::Text("touch " + trace) + "tR")),
              HasSubstr("names os.system"));
  for (const std::string& memo : {std::string("p0\n"), std::string("p1\n"), std::string("q\0", 2), std::string()}) {
    EXPECT_THAT(RefusalOf(absl::StrCat("cposix\nsystem\n", memo, "(S'touch ", trace, "'\ntR.")),
                HasSubstr("names posix.system"));
  }
  EXPECT_FALSE(std::filesystem::exists(trace));
  // Ids that begin as a name and its place in the memo do.
  Write("graph", "0,1\n1,2\n");
  options_.features = Path("x");
  Write("x", "1\n2\n3\n");
  options_.feature_ids = Path("ids");
  Write("ids", "c1\nc2\np3\n");
  EXPECT_THAT(Refusal("graph"), HasSubstr("c1"));
}

TEST_F(ImportTest, RefusesAFileOfPyTorchWithTheThreeLinesThatExportIt) {
  const std::string message = RefusalOf(std::string("PK\x03\x04..archive/data.pkl"));
  EXPECT_THAT(message, AllOf(HasSubstr("import numpy, torch"), HasSubstr("d.to_dict()"), HasSubstr("numpy.savez(")));
}

TEST_F(ImportTest, TakesCompanionsInsteadOfWhatTheGraphHolds) {
  Write("graph", kGraphMl);
  Write("labels", "a,0\nb,1\nc,1\nd,1\n");
  options_.labels = Path("labels");
  options_.random_split = 3;
  const Dataset read = Convert("graph");
  EXPECT_EQ(read.attributes.labels, (std::vector<int32_t>{0, 1, 1, 1}));
  options_.labels.clear();
  Write("matrix", kMatrix);
  EXPECT_THAT(Refusal("matrix"), HasSubstr("give --labels"));
}

TEST_F(ImportTest, ReadsFeaturesAsJsonAndAsAMatrix) {
  Write("links", "0,1\n1,2\n2,3\n");
  options_.features = Path("features");
  Write("features", "{\"2\": [1, 1], \"0\": [], \"1\": [0, 2], \"3\": [0]}");
  EXPECT_EQ(Values(Convert("links")), (std::vector<float>{0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0}));
  Write("features", "%%MatrixMarket matrix coordinate real general\n4 2 2\n1 1 0.5\n4 2 3\n");
  EXPECT_EQ(Values(Convert("links")), (std::vector<float>{0.5, 0, 0, 0, 0, 0, 0, 3}));
  const std::pair<const char*, const char*> cases[] = {
      {"{\"0\": [1.5]}", "node \"0\": found 1.5"},           {"{\"0\": [-1]}", "node \"0\": found -1"},
      {"{\"0\": [1], \"0\": [2]}", "a second time"},         {"{\"0\": [1]", "no valid JSON at byte"},
      {"{\"0\": {\"a\": 1}}", "an object within an object"}, {"{\"0\": [[1]]}", "a list at a place"},
      {"{\"0\": [999999999]}", "above the limit"},           {"{}", "holds no node"}};
  for (const auto& [text, expected] : cases) {
    Write("features", text);
    EXPECT_THAT(Refusal("links"), HasSubstr(expected)) << text;
  }
}

// `head`, then 300 MiB of blanks, as a stream that zlib reads, of less than a MiB. 31 window bits: gzip.
std::string Growing(const std::string& head, int window_bits) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string whole, blanks(1 << 20, ' '), packed(1 << 20, '\0');
  for (std::string piece : {head, blanks, blanks}) {
    stream.next_in = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_in = static_cast<uInt>(piece.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    EXPECT_EQ(deflate(&stream, Z_FULL_FLUSH), Z_OK);
    whole.append(packed.data(), packed.size() - stream.avail_out);
  }
  // Of two equal pieces the second is what would follow again and again.
  const std::string repeated = packed.substr(0, packed.size() - stream.avail_out);
  deflateEnd(&stream);
  for (int k = 2; k < 300; ++k) whole += repeated;
  return whole;
}

TEST_F(ImportTest, RefusesCompressedFilesThatGrowAsNoDataDo) {
  EXPECT_THAT(RefusalOf(Growing("graph [ ", 31)), AllOf(HasSubstr("is gzip that grows"), HasSubstr("gzip -d")));
  EXPECT_THAT(RefusalOf(MatFile(Element(15, Growing("", 15)))),
              AllOf(HasSubstr("a compressed variable grows"), HasSubstr("save it with -v6")));
  std::mt19937 random(1);
  std::string noise(400'000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  WriteArchive("graph", {{"edge_index.npy", noise}});
  std::string archive = *ReadFile(Path("graph"), 4 << 20);
  const size_t entry = archive.find("PK\x01\x02");
  archive.replace(entry + 24, 4, Bytes<uint32_t>({300 << 20}));  // the size that the archive claims
  EXPECT_THAT(RefusalOf(archive), AllOf(HasSubstr("graph (edge_index.npy)"), HasSubstr("to 314572800 bytes"),
                                        HasSubstr("instead of savez_compressed")));
}

TEST_F(ImportTest, RefusesArraysThatGrowTogetherAsNoDataDo) {
  {
    const std::string zeros(150 << 20, '\0');
    const std::string array = NpyBytes("|i1", {zeros.size()}, zeros.data(), zeros.size());
    WriteArchive("graph", {{"a.npy", array}, {"b.npy", array}});
  }
  const std::string bytes = *ReadFile(Path("graph"), 4 << 20);
  auto archive = NpzArchive::Open(bytes, "graph");
  ASSERT_TRUE(archive.ok()) << archive.status();
  for (int k = 0; k < 3; ++k) EXPECT_TRUE(archive->Get("a").ok());  // which is read once
  EXPECT_THAT(std::string(archive->Get("b").status().message()),
              AllOf(HasSubstr("graph (b.npy): with this array"), HasSubstr("instead of savez_compressed")));
}

TEST_F(ImportTest, TakesAnotherAttributeWhereTheLabelsAreNames) {
  std::string text = "<graphml><key id=\"label\" for=\"node\"/><key id=\"class\" for=\"node\"/><graph>";
  for (int k = 0; k < 101; ++k) {
    absl::StrAppend(&text, "<node id=\"", k, "\"><data key=\"label\">page ", k, "</data><data key=\"class\">", k % 2,
                    "</data></node>");
  }
  Write("graph", text + "</graph></graphml>");
  EXPECT_EQ(Convert("graph").attributes.class_count, 2u);
  EXPECT_THAT(report_.notes, Contains(HasSubstr("the attribute label holds names or amounts")));
  options_.attributes.label_attribute = "label";
  EXPECT_EQ(Convert("graph").attributes.class_count, 101u);
}

TEST_F(ImportTest, RefusesAttributesThatGrowFarBeyondTheFile) {
  const auto graph_of = [](int attributes, const std::string& default_value) {
    std::string text = "<graphml>", nodes, data;
    for (int k = 0; k < attributes; ++k) {
      absl::StrAppend(&text, "<key id=\"", k, "\" for=\"node\"><default>", default_value, "</default></key>");
      absl::StrAppend(&data, "<data key=\"", k, "\">1</data>");
    }
    for (int k = 1; k < 100'000; ++k) absl::StrAppend(&nodes, "<node id=\"", k, "\"/>");
    return absl::StrCat(text, "<graph><node id=\"0\">", data, "</node>", nodes, "</graph></graphml>");
  };
  EXPECT_THAT(RefusalOf(graph_of(101, "0")), HasSubstr("has 101 attributes of 100000 nodes, above 10000000 values"));
  EXPECT_THAT(RefusalOf(graph_of(1, std::string(250, 'x'))), HasSubstr("its defaults, such as that of 0, are longer"));
}

}  // namespace
}  // namespace blink
