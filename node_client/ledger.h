// What the policy may know of the journal: draws and what they cost. No list, no bit.
#ifndef BLINK_NODE_CLIENT_LEDGER_H_
#define BLINK_NODE_CLIENT_LEDGER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/privacy/parameters.h"

namespace blink {

class Ledger {
 public:
  struct Epoch {
    uint32_t index = 0;  // 1, 2, ...
    absl::Time started;  // by the journal's clock, which never runs back
  };
  // The draws that answer a round: fixed when it is answered first, for ever.
  struct BoundRound {
    uint32_t epoch;
    PrivacyParameters parameters;
  };

  virtual ~Ledger() = default;
  virtual std::optional<Epoch> epoch() const = 0;  // the current one; none before the first draw
  virtual std::optional<BoundRound> RoundBinding(const std::string& round_id) const = 0;
  virtual uint32_t hosted() const = 0;                       // nodes that draw for every round
  virtual uint32_t RoundsOfEpoch(uint32_t epoch) const = 0;  // answered with draws of this epoch
  // Other parameters than these that were drawn with in the epoch.
  virtual uint32_t OtherParametersOfEpoch(uint32_t epoch, const PrivacyParameters& parameters) const = 0;
  // The largest sum of epsilon (millionths) spent by a hosted node that has no draw with these parameters in epoch
  // `epoch` (which may lie ahead); nothing when every hosted node has one.
  virtual std::optional<uint64_t> SpentMicroMaxWithoutDraw(uint32_t epoch,
                                                           const PrivacyParameters& parameters) const = 0;
};

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_LEDGER_H_
