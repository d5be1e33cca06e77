// `blink privatise`: the arrays against what a node would send, and what is refused.
#include "tools/privatise/privatise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "common/base/durable_file.h"
#include "common/base/exit_code.h"
#include "common/cli/strict_numbers.h"
#include "common/graph/dataset.h"
#include "common/privacy/privatizer.h"
#include "tests/testing/random_doubles.h"
#include "tests/testing/temp_folder.h"
#include "tools/privatise/command.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

CsrGraph Ring(uint32_t n) {
  std::vector<std::pair<NodeIndex, NodeIndex>> links;
  for (NodeIndex i = 0; i < n; ++i) links.emplace_back(i, (i + 1) % n);
  return CsrGraph::FromLinks(n, links).value();
}

PrivacyParameters Parameters(uint64_t epsilon_micro, uint32_t share_ppm, uint32_t n) {
  return PrivacyParameters::Create(epsilon_micro, share_ppm, n).value();
}

bool BitOf(const PrivatisedGraph& graph, uint32_t i, uint32_t j) {
  return (graph.bits[i * graph.row_bytes + j / 8] >> (j % 8)) & 1;
}

TEST(Privatise, GivesTheBitsAndDegreesThatTheNodesWouldSend) {
  for (const uint32_t n : {3u, 8u, 63u, 64u, 65u, 100u}) {
    const CsrGraph ring = Ring(n);
    const PrivacyParameters parameters = Parameters(1'000'000, 200'000, n);
    SeededRandom random(7), again(7);
    const PrivatisedGraph noisy = Privatise(ring, parameters, random).value();
    ASSERT_EQ(noisy.bits.size(), size_t{n} * ((n + 7) / 8));
    ASSERT_EQ(noisy.degrees.size(), n);
    for (NodeIndex i = 0; i < n; ++i) {
      const PrivateReport report =
          ApplyNoise(parameters, i, DrawNoise(parameters, i, again).value(), ring.NeighboursOf(i)).value();
      for (uint32_t j = 0; j < n; ++j) EXPECT_EQ(BitOf(noisy, i, j), report.bits.Test(j)) << i << ", " << j;
      EXPECT_EQ(noisy.degrees[i], *report.noisy_degree) << i;
    }
  }
}

TEST(Privatise, LeavesOutWhatTheShareDoesNotPayFor) {
  SeededRandom random(1);
  const PrivatisedGraph bits = Privatise(Ring(20), Parameters(1'000'000, 0, 20), random).value();
  EXPECT_TRUE(bits.degrees.empty());
  EXPECT_FALSE(bits.bits.empty());
  const PrivatisedGraph degrees = Privatise(Ring(20), Parameters(1'000'000, 1'000'000, 20), random).value();
  EXPECT_TRUE(degrees.bits.empty());
  EXPECT_EQ(degrees.degrees.size(), 20u);
  for (const auto& [name, bytes] : ArraysOf(degrees)) EXPECT_NE(name, "bits");
  for (const auto& [name, bytes] : ArraysOf(bits)) EXPECT_NE(name, "degrees");
}

// An empty graph of 300 nodes has 89,700 flips at epsilon 1 (p = 0.27). The number of ones is within 5.5 standard
// deviations of its mean but with probability 4e-8; the seed is fixed.
TEST(Privatise, FlipsAsManyBitsAsItSays) {
  const CsrGraph empty = CsrGraph::FromLinks(300, {}).value();
  const PrivacyParameters parameters = Parameters(1'000'000, 0, 300);
  SeededRandom random(11);
  const PrivatisedGraph noisy = Privatise(empty, parameters, random).value();
  double ones = 0;
  for (uint32_t i = 0; i < 300; ++i) {
    for (uint32_t j = 0; j < 300; ++j) ones += BitOf(noisy, i, j) ? 1 : 0;
  }
  const double p = parameters.flip_probability(), entries = 300 * 299;
  EXPECT_NEAR(p, 1 / (1 + std::exp(1.0)), 1e-6);
  EXPECT_NEAR(ones, p * entries, 5.5 * std::sqrt(p * (1 - p) * entries));
}

TEST(Privatise, WritesNumbersAsTheyWereGiven) {
  SeededRandom random(1);
  const PrivatisedGraph noisy = Privatise(Ring(20), Parameters(3'300'000, 50'000, 20), random).value();
  int found = 0;
  for (const auto& [name, bytes] : ArraysOf(noisy)) {
    double number = 0;
    std::memcpy(&number, bytes.data() + bytes.size() - sizeof(number), sizeof(number));
    const double wanted = name == "epsilon" ? 3.3 : name == "epsilon_per_link" ? 6.6 : 0.05;
    if (name != "epsilon" && name != "epsilon_per_link" && name != "degree_share") continue;
    EXPECT_EQ(number, wanted) << name;
    ++found;
  }
  EXPECT_EQ(found, 3);
}

TEST(Privatise, FailsWhereTheRandomSourceDoes) {
  FailingRandom random;
  EXPECT_EQ(Privatise(Ring(5), Parameters(1'000'000, 100'000, 5), random).status().code(),
            absl::StatusCode::kUnavailable);
}

class PrivatiseCommand : public testing::FolderTest {
 protected:
  PrivatiseCommand() {
    std::filesystem::create_directories(folder_ + "/ring");
    Dataset ring{.name = "ring", .graph = Ring(40), .attributes = NodeAttributes::OfNothing(40)};
    ring.attributes.labels.assign(40, 0);
    ring.attributes.class_count = 1;
    EXPECT_TRUE(WriteDataset(ring, folder_ + "/ring").ok());
  }

  ExitCode Run(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"blink", "privatise", "--dataset", folder_ + "/ring"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::vector<const char*> argv;
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    CLI::App app{"test", "blink"};
    std::function<int()> command;
    AddPrivatiseCommand(app, &command);
    ParseStrictly(app, static_cast<int>(argv.size()), argv.data());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const auto code = static_cast<ExitCode>(command());
    out_ = ::testing::internal::GetCapturedStdout();
    err_ = ::testing::internal::GetCapturedStderr();
    return code;
  }
  std::string Output() const { return folder_ + "/noisy.npz"; }

  std::string out_, err_;
};

TEST_F(PrivatiseCommand, WritesTheFileAndSaysWhatItCosts) {
  ASSERT_EQ(Run({"--epsilon", "2", "--output", Output()}), ExitCode::kOk) << err_;
  EXPECT_THAT(out_, HasSubstr("epsilon 2 for one entry of one list"));
  EXPECT_THAT(out_, HasSubstr("epsilon 4 for an undirected link"));
  EXPECT_EQ(ReadFile(Output(), 1 << 20).value().substr(0, 2), "PK");
}

TEST_F(PrivatiseCommand, NeverReplacesADrawByAnother) {
  ASSERT_EQ(Run({"--epsilon", "2", "--output", Output()}), ExitCode::kOk) << err_;
  const std::string before = ReadFile(Output(), 1 << 20).value();
  EXPECT_EQ(Run({"--epsilon", "2", "--output", Output()}), ExitCode::kBadInput);
  EXPECT_THAT(err_, HasSubstr("another draw would spend epsilon again"));
  EXPECT_EQ(ReadFile(Output(), 1 << 20).value(), before);
}

TEST_F(PrivatiseCommand, RefusesAPlaceThatCannotBeWrittenBeforeItReadsOrDraws) {
  EXPECT_EQ(Run({"--epsilon", "2", "--output", folder_ + "/none/noisy.npz"}), ExitCode::kBadInput);
  EXPECT_THAT(err_, HasSubstr("/none/noisy.npz"));
  std::filesystem::remove_all(folder_ + "/ring");
  EXPECT_EQ(Run({"--epsilon", "2", "--output", folder_ + "/none/noisy.npz"}), ExitCode::kBadInput);
  EXPECT_THAT(err_, AllOf(HasSubstr("/none/noisy.npz"), Not(HasSubstr("/ring"))));
}

TEST_F(PrivatiseCommand, RefusesABudgetThatIsOutOfRange) {
  for (const char* epsilon : {"0", "-1", "51", "nan", "inf", "1e3"}) {
    EXPECT_EQ(Run({std::string("--epsilon=") + epsilon, "--output", Output()}), ExitCode::kUsage) << epsilon;
    EXPECT_THAT(err_, HasSubstr("--epsilon"));
  }
  for (const char* share : {"1.1", "-0.1", "nan"}) {
    EXPECT_EQ(Run({"--epsilon=1", std::string("--degree-share=") + share, "--output", Output()}), ExitCode::kUsage);
    EXPECT_THAT(err_, HasSubstr("--degree-share"));
  }
  EXPECT_FALSE(std::filesystem::exists(Output()));
}

TEST_F(PrivatiseCommand, NamesADataSetThatIsMissing) {
  std::filesystem::remove_all(folder_ + "/ring");
  EXPECT_EQ(Run({"--epsilon", "1", "--output", Output()}), ExitCode::kBadInput);
  EXPECT_THAT(err_, HasSubstr("/ring"));
}

}  // namespace
}  // namespace blink
