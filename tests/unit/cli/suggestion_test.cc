#include "common/cli/suggestion.h"

#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/cli/help.h"
#include "common/cli/strict_numbers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FindNearest, FindsWhatWasMeant) {
  const std::vector<std::string> flags = {"--dataset", "--epsilon", "--trials", "--threads", "--json"};
  EXPECT_EQ(FindNearest("--datset", flags), "--dataset");
  EXPECT_EQ(FindNearest("--epsilno", flags), "--epsilon");
  EXPECT_EQ(FindNearest("--EPSILON", flags), "--epsilon");
  EXPECT_EQ(FindNearest("--trails", flags), "--trials");
  EXPECT_EQ(FindNearest("--jso", flags), "--json");
  EXPECT_EQ(FindNearest("--data", flags), "--dataset") << "its beginning";
}

TEST(FindNearest, FindsNothingWhereNothingIsNear) {
  const std::vector<std::string> flags = {"--dataset", "--epsilon", "--json"};
  for (const char* const typed : {"--colour", "", "-", "--", "--x"}) EXPECT_EQ(FindNearest(typed, flags), "") << typed;
  EXPECT_EQ(FindNearest(std::string(5000, 'a'), flags), "");
  EXPECT_EQ(FindNearest("--dataset", {}), "");
}

TEST(OneOf, TakesCapitalsAndHoldsTheNameAsItIsDefined) {
  std::string variant;
  CLI::App app("test", "test");
  app.add_option("--variant", variant)->transform(OneOf({"hard", "soft", "when-sealed"}));
  for (const auto& [given, held] : std::vector<std::pair<const char*, const char*>>{
           {"Hard", "hard"}, {"SOFT", "soft"}, {"When-Sealed", "when-sealed"}}) {
    const char* const argv[] = {"test", "--variant", given};
    ParseStrictly(app, 3, argv);
    EXPECT_EQ(variant, held);
  }
}

TEST(OneOf, TakesUnderscoresAndOtherSpellings) {
  const CLI::Validator one_of = OneOf({"macro-f1", "key_compromise"}, {{"f1", "macro-f1"}, {"f1-macro", "macro-f1"}});
  const auto taken = [&](std::string text) {
    const std::string wrong = one_of(text);
    return wrong.empty() ? text : wrong;
  };
  for (const char* text : {"macro-f1", "macro_f1", "MACRO_F1", "F1", "f1_macro"}) EXPECT_EQ(taken(text), "macro-f1");
  EXPECT_EQ(taken("key-compromise"), "key_compromise");
  EXPECT_THAT(taken("f2"), HasSubstr("'f2' is none of macro-f1, key_compromise"));
  EXPECT_THAT(taken("macro f1"), HasSubstr("is none of"));
}

TEST(OneOf, RefusesOtherValuesWithASuggestion) {
  std::string variant;
  CLI::App app("test", "test");
  app.add_option("--variant", variant)->transform(OneOf({"hard", "soft", "hybrid"}));
  const auto refusal = [&](const char* value) -> std::string {
    const char* const argv[] = {"test", "--variant", value};
    try {
      ParseStrictly(app, 3, argv);
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal("hrad"), "--variant: 'hrad' is none of hard, soft, hybrid: did you mean hard?");
  EXPECT_EQ(refusal("hy"), "--variant: 'hy' is none of hard, soft, hybrid");
  EXPECT_THAT(refusal("gcn"), AllOf(HasSubstr("is none of hard, soft, hybrid"), Not(HasSubstr("did you mean"))));
  EXPECT_THAT(refusal("hard,soft"), HasSubstr("is none of"));
}

TEST(SuggestPath, NamesWhatLiesBesideAMissingFolder) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/suggest_", ::getpid());
  std::filesystem::create_directories(folder + "/g2000");
  EXPECT_EQ(SuggestPath(folder + "/g200"), absl::StrCat(": did you mean ", folder, "/g2000?"));
  EXPECT_EQ(SuggestPath(folder + "/g200/"), absl::StrCat(": did you mean ", folder, "/g2000?"));
  EXPECT_EQ(SuggestPath(folder + "/g2000"), "") << "it exists";
  EXPECT_EQ(SuggestPath(folder + "/quite-another"), "");
  EXPECT_EQ(SuggestPath("/nowhere/at/all"), "");
  EXPECT_EQ(SuggestPath(""), "");
  EXPECT_EQ(SuggestPath("-"), "") << "standard input";
  std::filesystem::remove_all(folder);
}

struct Tool {
  CLI::App app{"Does things. And more.", "the-tool"};
  std::string variant, text;
  bool flag = false;
  Tool() {
    CLI::App* const group = app.add_subcommand("group", "Holds commands");
    group->require_subcommand(1);
    CLI::App* const run = group->add_subcommand("run", "Runs \\ -x\n.things 'now'");
    run->add_option("--variant,-v", variant, "Which")->transform(OneOf({"hard", "soft"}));
    run->add_option("--text", text, "Any text")->required();
    run->add_option("--old", text, "")->group("");
    run->add_flag("--flag", flag, "On");
  }
};

TEST(BashCompletion, KnowsCommandsOptionsAndValues) {
  const std::string script = BashCompletion(Tool().app);
  EXPECT_THAT(script,
              HasSubstr("'the-tool group run') COMPREPLY=($(compgen -W '-h --help -v --variant --text --flag'"));
  EXPECT_THAT(script, HasSubstr("'the-tool group run -v'|'the-tool group run --variant') _the_tool_choose "
                                "'hard' 'soft'; return;;"));
  EXPECT_THAT(script, HasSubstr("complete -o default -F _the_tool the-tool"));
  EXPECT_THAT(script, Not(HasSubstr("--old"))) << "hidden ones are not offered";
}

TEST(ManPage, HasEveryCommandAndEscapesWhatRoffWouldRead) {
  Tool tool;
  AddExamples(tool.app, {{{"group run", {"the-tool group run --text a"}}, {"no such", {"command"}}}});
  const std::string page = ManPage(tool.app);
  EXPECT_THAT(page, HasSubstr(".SH NAME\nthe\\-tool \\- Does things\n"));
  EXPECT_THAT(page, HasSubstr(".SS the\\-tool group run\nRuns \\e \\-x\n\\&.things 'now'\n"));
  EXPECT_THAT(page, HasSubstr("\\fIhard|soft\\fR"));
  EXPECT_THAT(page, HasSubstr("Any text. Required."));
  EXPECT_THAT(page, HasSubstr("the\\-tool group run \\-\\-text a"));
}

TEST(Generate, RefusesWhatItCannotMake) {
  Tool tool;
  const char* const argv[] = {"the-tool", "--generate", "zsh"};
  EXPECT_THROW(ParseStrictly(tool.app, 3, argv), CLI::ValidationError);
  const char* const alone[] = {"the-tool", "--generate"};
  EXPECT_THROW(ParseStrictly(tool.app, 2, alone), CLI::ValidationError);
}

}  // namespace
}  // namespace blink
