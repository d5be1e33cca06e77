#include "common/wire/artifact_digests.h"

#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/base/durable_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ArtifactDigests : public testing::FolderTest {
 protected:
  ArtifactDigests() {
    Write("links.csv", "0,1\n");
    Write("model.pt", std::string(3'000'000, '\0'));
    Write("notes.txt", "somebody's");
    metrics_["files"] = DigestArtifacts(folder_).value();
    Write("metrics.json", SealMetrics(metrics_));
  }

  // What a reader of the file learns at its end.
  absl::Status Check(const std::string& artifact) {
    absl::StatusOr<ArtifactCheck> check = ArtifactCheck::Begin(folder_, artifact);
    if (!check.ok()) return check.status();
    const std::string content = ReadFile(Path(artifact), 10'000'000).value();
    for (size_t at = 0; at < content.size(); at += 65'536) check->Update(content.substr(at, 65'536));
    return check->Finish();
  }

  nlohmann::ordered_json metrics_ = {{"privacy", {{"epsilon", 1}}}};
};

TEST_F(ArtifactDigests, AreOfTheFilesOfAResultAndNothingElse) {
  EXPECT_EQ(metrics_["files"].size(), 2u);
  EXPECT_EQ(metrics_["files"]["links.csv"]["bytes"], 4);
  EXPECT_EQ(metrics_["files"]["links.csv"]["sha256"],
            "8d66c089414bb76bc2ee5c11465c93257821752b4e08be4f1d70737b9fa10f0c");
  for (const char* good : {"links.csv", "model.pt", "metrics.json"}) EXPECT_TRUE(Check(good).ok()) << good;
}

TEST_F(ArtifactDigests, RefuseAFileThatWasEmptiedCutChangedOrExchanged) {
  for (const std::string& content : {std::string(), std::string("0,1"), std::string("0,2\n"), std::string("0,1\n\n"),
                                     std::string(3'000'000, '\0')}) {
    Write("links.csv", content);
    const absl::Status refused = Check("links.csv");
    EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("links.csv is damaged"), HasSubstr("blink-worker")));
  }
  Write("links.csv", "0,1\n");
  EXPECT_TRUE(Check("links.csv").ok());
}

TEST_F(ArtifactDigests, RefuseALostFileThatTheResultHad) {
  std::filesystem::remove(Path("links.csv"));
  const absl::Status refused = ArtifactCheck::Begin(folder_, "links.csv").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("links.csv is missing"));
}

TEST_F(ArtifactDigests, RefuseWhatIsNoRegularFileWithoutWaitingForIt) {
  for (const char* name : {"links.csv", "metrics.json"}) {
    std::filesystem::remove(Path(name));
    ASSERT_EQ(::mkfifo(Path(name).c_str(), 0600), 0);
    EXPECT_EQ(ArtifactCheck::Begin(folder_, name).status().code(), absl::StatusCode::kDataLoss);
    std::filesystem::remove(Path(name));
    std::filesystem::create_directory(Path(name));
    EXPECT_EQ(ArtifactCheck::Begin(folder_, name).status().code(), absl::StatusCode::kDataLoss);
    std::filesystem::remove(Path(name));
    std::filesystem::create_symlink(Path("model.pt"), Path(name));
    EXPECT_EQ(ArtifactCheck::Begin(folder_, name).status().code(), absl::StatusCode::kDataLoss);
    std::filesystem::remove(Path(name));
  }
}

TEST_F(ArtifactDigests, OfWhatTheResultNeverHadSayNotFound) {
  Write("model.ts", "of somebody else");
  EXPECT_EQ(Check("model.ts").code(), absl::StatusCode::kNotFound);
}

TEST_F(ArtifactDigests, RefuseDamagedMetricsForEveryFile) {
  const std::string good = SealMetrics(metrics_);
  nlohmann::ordered_json wrong = metrics_;
  wrong["files"]["links.csv"] = 4;
  std::vector<std::string> texts = {"", "[]", good + " ", SealMetrics(wrong), metrics_.dump()};
  for (size_t size = 0; size < good.size(); size += 7) texts.push_back(good.substr(0, size));
  for (size_t at = 0; at < good.size(); ++at) {
    texts.push_back(good);
    texts.back()[at] ^= 1;
  }
  texts.push_back(good.substr(0, good.size() - 1));
  for (const std::string& text : texts) {
    std::ofstream(Path("metrics.json")) << text;
    EXPECT_EQ(Check("links.csv").code(), absl::StatusCode::kDataLoss) << text;
  }
  EXPECT_EQ(Check("metrics.json").code(), absl::StatusCode::kDataLoss);
  std::filesystem::remove(Path("metrics.json"));
  const absl::Status refused = ArtifactCheck::Begin(folder_, "links.csv").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("blink-worker"));
}

TEST_F(ArtifactDigests, SealTheSameTextAgainWhateverIsInIt) {
  for (nlohmann::ordered_json value :
       {nlohmann::ordered_json(0.1), nlohmann::ordered_json(-0.0), nlohmann::ordered_json(1e300),
        nlohmann::ordered_json(3.0f), nlohmann::ordered_json(~uint64_t{0}), nlohmann::ordered_json(std::nan("")),
        nlohmann::ordered_json("a\xff\"\n"), nlohmann::ordered_json(nullptr), nlohmann::ordered_json::array()}) {
    metrics_["value"] = value;
    const std::string text = SealMetrics(metrics_);
    EXPECT_EQ(SealMetrics(nlohmann::ordered_json::parse(text)), text);
    Write("metrics.json", text);
    EXPECT_TRUE(Check("links.csv").ok()) << text;
  }
}

TEST_F(ArtifactDigests, PassWhatAnOlderVersionDidNotRecord) {
  metrics_.erase("files");
  Write("metrics.json", metrics_.dump(2));
  Write("links.csv", "0,7\n");
  EXPECT_TRUE(Check("links.csv").ok());
}

}  // namespace
}  // namespace blink
