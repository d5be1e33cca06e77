#include "tools/dataset/import/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tools/dataset/import/pickle_writer.h"
#include "tools/dataset/import/pickle_arrays.h"

namespace blink {
namespace {

using pickled::Whole;
using ::testing::HasSubstr;

std::string Refusal(const std::string& bytes) {
  const auto pickle = Pickle::Parse(bytes, "file");
  EXPECT_EQ(pickle.status().code(), absl::StatusCode::kInvalidArgument) << pickle.status();
  return std::string(pickle.status().message());
}

TEST(Pickle, ReadsNumbersTextsListsAndDictionaries) {
  // pickle.dumps({1: [2, -3, 1 << 40, True, None, 0.5], 'a': (b'b', u'c')}, 2), in short
  const std::string bytes =
      Whole(std::string("}(K\x01](K\x02J\xfd\xff\xff\xff\x8a\x06\0\0\0\0\0\x01\x88NG\x3f\xe0\0\0\0\0\0\0e"
                        "U\x01"
                        "aU\x01"
                        "bX\x01\0\0\0c\x86u",
                        47));
  const auto pickle = Pickle::Parse(bytes, "file");
  ASSERT_TRUE(pickle.ok()) << pickle.status();
  const PickleValue& root = pickle->root();
  ASSERT_EQ(root.kind, PickleValue::Kind::kDict);
  ASSERT_EQ(root.items.size(), 4u);
  const auto& list = root.items[1]->items;
  ASSERT_EQ(list.size(), 6u);
  EXPECT_EQ(list[1]->integer, -3);
  EXPECT_EQ(list[2]->integer, int64_t{1} << 40);
  EXPECT_EQ(list[3]->kind, PickleValue::Kind::kBool);
  EXPECT_EQ(list[4]->kind, PickleValue::Kind::kNone);
  EXPECT_EQ(list[5]->real, 0.5);
  EXPECT_EQ(root.items[3]->items[1]->text, "c");
}

TEST(Pickle, ReadsTheTextOfProtocol0) {
  const auto pickle = Pickle::Parse("(dp0\nI1\n(lp1\nI2\naI01\naL5L\nasS'a\\x00\\'b'\np2\nF0.25\ns.", "file");
  ASSERT_TRUE(pickle.ok()) << pickle.status();
  const auto& items = pickle->root().items;
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(items[1]->items[2]->integer, 5);
  EXPECT_EQ(items[2]->text, absl::string_view("a\0'b", 4));
  EXPECT_EQ(items[3]->real, 0.25);
  const auto wide = Pickle::Parse("V\\u20ac\\u005c\xe9\n.", "file");
  ASSERT_TRUE(wide.ok()) << wide.status();
  EXPECT_EQ(wide->root().text, "\xe2\x82\xac\\\xc3\xa9");
  EXPECT_THAT(Refusal("V\\u20\n."), HasSubstr("a text is unreadable"));
}

TEST(Pickle, ReadsWhatTheMemoHoldsOfEveryProtocol) {
  for (const std::string& bytes : {std::string("\x80\x02](K\x05q\x01h\x01h\x01"
                                               "e."),
                                   std::string("\x80\x04](K\x05\x94h\0h\0e.", 13)}) {
    const auto pickle = Pickle::Parse(bytes, "file");
    ASSERT_TRUE(pickle.ok()) << pickle.status();
    ASSERT_EQ(pickle->root().items.size(), 3u);
    EXPECT_EQ(pickle->root().items[2]->integer, 5);
  }
}

TEST(Pickle, RefusesEveryNameThatIsNotOfAnArray) {
  EXPECT_THAT(Refusal("cos\nsystem\n(S'true'\ntR."), HasSubstr("byte 0: the pickle names os.system"));
  EXPECT_THAT(Refusal(Whole("cposix\nsystem\nU\x04true\x85R")), HasSubstr("posix.system"));
  EXPECT_THAT(Refusal(Whole("c__builtin__\neval\n")), HasSubstr("__builtin__.eval"));
  EXPECT_THAT(Refusal(Whole("cnetworkx.classes.graph\nGraph\n)\x81")), HasSubstr("networkx.classes.graph.Graph"));
  // In the names of protocol 4, also where a part of an allowed name is given as the module.
  EXPECT_THAT(Refusal(Whole("\x8c\x08"
                            "builtins\x8c\x04"
                            "exec\x93")),
              HasSubstr("builtins.exec"));
  EXPECT_THAT(Refusal(Whole("cnumpy.core\nmultiarray\n")), HasSubstr("numpy.core.multiarray,"));
}

TEST(Pickle, RefusesOpcodesThatArraysDoNotNeed) {
  for (const char* opcode : {"Pid\n", "Q", "\x82\x01", "ios\nsystem\n", "o", "\x92"}) {
    EXPECT_THAT(Refusal(Whole(std::string("(K\x01K\x02") + opcode)), HasSubstr("the pickle holds the opcode"))
        << opcode;
  }
}

TEST(Pickle, RefusesWhatIsDamaged) {
  const std::string good = Whole(pickled::Adjacency({{0, {1, 2}}, {1, {0}}}));
  ASSERT_TRUE(Pickle::Parse(good, "file").ok());
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(Pickle::Parse(good.substr(0, size), "file").ok()) << size;
  const std::pair<std::string, const char*> cases[] = {{Whole("K\x01K\x02"), "more than one value is left"},
                                                       {Whole("h\x07"), "refers to a value that it does not hold"},
                                                       {Whole("}K\x01K\x02"
                                                              "e"),
                                                        "a mark is missing"},
                                                       {Whole("K\x01K\x02"
                                                              "a"),
                                                        "an item has no list"},
                                                       {Whole("}(K\x01u"), "a key has no value"},
                                                       {Whole("K\x01)R"), "a call has no name"},
                                                       {Whole("]}b"), "a state has no object"},
                                                       {"\x80\x09.", "protocol 9"},
                                                       {Whole("\x8a\x09" + std::string(9, '\1')), "more than 64 bits"},
                                                       {Whole(std::string("T\xff\xff\xff\x7f", 5)), "cut off"},
                                                       {Whole("\x85"), "a value is missing"}};
  for (const auto& [bytes, expected] : cases) EXPECT_THAT(Refusal(bytes), HasSubstr(expected));
}

// A few bytes that name a large value again and again must not fill the memory.
TEST(Pickle, RefusesToCopyALargeValueAgainAndAgain) {
  std::string many = "c__builtin__\nlist\nq\x01(";
  for (int k = 0; k < 9; ++k) many += "K\x01";
  EXPECT_THAT(Refusal(Whole(many + "tR")), HasSubstr("too many arguments"));
  std::string decoded = "](c_codecs\nencode\nq\x01X" + pickled::LittleEndian(1000, 4) + std::string(1000, 'x') +
                        "q\x02X\x06" + std::string(3, '\0') + "latin1q\x03\x86R";
  for (int k = 0; k < 9; ++k) decoded += "h\x01h\x02h\x03\x86R";
  EXPECT_THAT(Refusal(Whole(decoded + "e")), HasSubstr("its texts are longer than it is"));
}

TEST(PickleArrays, RefusesListsAndNamesThatManyNodesShare) {
  std::string adjacency = std::string("}(K\0](", 6),
              names = "](X" + pickled::LittleEndian(1000, 4) + std::string(1000, 'x') + "q\x01";
  for (int k = 0; k < 100; ++k) adjacency += "K\x02";
  adjacency += "eq\x01";
  for (int k = 1; k < 100; ++k) adjacency += "M" + pickled::LittleEndian(k, 2) + "h\x01";
  for (int k = 1; k < 100; ++k) names += "h\x01";
  adjacency = Whole(adjacency + "u");  // which the parsed pickle points into
  names = Whole(names + "e");
  const auto lists = Pickle::Parse(adjacency, "file");
  ASSERT_TRUE(lists.ok()) << lists.status();
  EXPECT_THAT(std::string(AdjacencyOf(*lists, "file").status().message()), HasSubstr("many nodes share a list"));
  const auto texts = Pickle::Parse(names, "file");
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_THAT(std::string(NamesIn(*texts, "file").status().message()), HasSubstr("many share a text"));
}

// Python 3 writes them so in protocols 0 to 2.
TEST(Pickle, ReadsNoBytes) {
  const std::string call = "c__builtin__\nbytes\n";
  const std::string none = Whole(call + ")R");
  const auto pickle = Pickle::Parse(none, "file");
  ASSERT_TRUE(pickle.ok()) << pickle.status();
  EXPECT_EQ(pickle->root().kind, PickleValue::Kind::kBytes);
  EXPECT_TRUE(pickle->root().text.empty());
  EXPECT_THAT(Refusal(Whole(call + "(J" + std::string(4, '\x7f') + "tR")), HasSubstr("bytes with arguments"));
}

TEST(PickleArrays, ReadsArraysAndMatricesInEveryForm) {
  const std::string array = Whole(pickled::Array<int32_t>("i4", {2, 2}, {1, 2, 3, 4}, true));
  const auto pickle = Pickle::Parse(array, "file");
  ASSERT_TRUE(pickle.ok()) << pickle.status();
  const auto read = ArrayOf(pickle->root(), "file");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->by_columns);
  EXPECT_EQ(read->shape, (std::vector<uint64_t>{2, 2}));
  // The same matrix by rows, by columns and by places: [[0, 5, 0], [7, 0, 6]]
  for (const std::string& bytes :
       {Whole(pickled::Csr(2, 3, {0, 1, 3}, {1, 2, 0}, {5, 6, 7})),
        Whole(pickled::Csr(2, 3, {0, 1, 2, 3}, {1, 0, 1}, {7, 5, 6}, "scipy.sparse.csc\ncsc_matrix")),
        Whole(pickled::Coo(2, 3, {1, 0, 1}, {2, 1, 0}, {6, 5, 7}))}) {
    const auto matrix_pickle = Pickle::Parse(bytes, "file");
    ASSERT_TRUE(matrix_pickle.ok()) << matrix_pickle.status();
    const auto matrix = MatrixOf(matrix_pickle->root(), "file");
    ASSERT_TRUE(matrix.ok()) << matrix.status();
    EXPECT_EQ(ToDense(*matrix).values, (std::vector<float>{0, 5, 0, 7, 0, 6}));
  }
}

TEST(PickleArrays, RefusesASizeThatTheBytesDoNotHold) {
  const auto refusal = [](const std::string& bytes) {
    const auto pickle = Pickle::Parse(bytes, "file");
    EXPECT_TRUE(pickle.ok()) << pickle.status();
    return std::string(MatrixOf(pickle->root(), "file").status().message());
  };
  EXPECT_THAT(refusal(Whole(pickled::Array<float>("f4", {1000000, 1000}, {1.0f}))),
              HasSubstr("needs 4000000000 bytes"));
  EXPECT_THAT(refusal(Whole(pickled::Array<float>("f4", {2000000000, 2000000000}, {1.0f}))), HasSubstr("implausibly"));
  EXPECT_THAT(refusal(Whole(pickled::Array<float>("f4", {-1, 1}, {1.0f}))), HasSubstr("implausibly"));
  EXPECT_THAT(refusal(Whole(pickled::Array<float>("V4", {1, 1}, {1.0f}))), HasSubstr("V4"));
  EXPECT_THAT(refusal(Whole(pickled::Csr(2, 3, {0, 1, 9}, {1, 2}, {5, 6}))), HasSubstr("indptr"));
  EXPECT_THAT(refusal(Whole(pickled::Csr(2, 3, {0, 1, 2}, {1, 3}, {5, 6}))), HasSubstr("indices[1]"));
  EXPECT_THAT(refusal(Whole(pickled::Coo(2, 3, {0, 2}, {0, 0}, {1, 1}))), HasSubstr("entry 1 (from 0) is beyond"));
  EXPECT_THAT(refusal(Whole("K\x01")), HasSubstr("something else"));
}

}  // namespace
}  // namespace blink
