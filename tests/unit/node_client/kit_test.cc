#include "node_client/kit.h"

#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "common/base/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/node_client/fakes.h"

namespace blink {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const char kJson[] = R"({"format":1,"deployment":"demo","nodes":{"first":2,"last":4},"node_count":34,"roster_version":1,
"aggregator":"127.0.0.1:7443","insecure":false})";
const char kPolicyJson[] = R"({"format":1,"deployments":["demo","other"],"epsilon_micro_per_round_max":8000000,
"epsilon_micro_lifetime_max":64000000,"epoch_seconds_min":86400,"node_count_min":3,"send_spread_seconds":0})";

std::string With(const std::string& from, const std::string& to, std::string json = kJson) {
  const size_t at = json.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return json.replace(at, from.size(), to);
}

absl::Status ListsStatus(const std::string& csv) {
  TempFolder folder;
  WriteText(folder / "kit.json", kJson);
  WriteText(folder / "policy.json", kPolicyJson);
  WriteText(folder / "lists.csv", csv);
  return LoadKit(folder.path()).status();
}

TEST(Kit, LoadsConfigurationAndLists) {
  TempFolder folder;
  WriteText(folder / "kit.json", kJson);
  WriteText(folder / "policy.json", kPolicyJson);
  WriteText(folder / "lists.csv", "node,neighbour\n2,0\n2,33\n4,2\n");
  const auto kit = LoadKit(folder.path());
  ASSERT_TRUE(kit.ok()) << kit.status();
  EXPECT_EQ(kit->config.NodesName(), "nodes-2-4");
  EXPECT_EQ(kit->policy, (NodePolicy{8'000'000, 64'000'000, 86'400, 3, 0, {"demo", "other"}}));
  EXPECT_THAT(kit->lists.Of(2), ElementsAre(0, 33));
  EXPECT_TRUE(kit->lists.Of(3).empty());
  EXPECT_THAT(kit->lists.Of(4), ElementsAre(2));
}

TEST(Kit, RefusesMoreLinksThanASnapshotInTheJournalHolds) {
  TempFolder folder;
  WriteText(folder / "kit.json", kJson);
  WriteText(folder / "lists.csv", "node,neighbour\n2,0\n2,33\n4,2\n");
  const auto config = LoadKitConfig(folder.path());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(LoadLists(*config, 6).ok());  // three links, three nodes
  const auto lists = LoadLists(*config, 5);
  EXPECT_EQ(lists.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(lists.status().message()), HasSubstr("lists.csv:4: more than 5 links and nodes"));
}

TEST(Kit, ANodeWithoutLinksHasAnEmptyList) {
  TempFolder folder;
  WriteText(folder / "kit.json", With(R"("last":4)", R"("last":2)"));
  WriteText(folder / "policy.json", kPolicyJson);
  WriteText(folder / "lists.csv", "node,neighbour\n");
  const auto kit = LoadKit(folder.path());
  ASSERT_TRUE(kit.ok()) << kit.status();
  EXPECT_EQ(kit->config.NodesName(), "node-2");
  EXPECT_TRUE(kit->lists.Of(2).empty());
}

TEST(Kit, NamesUnknownMissingAndMalformedKeys) {
  const std::pair<std::string, std::string> cases[] = {
      {With(R"("format":1,)", R"("format":1,"nodez":3,)"), "unknown key \"nodez\""},
      {With(R"("insecure":false)", R"("insecure":false,"policy":{"node_count_min":3})"),
       "move its members into policy.json"},
      {With(R"("insecure":false)", R"("insecure":false,"insecure":true)"), "\"insecure\" is given twice"},
      {With(R"("first":2)", R"("first":2,"first":2)"), "\"first\" is given twice"},
      {With(R"(,"insecure":false)", ""), "\"insecure\" is missing"},
      {With(R"("format":1)", R"("format":2,"nodez":3)"), "kit.json has format 2, and this program reads format 1"},
      {With(R"("format":1)", R"("format":"1")"), "\"format\" must be the number 1"},
      {With(R"("node_count":34)", R"("node_count":2)"), "\"node_count\" must be an integer from 3"},
      {With(R"("node_count":34)", R"("node_count":34.5)"), "\"node_count\""},
      {With(R"("first":2)", R"("first":-1)"), "\"nodes.first\""},
      {With(R"("last":4)", R"("last":34)"), "\"nodes.last\""},
      {With(R"("last":4)", R"("last":1)"), "\"nodes.last\""},
      {With(R"("demo")", R"("De mo")"), "\"deployment\""},
      {With(R"("127.0.0.1:7443")", R"("nowhere")"), "HOST:PORT"},
      {"[1]", "not a JSON object"},
      {"{", "kit.json:1: not JSON: syntax error"},
      {With(",", ",\n\n,"), "kit.json:3: not JSON: syntax error"},
      {With(R"("node_count":34)", R"("node_count":34e999999)"), "kit.json: holds a number that is too large"},
      {"\xFF\xFE{", "kit.json: the text is UTF-16: save the file as UTF-8"},
      {With(R"("127.0.0.1:7443")", R"("::1:7443")"), "\"aggregator\": '::1:7443' is not HOST:PORT"},
      {With(R"("127.0.0.1:7443")", R"("unix:/run/blink")"), "HOST:PORT"},
      {With(R"("127.0.0.1:7443")", R"("")"), "HOST:PORT"},
  };
  for (const auto& [json, expected] : cases) {
    const auto config = ParseKitConfig(json, "kit.json");
    EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << json;
    EXPECT_THAT(std::string(config.status().message()), HasSubstr(expected));
  }
}

absl::StatusOr<NodePolicy> PolicyWith(const std::string& from, const std::string& to) {
  return ParsePolicy(With(from, to, kPolicyJson), "policy.json");
}

TEST(Kit, KnowsWhoOfItsNodesIsRetired) {
  const auto config =
      ParseKitConfig(With(R"("insecure":false)", R"("insecure":false,"retired":[[2,2],[4,4]])"), "kit.json");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->IsRetired(2));
  EXPECT_FALSE(config->IsRetired(3));
  EXPECT_TRUE(config->IsRetired(4));
}

TEST(Kit, RefusesRetiredNodesThatAreNotItsOwnOrAreAllOfThem) {
  for (const char* retired : {"7", "[7]", "[[2]]", "[[-2,3]]", "[[1,2]]", "[[4,5]]", "[[3,2]]", "[[3,3],[2,2]]",
                              "[[2,3],[3,3]]", "[[2,4]]"}) {
    const auto config = ParseKitConfig(
        With(R"("insecure":false)", absl::StrCat(R"("insecure":false,"retired":)", retired)), "kit.json");
    EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << retired;
    EXPECT_THAT(std::string(config.status().message()), HasSubstr("\"retired\"")) << retired;
  }
}

TEST(PolicyFile, AllowsOtherMechanismsThanBothEndsByName) {
  EXPECT_EQ(PolicyWith("", "")->mechanisms, std::vector<Mechanism>{Mechanism::kBothEnds});
  const auto both = PolicyWith(R"("node_count_min":3)", R"("node_count_min":3,"mechanisms":["both-ends","one-end"])");
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_THAT(both->mechanisms, ElementsAre(Mechanism::kBothEnds, Mechanism::kOneEnd));
}

TEST(PolicyFile, NamesUnknownMissingDoubledAndMalformedKeys) {
  const std::pair<absl::StatusOr<NodePolicy>, std::string> cases[] = {
      {PolicyWith(R"("node_count_min":3)", R"("node_count_min":3,"epsilon":1)"), "unknown key \"epsilon\""},
      {PolicyWith(R"("node_count_min":3)", R"("node_count_min":3,"node_count_min":3)"),
       "\"node_count_min\" is given twice"},
      {PolicyWith(R"("node_count_min":3,)", ""), "\"node_count_min\" is missing"},
      {PolicyWith(R"("node_count_min":3)", R"("node_count_min":2)"), "\"node_count_min\" must be an integer from 3"},
      {PolicyWith(R"("format":1)", R"("format":2)"), "has format 2, and this program reads format 1"},
      {PolicyWith(R"("node_count_min":3)", R"("node_count_min":3,"mechanisms":["one_end"])"),
       "\"mechanisms\" must hold names of mechanisms: both-ends, one-end, group-degrees"},
      {PolicyWith(R"("node_count_min":3)", R"("node_count_min":3,"mechanisms":[2])"), "\"mechanisms\" must hold names"},
      {PolicyWith(R"("node_count_min":3)", R"("node_count_min":3,"mechanisms":"one-end")"),
       "\"mechanisms\" must be an array"},
      {PolicyWith(R"("node_count_min":3)", R"("node_count_min":3,"mechanisms":[])"), "\"mechanisms\" is empty"},
      {PolicyWith("8000000", "50000001"), "\"epsilon_micro_per_round_max\" must be an integer from 0 to 50000000"},
      {PolicyWith("8000000", "8e6"), "\"epsilon_micro_per_round_max\""},
      {PolicyWith("64000000", "9007199254740993"), "\"epsilon_micro_lifetime_max\""},
      {PolicyWith("64000000", "18446744073709551616"), "\"epsilon_micro_lifetime_max\""},
      {PolicyWith("86400", "-1"), "\"epoch_seconds_min\""},
      {PolicyWith("86400", "1e99"), "\"epoch_seconds_min\""},
      {PolicyWith(R"("send_spread_seconds":0)", R"("send_spread_seconds":"0")"), "\"send_spread_seconds\""},
      {PolicyWith(R"(["demo","other"])", R"("demo")"), "\"deployments\" must be an array"},
      {PolicyWith(R"(["demo","other"])", "[]"), "\"deployments\" is empty"},
      {PolicyWith(R"(["demo","other"])", "[1]"), "\"deployments\""},
      {PolicyWith(R"(["demo","other"])", R"(["De mo"])"), "\"deployments\""},
      {ParsePolicy("[]", "policy.json"), "not a JSON object"},
  };
  for (const auto& [policy, expected] : cases) {
    EXPECT_EQ(policy.status().code(), absl::StatusCode::kInvalidArgument) << expected;
    EXPECT_THAT(std::string(policy.status().message()), HasSubstr(expected));
    EXPECT_THAT(std::string(policy.status().message()), ::testing::StartsWith("policy.json"));
  }
}

TEST(PolicyFile, MayLieOutsideTheKit) {
  TempFolder folder, elsewhere;
  WriteText(folder / "kit.json", kJson);
  WriteText(folder / "lists.csv", "node,neighbour\n");
  WriteText(elsewhere / "mine.json", With("64000000", "1", kPolicyJson));
  EXPECT_EQ(LoadKit(folder.path()).status().code(), absl::StatusCode::kNotFound);
  const auto kit = LoadKit(folder.path(), elsewhere / "mine.json");
  ASSERT_TRUE(kit.ok()) << kit.status();
  EXPECT_EQ(kit->policy.epsilon_micro_lifetime_max, 1u);
}

TEST(PolicyFile, ADeploymentThatItDoesNotNameIsRefused) {
  TempFolder folder;
  WriteText(folder / "kit.json", kJson);
  WriteText(folder / "lists.csv", "node,neighbour\n");
  WriteText(folder / "policy.json", With("demo", "demos", kPolicyJson));
  const absl::Status status = LoadKit(folder.path()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the deployment demo, the policy allows demos, other"));
}

TEST(Kit, RefusesAMissingFileByName) {
  TempFolder folder;
  EXPECT_EQ(LoadKit(folder.path()).status().code(), absl::StatusCode::kNotFound);
  WriteText(folder / "kit.json", kJson);
  const absl::Status policy = LoadKit(folder.path()).status();
  EXPECT_EQ(policy.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(policy.message()), AllOf(HasSubstr("policy.json"), HasSubstr("--policy")));
  WriteText(folder / "policy.json", kPolicyJson);
  const absl::Status status = LoadKit(folder.path()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("lists.csv"));
}

TEST(Kit, RefusesAListThatWasCutAtAnyByte) {
  TempFolder folder;
  const std::string whole = "node,neighbour\n2,0\n2,33\n4,12\n";
  WriteText(folder / "kit.json", kJson);
  WriteText(folder / "policy.json", kPolicyJson);
  for (size_t size = 0; size < whole.size(); ++size) {
    if (size > 0 && whole[size - 1] == '\n') continue;  // whole lines: another list
    WriteText(folder / "lists.csv", whole.substr(0, size));
    EXPECT_EQ(LoadKit(folder.path()).status().code(), absl::StatusCode::kInvalidArgument) << "cut to " << size;
  }
}

TEST(Kit, ReadsWhatEditorsLeaveInItsFiles) {
  TempFolder folder;
  std::string json = "\xEF\xBB\xBF" + With(",", ",\r\n");
  WriteText(folder / "kit.json", json);
  WriteText(folder / "policy.json", "\xEF\xBB\xBF" + std::string(kPolicyJson) + "\r\n");
  WriteText(folder / "lists.csv", "\xEF\xBB\xBFnode,neighbour\r\n2,0\r\n2,33\r\n4,2\r\n");
  const auto kit = LoadKit(folder.path());
  ASSERT_TRUE(kit.ok()) << kit.status();
  EXPECT_THAT(kit->lists.neighbours, ElementsAre(0, 33, 2));
}

TEST(Kit, RefusesAFolderInPlaceOfAList) {
  TempFolder folder;
  WriteText(folder / "kit.json", kJson);
  WriteText(folder / "policy.json", kPolicyJson);
  std::filesystem::create_directories(folder / "lists.csv");
  EXPECT_EQ(LoadKit(folder.path()).status().code(), absl::StatusCode::kInvalidArgument);
}

// Of a FIFO the open would wait for ever, and a device has no end.
TEST(Kit, RefusesAFileThatIsNotRegular) {
  for (const std::string name : {"kit.json", "policy.json", "lists.csv"}) {
    for (const bool fifo : {true, false}) {
      TempFolder folder;
      WriteText(folder / "kit.json", kJson);
      WriteText(folder / "policy.json", kPolicyJson);
      WriteText(folder / "lists.csv", "node,neighbour\n");
      std::filesystem::remove(folder / name);
      if (fifo) {
        ASSERT_EQ(::mkfifo((folder / name).c_str(), 0600), 0);
      } else {
        std::filesystem::create_symlink("/dev/zero", folder / name);
      }
      const absl::Status status = LoadKit(folder.path()).status();
      EXPECT_EQ(ExitCodeFor(status), ExitCode::kBadInput) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(folder / name, " is a device, a FIFO")));
      EXPECT_THAT(std::string(status.message()), HasSubstr("not a regular file"));
    }
  }
}

TEST(Kit, RefusesABadListWithFileAndLine) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "empty"},
      {"node,neighbor\n", "lists.csv:1: the first line"},
      {"node,neighbour\n2;3\n", "lists.csv:2: malformed"},
      {"node,neighbour\n2,3\n2,\n", "lists.csv:3: malformed"},
      {"node,neighbour\n2,3\r\r\n", "lists.csv:2: malformed"},
      {"node,neighbour\n\xEF\xBB\xBF"
       "2,3\n",
       "lists.csv:2: malformed"},
      {std::string("\xFF\xFEn\0o\0", 6) + "\n", "lists.csv:1: the text is UTF-16"},
      {"node,neighbour\n2,03\n", "lists.csv:2: malformed"},
      {"node,neighbour\n2,-3\n", "lists.csv:2: malformed"},
      {"node,neighbour\n2,3,1\n", "lists.csv:2: malformed"},
      {"node,neighbour\n2,99999999999\n", "lists.csv:2: malformed"},
      {"node,neighbour\n1,3\n", "lists.csv:2: the list of node 1 does not belong into this kit"},
      {"node,neighbour\n5,3\n", "lists.csv:2: the list of node 5"},
      {"node,neighbour\n2,34\n", "lists.csv:2: the neighbour is out of range"},
      {"node,neighbour\n2,2\n", "lists.csv:2: a node cannot be its own neighbour"},
      {"node,neighbour\n2,3\n2,3\n", "lists.csv:3: the link is given twice"},
      {"node,neighbour\n2,4\n2,3\n", "lists.csv:3: the lines must ascend"},
      {"node,neighbour\n3,4\n2,3\n", "lists.csv:3: the lines must ascend"},
  };
  for (const auto& [csv, expected] : cases) {
    const absl::Status status = ListsStatus(csv);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << csv;
    EXPECT_THAT(std::string(status.message()), HasSubstr(expected));
  }
}

TEST(Kit, NeverNamesANeighbourInAnError) {
  EXPECT_THAT(std::string(ListsStatus("node,neighbour\n2,77\n").message()), ::testing::Not(HasSubstr("77")));
}

}  // namespace
}  // namespace blink
