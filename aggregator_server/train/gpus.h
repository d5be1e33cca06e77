// The GPUs of this machine. Needs no LibTorch to be included.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_GPUS_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_GPUS_H_

#include <string>

namespace blink {

struct Gpus {
  int count = 0;         // that can be trained on
  std::string why_none;  // where there are none
};

// Loads LibTorch's CUDA half where a driver is there, which takes seconds: not for a machine or a round that trains on
// the CPU.
Gpus FindGpus();

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_GPUS_H_
