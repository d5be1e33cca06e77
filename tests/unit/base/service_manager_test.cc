#include "common/base/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// A service manager's end: a datagram socket with a name.
class Listener {
 public:
  explicit Listener(const std::string& name) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name.front() == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), length), 0) << std::strerror(errno);
  }
  ~Listener() { ::close(fd_); }
  std::string Next() {
    char text[512];
    const ssize_t bytes = ::recv(fd_, text, sizeof(text), MSG_DONTWAIT);
    return bytes < 0 ? "" : std::string(text, bytes);
  }

 private:
  int fd_;
};

class ServiceManagerTest : public ::testing::Test {
 protected:
  ServiceManagerTest() {
    std::string name = ::testing::TempDir() + "notifyXXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~ServiceManagerTest() override {
    ::unlink(path().c_str());
    ::rmdir(folder_.c_str());
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) ::unsetenv(name);
  }
  std::string path() const { return folder_ + "/notify"; }

 private:
  std::string folder_;
};

TEST_F(ServiceManagerTest, TellsEachStateInTheWordsOfTheProtocol) {
  Listener listener(path());
  ServiceManager manager(path());
  manager.TellReady("listening on port 7443");
  EXPECT_EQ(listener.Next(), "READY=1\nSTATUS=listening on port 7443");
  manager.TellReloading();
  EXPECT_THAT(listener.Next(), MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]*\nSTATUS=.*"));
  manager.TellStopping("signal 15");
  EXPECT_EQ(listener.Next(), "STOPPING=1\nSTATUS=signal 15");
  manager.TellAlive();
  EXPECT_EQ(listener.Next(), "WATCHDOG=1");
}

TEST_F(ServiceManagerTest, AStatusCannotSayMoreThanItsLine) {
  Listener listener(path());
  ServiceManager(path()).TellReady("one\nMAINPID=1\r\ntwo");
  EXPECT_EQ(listener.Next(), "READY=1\nSTATUS=one MAINPID=1  two");
}

TEST_F(ServiceManagerTest, ReachesASocketOfTheAbstractNamespace) {
  const std::string name = absl::StrCat("@blink-notify-", ::getpid());
  Listener listener(name);
  EXPECT_TRUE(ServiceManager(name).Send("READY=1").ok());
  EXPECT_EQ(listener.Next(), "READY=1");
}

TEST_F(ServiceManagerTest, TakesItsSocketFromTheEnvironmentAndLeavesItToNoChild) {
  Listener listener(path());
  ::setenv("NOTIFY_SOCKET", path().c_str(), 1);
  ::setenv("WATCHDOG_USEC", "3000000", 1);
  ::setenv("WATCHDOG_PID", absl::StrCat(::getpid()).c_str(), 1);
  ServiceManager manager = ServiceManager::FromEnvironment();
  EXPECT_EQ(manager.watchdog_interval(), absl::Milliseconds(1500));
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) EXPECT_EQ(::getenv(name), nullptr);
  manager.TellAlive();
  EXPECT_EQ(listener.Next(), "WATCHDOG=1");
}

TEST_F(ServiceManagerTest, AWatchdogOfAnotherProcessIsNotOurs) {
  for (const auto& [microseconds, pid] : {std::pair("3000000", "1"), std::pair("3000000", "x"), std::pair("0", ""),
                                          std::pair("-5", ""), std::pair("soon", "")}) {
    ::setenv("WATCHDOG_USEC", microseconds, 1);
    ::setenv("WATCHDOG_PID", pid, 1);
    EXPECT_EQ(ServiceManager::FromEnvironment().watchdog_interval(), absl::InfiniteDuration()) << microseconds;
  }
}

TEST_F(ServiceManagerTest, WhereNobodyAskedNothingIsSent) {
  ::unsetenv("NOTIFY_SOCKET");
  ServiceManager manager = ServiceManager::FromEnvironment();
  manager.TellReady("x");
  EXPECT_TRUE(manager.Send("READY=1").ok());
  EXPECT_EQ(manager.watchdog_interval(), absl::InfiniteDuration());
}

TEST_F(ServiceManagerTest, RefusesWhatIsNoNameOfASocket) {
  for (const std::string& name : {std::string("notify"), "/" + std::string(200, 'x'), std::string("vsock:2:1")}) {
    const absl::Status sent = ServiceManager(name).Send("READY=1");
    EXPECT_EQ(sent.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(sent.message()), HasSubstr("NOTIFY_SOCKET"));
  }
}

TEST_F(ServiceManagerTest, SaysWhereNobodyTakesAMessage) {
  const absl::Status sent = ServiceManager(path()).Send("READY=1");
  EXPECT_EQ(sent.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(sent.message()), HasSubstr(path()));
  ServiceManager(path()).TellReady("goes on without it");
}

}  // namespace
}  // namespace blink
