#include "common/graph/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zip.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/durable_file.h"
#include "common/graph/numpy_file.h"
#include "tests/testing/temp_folder.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

class DatasetTest : public testing::FolderTest {
 protected:
  void WriteSmall() {
    Write("labels.csv", "node,label\n0,0\n1,1\n2,-1\n3,1\n");
    Write("split.csv", "node,split\r\n0,train\r\n1,val\r\n2,test\r\n");
    Write("edges.csv", "source,target\n0,1\n2,1\n");
  }
  std::string ErrorOfDataset() {
    const auto read = ReadDataset(folder_);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(read.status().message());
  }
};

std::string Npy(const std::string& header, const std::string& data) {
  std::string out("\x93NUMPY\x01\x00", 8);
  out.push_back(static_cast<char>(header.size() & 255));
  out.push_back(static_cast<char>(header.size() >> 8));
  return out + header + data;
}

void WriteArchive(const std::string& path, const std::vector<std::pair<std::string, std::string>>& members) {
  int error = 0;
  std::filesystem::remove(path);
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE, &error);
  ASSERT_NE(archive, nullptr);
  for (const auto& [name, bytes] : members) {
    zip_file_add(archive, (name + ".npy").c_str(), zip_source_buffer(archive, bytes.data(), bytes.size(), 0), 0);
  }
  ASSERT_EQ(zip_close(archive), 0);
}

TEST_F(DatasetTest, ReadsASmallFolder) {
  WriteSmall();
  const auto read = ReadDataset(folder_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->graph.link_count(), 2u);
  EXPECT_EQ(read->attributes.class_count, 2u);
  EXPECT_EQ(read->attributes.features.cols, 0u);
  EXPECT_EQ(read->attributes.labels, (std::vector<int32_t>{0, 1, -1, 1}));
  EXPECT_EQ(read->attributes.split,
            (std::vector<Split>{Split::kTrain, Split::kValidation, Split::kTest, Split::kNone}));
}

TEST_F(DatasetTest, WritesWhatItReads) {
  SyntheticOptions options{.nodes = 300, .classes = 3, .features = 50, .words_per_node = 6};
  const auto made = GenerateDataset(options);
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_TRUE(WriteDataset(*made, folder_).ok());
  const auto read = ReadDataset(folder_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->graph.neighbours() == made->graph.neighbours());
  EXPECT_EQ(read->attributes.labels, made->attributes.labels);
  EXPECT_EQ(read->attributes.split, made->attributes.split);
  EXPECT_EQ(read->attributes.class_names, made->attributes.class_names);
  EXPECT_EQ(read->attributes.features.columns, made->attributes.features.columns);
  EXPECT_EQ(read->attributes.features.row_offsets, made->attributes.features.row_offsets);
  EXPECT_EQ(read->attributes.features.values, made->attributes.features.values);
}

TEST_F(DatasetTest, ReplacesTheFeaturesOfAnEarlierDataset) {
  auto made = GenerateDataset({.nodes = 50, .classes = 3, .features = 20, .words_per_node = 4});
  ASSERT_TRUE(WriteAttributes(made->attributes, folder_).ok());
  made->attributes.features = FeatureMatrix{.rows = 50, .cols = 1, .values = std::vector<float>(50, 0.5f)};
  ASSERT_TRUE(WriteAttributes(made->attributes, folder_).ok());
  const auto read = ReadAttributes(folder_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->features.values, made->attributes.features.values);
}

TEST_F(DatasetTest, AttributeFolderWithLinksIsRefused) {
  WriteSmall();
  std::filesystem::remove(folder_ + "/edges.csv");
  EXPECT_TRUE(ReadAttributes(folder_).ok());
  for (const std::string name : {"edges.csv", "Edges.txt", "edge_list.npz", "adj.npz", "orig", "lists", "lists.csv",
                                 ".edges.csv", "graph.edges", "my_neighbours.csv", "links.csv.gz", "more/edges.csv"}) {
    std::filesystem::create_directories(folder_ + "/" + name);
    const auto read = ReadAttributes(folder_);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kFailedPrecondition) << name;
    EXPECT_THAT(read.status().message(), HasSubstr(name));
    std::filesystem::remove(folder_ + "/" + name);
  }
}

TEST_F(DatasetTest, MissingFilesAreNotFound) {
  EXPECT_EQ(ReadDataset(folder_ + "/nothing").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadDataset(folder_).status().code(), absl::StatusCode::kNotFound);
  WriteSmall();
  std::filesystem::remove(folder_ + "/edges.csv");
  EXPECT_EQ(ReadDataset(folder_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(DatasetTest, NamesTheRemedyWhereNothingListsTheNodes) {
  WriteSmall();
  std::filesystem::remove(folder_ + "/labels.csv");
  const absl::Status status = ReadDataset(folder_).status();
  EXPECT_THAT(std::string(status.message()),
              ::testing::AllOf(HasSubstr("labels.csv"), HasSubstr("nodes.csv"), HasSubstr("blink dataset convert")));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(IsFileError(status)) << "the program's exit code hangs on it";
}

TEST_F(DatasetTest, NeedsNeitherLabelsNorASplitWhereNodesAreListed) {
  WriteSmall();
  for (const char* name : {"/split.csv", "/labels.csv"}) std::filesystem::remove(folder_ + name);
  Write("nodes.csv", "node,id\n0,anna\n2,\"b, \"\"the\"\" c\"\n1,7\n3,x\n");
  const auto read = ReadDataset(folder_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->attributes.has_labels());
  EXPECT_EQ(read->attributes.class_count, 0u);
  EXPECT_EQ(read->attributes.labels, std::vector<int32_t>(4, -1));
  EXPECT_EQ(read->attributes.split, std::vector<Split>(4, Split::kNone));
  EXPECT_EQ(read->attributes.ids, (std::vector<std::string>{"anna", "7", "b, \"the\" c", "x"}));
  EXPECT_EQ(read->graph.link_count(), 2u);
  ASSERT_TRUE(WriteDataset(*read, folder_ + "/again").ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/again/labels.csv"));
  const auto again = ReadDataset(folder_ + "/again");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->attributes.ids, read->attributes.ids);
}

TEST_F(DatasetTest, LabelsThatAreAllUnknownAreNone) {
  WriteSmall();
  EXPECT_TRUE(ReadDataset(folder_)->attributes.has_labels());
  Write("labels.csv", "node,label\n0,-1\n1,-1\n2,-1\n3,-1\n");
  EXPECT_FALSE(ReadDataset(folder_)->attributes.has_labels());
}

TEST_F(DatasetTest, RefusesIdsOfAnotherNumberOfNodes) {
  WriteSmall();
  Write("nodes.csv", "node,id\n0,a\n1,b\n2,c\n");
  EXPECT_THAT(ErrorOfDataset(), HasSubstr("nodes.csv has 3 nodes, but labels.csv has 4"));
}

// Of a FIFO the open would wait for ever, and a device has no end.
TEST_F(DatasetTest, RefusesWhatIsNoRegularFileAtOnce) {
  for (const char* name :
       {"labels.csv", "split.csv", "nodes.csv", "classes.txt", "edges.csv", "features.npz", "features.npy"}) {
    const std::string path = absl::StrCat(folder_, "/", name);
    for (const bool fifo : {true, false}) {
      WriteSmall();
      std::filesystem::remove(path);
      if (fifo) {
        ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
      }
      if (!fifo) std::filesystem::create_symlink("/dev/zero", path);
      EXPECT_THAT(ErrorOfDataset(), HasSubstr("not a regular file")) << name;
      std::filesystem::remove(path);
    }
  }
}

// Else an optional file would pass for one that is not there.
TEST_F(DatasetTest, RefusesALinkToNothingInThePlaceOfAnyFile) {
  for (const char* name :
       {"labels.csv", "split.csv", "nodes.csv", "classes.txt", "edges.csv", "features.npz", "features.npy"}) {
    const std::string path = absl::StrCat(folder_, "/", name);
    WriteSmall();
    std::filesystem::remove(path);
    std::filesystem::create_symlink(folder_ + "/nothing", path);
    EXPECT_THAT(ErrorOfDataset(), AllOf(HasSubstr(path), HasSubstr("is a symbolic link to nothing")));
    std::filesystem::remove(path);
  }
}

TEST_F(DatasetTest, EachMalformedLineIsNamed) {
  const std::tuple<std::string, std::string, std::string> cases[] = {
      {"edges.csv", "0,1\n", "line 1: the first line must be the header"},
      {"edges.csv", "", "edges.csv, line 1: the first line must be the header"},
      {"split.csv", "", "split.csv, line 1: the first line must be the header"},
      {"labels.csv", "", "labels.csv, line 1: the first line must be the header"},
      {"edges.csv", "\xEF\xBB\xBF", "edges.csv, line 1: the first line must be the header"},
      {"edges.csv", "source,target\n0,1\n0,9\n", "edges.csv, line 3: node 9"},
      {"edges.csv", "source,target\n1,1\n", "line 2: node 1 is linked to itself"},
      {"edges.csv", "source,target\n0 1\n", "line 2: expected two values"},
      {"edges.csv", "source,target\n-1,1\n", "line 2: a node is an integer"},
      {"labels.csv", "node,label\n0,0\n1,1\n1,1\n2,0\n", "line 4: node 1 stands twice"},
      {"labels.csv", "node,label\n0,0\n1,1\n7,1\n2,0\n", "line 4: node 7"},
      {"labels.csv", "node,label\n0,0\n1,x\n2,1\n", "line 3: a label is an integer"},
      {"labels.csv", "node,label\n0,2000000000\n1,1\n2,1\n", "line 2: a label is an integer"},
      {"labels.csv", "node,label\n0,0\n", "at least 3 nodes"},
      {"nodes.csv", "id,node\n", "nodes.csv, line 1: the first line must be the header"},
      {"nodes.csv", "node,id\n0,a\n0,b\n1,c\n2,d\n", "nodes.csv, line 3: node 0 stands twice"},
      {"nodes.csv", "node,id\n0,a\n9,b\n1,c\n2,d\n", "nodes.csv, line 3: node 9 among 4 lines"},
      {"nodes.csv", "node,id\n0,\n9,b\n1,c\n2,d\n", "nodes.csv, line 2: the id is empty"},
      {"nodes.csv", "node,id\n0,a\n1,b\n2,c\n3,b\n", "nodes.csv, line 5: the id \"b\" is also that of node 1"},
      {"split.csv", "node,split\n0,training\n", "split.csv, line 2: a split is"},
      {"split.csv", "node,split\n0,train\n0,test\n", "line 3: node 0 stands twice"},
      {"classes.txt", "only one\n", "labels.csv knows 2 classes"},
      {"classes.txt", "one\n" + std::string(257, 'x') + "\n", "classes.txt, line 2: the name of a class"},
      {"features.npy", "not an array", "is not a NumPy array"},
      {"features.npz", "not a zip", "is not a readable zip archive"},
  };
  for (const auto& [file, content, expected] : cases) {
    WriteSmall();
    Write(file, content);
    EXPECT_THAT(ErrorOfDataset(), HasSubstr(expected)) << file << ": " << content;
    std::filesystem::remove(folder_ + "/" + file);
  }
}

TEST_F(DatasetTest, RefusesFeaturesOfAnotherNumberOfNodes) {
  WriteSmall();
  ASSERT_TRUE(
      WriteDenseNpy({.rows = 5, .cols = 2, .values = std::vector<float>(10, 1)}, folder_ + "/features.npy").ok());
  EXPECT_THAT(ErrorOfDataset(), HasSubstr("5 rows"));
}

TEST_F(DatasetTest, RefusesTwoFilesOfFeatures) {
  WriteSmall();
  Write("features.npy", "");
  Write("features.npz", "");
  EXPECT_THAT(ErrorOfDataset(), HasSubstr("both"));
}

TEST_F(DatasetTest, RefusesASparseFileThatIsCutOrFlippedAnywhere) {
  const auto made = GenerateDataset({.nodes = 30, .classes = 2, .mean_degree = 3, .features = 20, .words_per_node = 4});
  ASSERT_TRUE(WriteSparseNpz(made->attributes.features, folder_ + "/f.npz").ok());
  const std::string bytes = *ReadFile(folder_ + "/f.npz", 1 << 20);
  for (size_t cut = 0; cut < bytes.size(); cut += 7) {
    Write("cut.npz", absl::string_view(bytes).substr(0, cut));
    EXPECT_FALSE(ReadSparseNpz(folder_ + "/cut.npz").ok()) << cut;
  }
  for (size_t at = 0; at < bytes.size();
       at += 5) {  // it may be a harmless bit (a time stamp): then the data must be the same
    std::string flipped = bytes;
    flipped[at] ^= 0x10;
    Write("flipped.npz", flipped);
    const auto read = ReadSparseNpz(folder_ + "/flipped.npz");
    EXPECT_TRUE(!read.ok() || read->columns == made->attributes.features.columns) << at;
  }
}

TEST(ParseNpy, ReadsScalarsVectorsAndMatrices) {
  const std::string text = Npy("{'descr': '|S3', 'fortran_order': False, 'shape': (), }\n", "csr");
  const auto scalar = ParseNpy(text, "x");
  ASSERT_TRUE(scalar.ok()) << scalar.status();
  EXPECT_EQ(scalar->data, "csr");
  const std::string matrix = Npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }\n", std::string(24, 'x'));
  EXPECT_EQ(ParseNpy(matrix, "x")->shape, (std::vector<uint64_t>{2, 3}));
}

TEST(ParseNpy, RefusesWhatDoesNotFitItsBytes) {
  for (const std::string shape : {"(2, 3)", "(1000000, 1000000, 1000000)", "(18446744073709551615,)",
                                  "(4294967296, 4294967296)", "(-1,)", "(", ""}) {
    EXPECT_EQ(ParseNpy(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape, "1234"), "x").status().code(),
              absl::StatusCode::kInvalidArgument)
        << shape;
  }
  EXPECT_FALSE(ParseNpy(Npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "1234"), "x").ok());
  EXPECT_FALSE(ParseNpy(Npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "12345678"), "x").ok());
  EXPECT_FALSE(ParseNpy(Npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "1234"), "x").ok());
  EXPECT_FALSE(ParseNpy(Npy("{'descr': '<U4294967295', 'fortran_order': False, 'shape': (1,)}", "1234"), "x").ok());
  EXPECT_FALSE(ParseNpy(Npy("{}", ""), "x").ok());
  EXPECT_FALSE(ParseNpy("\x93NUMPY", "x").ok());
}

template <typename T>
std::string Bytes(std::initializer_list<T> values) {
  std::string bytes;
  for (const T value : values) bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
  return bytes;
}

std::string List(const std::string& descr, const std::string& data) {
  return Npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (3,), }\n", data);
}

TEST(IdsOf, ReadsTextAndEveryKindOfInteger) {
  const auto ids = [](const std::string& bytes) {
    const auto array = ParseNpy(bytes, "x");
    return array.ok() ? IdsOf(*array, "x") : array.status();
  };
  const std::vector<std::string> expected = {"1", "2", "100"};
  for (const std::string& bytes :
       {List("|i1", Bytes<int8_t>({1, 2, 100})), List("|u1", Bytes<uint8_t>({1, 2, 100})),
        List("<i2", Bytes<int16_t>({1, 2, 100})), List("<u4", Bytes<uint32_t>({1, 2, 100})),
        List(">i2", Bytes<int16_t>({0x0100, 0x0200, 0x6400})), List("<f4", Bytes<float>({1, 2, 100})),
        List("<f8", Bytes<double>({1, 2, 100})),
        List("|S3", std::string("1\0\0"
                                "2\0\0"
                                "100",
                                9)),
        List("<U3", Bytes<uint32_t>({'1', 0, 0, '2', 0, 0, '1', '0', '0'})),
        List(">U3",
             std::string("\0\0\0001\0\0\0\0\0\0\0\0\0\0\0002\0\0\0\0\0\0\0\0\0\0\0001\0\0\0000\0\0\0000", 36))}) {
    const auto read = ids(bytes);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, expected);
  }
  EXPECT_EQ(*ids(List("<U1", Bytes<uint32_t>({0xFC, 0x674E, 0x1F642}))), (std::vector<std::string>{"ü", "李", "🙂"}));
  for (const std::string& bytes : {List("<f8", Bytes<double>({1, 2.5, 3})), List("<f4", Bytes<float>({1, NAN, 3})),
                                   List("<f8", Bytes<double>({1, 1e300, 3})), List("|b1", std::string("\1\0\1", 3)),
                                   List("<f2", std::string(6, '\0')), List("<U1", Bytes<uint32_t>({'a', 0xD800, 'b'})),
                                   List("<U1", Bytes<uint32_t>({'a', 0x110000, 'b'}))}) {
    EXPECT_EQ(ids(bytes).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

std::string Matrix(const std::string& descr, const std::string& data, bool fortran = false) {
  return Npy("{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': (2, 3), }\n",
             data);
}

TEST(ParseDenseNpy, ReadsEveryKindOfNumberInBothOrders) {
  const std::vector<float> expected = {0, 1, 2, 3, 4, 5};
  for (const std::string& bytes :
       {Matrix("<f4", Bytes<float>({0, 1, 2, 3, 4, 5})), Matrix("<f8", Bytes<double>({0, 1, 2, 3, 4, 5})),
        Matrix("<f2", Bytes<uint16_t>({0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500})),
        Matrix("|i1", Bytes<int8_t>({0, 1, 2, 3, 4, 5})), Matrix("<i8", Bytes<int64_t>({0, 1, 2, 3, 4, 5})),
        Matrix("<u2", Bytes<uint16_t>({0, 1, 2, 3, 4, 5})),
        Matrix(">u2", Bytes<uint16_t>({0, 0x0100, 0x0200, 0x0300, 0x0400, 0x0500})),
        Matrix("<f4", Bytes<float>({0, 3, 1, 4, 2, 5}), true)}) {
    const auto read = ParseDenseNpy(bytes, "x");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->values, expected);
  }
  EXPECT_EQ(ParseDenseNpy(Matrix("|b1", std::string("\0\1\1\0\0\1", 6)), "x")->values,
            (std::vector<float>{0, 1, 1, 0, 0, 1}));
  const auto halves =
      ParseDenseNpy(Matrix("<f2", Bytes<uint16_t>({0xbc00, 0x3800, 0x0001, 0x7bff, 0x8000, 0x0400})), "x");
  EXPECT_EQ(halves->values, (std::vector<float>{-1, 0.5, 0x1p-24f, 65504, -0.0f, 0x1p-14f}));
}

TEST(ParseDenseNpy, NamesTheRemedyForWhatAreNoFeatures) {
  const auto error = [](const std::string& bytes) { return std::string(ParseDenseNpy(bytes, "x").status().message()); };
  EXPECT_THAT(error(List("<f4", Bytes<float>({0, 1, 2}))), HasSubstr("x has 1 dimension, but features have two"));
  EXPECT_THAT(error(List("|O", "pickle")), AllOf(HasSubstr("holds Python objects"), HasSubstr("astype('float32')")));
  const std::string records = "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}";
  EXPECT_THAT(error(Npy(records, "1234")), AllOf(HasSubstr("holds records"), HasSubstr("structured_to_unstructured")));
  EXPECT_THAT(error(Matrix("<c8", std::string(48, '\0'))), AllOf(HasSubstr("has the type '<c8'"), HasSubstr("astype")));
  EXPECT_THAT(error(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 0)}", "")),
              HasSubstr("x has no column"));
  EXPECT_THAT(error(Matrix("<U1", std::string(24, '\0'))), HasSubstr("features must be float16"));
}

TEST(ParseDenseNpy, NamesTheRowAndTheColumnOfWhatIsNotFinite) {
  const float nan = std::nanf(""), inf = INFINITY;
  const auto error = [](const std::string& bytes) { return std::string(ParseDenseNpy(bytes, "x").status().message()); };
  EXPECT_THAT(error(Matrix("<f4", Bytes<float>({0, 1, 2, 3, nan, 5}))),
              HasSubstr("row 1, column 1 (both from 0) is NaN"));
  EXPECT_THAT(error(Matrix("<f4", Bytes<float>({0, 1, 2, nan, 4, 5}), true)), HasSubstr("row 1, column 1"));
  EXPECT_THAT(error(Matrix("<f4", Bytes<float>({0, 1, inf, 3, 4, 5}))),
              HasSubstr("row 0, column 2 (both from 0) is inf"));
  EXPECT_THAT(error(Matrix("<f8", Bytes<double>({0, 1, 2, 3, 4, 1e300}))), HasSubstr("row 1, column 2"));
  EXPECT_THAT(error(Matrix("<f2", Bytes<uint16_t>({0x7e00, 0, 0, 0, 0, 0}))), HasSubstr("row 0, column 0"));
  EXPECT_THAT(error(Matrix("<f2", Bytes<uint16_t>({0, 0xfc00, 0, 0, 0, 0}))), HasSubstr("row 0, column 1"));
}

TEST_F(DatasetTest, ReadsSparseMatricesByRowsByColumnsAndByEntries) {
  const FeatureMatrix expected{.rows = 3,
                               .cols = 4,
                               .sparse = true,
                               .row_offsets = {0, 2, 2, 4},
                               .columns = {0, 3, 1, 3},
                               .values = {1, 2, 3, 4}};
  const int64_t shape[] = {3, 4};
  const auto write = [&](const std::string& form, std::vector<std::pair<std::string, std::string>> members) {
    members.emplace_back("format", NpyBytes("|S3", {}, form.data(), 3));
    members.emplace_back("shape", NpyBytes("<i8", {2}, shape, sizeof(shape)));
    WriteArchive(folder_ + "/f.npz", members);
    return ReadSparseNpz(folder_ + "/f.npz");
  };
  const auto ints = [](const std::vector<int32_t>& v) { return NpyBytes("<i4", {v.size()}, v.data(), v.size() * 4); };
  const auto floats = [](const std::vector<float>& v) { return NpyBytes("<f4", {v.size()}, v.data(), v.size() * 4); };
  const auto same = [&](const absl::StatusOr<FeatureMatrix>& read) {
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->row_offsets, expected.row_offsets);
    EXPECT_EQ(read->columns, expected.columns);
    EXPECT_EQ(read->values, expected.values);
  };
  same(write("csr", {{"indptr", ints({0, 2, 2, 4})}, {"indices", ints({3, 0, 1, 3})}, {"data", floats({2, 1, 3, 4})}}));
  same(write("csc",
             {{"indptr", ints({0, 1, 2, 2, 4})}, {"indices", ints({0, 2, 2, 0})}, {"data", floats({1, 3, 4, 2})}}));
  same(write("coo",
             {{"row", ints({2, 0, 2, 0, 0})}, {"col", ints({3, 3, 1, 0, 3})}, {"data", floats({4, 1.5, 3, 1, .5})}}));
  const auto refused = [&](const absl::StatusOr<FeatureMatrix>& read, const char* what) {
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(what));
  };
  refused(write("bsr", {}), "CSR, CSC or COO");
  refused(write("coo", {{"row", ints({3})}, {"col", ints({0})}, {"data", floats({1})}}), "row[0] is beyond the shape");
  refused(write("coo", {{"row", ints({0})}, {"col", ints({0, 1})}, {"data", floats({1})}}), "differ in length");
  refused(write("csc", {{"indptr", ints({0, 2, 2, 4})}, {"indices", ints({3, 0})}, {"data", floats({1, 2})}}),
          "indptr");
  refused(write("csc", {{"indptr", ints({0, 2, 2, 2, 2})}, {"indices", ints({1, 1})}, {"data", floats({1, 2})}}),
          "twice");
  refused(write("coo", {{"row", ints({2})}, {"col", ints({3})}, {"data", floats({std::nanf("")})}}), "row 2, column 3");
}

TEST_F(DatasetTest, NamesTheCommandForAnArchiveThatIsNoMatrix) {
  WriteArchive(folder_ + "/f.npz", {{"x", NpyBytes("<f4", {0}, "", 0)}});
  EXPECT_THAT(std::string(ReadSparseNpz(folder_ + "/f.npz").status().message()), HasSubstr("f.npz')['x'])"));
  WriteArchive(folder_ + "/f.npz", {{"attr_data", ""}, {"adj_data", ""}});
  EXPECT_THAT(std::string(ReadSparseNpz(folder_ + "/f.npz").status().message()), HasSubstr("attr_indptr"));
}

TEST(LabelWarnings, TellOneClassAndTrainingNodesWithoutALabel) {
  NodeAttributes attributes{.node_count = 3};
  attributes.labels = {0, 0, -1};
  attributes.split = {Split::kTrain, Split::kNone, Split::kTrain};
  EXPECT_THAT(LabelWarnings(attributes),
              ::testing::ElementsAre(HasSubstr("one class"), HasSubstr("1 of 2 nodes of the training split")));
  attributes.labels = {0, 1, 0};
  EXPECT_TRUE(LabelWarnings(attributes).empty());
  attributes.labels = {-1, -1, -1};
  EXPECT_TRUE(LabelWarnings(attributes).empty());
}

TEST(GenerateDataset, LooksLikeCora) {
  const auto made = GenerateDataset({});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->graph.node_count(), 2708u);
  EXPECT_NEAR(2.0 * made->graph.link_count() / 2708, 3.9, 0.01);
  uint64_t inside = 0;
  for (NodeIndex i = 0; i < 2708; ++i) {
    for (const NodeIndex j : made->graph.NeighboursOf(i))
      inside += made->attributes.labels[i] == made->attributes.labels[j];
  }
  EXPECT_NEAR(inside / 2.0 / made->graph.link_count(), 0.81, 0.02);
  EXPECT_NEAR(made->attributes.features.values.size() / 2708.0, 18.0, 0.4);
  EXPECT_EQ(std::count(made->attributes.split.begin(), made->attributes.split.end(), Split::kTrain), 1354);
  EXPECT_EQ(std::count(made->attributes.split.begin(), made->attributes.split.end(), Split::kTest), 677);
}

TEST(GenerateDataset, GivesTheSameGraphForASeedAndAnotherForAnother) {
  const auto links = [](uint64_t seed) {
    const auto made = GenerateDataset({.nodes = 200, .classes = 3, .features = 30, .words_per_node = 5, .seed = seed});
    return std::vector<NodeIndex>(made->graph.neighbours().begin(), made->graph.neighbours().end());
  };
  EXPECT_EQ(links(1), links(1));
  EXPECT_NE(links(1), links(2));
}

TEST(GenerateDataset, RefusesWhatCannotBeMade) {
  for (const SyntheticOptions& options :
       {SyntheticOptions{.nodes = 2}, SyntheticOptions{.classes = 0}, SyntheticOptions{.mean_degree = -1},
        SyntheticOptions{.mean_degree = std::nan("")}, SyntheticOptions{.homophily = 1.5},
        SyntheticOptions{.features = 10, .words_per_node = 9}, SyntheticOptions{.nodes = 5, .classes = 6}}) {
    EXPECT_EQ(GenerateDataset(options).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(GenerateDataset({.nodes = 3, .classes = 1, .mean_degree = 1, .features = 0}).ok())
      << "no words without features";
}

TEST(RealData, IsReadWithItsPublishedCounts) {
  const char* root = std::getenv("BLINK_DATASETS");
  if (root == nullptr || *root == '\0') GTEST_SKIP() << "BLINK_DATASETS is not set: the real data sets are not here";
  const std::tuple<std::string, uint32_t, uint64_t, uint32_t, uint32_t> sets[] = {
      {"cora", 2708, 5278, 1433, 7},
      {"citeseer", 3327, 4552, 3703, 6},
      {"facebook", 22470, 170823, 128, 4},
      {"lastfm", 7624, 27806, 0, 18},
      {"twitch_ptbr", 1912, 31299, 3170, 2}};
  for (const auto& [name, nodes, links, features, classes] : sets) {
    const auto read = ReadDataset(std::string(root) + "/" + name);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->name, name);
    EXPECT_EQ(read->graph.node_count(), nodes);
    EXPECT_EQ(read->graph.link_count(), links);
    EXPECT_EQ(read->attributes.features.cols, features);
    EXPECT_EQ(read->attributes.class_count, classes);
    EXPECT_EQ(ReadAttributes(std::string(root) + "/" + name).status().code(), absl::StatusCode::kFailedPrecondition);
  }
}

}  // namespace
}  // namespace blink
