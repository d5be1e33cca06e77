#include "aggregator_server/train/sparse_operator.h"

#include <torch/torch.h>

#include <utility>

namespace blink {
namespace {

// Hands the operator through autograd, which keeps it alive as long as the graph of the computation.
struct OperatorHolder : torch::CustomClassHolder {
  explicit OperatorHolder(std::shared_ptr<const SparseOperator> held) : matrix(std::move(held)) {}
  std::shared_ptr<const SparseOperator> matrix;
};

class MultiplyFunction : public torch::autograd::Function<MultiplyFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& dense,
                               const std::shared_ptr<const SparseOperator>& matrix) {
    context->saved_data["matrix"] = c10::IValue::make_capsule(c10::make_intrusive<OperatorHolder>(matrix));
    return matrix->Multiply(dense);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto capsule = context->saved_data["matrix"].toCapsule();
    const auto& holder = static_cast<const OperatorHolder&>(*capsule);
    return {holder.matrix->MultiplyTransposed(gradients[0]), torch::Tensor()};
  }
};

// LibTorch warns that its CSR tensors are in beta; that says nothing to an operator.
class NoWarnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

}  // namespace

torch::Tensor CsrTensor(const torch::Tensor& offsets, const torch::Tensor& columns, const torch::Tensor& values,
                        int64_t rows, int64_t cols) {
  NoWarnings no_warnings;
  const c10::WarningUtils::WarningHandlerGuard guard(&no_warnings);
  return torch::_sparse_csr_tensor_unsafe(offsets, columns, values, {rows, cols},
                                          values.options().layout(torch::kSparseCsr));
}

torch::Tensor CsrTimesDense(const torch::Tensor& csr, const torch::Tensor& dense) {
  if (csr.is_cuda()) at::globalContext().alertNotDeterministic("the product of a CSR matrix by cuSPARSE");
  return torch::mm(csr, dense);
}

std::shared_ptr<const SparseOperator> SparseOperator::Create(SparseMatrix matrix, torch::Device device, int threads,
                                                             bool for_gradient) {
  auto result = std::make_shared<SparseOperator>();
  result->threads_ = threads;
  if (for_gradient) result->backward_ = MakeSide(Transpose(matrix), device);
  result->forward_ = MakeSide(std::move(matrix), device);
  return result;
}

SparseOperator::Side SparseOperator::MakeSide(SparseMatrix matrix, torch::Device device) {
  Side side;
  if (!device.is_cpu()) {
    const auto copy = [&](void* data, size_t size, torch::ScalarType type) {
      return torch::from_blob(data, {static_cast<int64_t>(size)}, type).to(device);
    };
    side.csr = CsrTensor(copy(matrix.offsets.data(), matrix.offsets.size(), torch::kInt64),
                         copy(matrix.columns.data(), matrix.columns.size(), torch::kInt32).to(torch::kInt64),
                         copy(matrix.values.data(), matrix.values.size(), torch::kFloat32), matrix.rows, matrix.cols);
  } else {
    side.matrix = std::move(matrix);
  }
  return side;
}

torch::Tensor SparseOperator::MultiplySide(const Side& side, const torch::Tensor& dense) const {
  if (side.csr.defined()) return CsrTimesDense(side.csr, dense);
  TORCH_CHECK(dense.dim() == 2 && dense.size(0) == side.matrix.cols && dense.scalar_type() == torch::kFloat32,
              "a sparse product of incompatible shapes");
  const torch::Tensor input = dense.contiguous();
  torch::Tensor out = torch::empty({side.matrix.rows, input.size(1)}, input.options());
  MultiplySparse(side.matrix, input.const_data_ptr<float>(), input.size(1), threads_, out.mutable_data_ptr<float>());
  return out;
}

torch::Tensor SparseOperator::Multiply(const torch::Tensor& dense) const { return MultiplySide(forward_, dense); }

torch::Tensor SparseOperator::MultiplyTransposed(const torch::Tensor& dense) const {
  return MultiplySide(backward_, dense);
}

torch::Tensor Multiply(const std::shared_ptr<const SparseOperator>& matrix, const torch::Tensor& dense) {
  return MultiplyFunction::apply(dense, matrix);
}

}  // namespace blink
