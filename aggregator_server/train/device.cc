#include "aggregator_server/train/device.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <dlfcn.h>
#include <torch/torch.h>

#include <mutex>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "aggregator_server/train/gpus.h"

namespace blink {
namespace {

// OK when LibTorch's CUDA half is loaded and sees a GPU. It must be loaded before LibTorch is first asked about CUDA,
// which remembers the answer for the life of the process.
absl::Status LoadCuda() {
  static const absl::Status result = [] {
    if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      return absl::FailedPreconditionError("this machine has no NVIDIA driver (libcuda.so.1)");
    }
    if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat(
          "LibTorch's GPU libraries do not load (install them with scripts/install-deps --cuda): ", dlerror()));
    }
    if (!torch::cuda::is_available()) return absl::FailedPreconditionError("the NVIDIA driver shows no usable GPU");
    return absl::OkStatus();
  }();
  return result;
}

// The driver's name of a GPU, or nothing.
std::string GpuName(int index) {
  using DeviceGet = int (*)(int*, int);
  using DeviceGetName = int (*)(char*, int, int);
  const auto get = reinterpret_cast<DeviceGet>(dlsym(RTLD_DEFAULT, "cuDeviceGet"));
  const auto get_name = reinterpret_cast<DeviceGetName>(dlsym(RTLD_DEFAULT, "cuDeviceGetName"));
  int device = 0;
  char name[256] = {};
  if (get == nullptr || get_name == nullptr || get(&device, index) != 0 ||
      get_name(name, sizeof(name) - 1, device) != 0) {
    return "";
  }
  return name;
}

absl::StatusOr<TrainDevice> Gpu(int index) {
  const absl::Status loaded = LoadCuda();
  if (!loaded.ok()) {
    return absl::FailedPreconditionError(absl::StrCat("device cuda:", index, " cannot be used: ", loaded.message()));
  }
  const int count = static_cast<int>(torch::cuda::device_count());
  if (index >= count) {
    return absl::FailedPreconditionError(
        absl::StrCat("device cuda:", index, " does not exist: this machine has ", count, " GPU(s)"));
  }
  const std::string name = GpuName(index);
  return TrainDevice{torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(index)),
                     name.empty() ? absl::StrCat("cuda:", index) : absl::StrCat("cuda:", index, " (", name, ")")};
}

}  // namespace

absl::StatusOr<TrainDevice> ChooseDevice(const std::string& name) {
  if (name == "cpu") return TrainDevice{};
  if (name == "auto") {
    if (!LoadCuda().ok()) return TrainDevice{};
    return Gpu(0);
  }
  uint32_t index = 0;
  if (name.size() > 5 && name.size() <= 8 && name.compare(0, 5, "cuda:") == 0 &&
      name.find_first_not_of("0123456789", 5) == std::string::npos && absl::SimpleAtoi(name.substr(5), &index) &&
      index < 128) {
    return Gpu(static_cast<int>(index));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown device \"", name.substr(0, 32), "\": use auto, cpu, or cuda:<index> such as cuda:0"));
}

Gpus FindGpus() {
  if (const absl::Status loaded = LoadCuda(); !loaded.ok()) return {.why_none = std::string(loaded.message())};
  const int count = static_cast<int>(torch::cuda::device_count());
  return {.count = count, .why_none = count == 0 ? "the NVIDIA driver shows no GPU" : ""};
}

torch::Generator MakeGenerator(const torch::Device& device, uint64_t seed) {
  torch::Generator generator = device.is_cpu() ? at::make_generator<at::CPUGeneratorImpl>()
                                               : at::detail::getCUDAHooks().getNewGenerator(device.index());
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(seed);
  return generator;
}

}  // namespace blink
