// Which device trains. Internal to this folder.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_DEVICE_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_DEVICE_H_

#include <torch/types.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace blink {

struct TrainDevice {
  torch::Device device = torch::kCPU;
  std::string description = "cpu";  // for the result, e.g. "cuda:0 (NVIDIA H100 80GB HBM3)"
};

// "auto" (the first GPU, or the CPU where there is none), "cpu", "cuda:<index>". LibTorch's CUDA half is loaded only
// when a GPU is asked for and a driver is there, so a machine without one needs none of its libraries.
// INVALID_ARGUMENT: another name. FAILED_PRECONDITION: the GPU, or what it needs, is not here.
absl::StatusOr<TrainDevice> ChooseDevice(const std::string& name);

// A generator of its own on the device: nothing depends on, or changes, LibTorch's global ones.
torch::Generator MakeGenerator(const torch::Device& device, uint64_t seed);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_DEVICE_H_
