// What is looked at on every machine: clocks, modes, folders, disks, service managers, programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/program.h"
#include "common/doctor/checks.h"
#include "tests/testing/temp_folder.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

class MachineChecks : public testing::FolderTest {
 protected:
  // Of one look, which finds one thing.
  const Finding& Only() const {
    EXPECT_EQ(diagnosis_.findings().size(), 1u) << diagnosis_.ToText(0);
    return diagnosis_.findings().back();
  }
  void WriteProgram(const std::string& name, const std::string& script) {
    Write(name, absl::StrCat("#!/bin/sh\n", script, "\n"));
    ::chmod(Path(name).c_str(), 0755);
  }
  Diagnosis diagnosis_;
};

TEST_F(MachineChecks, AFileFromTheFutureShowsAWrongClock) {
  Write("journal", "x");
  LookAtClock({Path("journal"), Path("missing")}, absl::Now() - absl::Hours(1), diagnosis_);
  EXPECT_EQ(Only().severity, Severity::kWarning);
  EXPECT_THAT(Only().text, HasSubstr("this machine's clock says"));
}

TEST_F(MachineChecks, ClocksThatDifferALittleDoNotMatter) {
  Write("journal", "x");
  LookAtClock({Path("journal")}, absl::Now() - absl::Minutes(2), diagnosis_);
  EXPECT_EQ(Only().severity, Severity::kOk);
}

TEST_F(MachineChecks, AKeyThatOthersMayReadIsNamedWithTheCommandThatClosesIt) {
  Write("a.key", "x");
  for (const int mode : {0600, 0400, 0640}) {
    diagnosis_ = Diagnosis();
    ::chmod(Path("a.key").c_str(), mode);
    LookAtMode("key", Path("a.key"), diagnosis_);
    EXPECT_EQ(Only().severity, Severity::kOk);
  }
  for (const auto& [mode, who] : {std::pair(0604, "read by every user"), std::pair(0644, "read by every user"),
                                  std::pair(0620, "changed by its group"), std::pair(0602, "changed by every user")}) {
    diagnosis_ = Diagnosis();
    ::chmod(Path("a.key").c_str(), mode);
    LookAtMode("key", Path("a.key"), diagnosis_);
    EXPECT_EQ(Only().severity, Severity::kWarning);
    EXPECT_THAT(Only().text, HasSubstr(who));
    EXPECT_EQ(Only().remedy, absl::StrCat("chmod o-rwx,g-w ", Path("a.key")));
  }
}

TEST_F(MachineChecks, AFolderMayBeReadByOthersAndNotBeChanged) {
  ::chmod(folder_.c_str(), 0755);
  LookAtMode("data", folder_, diagnosis_);
  EXPECT_EQ(Only().severity, Severity::kOk);
  diagnosis_ = Diagnosis();
  ::chmod(folder_.c_str(), 0775);
  LookAtMode("data", folder_, diagnosis_);
  EXPECT_EQ(Only().severity, Severity::kWarning);
  EXPECT_THAT(Only().remedy, HasSubstr("chmod go-w"));
}

TEST_F(MachineChecks, AFolderThatCanBeMadeIsGood) {
  EXPECT_TRUE(LookAtFolder("data", Path("a/b/c"), diagnosis_));
  EXPECT_EQ(Only().severity, Severity::kOk);
  EXPECT_THAT(Only().text, HasSubstr("does not exist yet"));
  EXPECT_FALSE(std::filesystem::exists(Path("a")));
}

TEST_F(MachineChecks, AFileWhereAFolderShouldBeIsAnError) {
  Write("data", "x");
  EXPECT_FALSE(LookAtFolder("data", Path("data/store"), diagnosis_));
  EXPECT_EQ(Only().severity, Severity::kError);
  EXPECT_EQ(Only().code, ExitCode::kBadInput);
}

TEST_F(MachineChecks, AFolderThatIsClosedToThisUserIsAnError) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  ::chmod(folder_.c_str(), 0500);
  LookAtFolder("data", folder_, diagnosis_);
  ::chmod(folder_.c_str(), 0700);
  EXPECT_EQ(Only().severity, Severity::kError);
}

TEST_F(MachineChecks, ADiskIsComparedWithWhatIsNeeded) {
  LookAtDisk(folder_, 1, "a round", diagnosis_);
  EXPECT_EQ(Only().severity, Severity::kOk);
  diagnosis_ = Diagnosis();
  LookAtDisk(Path("not/yet"), 1e18, "a round", diagnosis_);
  EXPECT_EQ(Only().severity, Severity::kError);
  EXPECT_EQ(Only().code, ExitCode::kNoResources);
  EXPECT_THAT(Only().text, HasSubstr("a round needs about"));
}

TEST_F(MachineChecks, WithoutAServiceManagerNothingIsSaidOfIt) {
  LookAtServiceManager(ServiceManager(""), /*is_managed=*/false, diagnosis_);
  EXPECT_EQ(Only().severity, Severity::kNotLooked);
}

TEST_F(MachineChecks, AServiceManagerThatNobodyIsIsAWarning) {
  LookAtServiceManager(ServiceManager(Path("nobody")), /*is_managed=*/true, diagnosis_);
  EXPECT_EQ(diagnosis_.findings()[0].severity, Severity::kWarning);
  EXPECT_THAT(diagnosis_.findings()[0].text, HasSubstr("nobody takes a message"));
}

TEST_F(MachineChecks, AWatchdogThatIsTooQuickIsAWarning) {
  const int listener = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, Path("notify").c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  for (const auto& [watchdog, severity] :
       {std::pair(absl::Seconds(1), Severity::kWarning), std::pair(absl::Seconds(60), Severity::kOk),
        std::pair(absl::InfiniteDuration(), Severity::kOk)}) {
    diagnosis_ = Diagnosis();
    LookAtServiceManager(ServiceManager(Path("notify"), watchdog), /*is_managed=*/true, diagnosis_);
    ASSERT_EQ(diagnosis_.findings().size(), 2u);
    EXPECT_EQ(diagnosis_.findings()[0].severity, Severity::kOk);
    EXPECT_EQ(diagnosis_.findings()[1].severity, severity);
  }
  ::close(listener);
}

TEST_F(MachineChecks, AProgramOfThisBuildIsGoodWhateverItIsCalled) {
  WriteProgram("worker", absl::StrCat("[ \"$1\" = --version ] && echo '", VersionText("blink-x"), "'"));
  LookAtProgram(Path("worker"), diagnosis_);
  EXPECT_EQ(Only().severity, Severity::kOk) << Only().text;
}

TEST_F(MachineChecks, AProgramOfAnotherBuildIsAWarning) {
  WriteProgram("worker", "echo 'worker 9.9.9 (commit 0)'");
  LookAtProgram(Path("worker"), diagnosis_);
  EXPECT_EQ(Only().severity, Severity::kWarning);
  EXPECT_THAT(Only().text, HasSubstr("9.9.9"));
}

TEST_F(MachineChecks, AProgramThatDoesNotStartIsAnErrorWithItsOwnWords) {
  WriteProgram("worker", "echo 'libtorch.so: no such file' >&2; exit 127");
  LookAtProgram(Path("worker"), diagnosis_);
  EXPECT_EQ(Only().severity, Severity::kError);
  EXPECT_THAT(Only().text, HasSubstr("libtorch.so: no such file"));
}

TEST_F(MachineChecks, AProgramThatIsMissingIsAnError) {
  LookAtProgram(Path("worker"), diagnosis_);
  EXPECT_EQ(Only().severity, Severity::kError);
  EXPECT_EQ(Only().code, ExitCode::kBadInput);
}

}  // namespace
}  // namespace blink
