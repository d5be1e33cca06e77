#include "aggregator_server/train/graph_operator.h"

#include <torch/torch.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "aggregator_server/train/kernels/link_kernels.h"
#include "aggregator_server/train/kernels/weight_rows.h"
#include "aggregator_server/train/tensor_links.h"

namespace blink {
namespace {

// This folder's kernels, on the CPU. Weights with a background are multiplied by those of links/.
class KernelOperator : public GraphOperator {
 public:
  KernelOperator(const LinkWeights& weights, int threads)
      : weights_(weights),
        threads_(threads),
        links_alone_(!weights.has_background() && weights.links.node_count() == weights.node_count) {
    if (!links_alone_) pairs_.emplace(weights);
  }

  torch::Tensor Multiply(const Propagation& propagation, const torch::Tensor& x) const override {
    CheckRows(x);
    const torch::Tensor scaled = (propagation.right.defined() ? x * propagation.right.unsqueeze(1) : x).contiguous();
    torch::Tensor out = torch::empty_like(scaled);
    if (links_alone_) {
      MultiplyLinks(weights_, Data(scaled), scaled.size(1),
                    propagation.left.defined() ? Data(propagation.left) : nullptr, propagation.self, threads_,
                    Data(out));
      return out;
    }
    blink::Multiply(weights_, Data(scaled), scaled.size(1), threads_, Data(out));
    if (propagation.self != 0) out.add_(scaled, propagation.self);
    if (propagation.left.defined()) out.mul_(propagation.left.unsqueeze(1));
    return out;
  }

  torch::Tensor RowSums() const override {
    const std::vector<float> sums = blink::RowSums(weights_, threads_);
    return torch::tensor(sums, torch::kFloat32);
  }

  Attention Attend(const torch::Tensor& h, const torch::Tensor& source, const torch::Tensor& target,
                   bool for_gradient) const override {
    CheckRows(h);
    const torch::Tensor x = h.contiguous(), col_z = source.contiguous(), row_z = target.contiguous();
    Attention result{
        .out = torch::empty_like(x), .shift = torch::empty_like(row_z), .inverse_sum = torch::empty_like(row_z)};
    if (for_gradient) {
      result.out_positive = torch::empty_like(x);
      result.attention_positive = torch::empty_like(row_z);
    }
    Run({.row_z = Data(row_z),
         .col_z = Data(col_z),
         .x = Data(x),
         .width = x.size(1),
         .row_shift = Data(result.shift),
         .sum = Data(result.inverse_sum),
         .sum_positive = for_gradient ? Data(result.attention_positive) : nullptr,
         .y = Data(result.out),
         .y_positive = for_gradient ? Data(result.out_positive) : nullptr});
    return result;
  }

  AttentionGradient AttendBackward(const torch::Tensor& source, const torch::Tensor& target, const Attention& forward,
                                   const torch::Tensor& gradient, const torch::Tensor& center) const override {
    const torch::Tensor x = gradient.contiguous(), row_z = source.contiguous(), col_z = target.contiguous(),
                        factor = center.contiguous();
    AttentionGradient result{torch::empty_like(x), torch::empty_like(x), torch::empty_like(row_z),
                             torch::empty_like(row_z)};
    Run({.row_z = Data(row_z),
         .col_z = Data(col_z),
         .col_shift = Data(forward.shift),
         .col_scale = Data(forward.inverse_sum),
         .col_factor = Data(factor),
         .x = Data(x),
         .width = x.size(1),
         .sum = Data(result.center),
         .sum_positive = Data(result.center_positive),
         .y = Data(result.h),
         .y_positive = Data(result.h_positive)});
    return result;
  }

 private:
  static float* Data(torch::Tensor& tensor) { return tensor.mutable_data_ptr<float>(); }
  static const float* Data(const torch::Tensor& tensor) { return tensor.const_data_ptr<float>(); }

  void CheckRows(const torch::Tensor& x) const {
    TORCH_CHECK(
        x.dim() == 2 && x.size(0) == static_cast<int64_t>(weights_.node_count) && x.scalar_type() == torch::kFloat32,
        "a matrix of another shape than the graph's");
  }
  void Run(const AttentionPass& pass) const {
    links_alone_ ? AttendLinks(weights_, pass, threads_) : AttendPairs(*pairs_, pass, threads_);
  }

  const LinkWeights& weights_;
  const int threads_;
  const bool links_alone_;
  std::optional<WeightRows> pairs_;
};

// Row j of the result has every i that has j in its row, ascending, with the same weight.
LinkWeights TransposeRows(const LinkWeights& weights) {
  const CsrGraph& rows = weights.links;
  std::vector<uint64_t> offsets(size_t{rows.node_count()} + 1, 0);
  for (const NodeIndex j : rows.neighbours()) ++offsets[size_t{j} + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<uint64_t> next(offsets.begin(), offsets.end() - 1);
  std::vector<NodeIndex> columns(rows.neighbours().size());
  LinkWeights transposed{.node_count = weights.node_count, .weighted = weights.weighted};
  transposed.values.resize(weights.values.size());
  for (NodeIndex i = 0; i < rows.node_count(); ++i) {
    for (uint64_t k = rows.offsets()[i]; k < rows.offsets()[i + 1]; ++k) {
      const uint64_t place = next[rows.neighbours()[k]]++;
      columns[place] = i;
      if (!weights.values.empty()) transposed.values[place] = weights.values[k];
    }
  }
  transposed.links = CsrGraph::FromRows(std::move(offsets), std::move(columns)).value();
  return transposed;
}

// Links that are directed, with their transpose beside them. The sums over the columns of W are sums over its rows.
class DirectedOperator : public GraphOperator {
 public:
  // Makes the operator of one direction. It may keep a reference to the weights.
  using Make = std::function<std::shared_ptr<const GraphOperator>(const LinkWeights& weights)>;

  DirectedOperator(const LinkWeights& weights, LinkWeights transposed, const Make& make)
      : transposed_weights_(std::move(transposed)), links_(make(weights)), transposed_(make(transposed_weights_)) {}

  const GraphOperator& transposed() const { return *transposed_; }

  torch::Tensor Multiply(const Propagation& propagation, const torch::Tensor& x) const override {
    return links_->Multiply(propagation, x);
  }
  torch::Tensor RowSums() const override { return links_->RowSums(); }
  Attention Attend(const torch::Tensor& h, const torch::Tensor& source, const torch::Tensor& target,
                   bool for_gradient) const override {
    return links_->Attend(h, source, target, for_gradient);
  }
  AttentionGradient AttendBackward(const torch::Tensor& source, const torch::Tensor& target, const Attention& forward,
                                   const torch::Tensor& gradient, const torch::Tensor& center) const override {
    return transposed_->AttendBackward(source, target, forward, gradient, center);
  }

 private:
  const LinkWeights transposed_weights_;
  const std::shared_ptr<const GraphOperator> links_, transposed_;
};

// The operator of W^T. All but directed links are symmetric.
const GraphOperator& TransposeOf(const GraphOperator& links) {
  const auto* directed = dynamic_cast<const DirectedOperator*>(&links);
  return directed != nullptr ? directed->transposed() : links;
}

// Hands what it holds through autograd, which keeps it alive as long as the graph of the computation.
template <typename T>
struct Holder : torch::CustomClassHolder {
  explicit Holder(T value) : held(std::move(value)) {}
  T held;
};
template <typename T>
c10::IValue Hold(T value) {
  return c10::IValue::make_capsule(c10::make_intrusive<Holder<T>>(std::move(value)));
}
template <typename T>
const T& Held(const c10::IValue& value) {
  return static_cast<const Holder<T>&>(*value.toCapsule()).held;
}

using Links = std::shared_ptr<const GraphOperator>;

class PropagateFunction : public torch::autograd::Function<PropagateFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x, const Links& links,
                               const Propagation& propagation) {
    context->saved_data["links"] = Hold(std::make_pair(links, propagation));
    return links->Multiply(propagation, x);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto& [links, propagation] = Held<std::pair<Links, Propagation>>(context->saved_data["links"]);
    const torch::Tensor gradient = TransposeOf(*links).Multiply(propagation.Transposed(), gradients[0].contiguous());
    return {gradient, torch::Tensor(), torch::Tensor()};
  }
};

class AttendFunction : public torch::autograd::Function<AttendFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& h,
                               const torch::Tensor& source, const torch::Tensor& target, const Links& links) {
    Attention attention = links->Attend(h, source, target, /*for_gradient=*/true);
    context->saved_data["links"] = Hold(links);
    context->save_for_backward({h, source, target, attention.out, attention.out_positive, attention.attention_positive,
                                attention.shift, attention.inverse_sum});
    return attention.out;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const Links& links = Held<Links>(context->saved_data["links"]);
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const torch::Tensor &h = saved[0], &source = saved[1], &target = saved[2];
    const Attention forward{saved[3], saved[4], saved[5], saved[6], saved[7]};
    const torch::Tensor g = gradients[0].contiguous();
    const torch::Tensor center = (g * forward.out).sum(1);
    const auto sums = links->AttendBackward(source, target, forward, g, center);
    const double up = 1.0 - kLeakySlope, slope = kLeakySlope;
    const torch::Tensor of_target = ((g * forward.out_positive).sum(1) - center * forward.attention_positive) * up;
    const torch::Tensor of_source =
        (h * (sums.h * slope + sums.h_positive * up)).sum(1) - sums.center * slope - sums.center_positive * up;
    return {sums.h, of_source, of_target, torch::Tensor()};
  }
};

DirectedOperator::Make MakeOn(torch::Device device, int threads, OperatorPath path) {
  return [=](const LinkWeights& of) -> Links {
    if (device.is_cpu() && path == OperatorPath::kAuto) return std::make_shared<KernelOperator>(of, threads);
    return MakeTensorLinks(of, device);
  };
}

}  // namespace

Links MakeGraphOperator(const LinkWeights& weights, torch::Device device, int threads, OperatorPath path) {
  const DirectedOperator::Make make = MakeOn(device, threads, path);
  // Weighted links, and those with a background, are symmetric by their nature.
  if (weights.weighted || weights.has_background() || weights.links.node_count() == 0) return make(weights);
  LinkWeights transposed = TransposeRows(weights);
  if (transposed.links.neighbours() == weights.links.neighbours() &&
      transposed.links.offsets() == weights.links.offsets()) {
    return make(weights);
  }
  return std::make_shared<DirectedOperator>(weights, std::move(transposed), make);
}

Links MakeDirectedOperator(const LinkWeights& weights, torch::Device device, int threads, bool for_gradient,
                           OperatorPath path) {
  const DirectedOperator::Make make = MakeOn(device, threads, path);
  if (!for_gradient) return make(weights);
  return std::make_shared<DirectedOperator>(weights, TransposeRows(weights), make);
}

Propagation MakePropagation(const torch::Tensor& row_sums, Model model) {
  if (model == Model::kGcn) {
    const torch::Tensor scale = (row_sums + 1).clamp_min(1).rsqrt();
    return {.left = scale, .right = scale, .self = 1};
  }
  return {.left = row_sums.clamp_min(1).reciprocal()};
}

torch::Tensor Propagate(const Links& links, const Propagation& propagation, const torch::Tensor& x) {
  return PropagateFunction::apply(x, links, propagation);
}

torch::Tensor Attend(const Links& links, const torch::Tensor& h, const torch::Tensor& source,
                     const torch::Tensor& target) {
  if (!torch::GradMode::is_enabled()) return links->Attend(h, source, target, /*for_gradient=*/false).out;
  return AttendFunction::apply(h, source, target, links);
}

}  // namespace blink
