// How many connections an aggregator takes, and whose.
//
// Every connection has a descriptor. So have the store, the worker and the result that is read. Let D be the limit of
// open files (ulimit -n):
//
//   R = min(512, D/2)       for files: the process itself (some 20), RocksDB (at most D/4, 20 to 256), worker, results
//   B = D - R               for connections
//   B/8                     of them: connections that were cut, and whose descriptor gRPC has not closed yet
//   C = B - B/8             connections at a time
//   C/2                     in the handshake, from all addresses together
//   C/4                     in the handshake, from one address (IPv6: from one /64)
//   C/8                     may only be in the handshake: somebody can always come in
//   C/16, at least 2        of those that have finished it: for operators alone
//   C/8, from 2 to 64       that have finished it with certificates of one name
//
//   D        R     B       C       handshakes  one address  one name  nodes
//   64       32    32      28      14          7            3         23
//   1,024    512   512     448     224         112          56        364
//   65,536   512   65,024  56,896  28,448      14,224       64        46,228
//
// A connection finishes its handshake when its first encrypted bytes arrive. When there is no room for a newcomer,
// the oldest handshake of the address that has most of them is cut, if that address has more than the newcomer's. So a
// few addresses with many handshakes do not keep out one that has few.
//
// A connection whose certificate is revoked counts as a handshake of its address again, and not with its name: who has
// the new certificate of that name gets in. It is cut after kDisownedFor, so that its calls can be told why.
//
// This class keeps the books and knows no socket but by number. The acceptor calls Arrive, on one thread. OpenSSL's
// hooks (handshake_log.cc) call the rest, on gRPC's threads.
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_CONNECTION_LEDGER_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_CONNECTION_LEDGER_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace blink {

inline constexpr int kDescriptorsMin = 64;

struct ConnectionLimits {
  // FAILED_PRECONDITION: fewer than kDescriptorsMin.
  static absl::StatusOr<ConnectionLimits> ForDescriptors(int64_t descriptors);
  std::string ToText() const;  // for the log

  int descriptors = 0;
  int leaving = 0;     // cut, and not closed yet
  int open = 0;        // all but those
  int handshakes = 0;  // unfinished, of all addresses
  int handshakes_per_host = 0;
  int handshakes_kept = 0;  // that no finished connection gets
  int operators_kept = 0;   // of the finished ones
  int per_name = 0;         // finished, with certificates of one name
};

class ConnectionLedger {
 public:
  using Cut = std::function<void(int fd)>;
  using Time = std::chrono::steady_clock::time_point;
  static constexpr auto kDisownedFor = std::chrono::seconds(10);

  // `cut` ends a connection; it must not close the descriptor.
  ConnectionLedger(const ConnectionLimits& limits, Cut cut) : limits_(limits), cut_(std::move(cut)) {}

  // A connection from `host` was accepted as `fd`. Returns its id. RESOURCE_EXHAUSTED: refuse it; the message says why.
  absl::StatusOr<uint64_t> Arrive(const std::string& host, int fd);
  // Its handshake is over: `name` is in its certificate. RESOURCE_EXHAUSTED: there is no room for it, and it was cut.
  absl::Status Finish(uint64_t id, const std::string& name, bool is_operator, const std::string& serial = "");
  // Its certificate is revoked.
  void Disown(uint64_t id, Time now);
  // Disowns all whose serial number `is_revoked`. Returns how many, by name and serial number.
  std::map<std::pair<std::string, std::string>, int> DisownAll(
      const std::function<bool(const std::string&)>& is_revoked, Time now);
  // Cuts those that were disowned kDisownedFor ago. Once a second.
  void CutDisowned(Time now);
  // It is gone. Returns whether it was cut before. Does nothing for an id that is unknown.
  bool Leave(uint64_t id);

  const ConnectionLimits& limits() const { return limits_; }
  int open() const;
  int unfinished(const std::string& host) const;
  int finished(const std::string& name) const;

 private:
  enum class State { kHandshake, kNode, kOperator, kLeaving };
  struct Connection {
    std::string host, name, serial;
    int fd = -1;  // -1: gRPC has closed it, and another connection has its number
    State state = State::kHandshake;
  };
  // Hosts by the number of their handshakes. Of those with equally many, the one with the oldest is the last.
  using Rank = std::tuple<size_t, uint64_t, std::string>;

  int OpenLocked() const { return handshakes_ + nodes_ + operators_; }
  void AddHandshake(const std::string& host, uint64_t id);
  void RemoveHandshake(const std::string& host, uint64_t id);
  bool MakeRoomFor(const std::string& host);  // false: nobody has more handshakes than `host`
  void CutLocked(Connection& connection);
  void DisownLocked(Connection& connection, uint64_t id, Time now);
  void Release(Connection& connection, uint64_t id);  // what its state had counted

  const ConnectionLimits limits_;
  const Cut cut_;
  mutable std::mutex mutex_;
  uint64_t next_id_ = 1;
  std::unordered_map<uint64_t, Connection> connections_;
  std::unordered_map<int, uint64_t> by_fd_;
  std::unordered_map<std::string, std::set<uint64_t>> by_host_;  // handshakes; ids ascend with time
  std::set<Rank> ranks_;                                         // of by_host_
  std::unordered_map<std::string, int> by_name_;                 // finished
  std::deque<std::pair<Time, uint64_t>> disowned_;               // some may be gone
  int handshakes_ = 0, nodes_ = 0, operators_ = 0, leaving_ = 0;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRANSPORT_CONNECTION_LEDGER_H_
