#include "aggregator_server/train/state_dict.h"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/pickler.h>
#include <torch/torch.h>

#include "aggregator_server/train/file_sink.h"
#include "aggregator_server/train/trainer.h"

namespace blink {
namespace {

// torch::pickle_save would add a type annotation to the dict, which torch.load refuses under weights_only, its default.
std::string Pickle(const c10::IValue& value, std::vector<at::Tensor>* storages) {
  std::string bytes;
  torch::jit::Pickler pickler([&bytes](const char* data, size_t size) { bytes.append(data, size); },
                              /*tensor_table=*/nullptr, /*type_renamer=*/nullptr, /*memoized_class_types=*/nullptr,
                              /*get_tensor_id=*/nullptr, /*tag_aggregates=*/false);
  pickler.protocol();
  pickler.pushIValue(value);
  pickler.stop();
  *storages = pickler.tensorData();
  return bytes;
}

}  // namespace

std::string SerializeStateDict(const std::vector<std::pair<std::string, torch::Tensor>>& state) {
  c10::Dict<std::string, torch::Tensor> dict;
  for (const auto& [name, tensor] : state) dict.insert(name, tensor);
  std::vector<at::Tensor> storages;
  const std::string pickle = Pickle(dict, &storages);

  FileSink file;
  {
    caffe2::serialize::PyTorchStreamWriter writer(
        [&](const void* data, size_t size) { return file.Write(data, size); });
    writer.writeRecord("data.pkl", pickle.data(), pickle.size());
    for (size_t i = 0; i < storages.size(); ++i) {
      const torch::jit::WriteableTensorData data = torch::jit::getWriteableTensorData(storages[i]);
      writer.writeRecord("data/" + std::to_string(i), data.data(), data.sizeInBytes());
    }
    writer.writeEndOfFile();
  }
  return file.Take();
}

std::string StateDictFile(const std::vector<NamedValues>& state) {
  std::vector<std::pair<std::string, torch::Tensor>> tensors;
  for (const NamedValues& named : state) {
    tensors.emplace_back(named.name, torch::tensor(named.values, torch::kFloat32).view(named.shape));
  }
  return SerializeStateDict(tensors);
}

}  // namespace blink
