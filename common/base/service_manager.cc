#include "common/base/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/logging.h"

namespace blink {
namespace {

std::string TakeVariable(const char* name) {
  const char* const value = ::getenv(name);
  std::string taken = value == nullptr ? "" : value;
  ::unsetenv(name);
  return taken;
}

// A status is one line.
std::string OneLine(absl::string_view text) { return absl::StrReplaceAll(text, {{"\n", " "}, {"\r", " "}}); }

int64_t MonotonicMicroseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

}  // namespace

ServiceManager ServiceManager::FromEnvironment() {
  std::string socket = TakeVariable("NOTIFY_SOCKET");
  int64_t microseconds = 0, pid = 0;
  const std::string watched = TakeVariable("WATCHDOG_PID");
  const bool is_watched = absl::SimpleAtoi(TakeVariable("WATCHDOG_USEC"), &microseconds) && microseconds > 0 &&
                          (watched.empty() || (absl::SimpleAtoi(watched, &pid) && pid == ::getpid()));
  return ServiceManager(std::move(socket), is_watched ? absl::Microseconds(microseconds) : absl::InfiniteDuration());
}

ServiceManager::ServiceManager(std::string socket, absl::Duration watchdog)
    : socket_(std::move(socket)), watchdog_(watchdog) {}

void ServiceManager::TellReady(absl::string_view status) { Tell(absl::StrCat("READY=1\nSTATUS=", OneLine(status))); }

void ServiceManager::TellReloading() {
  Tell(absl::StrCat("RELOADING=1\nMONOTONIC_USEC=", MonotonicMicroseconds(), "\nSTATUS=reading files again"));
}

void ServiceManager::TellStopping(absl::string_view status) {
  Tell(absl::StrCat("STOPPING=1\nSTATUS=", OneLine(status)));
}

void ServiceManager::TellAlive() { Tell("WATCHDOG=1"); }

absl::Status ServiceManager::Send(absl::string_view message) const {
  if (socket_.empty()) return absl::OkStatus();
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if ((socket_.front() != '/' && socket_.front() != '@') || socket_.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("NOTIFY_SOCKET: ", socket_, " is no absolute path of a socket: unset it"));
  }
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_.front() == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ssize_t sent = -1;
  if (fd >= 0) {
    do {
      sent = ::sendto(fd, message.data(), message.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
                      length);
    } while (sent < 0 && errno == EINTR);
  }
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (sent == static_cast<ssize_t>(message.size())) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("NOTIFY_SOCKET: nobody takes a message at ", socket_, ": ",
                                             std::strerror(error), "; unset it where no service manager listens"));
}

void ServiceManager::Tell(absl::string_view message) {
  const absl::Status sent = Send(message);
  if (sent.ok() || warned_.exchange(true)) return;
  spdlog::warn("{}", std::string(sent.message()));
}

}  // namespace blink
