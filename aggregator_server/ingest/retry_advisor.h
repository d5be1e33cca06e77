// When each node should call again, so that the nodes of a fleet do not all call at once.
//
// The advisor counts the peers (certificates) that have called lately. A window is wide enough to spread all of them at
// `calls_per_second`. After a refusal for load the window is wider and further away.
//
// Thread-safe. Memory: at most `peers_max` hashes, twice.
#ifndef BLINK_AGGREGATOR_SERVER_INGEST_RETRY_ADVISOR_H_
#define BLINK_AGGREGATOR_SERVER_INGEST_RETRY_ADVISOR_H_

#include <cstdint>
#include <mutex>
#include <unordered_set>

#include "absl/time/time.h"
#include "blink/v1/common.pb.h"
#include "common/base/clock.h"
#include "common/pki/identity.h"
#include "common/wire/round.h"

namespace blink {

class RetryAdvisor {
 public:
  struct Options {
    double calls_per_second = 500;                 // of the whole fleet, when it waits
    absl::Duration min = absl::Milliseconds(250);  // the narrowest window
    absl::Duration max = absl::Minutes(5);
    absl::Duration generation = absl::Minutes(10);  // a peer counts for one to two of these after its last call
    size_t peers_max = 1 << 20;
  };

  explicit RetryAdvisor(Clock& clock) : RetryAdvisor(clock, Options()) {}
  RetryAdvisor(Clock& clock, const Options& options) : clock_(clock), options_(options) {}

  void NotePeer(const Identity& identity);

  // The peer waits for a change of the round: its seal, or its result.
  RetryWindow WindowWhenWaiting() const;
  // There is no open round: nothing is urgent.
  RetryWindow WindowWhenIdle() const;
  // Refused for load; `load` in [0, 1] is how full the aggregator is.
  RetryWindow WindowWhenBusy(double load) const;

 private:
  RetryWindow SpreadPeers(double stretch) const;
  void TurnGeneration();  // with the lock held

  Clock& clock_;
  const Options options_;
  mutable std::mutex mutex_;
  absl::Time generation_began_ = absl::InfinitePast();
  std::unordered_set<uint64_t> current_;
  std::unordered_set<uint64_t> previous_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_INGEST_RETRY_ADVISOR_H_
