// Every flag of the subcommands of `blink`, walked over: what a wrong value is told, and how the program ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "common/base/exit_code.h"
#include "common/cli/strict_numbers.h"
#include "tools/audit/command.h"
#include "tools/dataset/command.h"
#include "tools/examples.h"
#include "tools/link_audit/command.h"
#include "tools/provision/command.h"
#include "tools/round/command.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Program {
  CLI::App app{"test", "blink"};
  std::function<int()> command;

  Program() {
    app.require_subcommand(1);
    AddProvisionCommand(app, &command);
    AddRoundCommand(app, &command);
    AddAuditCommand(app, &command);
    AddLinkAuditCommand(app, &command, [](const LinkAuditRequest&) { return 0; });
    AddDatasetCommand(app, &command);
  }
  // What is wrong with the flags as they are read; empty: nothing.
  std::string Parse(const std::vector<std::string>& arguments) {
    std::vector<const char*> argv = {"blink"};
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    try {
      ParseStrictly(app, static_cast<int>(argv.size()), argv.data());
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return "";
  }
};

struct Flag {
  std::vector<std::string> command;
  std::string name;
  NumberKind kind;
};

void Walk(const CLI::App& app, std::vector<std::string> command, std::vector<Flag>& flags) {
  for (const CLI::Option* option : app.get_options()) {
    const NumberKind kind = NumberKindOf(*option);
    if (kind != NumberKind::kNone) flags.push_back({command, option->get_name(), kind});
  }
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    std::vector<std::string> path = command;
    path.push_back(child->get_name());
    Walk(*child, path, flags);
  }
}

std::vector<Flag> NumericFlags() {
  std::vector<Flag> flags;
  Walk(Program().app, {}, flags);
  return flags;
}

std::string Told(const Flag& flag, const std::string& value) {
  std::vector<std::string> arguments = flag.command;
  arguments.push_back(flag.name + "=" + value);
  return Program().Parse(arguments);
}

TEST(NumericFlags, NameThemselvesTheValueAndWhatItMayBe) {
  const std::vector<Flag> flags = NumericFlags();
  ASSERT_GT(flags.size(), 20u);
  for (const Flag& flag : flags) {
    for (const char* const value : {"six", "99999999999999999999999", "-99999999999999999999999", "nan"}) {
      if (flag.kind == NumberKind::kReal && absl::StrContains(value, "9999")) continue;  // a number like others
      const std::string told = Told(flag, value);
      EXPECT_THAT(told, StartsWith(flag.name + ": ")) << value;
      EXPECT_THAT(told, HasSubstr(value));
      EXPECT_THAT(told, AnyOf(HasSubstr("not in range "), HasSubstr("not a whole number"), HasSubstr("larger than "),
                              HasSubstr("does not fit into 64 bits"), HasSubstr("not a finite number")));
    }
  }
}

TEST(NumericFlags, SayHowFarTheyGoWhere32BitsAreTooFew) {
  for (const Flag& flag : NumericFlags()) {
    const std::string told = Told(flag, "4294967296");
    EXPECT_THAT(told, ::testing::Not(HasSubstr("Could not convert"))) << flag.name;
    if (absl::StartsWith(told, flag.name)) {
      EXPECT_THAT(told, AnyOf(HasSubstr(" to "), HasSubstr(" in ")));
    }
  }
}

TEST(Arguments, AreNamedWhereNoCommandKnowsThem) {
  const auto told = [](const std::vector<std::string>& arguments) { return Program().Parse(arguments); };
  EXPECT_EQ(told({"foo"}), "there is no subcommand foo: choose one of provision, round, audit, dataset");
  EXPECT_EQ(told({"foo", "--epsilon", "3"}),
            "there is no subcommand foo: choose one of provision, round, audit, dataset");
  EXPECT_THAT(told({"round", "begin"}), StartsWith("there is no subcommand begin: choose one of create, list, "));
  EXPECT_EQ(told({"--colour", "blue"}), "there is no option --colour");
  EXPECT_EQ(told({"round", "create", "--epsilon", "1", "--config", "c", "--modle", "gcn"}),
            "there is no option --modle: did you mean --model?");
  EXPECT_EQ(told({"round", "create", "--config", "c", "--epsilno=1"}),
            "there is no option --epsilno: did you mean --epsilon?")
      << "not that --epsilon is missing";
  EXPECT_EQ(told({"dataset", "info", "one", "two"}), "'two' was not expected");
}

TEST(Arguments, ThatAreMissingAreNamed) {
  EXPECT_EQ(Program().Parse({"round", "create", "--epsilon", "3"}), "--config is required");
  EXPECT_THAT(Program().Parse({}),
              StartsWith("A subcommand is required. Choose one of\n  provision   Certificates and start-up kits\n"));
  EXPECT_THAT(Program().Parse({"dataset"}),
              AllOf(StartsWith("dataset has commands, and one is required. Choose one of\n"), HasSubstr("\n  info  ")));
  EXPECT_EQ(Program().Parse({"dataset", "info"}), "dataset is required");
}

TEST(Examples, AreTwoForEachCommandAndParse) {
  const std::vector<CommandExamples>& examples = ExamplesOfBlink();
  Program program;
  for (const CLI::App* group : CommandsOf(program.app)) {
    for (const CLI::App* command : CommandsOf(*group)) {
      const std::string path = group->get_name() + " " + command->get_name();
      const auto found = std::find_if(examples.begin(), examples.end(),
                                      [&](const CommandExamples& entry) { return entry.command == path; });
      ASSERT_NE(found, examples.end()) << path;
      EXPECT_GE(found->lines.size(), 2u) << path;
      for (const std::string line : found->lines) {
        std::vector<std::string> words = absl::StrSplit(line, ' ');
        words.erase(words.begin());
        EXPECT_EQ(Program().Parse(words), "") << line;
      }
    }
  }
}

TEST(Arguments, EndTheProgramWithItsNameAndTheCodeOfWrongFlags) {
  CLI::App app{"test"};
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(EndOfParsing(app, CLI::ParseError("wrong", CLI::ExitCodes::ExtrasError), "blink-node"), 2);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "blink-node: wrong\nRun with --help for the options.\n");
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(EndOfParsing(app, CLI::CallForHelp(), "blink-node"), 0);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr("test"));
}

// Flags that are read when the command runs end it as those do that are read before.
TEST(Provisioning, EndsWithTheCodeOfWrongFlagsWhateverFlagIsWrong) {
  const std::string out = ::testing::TempDir() + "/flags-test-that-is-not-there";
  const auto with = [&](const char* name, std::vector<std::string> flags) {
    std::vector<std::string> arguments = {"provision", name, "--out", out};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return arguments;
  };
  const auto init = [&](const char* name, std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"--deployment", "demo", "--nodes", "5", "--aggregator", "127.0.0.1:7443"});
    if (std::string(name) == "simulate") flags.insert(flags.end(), {"--kits", "9"});
    return with(name, flags);
  };
  for (const std::vector<std::string>& arguments :
       {init("init", {"--epoch-min", "30"}), init("init", {"--epsilon-per-round-max", "six"}),
        init("init", {"--node-count-min", "0"}), init("init", {"--roster-version", "0"}), init("simulate", {}),
        with("init", {"--deployment", "A B", "--nodes", "5", "--aggregator", "127.0.0.1:7443"}),
        with("init", {"--deployment", "demo", "--nodes", "0", "--aggregator", "127.0.0.1:7443"}),
        with("init", {"--deployment", "demo", "--nodes", "5", "--aggregator", "nowhere"}),
        with("enrol", {"--nodes", "3-1"}), with("enrol", {"--node", "x"}), with("enrol", {}),
        with("sign", {"--name", "a", "--request", "r", "--certificate", "c", "--valid-for", "30"}),
        with("revoke", {"--name", "a", "--list-valid-for", "30"}), with("crl", {"--list-valid-for", "30"}),
        with("roster", {"--retire", "x"})}) {
    Program program;
    ASSERT_EQ(program.Parse(arguments), "");
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(program.command(), static_cast<int>(ExitCode::kUsage));
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("Run with --help for the options."))
        << arguments[1];
  }
}

TEST(Provisioning, NamesTheRangeThatIsWrongAndWhatToWrite) {
  const auto told = [](const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {"provision", "enrol", "--out", "nowhere"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    Program program;
    EXPECT_EQ(program.Parse(arguments), "");
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(program.command(), static_cast<int>(ExitCode::kUsage));
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(told({"--nodes", "5-3"}), HasSubstr("--nodes: the range '5-3' begins above its end: write 3-5"));
  EXPECT_THAT(told({"--node", "3-5"}),
              HasSubstr("--node 3-5 is a range, and --node takes one node: write --nodes 3-5"));
}

TEST(Provisioning, EndsWithAnotherCodeWhereTheFolderIsWrongAndNotTheFlags) {
  Program program;
  ASSERT_EQ(program.Parse({"provision", "crl", "--out", "/nowhere/at/all", "--list-valid-for", "30d"}), "");
  EXPECT_EQ(program.command(), static_cast<int>(ExitCode::kBadInput));
}

}  // namespace
}  // namespace blink
