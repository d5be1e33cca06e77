// Where a training stands, for a person: "epoch 120 of 300, 12 s left".
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_EPOCH_TEXT_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_EPOCH_TEXT_H_

#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace blink {

// The time left is the number of epochs left times the mean length of the epochs that this object was told of. So a
// training that goes on from a checkpoint is measured from there.
class EpochText {
 public:
  explicit EpochText(int epochs) : epochs_(epochs) {}
  // After `epoch` (1 .. epochs) is done.
  std::string At(int epoch, absl::Time now = absl::Now());

 private:
  const int epochs_;
  int first_ = 0;
  absl::Time started_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_EPOCH_TEXT_H_
