#include "common/cli/settings.h"

#include <string>
#include <vector>

#include "common/cli/strict_numbers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace blink {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// A program with a flag of each kind, and a command with one of its own.
class SettingsTest : public ::testing::Test {
 protected:
  SettingsTest() {
    app_.add_option("--listen", listen_)->capture_default_str();
    app_.add_option("--data", data_);
    app_.add_option("--threads", threads_);
    app_.add_flag("--insecure", insecure_);
    app_.add_flag("--check", check_);
    CLI::App* command = app_.add_subcommand("run");
    command->add_option("--kit", kit_);
  }
  void Parse(std::vector<const char*> line, const Variables& variables) {
    line.insert(line.begin(), "program");
    ParseStrictly(app_, settings_.TakeEnvironment(app_, static_cast<int>(line.size()), line.data(), variables));
  }
  std::string Refusal(std::vector<const char*> line, const Variables& variables) {
    try {
      Parse(std::move(line), variables);
    } catch (const CLI::ParseError& error) {
      return settings_.WithPlace(error.what());
    }
    return "";
  }

  CLI::App app_;
  Settings settings_{"BLINK_TEST", {"check"}};
  std::string listen_ = "127.0.0.1:1", data_, kit_;
  uint32_t threads_ = 7;
  bool insecure_ = false, check_ = false;
};

TEST_F(SettingsTest, TheCommandLineGoesBeforeTheEnvironment) {
  Parse({"--listen", "a:1"}, {{"BLINK_TEST_LISTEN", "b:2"}, {"BLINK_TEST_DATA", "/d"}, {"PATH", "/bin"}});
  EXPECT_EQ(listen_, "a:1");
  EXPECT_EQ(data_, "/d");
  Settings other("BLINK_TEST");
  const char* line[] = {"program", "--listen=a:1"};
  EXPECT_THAT(other.TakeEnvironment(app_, 2, line, {{"BLINK_TEST_LISTEN", "b:2"}}),
              ElementsAre("program", "--listen=a:1"));
}

TEST_F(SettingsTest, PrintsEverySettingWithItsPlace) {
  settings_.NoteFile("threads", "x.conf:3");
  settings_.NoteFile("listen", "x.conf:4");
  Parse({"--threads", "5"}, {{"BLINK_TEST_LISTEN", "b:2"}, {"BLINK_TEST_INSECURE", "true"}});
  EXPECT_EQ(settings_.Print(app_),
            "listen=\"b:2\"  # BLINK_TEST_LISTEN\n# data is not set\nthreads=\"5\"  # flag\n"
            "insecure=\"true\"  # BLINK_TEST_INSECURE\n");
}

TEST_F(SettingsTest, PrintsDefaults) {
  Parse({}, {});
  EXPECT_EQ(settings_.Print(app_),
            "listen=\"127.0.0.1:1\"  # default\n# data is not set\nthreads=\"7\"  # default\n"
            "insecure=\"false\"  # default\n");
}

TEST_F(SettingsTest, RefusesAVariableThatSetsNothing) {
  EXPECT_THAT(Refusal({}, {{"BLINK_TEST_LISTN", "b:2"}}),
              HasSubstr("BLINK_TEST_LISTN is unknown: did you mean BLINK_TEST_LISTEN?"));
  for (const char* name : {"BLINK_TEST_", "BLINK_TEST_listen", "BLINK_TEST_HELP", "BLINK_TEST_CHECK"}) {
    EXPECT_THAT(Refusal({}, {{name, "1"}}), HasSubstr(name)) << name;
  }
  EXPECT_EQ(Refusal({}, {{"BLINK_TESTING", "1"}, {"BLINK_TEST", "1"}, {"BLINK_OTHER_LISTEN", "1"}}), "");
}

TEST_F(SettingsTest, RefusesAnEmptyVariable) {
  EXPECT_THAT(Refusal({}, {{"BLINK_TEST_DATA", ""}}), HasSubstr("BLINK_TEST_DATA is empty: unset it"));
}

TEST_F(SettingsTest, NamesTheVariableOfAWrongValue) {
  EXPECT_THAT(Refusal({}, {{"BLINK_TEST_THREADS", "four"}}), HasSubstr("BLINK_TEST_THREADS: --threads: four"));
  EXPECT_THAT(Refusal({"--threads", "four"}, {{"BLINK_TEST_THREADS", "4"}}), ::testing::StartsWith("--threads: four"));
}

TEST_F(SettingsTest, AVariableForAnotherCommandHasNoEffectHere) {
  Parse({}, {{"BLINK_TEST_KIT", "k"}});
  EXPECT_EQ(kit_, "");
  Parse({"run"}, {{"BLINK_TEST_KIT", "k"}});
  EXPECT_EQ(kit_, "k");
}

TEST_F(SettingsTest, KnowsWhichKeysAFileMayHave) {
  EXPECT_THAT(settings_.Keys(app_), UnorderedElementsAre("listen", "data", "threads", "insecure"));
  for (const char* key : {"help", "check", "kit", "color", ""}) EXPECT_FALSE(settings_.IsKey(app_, key)) << key;
}

TEST(SettingLine, CanBeALineOfAFile) {
  EXPECT_EQ(SettingLine("a", "it's", "x:1"), "a=\"it's\"  # x:1\n");
  EXPECT_EQ(SettingLine("a", "the \"x\"", "x:1"), "a='the \"x\"'  # x:1\n");
  EXPECT_EQ(SettingLine("a", "", "x:1"), "# a is not set\n");
}

TEST(SettingLine, ShowsNoPasswordOfAUri) {
  EXPECT_EQ(SettingLine("store", "postgresql://me:secret@host/db", "flag"),
            "store=\"postgresql://me:***@host/db\"  # flag\n");
  EXPECT_EQ(SettingLine("store", "postgresql://host:5432/db", "flag"), "store=\"postgresql://host:5432/db\"  # flag\n");
  EXPECT_EQ(SettingLine("store", "postgresql://h:1/b?user=x&password=secret&sslmode=require", "flag"),
            "store=\"postgresql://h:1/b?user=x&password=***&sslmode=require\"  # flag\n");
  EXPECT_EQ(SettingLine("proxy", "user:secret@127.0.0.1:1", "flag"), "proxy=\"user:***@127.0.0.1:1\"  # flag\n");
}

TEST(FindSettings, ReturnsTheKeysOfVariables) {
  const auto found = FindSettings({{"BLINK_OPERATOR_TLS_KEY", "k"}, {"HOME", "/"}}, "BLINK_OPERATOR", {"tls-key"});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, ElementsAre(Pair("tls-key", "k")));
  EXPECT_EQ(FindSettings({{"BLINK_OPERATOR_TLS", "k"}}, "BLINK_OPERATOR", {"tls-key"}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace blink
