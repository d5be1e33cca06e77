// When a round entered each of its states, and who made it so.
#ifndef BLINK_AGGREGATOR_SERVER_ROUNDS_ROUND_HISTORY_H_
#define BLINK_AGGREGATOR_SERVER_ROUNDS_ROUND_HISTORY_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "blink/v1/operator.pb.h"

namespace blink {

// Retries could make the list grow without end. The creation always stays in it.
inline constexpr int kRoundEventsMax = 32;

// Sets the state and notes it. `by` is an operator ("operator/ann"); empty: the aggregator itself.
inline void EnterState(v1::Round& round, v1::RoundState state, absl::Time now, absl::string_view by = "") {
  round.set_state(state);
  if (round.history_size() >= kRoundEventsMax) round.mutable_history()->DeleteSubrange(1, 1);
  v1::RoundEvent& event = *round.add_history();
  event.set_state(state);
  event.set_at_ms(absl::ToUnixMillis(now));
  event.set_by(std::string(by));
}

// The operator who created the round; empty: it is older than the list of its states.
inline std::string CreatorOf(const v1::Round& round) {
  return round.history().empty() ? std::string() : round.history(0).by();
}

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ROUNDS_ROUND_HISTORY_H_
