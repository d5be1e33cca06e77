#include "tools/audit/command.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "aggregator_server/reports/report_file.h"
#include "common/base/durable_file.h"
#include "common/base/exit_code.h"
#include "common/graph/dataset.h"
#include "common/wire/report_codec.h"
#include "common/wire/round.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/testing/audited_round.h"
#include "tests/testing/sanitizers.h"
#include "tests/testing/temp_folder.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

class AuditCommand : public ::testing::Test {
 protected:
  // The exit code of `blink <arguments>`; wrong flags as main reports them. What it printed is in out_ and err_.
  int Blink(const std::string& arguments) {
    CLI::App app("test", "blink");
    std::function<int()> command;
    AddAuditCommand(app, &command);
    try {
      app.parse(arguments);
    } catch (const CLI::ParseError& error) {
      err_ = error.what();
      return static_cast<int>(ExitCode::kUsage);
    }
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int code = command();
    out_ = ::testing::internal::GetCapturedStdout();
    err_ = ::testing::internal::GetCapturedStderr();
    return code;
  }
  std::string out_, err_;
};

TEST_F(AuditCommand, AuditsTheRandomness) {
  if (kThreadSanitizer)
    GTEST_SKIP() << "ThreadSanitizer does not follow processes that are cloned by the bare system call";
  ASSERT_EQ(Blink("audit randomness --processes 4 --threads 2 --draws 4 --json --quiet"), 0) << err_;
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["audit"], "randomness");
  EXPECT_EQ(json["passed"], true);
  EXPECT_EQ(json["processes"], 9);
  ASSERT_EQ(Blink("audit randomness --processes 1 --threads 1 --draws 1 --quiet"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("PASSED"));
  EXPECT_THAT(out_, HasSubstr("Not seen"));
}

TEST_F(AuditCommand, RefusesFewerReportsThanAnAuditNeeds) {
  EXPECT_EQ(Blink("audit mechanism --reports 999999"), 2);
  EXPECT_THAT(err_, HasSubstr("--reports"));
}

TEST_F(AuditCommand, RefusesABudgetOutOfRange) {
  for (const char* epsilon : {"0", "50.000001", "-1", "1e0", "0.0000001", "six"}) {
    EXPECT_EQ(Blink(std::string("audit mechanism --epsilon=") + epsilon), 2) << epsilon;
    EXPECT_THAT(err_, HasSubstr("epsilon"));
  }
  EXPECT_EQ(Blink("audit mechanism --degree-share 1.5"), 2);
  EXPECT_THAT(err_, HasSubstr("is not from 0 to 1"));
}

TEST_F(AuditCommand, RefusesSizesOutOfRange) {
  EXPECT_EQ(Blink("audit mechanism --nodes 1023"), 2);
  EXPECT_EQ(Blink("audit mechanism --nodes 1000001"), 2);
  EXPECT_EQ(Blink("audit randomness --processes 0"), 2);
  EXPECT_EQ(Blink("audit randomness --draws 10001"), 2);
}

TEST_F(AuditCommand, RefusesToBeSeeded) { EXPECT_EQ(Blink("audit mechanism --seed 1"), 2); }

TEST_F(AuditCommand, RefusesToRunWithoutSayingWhat) { EXPECT_EQ(Blink("audit"), 2); }

TEST_F(AuditCommand, PlaysTheGame) {
  ASSERT_EQ(Blink("audit game --nodes 8 --epsilon 2 --json --quiet"), 0) << err_;
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["audit"], "game");
  EXPECT_EQ(json["passed"], true);
  EXPECT_EQ(json["plays_of_each_world"], 100'000);
  ASSERT_EQ(json["attackers"].size(), 4u);
  EXPECT_EQ(json["attackers"][0]["promised"], 4.0) << "a link stands in two lists";
  EXPECT_GT(json["attackers"][0]["lower"], 2.0);
}

TEST_F(AuditCommand, RefusesAGameOfTooFewPlaysOrTooManyNodes) {
  EXPECT_EQ(Blink("audit game --plays 99999"), 2);
  EXPECT_THAT(err_, HasSubstr("--plays"));
  EXPECT_EQ(Blink("audit game --nodes 1025"), 2);
  EXPECT_EQ(Blink("audit game --nodes 7"), 2);
  EXPECT_EQ(Blink("audit game --epsilon 51"), 2);
  EXPECT_EQ(Blink("audit game --seed 1"), 2);
}

TEST_F(AuditCommand, RefusesAReplayWithATapeOrWithoutARepeat) {
  EXPECT_EQ(Blink("audit replay --repeats 0"), 2);
  EXPECT_EQ(Blink("audit replay --tape file"), 2);
}

// A round's folder of 200 nodes at epsilon 1, the data set and a kit beside it, and canaries.
class AuditRoundCommand : public AuditCommand {
 protected:
  static constexpr uint32_t kNodes = 200;

  void SetUp() override {
    ASSERT_EQ(Blink(absl::StrCat("audit canaries --nodes 200 --canary 190-199 --output ", Path("canaries"))), 0)
        << err_;
    const absl::StatusOr<Canaries> canaries = ReadCanaries(Path("canaries/canaries.json"));
    ASSERT_TRUE(canaries.ok()) << canaries.status();
    truth_ = RandomLists(kNodes, 4, 1);
    ASSERT_TRUE(WriteDataset(DatasetOf(truth_), Path("truth")).ok());
    lists_ = truth_;
    for (NodeIndex node = 190; node < 200; ++node) lists_[node] = canaries->ListOf(node);
    WriteRound("round", 1'000'000, lists_);
    ASSERT_TRUE(WriteFileAtomically(Path("canaries/nodes-190-199/kit.json"),
                                    R"({"format":1,"deployment":"demo","nodes":{"first":190,"last":199},)"
                                    R"("node_count":200,"roster_version":1,"aggregator":"127.0.0.1:7443",)"
                                    R"("insecure":true})")
                    .ok());
  }

  static Dataset DatasetOf(const Lists& lists) {
    std::vector<std::pair<NodeIndex, NodeIndex>> links;
    for (NodeIndex i = 0; i < lists.size(); ++i) {
      for (const NodeIndex j : lists[i]) links.emplace_back(i, j);
    }
    SyntheticOptions options;
    options.nodes = static_cast<uint32_t>(lists.size());
    options.features = 16;
    options.words_per_node = 3;
    Dataset dataset = *GenerateDataset(options);
    dataset.graph = *CsrGraph::FromLinks(options.nodes, links);
    return dataset;
  }

  void WriteRound(const std::string& name, uint64_t epsilon_micro, const Lists& lists, const RoundFaults& faults = {}) {
    const PrivacyParameters parameters = *PrivacyParameters::Create(epsilon_micro, 100'000, kNodes);
    const ReportSet reports = DrawRound(parameters, lists, 1, faults);
    std::filesystem::create_directories(Path(name));
    auto writer = *ReportFileWriter::Create(Path(name + "/reports.blr"));
    for (NodeIndex node = 0; node < kNodes; ++node) {
      PrivateReport report{BitRow(kNodes), reports.noisy_degree(node)};
      std::copy(reports.row(node).begin(), reports.row(node).end(), report.bits.mutable_words().begin());
      ASSERT_TRUE(writer->Add(node, EncodeReport(parameters, report)).ok());
    }
    ASSERT_TRUE(writer->Finish().ok());
    v1::Round round;
    round.set_round_id("0123456789abcdef0123456789abcdef");
    *round.mutable_parameters() = ParametersToProto(parameters);
    round.set_state(v1::ROUND_STATE_SEALED);
    round.set_reports(kNodes);
    ASSERT_TRUE(WriteRoundJson(round, Path(name)).ok());
  }

  std::string Path(const std::string& name) const { return folder_ / name; }
  int Audit(const std::string& arguments) {
    return Blink(absl::StrReplaceAll(absl::StrCat("audit round ", arguments), {{"@", folder_.path() + "/"}}));
  }

  const testing::TempFolder folder_;
  Lists truth_, lists_;
};

TEST_F(AuditRoundCommand, ComparesARoundWithKitsDataSetsAndCanaries) {
  ASSERT_EQ(Audit("--reports @round --lists @truth --node 0-189 --lists @canaries/nodes-190-199 --json --quiet"), 0)
      << err_;
  EXPECT_EQ(nlohmann::json::parse(out_)["audited_nodes"], 190) << "--node limits all lists";
  ASSERT_EQ(Audit("--reports @round --lists @canaries/nodes-190-199 --canaries @canaries/canaries.json --json --quiet"),
            0)
      << err_;
  auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["audit"], "round");
  EXPECT_EQ(json["passed"], true);
  EXPECT_EQ(json["audited_nodes"], 10);
  EXPECT_EQ(json["coins"], 1990);
  EXPECT_EQ(json["reports"], 200);
  ASSERT_EQ(Audit("--reports @round --lists @truth --node 3 --node 5-9 --canaries @canaries/canaries.json --quiet"), 0)
      << err_;
  EXPECT_THAT(out_, HasSubstr("audited: 16 nodes"));
  EXPECT_THAT(out_, HasSubstr("PASSED"));
  EXPECT_THAT(out_, HasSubstr("a coin in a canary's list"));
}

TEST_F(AuditRoundCommand, EndsWithTenWhenARoundSpendsMoreThanItSays) {
  WriteRound("broken", 1'000'000, truth_,
             {.noise = [](NodeIndex node, const std::vector<NodeIndex>&, ReportNoise& noise, RandomSource&) {
               if (node < 100) noise.flips = BitRow(kNodes);
             }});
  EXPECT_EQ(Audit("--reports @broken --lists @truth --quiet"), 10);
  EXPECT_THAT(out_, HasSubstr("VIOLATED"));
  EXPECT_THAT(err_, HasSubstr("do not keep the promise of their round"));
}

TEST_F(AuditRoundCommand, RefusesToCompareWithNothing) {
  EXPECT_EQ(Audit("--reports @round"), 2);
  EXPECT_THAT(err_, HasSubstr("--lists"));
  EXPECT_EQ(Audit("--lists @truth"), 2);
  EXPECT_THAT(err_, HasSubstr("--reports"));
  EXPECT_EQ(Audit("--reports @round --lists @truth --node 9-3"), 2);
}

TEST_F(AuditRoundCommand, RefusesWhatIsMissingOrOfAnotherRound) {
  EXPECT_EQ(Audit("--reports @nowhere --lists @truth"), 3);
  EXPECT_THAT(err_, HasSubstr("nowhere"));
  EXPECT_EQ(Audit("--reports @round --lists @nowhere"), 3);
  EXPECT_EQ(Audit("--reports @round --canaries @nowhere.json"), 3);
  EXPECT_EQ(Audit("--reports @round --lists @truth --node 200"), 3);
  Lists fewer = RandomLists(100, 4, 1);
  ASSERT_TRUE(WriteDataset(DatasetOf(fewer), Path("fewer")).ok());
  EXPECT_EQ(Audit("--reports @round --lists @fewer"), 3);
  EXPECT_THAT(err_, HasSubstr("has 100 nodes, and the round has 200"));
}

TEST_F(AuditRoundCommand, TakesTheListOfACanaryAndNotTheDataSets) {
  EXPECT_EQ(Audit("--reports @round --lists @truth --canaries @canaries/canaries.json --json"), 0);
  EXPECT_THAT(out_, HasSubstr("\"audited_nodes\": 200"));
}

TEST_F(AuditRoundCommand, RefusesAKitOfAnotherDeployment) {
  v1::Round round = *ReadRound(Path("round"));
  round.set_deployment("another");
  ASSERT_TRUE(WriteRoundJson(round, Path("round")).ok());
  EXPECT_EQ(Audit("--reports @round --lists @canaries/nodes-190-199"), 3);
  EXPECT_THAT(err_, HasSubstr("kit.json is of deployment \"demo\", and the round of \"another\""));
}

TEST_F(AuditRoundCommand, RefusesReportsOfAnotherMechanism) {
  v1::Round round = *ReadRound(Path("round"));
  round.mutable_parameters()->set_mechanism(4);
  ASSERT_TRUE(WriteRoundJson(round, Path("round")).ok());
  EXPECT_EQ(Audit("--reports @round --lists @truth"), 3);
  EXPECT_THAT(err_, HasSubstr("mechanism is 4"));
  round.mutable_parameters()->set_mechanism(3);
  round.mutable_parameters()->set_degree_share_ppm(0);
  round.mutable_parameters()->set_group_count(2);
  round.mutable_parameters()->set_groups_sha256(std::string(32, 'x'));
  ASSERT_TRUE(WriteRoundJson(round, Path("round")).ok());
  EXPECT_EQ(Audit("--reports @round --lists @truth"), 3);
  EXPECT_THAT(err_, HasSubstr("answers about groups of nodes (mechanism group-degrees)"));
}

TEST_F(AuditRoundCommand, RefusesAFolderThatIsDamaged) {
  std::filesystem::resize_file(Path("round/reports.blr"), 1000);
  EXPECT_EQ(Audit("--reports @round --lists @truth"), 3);
  EXPECT_THAT(err_, HasSubstr("reports.blr"));
}

TEST_F(AuditRoundCommand, RefusesCanariesThatAreNoNodesOrThere) {
  EXPECT_EQ(Blink("audit canaries --nodes 100 --canary 100 --output " + Path("more")), 2);
  EXPECT_EQ(Blink("audit canaries --nodes 100 --canary 3 --canary 3 --output " + Path("more")), 2);
  EXPECT_EQ(Blink("audit canaries --nodes 100 --canary 3 --entries 100 --output " + Path("more")), 2);
  EXPECT_EQ(Blink("audit canaries --nodes 100 --canary 3 --output " + Path("canaries")), 3);
  EXPECT_THAT(err_, HasSubstr("canaries"));
}

}  // namespace
}  // namespace blink
