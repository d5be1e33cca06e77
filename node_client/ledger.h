// What the policy may know of the journal: draws and their cost. No list, and no bit.
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
  // The draws that answer a round. They are fixed, for ever, when it is answered first.
  struct BoundRound {
    uint32_t epoch;
    PrivacyParameters parameters;
  };

  virtual ~Ledger() = default;
  virtual std::optional<Epoch> epoch() const = 0;  // the current epoch; nothing before the first draw
  virtual std::optional<BoundRound> RoundBinding(const std::string& round_id) const = 0;
  virtual uint32_t hosted() const = 0;                       // nodes that draw for every round
  virtual uint32_t RoundsOfEpoch(uint32_t epoch) const = 0;  // rounds answered with draws of this epoch
  // How many parameters other than these were drawn with in the epoch.
  virtual uint32_t OtherParametersOfEpoch(uint32_t epoch, const PrivacyParameters& parameters) const = 0;
  // Among the hosted nodes without a draw with these parameters in the epoch, the most that one has spent: a sum of
  // epsilon, in millionths. Nothing when every hosted node has such a draw. `epoch` may be a future one.
  virtual std::optional<uint64_t> SpentMicroMaxWithoutDraw(uint32_t epoch,
                                                           const PrivacyParameters& parameters) const = 0;
};

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_LEDGER_H_
