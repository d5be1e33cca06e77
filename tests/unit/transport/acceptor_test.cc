#include "aggregator_server/transport/acceptor.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/testing/log_capture.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A TCP socket at an address of IPv4 or IPv6; port 0: chosen by the system.
class Socket {
 public:
  Socket(const std::string& host, int port) {
    const bool is_six = host.find(':') != std::string::npos;
    address_.ss_family = is_six ? AF_INET6 : AF_INET;
    size_ = is_six ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    if (is_six) {
      six().sin6_port = htons(static_cast<uint16_t>(port));
      ::inet_pton(AF_INET6, host.c_str(), &six().sin6_addr);
    } else {
      four().sin_port = htons(static_cast<uint16_t>(port));
      ::inet_pton(AF_INET, host.c_str(), &four().sin_addr);
    }
    fd_ = ::socket(address_.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  }
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  bool Connect() { return ::connect(fd_, reinterpret_cast<sockaddr*>(&address_), size_) == 0; }
  // Ends the connection without a goodbye.
  void Reset() {
    const linger now = {.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    ::close(std::exchange(fd_, -1));
  }
  bool Listen() { return ::bind(fd_, reinterpret_cast<sockaddr*>(&address_), size_) == 0 && ::listen(fd_, 1) == 0; }
  int port() {
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address_), &size_);
    return ntohs(address_.ss_family == AF_INET6 ? six().sin6_port : four().sin_port);
  }

 private:
  sockaddr_in6& six() { return reinterpret_cast<sockaddr_in6&>(address_); }
  sockaddr_in& four() { return reinterpret_cast<sockaddr_in&>(address_); }
  sockaddr_storage address_ = {};
  socklen_t size_ = 0;
  int fd_ = -1;
};

bool MachineHasV6() { return Socket("::1", 0).Listen(); }

class EveryInterface : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryInterface, IsIpv4AndIpv6) {
  const auto acceptor = Acceptor::Listen(GetParam());
  ASSERT_TRUE(acceptor.ok()) << acceptor.status();
  EXPECT_TRUE(Socket("127.0.0.1", (*acceptor)->port()).Connect());
  if (!MachineHasV6()) GTEST_SKIP() << "no IPv6 here";
  EXPECT_TRUE(Socket("::1", (*acceptor)->port()).Connect());
}

INSTANTIATE_TEST_SUITE_P(Spellings, EveryInterface, ::testing::Values(":0", "[::]:0"));

TEST(Acceptor, ListensWhereItIsToldAndNowhereElse) {
  const auto four = Acceptor::Listen("127.0.0.1:0");
  ASSERT_TRUE(four.ok()) << four.status();
  EXPECT_TRUE(Socket("127.0.0.1", (*four)->port()).Connect());
  EXPECT_FALSE(Socket("127.0.0.2", (*four)->port()).Connect());
  EXPECT_FALSE(Socket("::1", (*four)->port()).Connect());
  if (!MachineHasV6()) GTEST_SKIP() << "no IPv6 here";
  const auto six = Acceptor::Listen("[::1]:0");
  ASSERT_TRUE(six.ok()) << six.status();
  EXPECT_TRUE(Socket("::1", (*six)->port()).Connect());
  EXPECT_FALSE(Socket("127.0.0.1", (*six)->port()).Connect());
}

TEST(Acceptor, RefusesAPortThatSomebodyHasOnOneOfTheInterfaces) {
  for (const char* host : {"127.0.0.1", "::1"}) {
    Socket other(host, 0);
    if (!other.Listen()) continue;  // no IPv6 here
    for (const char* everywhere : {":", "[::]:"}) {
      const auto acceptor = Acceptor::Listen(absl::StrCat(everywhere, other.port()));
      EXPECT_EQ(acceptor.status().code(), absl::StatusCode::kUnavailable) << host << " " << everywhere;
      EXPECT_THAT(std::string(acceptor.status().message()), HasSubstr("Address already in use"));
    }
  }
}

TEST(Acceptor, RefusesAnAddressOfAnotherMachine) {
  for (const char* address : {"198.51.100.1:0", "[2001:db8::1]:0"}) {
    const auto acceptor = Acceptor::Listen(address);
    EXPECT_EQ(acceptor.status().code(), absl::StatusCode::kUnavailable) << address;
    EXPECT_THAT(std::string(acceptor.status().message()), HasSubstr(address));
  }
}

class CountingSink : public Acceptor::Sink {
 public:
  CountingSink(std::atomic<int>& taken) : taken_(taken) {}
  void HandleNewConnection(NewConnectionParameters* connection) override {
    ::close(connection->fd);
    ++taken_;
  }

 private:
  std::atomic<int>& taken_;
};

TEST(Acceptor, CountsPeersThatHaveGoneBeforeTheirTurnAndGivesThemToNobody) {
  const LogCapture captured;
  auto acceptor = Acceptor::Listen("127.0.0.1:0");
  ASSERT_TRUE(acceptor.ok()) << acceptor.status();
  for (int i = 0; i < 100; ++i) {
    Socket gone("127.0.0.1", (*acceptor)->port());
    ASSERT_TRUE(gone.Connect());
    gone.Reset();
  }
  Socket here("127.0.0.1", (*acceptor)->port());
  ASSERT_TRUE(here.Connect());
  std::atomic<int> taken = 0;
  (*acceptor)->Start(std::make_unique<CountingSink>(taken));
  while (taken == 0) std::this_thread::yield();  // the last one of the queue
  (*acceptor)->Stop();
  EXPECT_EQ(taken, 1);
  EXPECT_EQ((*acceptor)->books().ledger.open(), 0);
  EXPECT_THAT(captured.text(), HasSubstr("100 x hung up before the handshake; most of them from 127.0.0.1 (100)"));
  EXPECT_THAT(captured.text(), Not(HasSubstr("warning")));
}

}  // namespace
}  // namespace blink
