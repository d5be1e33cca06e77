// The command line of `blink audit links`: what it hands on, and what it refuses.
#include "tools/link_audit/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/exit_code.h"
#include "common/cli/help.h"
#include "common/cli/strict_numbers.h"
#include "tools/audit/command.h"

namespace blink {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Parsed {
  int code = -1;
  std::optional<LinkAuditRequest> request;  // that the runner got
  std::string told;                         // on standard error, or by the parser
};

Parsed Parse(std::vector<std::string> arguments) {
  CLI::App app("test", "blink");
  std::function<int()> command;
  Parsed parsed;
  AddAuditCommand(app, &command);
  AddLinkAuditCommand(app, &command, [&](const LinkAuditRequest& request) {
    parsed.request = request;
    return 0;
  });
  std::vector<const char*> argv = {"blink", "audit", "links", "--dataset", "small"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  ::testing::internal::CaptureStderr();
  try {
    ParseStrictly(app, static_cast<int>(argv.size()), argv.data());
    parsed.code = command();
    parsed.told = ::testing::internal::GetCapturedStderr();
  } catch (const CLI::ParseError& error) {
    ::testing::internal::GetCapturedStderr();
    parsed.told = error.what();
  }
  return parsed;
}

void ExpectRefused(const std::vector<std::string>& arguments, const std::vector<std::string>& sentences) {
  const Parsed parsed = Parse(arguments);
  EXPECT_FALSE(parsed.request.has_value()) << arguments[0];
  for (const std::string& sentence : sentences) EXPECT_THAT(parsed.told, HasSubstr(sentence));
}

TEST(LinkAuditCommand, TakesEachBudgetOfAList) {
  const Parsed parsed = Parse({"--epsilon", "0.5,2,8", "--model", "gat", "--variant", "soft", "--trials", "2"});
  ASSERT_TRUE(parsed.request.has_value()) << parsed.told;
  EXPECT_THAT(parsed.request->options.epsilon_micro, ElementsAre(500'000, 2'000'000, 8'000'000));
  EXPECT_EQ(parsed.request->options.training.model(), v1::MODEL_GAT);
  EXPECT_EQ(parsed.request->options.training.variant(), v1::VARIANT_SOFT);
  EXPECT_EQ(parsed.request->options.trials, 2);
}

TEST(LinkAuditCommand, HasDefaultsForAllButTheDataSet) {
  const Parsed parsed = Parse({});
  ASSERT_TRUE(parsed.request.has_value()) << parsed.told;
  EXPECT_THAT(parsed.request->options.epsilon_micro, ElementsAre(1'000'000, 2'000'000, 4'000'000, 8'000'000));
  EXPECT_EQ(parsed.request->options.trials, 5);
  EXPECT_TRUE(parsed.request->options.progress);
  EXPECT_FALSE(parsed.request->options.insecure_seeded_noise);
}

TEST(LinkAuditCommand, RefusesBudgetsThatAreNone) {
  ExpectRefused({"--epsilon", "0"}, {"--epsilon"});
  ExpectRefused({"--epsilon", "51"}, {"--epsilon", "50"});
  ExpectRefused({"--epsilon", "-1"}, {"--epsilon"});
  ExpectRefused({"--epsilon", "nan"}, {"--epsilon"});
  ExpectRefused({"--epsilon", "1,two"}, {"--epsilon", "two"});
}

TEST(LinkAuditCommand, RefusesABudgetThatIsNamedTwice) {
  ExpectRefused({"--epsilon", "1,2,1.0"}, {"--epsilon names 1 more than once"});
}

TEST(LinkAuditCommand, RefusesMoreBudgetsThanItKeepsApart) {
  std::string many = "1";
  for (int k = 1; k <= 32; ++k) many += "," + std::to_string(k) + ".5";
  ExpectRefused({"--epsilon", many}, {"33 budgets", "1 .. 32"});
}

TEST(LinkAuditCommand, RefusesModelsThatItCannotAttack) {
  for (const char* model : {"mlp", "none", "stacked", "class-model"}) {
    ExpectRefused({"--model", model, "--prior", "attributed"},
                  {"--model", absl::StrCat("'", model, "' is none of gcn, graphsage, gat")});
  }
  ExpectRefused({"--tune"}, {"--tune", "leave it out"});
  ExpectRefused({"--score", "roc-auc"}, {"--score", "leave out the score"});
}

TEST(LinkAuditCommand, OffersInItsHelpNothingThatItRefuses) {
  CLI::App app("test", "blink");
  std::function<int()> command;
  AddAuditCommand(app, &command);
  AddLinkAuditCommand(app, &command, [](const LinkAuditRequest&) { return 0; });
  CLI::App* const links = app.get_subcommand("audit")->get_subcommand("links");
  const std::string help = links->help();
  EXPECT_THAT(help, HasSubstr("{gcn,graphsage,gat}"));
  for (const char* refused : {"mlp", "stacked", "class-model", "--model none", "--tune", "--score", "searches"}) {
    EXPECT_THAT(help, Not(HasSubstr(refused)));
  }
  for (const CLI::Option* option : links->get_options()) {
    for (const std::string& choice : ChoicesOf(*option)) {
      if (VisibleNamesOf(*option).empty()) continue;
      EXPECT_TRUE(Parse({option->get_name(), choice}).request.has_value()) << option->get_name() << " " << choice;
    }
  }
}

TEST(LinkAuditCommand, RefusesAnEmptyBudgetInAList) {
  ExpectRefused({"--epsilon", "1,,2"}, {"--epsilon: value 2 of '1,,2' is empty"});
}

TEST(LinkAuditCommand, RefusesNumbersOutOfRange) {
  ExpectRefused({"--trials", "0"}, {"--trials is 0", "1 .. 1000"});
  ExpectRefused({"--trials", "1001"}, {"--trials is 1001"});
  ExpectRefused({"--influence-nodes", "0"}, {"--influence-nodes is 0", "1 .. 100,000"});
  ExpectRefused({"--influence-nodes", "100001"}, {"--influence-nodes is 100001"});
  ExpectRefused({"--degree-share", "1.5"}, {"--degree-share"});
  ExpectRefused({"--dropout", "1"}, {"--dropout is 1"});
  ExpectRefused({"--threads", "-1"}, {"--threads"});
}

TEST(ValidateLinkAuditOptions, RefusesWhatNoFlagCanSay) {
  LinkAuditOptions options;
  options.epsilon_micro.clear();
  EXPECT_THAT(std::string(ValidateLinkAuditOptions(options).message()), HasSubstr("0 budgets"));
  options.epsilon_micro = {0};
  EXPECT_THAT(std::string(ValidateLinkAuditOptions(options).message()), HasSubstr("it must be in (0, 50]"));
  options.epsilon_micro = {1'000'000};
  options.degree_share_ppm = 1'000'001;
  EXPECT_THAT(std::string(ValidateLinkAuditOptions(options).message()), HasSubstr("it must be in [0, 1]"));
  options.degree_share_ppm.reset();
  options.training.set_model(v1::MODEL_MLP);
  EXPECT_THAT(std::string(ValidateLinkAuditOptions(options).message()), HasSubstr("--model mlp sees no link"));
  options.training.set_model(v1::MODEL_NONE);
  EXPECT_THAT(std::string(ValidateLinkAuditOptions(options).message()), HasSubstr("gcn, graphsage or gat"));
}

}  // namespace
}  // namespace blink
