// What a diagnosis says to people and to machines.
#include "common/doctor/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "nlohmann/json.hpp"

namespace blink {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Diagnosis, EndsWellWhereNothingIsAnError) {
  Diagnosis diagnosis;
  diagnosis.Ok("port", "127.0.0.1:7443", "can be bound");
  diagnosis.Warn("key", "server.key", "may be read by its group", "chmod 600 server.key");
  diagnosis.NotLooked("store", "data/store", "an aggregator has it open");
  EXPECT_EQ(diagnosis.exit_code(), ExitCode::kOk);
}

TEST(Diagnosis, EndsWithTheCodeOfTheFirstError) {
  Diagnosis diagnosis;
  diagnosis.Ok("kit", "kit.json", "is good");
  diagnosis.Error("disk", "data", absl::ResourceExhaustedError("full"));
  diagnosis.Error("aggregator", "127.0.0.1:1", absl::UnavailableError("nobody"));
  EXPECT_EQ(diagnosis.exit_code(), ExitCode::kNoResources);
  EXPECT_EQ(diagnosis.Count(Severity::kError), 2u);
}

TEST(Diagnosis, JudgesAStatusInItsOwnWords) {
  Diagnosis diagnosis;
  EXPECT_TRUE(diagnosis.Judge("port", "a", absl::OkStatus(), "can be bound"));
  EXPECT_FALSE(diagnosis.Judge("port", "b", absl::UnavailableError("cannot listen on b"), "can be bound"));
  EXPECT_EQ(diagnosis.findings()[0].text, "can be bound");
  EXPECT_EQ(diagnosis.findings()[1].text, "cannot listen on b");
  EXPECT_EQ(diagnosis.findings()[1].code, ExitCode::kUnreachable);
}

TEST(Diagnosis, AlignsItsLinesAndCounts) {
  Diagnosis diagnosis;
  diagnosis.Ok("port", ":7443", "can be bound");
  diagnosis.Warn("certificate", "a.crt", "a.crt expires soon", "blink provision sign");
  EXPECT_EQ(diagnosis.ToText(0),
            "ok       port         :7443: can be bound\n"
            "warning  certificate  a.crt expires soon\n"
            "                      remedy: blink provision sign\n"
            "0 errors, 1 warning, 1 ok\n");
}

TEST(Diagnosis, FoldsToTheTerminal) {
  Diagnosis diagnosis;
  diagnosis.Ok("port", "", "one two three four five six seven");
  EXPECT_EQ(diagnosis.ToText(30),
            "ok       port  one two three\n"
            "               four five six\n"
            "               seven\n"
            "0 errors, 0 warnings, 1 ok\n");
}

TEST(Diagnosis, MovesNoCursorWhateverAFileSays) {
  Diagnosis diagnosis;
  diagnosis.Error("kit", "k", "bad \x1b[2J\xff text", ExitCode::kBadInput);
  EXPECT_THAT(diagnosis.ToText(0), Not(HasSubstr("\x1b")));
  const auto json = nlohmann::json::parse(diagnosis.ToJson("blink-node"));
  EXPECT_THAT(json["findings"][0]["text"].get<std::string>(), HasSubstr("text"));
}

TEST(Diagnosis, GivesMachinesEveryFinding) {
  Diagnosis diagnosis;
  diagnosis.Ok("kit", "kit.json", "is good");
  diagnosis.Error("port", ":1", "taken", ExitCode::kUnreachable, "end the other");
  const auto json = nlohmann::json::parse(diagnosis.ToJson("blink-node"));
  EXPECT_EQ(json["program"], "blink-node");
  EXPECT_EQ(json["errors"], 1);
  EXPECT_EQ(json["exit_code"], 6);
  EXPECT_EQ(json["findings"].size(), 2u);
  EXPECT_EQ(json["findings"][0]["severity"], "ok");
  EXPECT_FALSE(json["findings"][0].contains("remedy"));
  EXPECT_EQ(json["findings"][1]["remedy"], "end the other");
  EXPECT_EQ(json["findings"][1]["exit_code"], 6);
}

// It may hold the password of a database or of a proxy.
TEST(Diagnosis, LeavesOutTheCommandLine) { EXPECT_THAT(Diagnosis().ToJson("blink"), Not(HasSubstr("arguments"))); }

TEST(Severity, HasAWordForEach) {
  EXPECT_THAT((std::vector<std::string>{SeverityName(Severity::kOk), SeverityName(Severity::kNotLooked),
                                        SeverityName(Severity::kWarning), SeverityName(Severity::kError)}),
              ElementsAre("ok", "skipped", "warning", "error"));
}

}  // namespace
}  // namespace blink
