#include "aggregator_server/train/training.h"

#include <torch/torch.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/train/checkpoint.h"
#include "aggregator_server/train/log_probabilities.h"
#include "aggregator_server/train/network.h"
#include "aggregator_server/train/passes.h"
#include "aggregator_server/train/split_tensors.h"
#include "aggregator_server/train/state_dict.h"
#include "aggregator_server/train/torch_script.h"
#include "common/base/durable_file.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/base/stop_request.h"

namespace blink {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<float> ToVector(const torch::Tensor& tensor) {
  const torch::Tensor cpu = tensor.detach().to(torch::kCPU, torch::kFloat32).contiguous();
  const float* first = cpu.const_data_ptr<float>();
  return {first, first + cpu.numel()};
}

std::vector<std::vector<float>> ToVectors(const std::vector<torch::Tensor>& tensors) {
  std::vector<std::vector<float>> vectors;
  for (const torch::Tensor& tensor : tensors) vectors.push_back(ToVector(tensor));
  return vectors;
}

torch::Tensor LikeTensor(const std::vector<float>& values, const torch::Tensor& like) {
  return torch::tensor(values, torch::kFloat32).view(like.sizes()).to(like.device());
}

class Training {
 public:
  Training(const LinkWeights& weights, const FeatureMatrix& features, const NodeAttributes& attributes,
           const TrainOptions& options, const TrainDevice& device)
      : weights_(weights),
        attributes_(attributes),
        options_(options),
        device_(device),
        class_weights_(options.balance_classes ? torch::tensor(BalancedClassWeights(attributes)).to(device.device)
                                               : torch::Tensor()),
        train_(attributes, Split::kTrain, class_weights_, device.device),
        validation_(attributes, Split::kValidation, class_weights_, device.device),
        initial_generator_(MakeGenerator(torch::kCPU, options.seed)),
        network_(options.batch_nodes > 0
                     ? NetworkInput{.features = features.cols}
                     : MakeInput(weights, features, options.model, device.device, options.threads, OperatorPath::kAuto,
                                 /*normalize=*/!options.features_as_they_are),
                 {.model = options.model,
                  .layers = options.layers,
                  .hidden = options.hidden,
                  .classes = static_cast<int64_t>(attributes.class_count)},
                 initial_generator_, device.device),
        // Another stream than the weights', so that the masks do not depend on how many weights there are.
        dropout_generator_(MakeGenerator(device.device, options.seed ^ 0x9e3779b97f4a7c15u)),
        optimizer_(network_.parameters(),
                   torch::optim::AdamOptions(options.learning_rate).weight_decay(options.weight_decay)) {
    Trained trained{network_, optimizer_, train_, [this](const torch::Tensor& x) { return Dropout(x); }};
    pass_ = options.batch_nodes > 0
                ? MakeSampledPass(std::move(trained), {weights, features, attributes, options, device.device})
                : MakeFullPass(std::move(trained));
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  absl::StatusOr<TrainResult> Run() {
    if (!options_.checkpoint_file.empty()) BLINK_RETURN_IF_ERROR(Resume());
    started_ = saved_ = Clock::now();
    for (int epoch = result_.resumed_from_epoch + 1; epoch <= options_.epochs && !OutOfPatience() && !IsOutOfReach();
         ++epoch) {
      const torch::Tensor train_loss = pass_->TrainEpoch(epoch);
      Evaluate(epoch, pass_->Logits(), train_loss);
      if (IsStopRequested()) return Stop();
      if (!options_.checkpoint_file.empty()) MaybeSave();
      if (options_.progress) options_.progress(epoch, result_.validation_losses.back());
    }
    result_.pruned = Epochs() < options_.epochs && !OutOfPatience();
    result_.epoch_ms_mean = ElapsedMs() / static_cast<double>(Epochs());
    if (!options_.checkpoint_file.empty() && Epochs() > result_.resumed_from_epoch) Save();
    if (result_.best_epoch == 0) {
      return absl::InvalidArgumentError(
          "training diverged: no epoch had a finite validation loss; use a lower learning rate, or features without "
          "infinite values");
    }
    Finish();
    return std::move(result_);
  }

 private:
  int Epochs() const { return static_cast<int>(result_.validation_losses.size()); }
  double ElapsedMs() const {
    return elapsed_before_ms_ + std::chrono::duration<double, std::milli>(Clock::now() - started_).count();
  }
  bool OutOfPatience() const { return options_.patience > 0 && Epochs() - result_.best_epoch >= options_.patience; }
  bool IsOutOfReach() const {
    return options_.target.has_value() &&
           ShouldPrune(result_.validation_losses, result_.validation_accuracies, *options_.target);
  }

  torch::Tensor Dropout(const torch::Tensor& x) {
    if (options_.dropout == 0) return x;
    const double keep = 1 - options_.dropout;
    return x * torch::empty_like(x).bernoulli_(keep, dropout_generator_).div_(keep);
  }

  void Evaluate(int epoch, const torch::Tensor& logits, const torch::Tensor& train_loss) {
    const torch::NoGradGuard no_gradients;
    // Logits may be on the CPU beside a training on a GPU.
    const torch::Tensor rows =
        logits.index_select(0, validation_.nodes.to(logits.device())).to(validation_.nodes.device());
    const torch::Tensor right = rows.argmax(1).eq(validation_.labels).to(torch::kFloat32).mean();
    // One transfer, for which a GPU has to be waited for.
    const torch::Tensor figures = torch::stack({train_loss, validation_.Loss(rows), right}).to(torch::kCPU);
    const float* values = figures.const_data_ptr<float>();
    const float loss = values[1];
    result_.train_losses.push_back(values[0]);
    result_.validation_losses.push_back(loss);
    result_.validation_accuracies.push_back(values[2]);
    if (!std::isfinite(loss) || (result_.best_epoch != 0 && loss >= result_.validation_loss)) return;
    result_.best_epoch = epoch;
    result_.validation_loss = loss;
    best_logits_ = logits;
    best_parameters_ = network_.CopyParameters();
  }

  // ---- checkpoints ----

  // DATA_LOSS: there is a file of somebody else, which would be overwritten.
  absl::Status Resume() {
    fingerprint_ =
        TrainingFingerprint(options_, device_.description, weights_, attributes_, ToVectors(network_.parameters()));
    absl::StatusOr<Checkpoint> checkpoint = ReadCheckpoint(options_.checkpoint_file, *fingerprint_);
    if (absl::IsNotFound(checkpoint.status())) return absl::OkStatus();
    if (absl::IsInvalidArgument(checkpoint.status())) {
      return absl::DataLossError(
          absl::StrCat(checkpoint.status().message(), ": move it away, or name another folder for checkpoints"));
    }
    if (checkpoint.ok() && !Fits(*checkpoint))
      checkpoint = absl::DataLossError("the checkpoint does not fit the model");
    if (checkpoint.ok() && !RestoreGenerator(checkpoint->generator)) {
      checkpoint = absl::DataLossError("the checkpoint is damaged: the state of its random generator is none");
    }
    if (!checkpoint.ok()) {
      result_.warnings.push_back(absl::StrCat("the training began anew: ", checkpoint.status().message()));
      return absl::OkStatus();
    }
    Restore(*checkpoint);
    return absl::OkStatus();
  }

  // False, and nothing is changed, when LibTorch does not take the state.
  bool RestoreGenerator(const std::string& bytes) {
    torch::Tensor state = torch::empty({static_cast<int64_t>(bytes.size())}, torch::kUInt8);
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(state.mutable_data_ptr<uint8_t>()));
    const std::lock_guard<std::mutex> lock(dropout_generator_.mutex());
    const torch::Tensor before = dropout_generator_.get_state();
    try {
      dropout_generator_.set_state(state);
      return true;
    } catch (const c10::Error&) {
      dropout_generator_.set_state(before);
      return false;
    }
  }

  bool Fits(const Checkpoint& checkpoint) const {
    const auto& parameters = network_.parameters();
    const auto fit = [&](const std::vector<std::vector<float>>& lists) {
      if (lists.size() != parameters.size()) return false;
      for (size_t k = 0; k < lists.size(); ++k) {
        if (lists[k].size() != static_cast<size_t>(parameters[k].numel())) return false;
      }
      return true;
    };
    const size_t epochs = checkpoint.validation_losses.size();
    return static_cast<size_t>(checkpoint.epoch) == epochs && checkpoint.train_losses.size() == epochs &&
           checkpoint.validation_accuracies.size() == epochs && checkpoint.steps.size() == parameters.size() &&
           fit(checkpoint.parameters) && fit(checkpoint.first_moments) && fit(checkpoint.second_moments) &&
           (checkpoint.best_epoch == 0 ||
            (fit(checkpoint.best_parameters) &&
             checkpoint.best_logits.size() == size_t{attributes_.node_count} * attributes_.class_count));
  }

  void Restore(const Checkpoint& checkpoint) {
    const auto& parameters = network_.parameters();
    std::vector<torch::Tensor> values;
    for (size_t k = 0; k < parameters.size(); ++k) {
      values.push_back(LikeTensor(checkpoint.parameters[k], parameters[k]));
      auto state = std::make_unique<torch::optim::AdamParamState>();
      state->step(checkpoint.steps[k]);
      state->exp_avg(LikeTensor(checkpoint.first_moments[k], parameters[k]));
      state->exp_avg_sq(LikeTensor(checkpoint.second_moments[k], parameters[k]));
      optimizer_.state()[parameters[k].unsafeGetTensorImpl()] = std::move(state);
      if (checkpoint.best_epoch != 0)
        best_parameters_.push_back(LikeTensor(checkpoint.best_parameters[k], parameters[k]));
    }
    network_.LoadParameters(values);
    if (checkpoint.best_epoch != 0) {
      best_logits_ = torch::tensor(checkpoint.best_logits)
                         .view({attributes_.node_count, static_cast<int64_t>(attributes_.class_count)})
                         .to(options_.batch_nodes > 0 ? torch::Device(torch::kCPU) : device_.device);
    }
    result_.resumed_from_epoch = static_cast<int>(checkpoint.epoch);
    result_.best_epoch = static_cast<int>(checkpoint.best_epoch);
    result_.validation_loss = checkpoint.best_validation_loss;
    result_.train_losses = checkpoint.train_losses;
    result_.validation_losses = checkpoint.validation_losses;
    result_.validation_accuracies = checkpoint.validation_accuracies;
    elapsed_before_ms_ = checkpoint.elapsed_ms;
  }

  absl::Status Stop() {
    if (!options_.checkpoint_file.empty()) Save();
    return absl::CancelledError(absl::StrCat("the training was stopped after epoch ", Epochs()));
  }

  void MaybeSave() {
    if (std::chrono::duration<double>(Clock::now() - saved_).count() < options_.checkpoint_every_s) return;
    Save();
    saved_ = Clock::now();
  }

  // A training whose checkpoint cannot be written (a full disk) goes on: it only loses what the checkpoint is for.
  void Save() {
    Checkpoint checkpoint{.epoch = Epochs(),
                          .best_epoch = result_.best_epoch,
                          .best_validation_loss = result_.validation_loss,
                          .elapsed_ms = ElapsedMs(),
                          .train_losses = result_.train_losses,
                          .validation_losses = result_.validation_losses,
                          .validation_accuracies = result_.validation_accuracies};
    torch::Tensor generator;
    {
      const std::lock_guard<std::mutex> lock(dropout_generator_.mutex());
      generator = dropout_generator_.get_state();
    }
    checkpoint.generator.assign(static_cast<const char*>(generator.const_data_ptr()), generator.nbytes());
    for (const torch::Tensor& parameter : network_.parameters()) {
      const auto& state =
          static_cast<const torch::optim::AdamParamState&>(*optimizer_.state().at(parameter.unsafeGetTensorImpl()));
      checkpoint.steps.push_back(state.step());
      checkpoint.first_moments.push_back(ToVector(state.exp_avg()));
      checkpoint.second_moments.push_back(ToVector(state.exp_avg_sq()));
    }
    checkpoint.parameters = ToVectors(network_.parameters());
    if (result_.best_epoch != 0) {
      checkpoint.best_parameters = ToVectors(best_parameters_);
      checkpoint.best_logits = ToVector(best_logits_);
    }
    const absl::Status written =
        WriteFileAtomically(options_.checkpoint_file, EncodeCheckpoint(checkpoint, *fingerprint_));
    if (written.ok()) {
      if (std::exchange(fails_to_save_, false)) spdlog::info("checkpoints can be written again");
      return;
    }
    const std::string warning = absl::StrCat("no checkpoint could be written: ", written.message());
    if (!std::exchange(fails_to_save_, true)) spdlog::warn("{}; the training goes on without", warning);
    if (std::exchange(told_of_failure_, true)) return;
    result_.warnings.push_back(warning);
  }

  // ---- the end ----

  void Finish() {
    const torch::Tensor predictions = best_logits_.argmax(1).to(torch::kCPU, torch::kInt32).contiguous();
    const int32_t* first = predictions.const_data_ptr<int32_t>();
    result_.predictions.assign(first, first + predictions.numel());
    result_.logits = ToVector(best_logits_);
    FillFigures(attributes_, result_);
    const auto state = network_.StateDict(best_parameters_);
    for (const auto& [name, tensor] : state) result_.state.push_back({name, tensor.sizes().vec(), ToVector(tensor)});
    result_.model_bytes = SerializeStateDict(state);
    result_.script_bytes = SerializeTorchScript(options_.model, options_.layers, state);
    result_.device = device_.description;
    result_.threads = options_.threads;
    result_.deterministic = device_.device.is_cpu();  // of a GPU RunDeterministically says
  }

  const LinkWeights& weights_;
  const NodeAttributes& attributes_;
  const TrainOptions& options_;
  const TrainDevice& device_;
  const torch::Tensor class_weights_;
  SplitTensors train_, validation_;
  torch::Generator initial_generator_;
  Network network_;
  torch::Generator dropout_generator_;
  torch::optim::Adam optimizer_;
  std::unique_ptr<EpochPass> pass_;
  torch::Tensor best_logits_;
  std::vector<torch::Tensor> best_parameters_;
  TrainResult result_;

  std::optional<Digest> fingerprint_;  // when there is a checkpoint file
  Clock::time_point started_, saved_;
  double elapsed_before_ms_ = 0;
  bool fails_to_save_ = false;    // at the last try
  bool told_of_failure_ = false;  // in the warnings
};

}  // namespace

absl::StatusOr<TrainResult> RunTraining(const LinkWeights& weights, const FeatureMatrix& features,
                                        const NodeAttributes& attributes, const TrainOptions& options,
                                        const TrainDevice& device) {
  return Training(weights, features, attributes, options, device).Run();
}

}  // namespace blink
