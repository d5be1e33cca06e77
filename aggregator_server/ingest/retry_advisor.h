// When each node should call again, so that a fleet never comes in a herd.
//
// The advisor knows how many peers (certificates) have called lately and how many calls are being worked on. A window
// is as wide as it takes to spread all of these peers at `calls_per_second`; a refusal for load moves it further away.
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
  RetryWindow Waiting() const;
  // There is no open round: nothing is urgent.
  RetryWindow Idle() const;
  // Refused for load; `load` in [0, 1] is how full the aggregator is.
  RetryWindow Busy(double load) const;

 private:
  RetryWindow Spread(double stretch) const;
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
