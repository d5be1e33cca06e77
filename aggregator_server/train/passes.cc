#include "aggregator_server/train/passes.h"

#include <utility>

namespace blink {
namespace {

class FullPass : public EpochPass {
 public:
  explicit FullPass(Trained trained) : trained_(std::move(trained)) {}

  torch::Tensor TrainEpoch(int /*epoch*/) override {
    if (!first_.defined()) first_ = trained_.network.First();
    trained_.optimizer.zero_grad();
    const torch::Tensor logits = trained_.network.Rest(first_, trained_.dropout);
    torch::Tensor loss = trained_.train.Loss(logits.index_select(0, trained_.train.nodes));
    loss.backward();
    trained_.optimizer.step();
    return loss.detach();
  }

  torch::Tensor Logits() override {
    first_ = trained_.network.First();
    const torch::NoGradGuard no_gradients;
    return trained_.network.Rest(first_);
  }

 private:
  const Trained trained_;
  torch::Tensor first_;  // of the weights that the last step left: it serves the evaluation and the next step
};

}  // namespace

std::unique_ptr<EpochPass> MakeFullPass(Trained trained) { return std::make_unique<FullPass>(std::move(trained)); }

}  // namespace blink
