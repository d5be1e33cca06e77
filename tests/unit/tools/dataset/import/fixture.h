// A folder of samples that a test makes, and their conversion to a data set.
#ifndef BLINK_TESTS_UNIT_TOOLS_DATASET_IMPORT_FIXTURE_H_
#define BLINK_TESTS_UNIT_TOOLS_DATASET_IMPORT_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/base/durable_file.h"
#include "common/graph/npy_array.h"
#include "common/graph/zip_archive.h"
#include "tests/testing/temp_folder.h"
#include "tools/dataset/convert.h"

namespace blink {

using Links = std::vector<std::pair<NodeIndex, NodeIndex>>;
inline const Links kPath = {{0, 1}, {1, 2}, {2, 3}};  // the graph of most samples

inline Links LinksOf(const CsrGraph& graph) {
  Links links;
  for (NodeIndex i = 0; i < graph.node_count(); ++i) {
    for (const NodeIndex j : graph.NeighboursOf(i)) {
      if (i < j) links.emplace_back(i, j);
    }
  }
  return links;
}

// [n * features], by rows.
inline std::vector<float> Values(const Dataset& dataset) {
  const FeatureMatrix& features = dataset.attributes.features;
  return features.sparse ? ToDense(features).values : features.values;
}

// An array of numbers as a member of an archive.
template <typename T>
std::pair<std::string, std::string> Member(const std::string& name, const char* type, std::vector<uint64_t> shape,
                                           const std::vector<T>& values) {
  return {name + ".npy", NpyBytes(type, shape, values.data(), values.size() * sizeof(T))};
}

class ImportTest : public ::testing::Test {
 protected:
  ImportTest() {
    std::filesystem::create_directories(folder_ + "/in");
    options_.output = folder_ + "/set";
  }

  std::string Path(const std::string& name) const { return folder_ + "/in/" + name; }
  void Write(const std::string& name, absl::string_view content) {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    ASSERT_TRUE(WriteFileAtomically(Path(name), content).ok());
  }
  void WriteArchive(const std::string& name, const std::vector<std::pair<std::string, std::string>>& members) {
    ASSERT_TRUE(WriteZip(members, true, Path(name)).ok());
  }

  // Converts the file, or the whole folder, and reads the data set as any program would.
  Dataset Convert(const std::string& name = "") {
    std::filesystem::remove_all(options_.output);
    options_.input = name.empty() ? folder_ + "/in" : Path(name);
    const auto converted = ConvertToDataset(options_);
    EXPECT_TRUE(converted.ok()) << converted.status();
    if (!converted.ok()) return {};
    report_ = converted->report;
    auto read = ReadDataset(options_.output);
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? *std::move(read) : Dataset();
  }
  // The message of a refusal, which leaves nothing behind.
  std::string Refusal(const std::string& name = "") {
    std::filesystem::remove_all(options_.output);
    options_.input = name.empty() ? folder_ + "/in" : Path(name);
    const absl::Status status = ConvertToDataset(options_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_FALSE(std::filesystem::exists(options_.output));
    return std::string(status.message());
  }
  std::string RefusalOf(absl::string_view content) {
    Write("graph", content);
    return Refusal("graph");
  }

  const testing::TempFolder temp_folder_;
  const std::string& folder_ = temp_folder_.path();
  ConvertOptions options_;
  ConvertReport report_;
};

}  // namespace blink

#endif  // BLINK_TESTS_UNIT_TOOLS_DATASET_IMPORT_FIXTURE_H_
