// A TCP proxy on loopback that cuts, or that swallows what it should pass on and says nothing about it: what a
// middlebox that has forgotten a connection does. Sees TLS records only. One thread for all connections.
#ifndef BLINK_TESTS_TESTING_TCP_PROXY_H_
#define BLINK_TESTS_TESTING_TCP_PROXY_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

namespace blink::testing {

class TcpProxy {
 public:
  static constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

  explicit TcpProxy(int target_port) : target_port_(target_port) {
    sockaddr_in place = Loopback(0);
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&place), sizeof(place));
    ::listen(listener_, 64);
    socklen_t size = sizeof(place);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&place), &size);
    address_ = absl::StrCat("127.0.0.1:", ntohs(place.sin_port));
    thread_ = std::thread([this] { Loop(); });
  }
  ~TcpProxy() {
    stopping_ = true;
    thread_.join();
    for (const Pair& pair : pairs_) Close(pair);
    ::close(listener_);
  }

  const std::string& address() const { return address_; }
  // The next connection is cut when so many bytes went up or down it; those after it live.
  void CutNextAfter(uint64_t bytes) { cut_next_after_ = bytes; }
  // The next connection over which the client sends `text` is cut instead of bringing the answer.
  void CutAtAnswerTo(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    cut_at_answer_to_ = text;
  }
  // Connections that exist swallow everything from now on, without FIN or RST. New ones work.
  void ForgetConnections() { forget_ = true; }
  int connections() const { return connections_; }

 private:
  struct Pair {
    int client, server;
    uint64_t left;
    bool forgotten = false;
    bool cut_at_answer = false;
  };
  static sockaddr_in Loopback(int port) {
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<uint16_t>(port));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return place;
  }
  static void Close(const Pair& pair) {
    ::close(pair.client);
    ::close(pair.server);
  }
  void Accept() {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    ++connections_;
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in place = Loopback(target_port_);
    ::connect(server, reinterpret_cast<const sockaddr*>(&place), sizeof(place));
    pairs_.push_back({client, server, cut_next_after_.exchange(kAll)});
  }
  // False: the connection is over.
  bool Pass(Pair& pair, int from, int to) {
    char buffer[16384];
    const size_t want = pair.left < sizeof(buffer) ? pair.left : sizeof(buffer);
    if (want == 0) return false;
    const ssize_t got = ::recv(from, buffer, want, 0);
    if (got <= 0) return false;
    if (pair.left != kAll) pair.left -= got;
    if (pair.forgotten) return true;
    if (from == pair.server && pair.cut_at_answer) return false;
    if (from == pair.client) {
      const std::lock_guard<std::mutex> lock(mutex_);
      const std::string sent(buffer, got);
      if (!cut_at_answer_to_.empty() && sent.find(cut_at_answer_to_) != std::string::npos) {
        pair.cut_at_answer = true;
        cut_at_answer_to_.clear();
      }
    }
    return ::send(to, buffer, got, MSG_NOSIGNAL) == got && pair.left > 0;
  }
  void Loop() {
    while (!stopping_) {
      if (forget_.exchange(false)) {
        for (Pair& pair : pairs_) pair.forgotten = true;
      }
      std::vector<pollfd> waited = {{listener_, POLLIN, 0}};
      for (const Pair& pair : pairs_) {
        waited.push_back({pair.client, POLLIN, 0});
        waited.push_back({pair.server, POLLIN, 0});
      }
      ::poll(waited.data(), waited.size(), 10);
      if (forget_) continue;
      std::vector<Pair> alive;
      for (size_t i = 0; i < pairs_.size(); ++i) {
        Pair pair = pairs_[i];
        bool well = true;
        if (waited[1 + 2 * i].revents != 0) well = Pass(pair, pair.client, pair.server);
        if (well && waited[2 + 2 * i].revents != 0) well = Pass(pair, pair.server, pair.client);
        if (well)
          alive.push_back(pair);
        else
          Close(pair);
      }
      pairs_ = std::move(alive);
      if (waited[0].revents != 0) Accept();
    }
  }

  const int target_port_;
  int listener_ = -1;
  std::string address_;
  std::vector<Pair> pairs_;
  std::mutex mutex_;
  std::string cut_at_answer_to_;  // guarded by mutex_
  std::atomic<uint64_t> cut_next_after_{kAll};
  std::atomic<bool> forget_{false}, stopping_{false};
  std::atomic<int> connections_{0};
  std::thread thread_;
};

}  // namespace blink::testing

#endif  // BLINK_TESTS_TESTING_TCP_PROXY_H_
