#include "aggregator_server/train/tensor_links.h"

#include <torch/torch.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include "aggregator_server/train/kernels/link_kernels.h"
#include "aggregator_server/train/sparse_operator.h"

namespace blink {
namespace {

constexpr int64_t kTileEntries = 16 << 20;  // of a decoded block of rows: 64 MB

template <typename T>
torch::Tensor ToDevice(const T* data, std::vector<int64_t> shape, torch::ScalarType type, torch::Device device) {
  return torch::from_blob(const_cast<T*>(data), shape, type).to(device, type, /*non_blocking=*/false, /*copy=*/true);
}

torch::Tensor ExpOfLeaky(const torch::Tensor& z, const torch::Tensor& shift) {
  return (torch::leaky_relu(z, kLeakySlope) - shift).exp();
}

// Links alone. Lists over the links and the self-loops, sorted by rows: W is symmetric, so that a list is also its own
// columns.
class LinkTensors : public GraphOperator {
 public:
  LinkTensors(const LinkWeights& weights, torch::Device device) {
    const CsrGraph& graph = weights.links;
    n_ = weights.node_count;
    std::vector<int64_t> offsets(n_ + 1, 0), own_offsets(n_ + 1, 0), columns, with_self, rows;
    std::vector<float> values, own_values;
    for (int64_t i = 0; i < n_; ++i) {
      for (size_t k = 0; i < graph.node_count() && k < graph.NeighboursOf(i).size(); ++k) {
        const float value = weights.values.empty() ? 1.0f : weights.values[graph.offsets()[i] + k];
        columns.push_back(graph.NeighboursOf(i)[k]);
        with_self.push_back(graph.NeighboursOf(i)[k]);
        values.push_back(value);
        own_values.push_back(value);
      }
      with_self.push_back(i);
      own_values.push_back(1.0f);
      rows.resize(with_self.size(), i);
      offsets[i + 1] = static_cast<int64_t>(columns.size());
      own_offsets[i + 1] = static_cast<int64_t>(with_self.size());
    }
    const auto list = [&](const auto& from, torch::ScalarType type) {
      return ToDevice(from.data(), {static_cast<int64_t>(from.size())}, type, device);
    };
    matrix_ =
        CsrTensor(list(offsets, torch::kInt64), list(columns, torch::kInt64), list(values, torch::kFloat32), n_, n_);
    offsets_ = list(own_offsets, torch::kInt64);
    columns_ = list(with_self, torch::kInt64);
    rows_ = list(rows, torch::kInt64);
    weights_ = list(own_values, torch::kFloat32);
  }

  torch::Tensor Multiply(const Propagation& propagation, const torch::Tensor& x) const override {
    const torch::Tensor scaled = propagation.right.defined() ? x * propagation.right.unsqueeze(1) : x;
    torch::Tensor out = CsrTimesDense(matrix_, scaled);
    if (propagation.self != 0) out = out.add_(scaled, propagation.self);
    return propagation.left.defined() ? out.mul_(propagation.left.unsqueeze(1)) : out;
  }
  torch::Tensor RowSums() const override {
    return CsrTimesDense(matrix_, torch::ones({n_, 1}, weights_.options())).squeeze(1);
  }

  Attention Attend(const torch::Tensor& h, const torch::Tensor& source, const torch::Tensor& target,
                   bool for_gradient) const override {
    const torch::Tensor z = target.index_select(0, rows_) + source.index_select(0, columns_);
    Attention result;
    // Links of weight 0 do not count; the node itself always does.
    const torch::Tensor counted = torch::where(weights_ > 0, z, -std::numeric_limits<float>::infinity());
    const torch::Tensor largest = torch::full({n_}, -std::numeric_limits<float>::infinity(), h.options())
                                      .scatter_reduce(0, rows_, counted, "amax");
    result.shift = torch::leaky_relu(largest, kLeakySlope);
    const torch::Tensor exponential =
        torch::where(weights_ > 0, ExpOfLeaky(z, result.shift.index_select(0, rows_)), 0.0);
    result.inverse_sum = SumOfRows(weights_ * exponential).reciprocal();
    const torch::Tensor attention = weights_ * exponential * result.inverse_sum.index_select(0, rows_);
    const torch::Tensor coefficients = weights_ * attention;
    result.out = Weighted(coefficients, h);
    if (!for_gradient) return result;
    const torch::Tensor positive = (z > 0).to(torch::kFloat32);
    result.out_positive = Weighted(coefficients * positive, h);
    result.attention_positive = SumOfRows(attention * positive);
    return result;
  }

  AttentionGradient AttendBackward(const torch::Tensor& source, const torch::Tensor& target, const Attention& forward,
                                   const torch::Tensor& gradient, const torch::Tensor& center) const override {
    // rows_ and columns_ have changed their places: entry (j, i) of the lists is the pair (i, j).
    const torch::Tensor z = source.index_select(0, rows_) + target.index_select(0, columns_);
    const torch::Tensor attention =
        torch::where(weights_ > 0, ExpOfLeaky(z, forward.shift.index_select(0, columns_)), 0.0) * weights_ *
        forward.inverse_sum.index_select(0, columns_);
    const torch::Tensor positive = (z > 0).to(torch::kFloat32);
    const torch::Tensor coefficients = weights_ * attention;
    const torch::Tensor shares = attention * center.index_select(0, columns_);
    return {Weighted(coefficients, gradient), Weighted(coefficients * positive, gradient), SumOfRows(shares),
            SumOfRows(shares * positive)};
  }

 private:
  torch::Tensor SumOfRows(const torch::Tensor& list) const {
    return torch::zeros({n_}, list.options()).index_add_(0, rows_, list);
  }
  torch::Tensor Weighted(const torch::Tensor& coefficients, const torch::Tensor& x) const {
    return CsrTimesDense(CsrTensor(offsets_, columns_, coefficients, n_, n_), x);
  }

  int64_t n_ = 0;
  torch::Tensor matrix_;                              // CSR, without self-loops
  torch::Tensor offsets_, columns_, rows_, weights_;  // with self-loops of weight 1
};

// A background, corrected by links or by packed ones.
class PairTensors : public GraphOperator {
 public:
  PairTensors(const LinkWeights& weights, torch::Device device)
      : n_(weights.node_count), classes_(weights.class_count) {
    std::vector<int64_t> of_node(weights.class_of_node.begin(), weights.class_of_node.end());
    class_of_node_ = ToDevice(of_node.data(), {n_}, torch::kInt64, device);
    background_ = ToDevice(weights.background.data(), {classes_, classes_}, torch::kFloat32, device);
    if (weights.links.node_count() != 0) {
      const std::vector<int64_t> offsets(weights.links.offsets().begin(), weights.links.offsets().end());
      const std::vector<int64_t> columns(weights.links.neighbours().begin(), weights.links.neighbours().end());
      std::vector<float> values = weights.values;
      if (values.empty()) values.assign(columns.size(), 1.0f);
      offsets_ = ToDevice(offsets.data(), {n_ + 1}, torch::kInt64, device);
      columns_ = ToDevice(columns.data(), {static_cast<int64_t>(columns.size())}, torch::kInt64, device);
      values_ = ToDevice(values.data(), {static_cast<int64_t>(values.size())}, torch::kFloat32, device);
      links_ = CsrTensor(offsets_, columns_, values_, n_, n_);
    }
    if (!weights.ones.empty()) {
      words_ = weights.ones.words;
      any_ = ToDevice(weights.ones.any.data(), {n_, words_}, torch::kInt64, device);
      both_ = ToDevice(weights.ones.both.data(), {n_, words_}, torch::kInt64, device);
      by_ones_ = ToDevice(weights.by_ones.data(), {classes_, classes_, 2}, torch::kFloat32, device);
      std::vector<int64_t> positions(n_);
      for (size_t p = 0; p < weights.ones.node_at.size(); ++p) {
        if (weights.ones.node_at[p] != PairOnes::kNoNode) positions[weights.ones.node_at[p]] = static_cast<int64_t>(p);
      }
      position_of_node_ = ToDevice(positions.data(), {n_}, torch::kInt64, device);
      bits_ = torch::arange(64, torch::TensorOptions().dtype(torch::kInt64).device(device));
    }
    own_ = background_.diagonal().index_select(0, class_of_node_).unsqueeze(1);
    block_rows_ = std::max<int64_t>(1, std::min<int64_t>(n_, kTileEntries / std::max<int64_t>(1, n_)));
  }

  torch::Tensor Multiply(const Propagation& propagation, const torch::Tensor& x) const override {
    const torch::Tensor scaled = propagation.right.defined() ? x * propagation.right.unsqueeze(1) : x;
    torch::Tensor out = any_.defined() ? MultiplyByTiles(scaled) : MultiplyByClasses(scaled);
    if (propagation.self != 0) out = out.add_(scaled, propagation.self);
    return propagation.left.defined() ? out.mul_(propagation.left.unsqueeze(1)) : out;
  }
  torch::Tensor RowSums() const override {
    return Multiply({}, torch::ones({n_, 1}, background_.options())).squeeze(1);
  }

  Attention Attend(const torch::Tensor& h, const torch::Tensor& source, const torch::Tensor& target,
                   bool for_gradient) const override {
    Attention result{
        .out = torch::empty_like(h), .shift = torch::empty_like(target), .inverse_sum = torch::empty_like(target)};
    if (for_gradient) {
      result.out_positive = torch::empty_like(h);
      result.attention_positive = torch::empty_like(target);
    }
    ForEachTile(/*own=*/1.0f, [&](int64_t first, int64_t count, const torch::Tensor& w) {
      const torch::Tensor z = target.narrow(0, first, count).unsqueeze(1) + source.unsqueeze(0);
      const torch::Tensor largest = std::get<0>(z.masked_fill(w <= 0, -std::numeric_limits<float>::infinity()).max(1));
      const torch::Tensor shift = torch::leaky_relu(largest, kLeakySlope);
      const torch::Tensor unscaled = ExpOfLeaky(z, shift.unsqueeze(1)).masked_fill_(w <= 0, 0.0).mul_(w);
      const torch::Tensor inverse = unscaled.sum(1).reciprocal();
      const torch::Tensor attention = unscaled.mul_(inverse.unsqueeze(1));
      const torch::Tensor coefficients = w * attention;
      result.shift.narrow(0, first, count).copy_(shift);
      result.inverse_sum.narrow(0, first, count).copy_(inverse);
      result.out.narrow(0, first, count).copy_(torch::mm(coefficients, h));
      if (!for_gradient) return;
      const torch::Tensor negative = z <= 0;
      result.out_positive.narrow(0, first, count).copy_(torch::mm(coefficients.masked_fill(negative, 0.0), h));
      result.attention_positive.narrow(0, first, count).copy_(attention.masked_fill(negative, 0.0).sum(1));
    });
    return result;
  }

  AttentionGradient AttendBackward(const torch::Tensor& source, const torch::Tensor& target, const Attention& forward,
                                   const torch::Tensor& gradient, const torch::Tensor& center) const override {
    AttentionGradient result{torch::empty_like(gradient), torch::empty_like(gradient), torch::empty_like(source),
                             torch::empty_like(source)};
    // Rows of the tile are the j of the pairs (i, j): W is symmetric.
    ForEachTile(/*own=*/1.0f, [&](int64_t first, int64_t count, const torch::Tensor& w) {
      const torch::Tensor z = source.narrow(0, first, count).unsqueeze(1) + target.unsqueeze(0);
      const torch::Tensor negative = z <= 0;
      const torch::Tensor attention = ExpOfLeaky(z, forward.shift.unsqueeze(0))
                                          .masked_fill_(w <= 0, 0.0)
                                          .mul_(w)
                                          .mul_(forward.inverse_sum.unsqueeze(0));
      const torch::Tensor coefficients = w * attention;
      result.h.narrow(0, first, count).copy_(torch::mm(coefficients, gradient));
      result.h_positive.narrow(0, first, count).copy_(torch::mm(coefficients.masked_fill_(negative, 0.0), gradient));
      result.center.narrow(0, first, count).copy_(torch::mv(attention, center));
      result.center_positive.narrow(0, first, count).copy_(torch::mv(attention.masked_fill(negative, 0.0), center));
    });
    return result;
  }

 private:
  torch::Tensor MultiplyByClasses(const torch::Tensor& x) const {
    const torch::Tensor sums = torch::zeros({classes_, x.size(1)}, x.options()).index_add_(0, class_of_node_, x);
    torch::Tensor out = torch::mm(background_, sums).index_select(0, class_of_node_) - own_ * x;
    return links_.defined() ? out.add_(CsrTimesDense(links_, x)) : out;
  }
  torch::Tensor MultiplyByTiles(const torch::Tensor& x) const {
    torch::Tensor out = torch::empty({n_, x.size(1)}, x.options());
    ForEachTile(/*own=*/0.0f, [&](int64_t first, int64_t count, const torch::Tensor& w) {
      out.narrow(0, first, count).copy_(torch::mm(w, x));
    });
    return out;
  }

  // visit(first, count, rows first .. first + count - 1 of W with `own` on the diagonal).
  template <typename Visit>
  void ForEachTile(float own, const Visit& visit) const {
    for (int64_t first = 0; first < n_; first += block_rows_) {
      const int64_t count = std::min(block_rows_, n_ - first);
      visit(first, count, Tile(first, count, own));
    }
  }
  torch::Tensor Tile(int64_t first, int64_t count, float own) const {
    const torch::Tensor row_class = class_of_node_.narrow(0, first, count);
    torch::Tensor tile = background_.index_select(0, row_class).index_select(1, class_of_node_);
    if (links_.defined()) {
      const int64_t begin = offsets_[first].item<int64_t>(), end = offsets_[first + count].item<int64_t>();
      const torch::Tensor degrees = offsets_.narrow(0, first + 1, count) - offsets_.narrow(0, first, count);
      const torch::Tensor places = torch::repeat_interleave(degrees) * n_ + columns_.narrow(0, begin, end - begin);
      tile.view({-1}).index_add_(0, places, values_.narrow(0, begin, end - begin));
    }
    if (any_.defined()) AddOnes(first, count, row_class, tile);
    tile.view({-1}).narrow(0, first, (count - 1) * (n_ + 1) + 1).slice(0, 0, c10::nullopt, n_ + 1).fill_(own);
    return tile;
  }
  // Rows are decoded a few at a time, since 64-bit words spread over eight times a tile's memory.
  void AddOnes(int64_t first, int64_t count, const torch::Tensor& row_class, torch::Tensor& tile) const {
    const int64_t step = std::max<int64_t>(1, count / 16);
    for (int64_t begin = 0; begin < count; begin += step) {
      const int64_t rows = std::min(step, count - begin);
      const auto decode = [&](const torch::Tensor& bits) {
        return bits.narrow(0, first + begin, rows)
            .unsqueeze(2)
            .bitwise_right_shift(bits_)
            .bitwise_and_(1)
            .view({rows, words_ * 64})
            .index_select(1, position_of_node_);
      };
      const torch::Tensor of_rows = by_ones_.index_select(0, row_class.narrow(0, begin, rows));
      const torch::Tensor one = of_rows.select(2, 0).index_select(1, class_of_node_);
      const torch::Tensor two = of_rows.select(2, 1).index_select(1, class_of_node_);
      tile.narrow(0, begin, rows).add_(torch::where(decode(both_).to(torch::kBool), two, one).mul_(decode(any_)));
    }
  }

  const int64_t n_, classes_;
  int64_t words_ = 0, block_rows_ = 1;
  torch::Tensor class_of_node_, background_, own_;
  torch::Tensor offsets_, columns_, values_, links_;
  torch::Tensor any_, both_, by_ones_, bits_, position_of_node_;
};

}  // namespace

std::shared_ptr<const GraphOperator> MakeTensorLinks(const LinkWeights& weights, torch::Device device) {
  if (weights.has_background()) return std::make_shared<PairTensors>(weights, device);
  return std::make_shared<LinkTensors>(weights, device);
}

}  // namespace blink
