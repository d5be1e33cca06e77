// Says in the log which connections failed, without letting anybody fill it.
//
//   Report   something that an operator can act on: an expired certificate, a kit that is not meant for this port. It
//            is written at once, for every (kind, who) once an hour. Of each kind and of each host only so many lines
//            are written an hour (kLinesOfKindMax, kLinesOfHostMax). The others are counted. So a stranger who makes
//            certificates up hides no failure of another kind, and from one place few of the same kind.
//   Count    something that happens by itself: a peer that hung up. Nodes that reconnect after a restart do so.
//   Look     once a second: writes one line for all that was counted, a minute after the first of them.
//
//   [info] 600 connections came to nothing within 60 s: 590 x hung up in the handshake, 10 x certificate expired;
//          most of them from 192.0.2.7 (210), 192.0.2.9 (40); 4 of them have no line, as their kind or host has had ...
//
// May be called from any thread.
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_FAILURE_LOG_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_FAILURE_LOG_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "common/base/clock.h"

namespace blink {

class FailureLog {
 public:
  static constexpr int kLinesOfKindMax = 100, kLinesOfHostMax = 20;  // an hour
  static constexpr absl::Duration kSummaryEvery = absl::Minutes(1);

  explicit FailureLog(Clock& clock = SystemClock()) : clock_(clock) {}
  ~FailureLog() { Summarize(); }

  // `kind` is one of few; `host` is an address without a port; `who` is a name or an address.
  void Report(const std::string& kind, const std::string& host, const std::string& who, const std::string& line);
  void Count(const std::string& kind, const std::string& host);
  void Look();
  void Summarize();                                 // now
  uint64_t total() const { return total_.load(); }  // of both, since the start

 private:
  void CountLocked(const std::string& kind, const std::string& host);
  void SummarizeLocked();

  Clock& clock_;
  std::atomic<uint64_t> total_{0};
  std::mutex mutex_;
  absl::Time hour_began_ = absl::InfinitePast();
  std::map<std::string, int> lines_of_kind_, lines_of_host_;  // in this hour; written lines alone
  std::set<std::pair<std::string, std::string>> reported_;
  absl::Time first_ = absl::InfiniteFuture();  // of those that were counted
  uint64_t counted_ = 0, left_out_ = 0;        // the second: for their kind or host had too many lines
  std::map<std::string, uint64_t> by_kind_, by_host_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRANSPORT_FAILURE_LOG_H_
