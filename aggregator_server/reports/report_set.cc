#include "aggregator_server/reports/report_set.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/privacy/own_pairs.h"

namespace blink {

ReportSet::ReportSet(const PrivacyParameters& parameters)
    : parameters_(parameters),
      words_per_row_(parameters.sends_bits() ? (parameters.node_count() + 63) / 64 : 0),
      reported_(parameters.node_count()),
      noisy_degrees_(parameters.node_count()),
      bits_(words_per_row_, 0) {}

absl::Status ReportSet::Add(NodeIndex node, PrivateReport report) {
  if (node >= node_count()) {
    return absl::InvalidArgumentError(absl::StrCat("node ", node, " is not below n = ", node_count()));
  }
  if (reported_.Test(node)) {
    return absl::InvalidArgumentError(absl::StrCat("node ", node, " has reported twice"));
  }
  const uint32_t bits_expected = parameters_.sends_bits() ? parameters_.row_bits(node) : 0;
  if (report.bits.size() != bits_expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("the report of node ", node, " has ", report.bits.size(), " bits instead of ", bits_expected));
  }
  if (report.noisy_degree.has_value() != parameters_.sends_degree()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the report of node ", node,
                     parameters_.sends_degree() ? " lacks its noisy degree" : " has a degree that nobody asked for"));
  }
  if (!HasRows()) bits_.resize(uint64_t{words_per_row_} * node_count(), 0);
  if (parameters_.mechanism() == Mechanism::kOneEnd) {
    report.bits.ForEachOne([&](uint32_t place) { SetBit(node, OwnPairAt(node, place)); });
  } else {
    const absl::Span<const uint64_t> words = report.bits.words();
    std::copy(words.begin(), words.end(), bits_.begin() + uint64_t{node} * words_per_row_);
  }
  noisy_degrees_[node] = report.noisy_degree;
  reported_.Set(node);
  ++report_count_;
  return absl::OkStatus();
}

void ReportSet::Drop(NodeIndex node) {
  if (!reported_.Test(node)) return;
  reported_.Clear(node);
  --report_count_;
  noisy_degrees_[node].reset();
  const auto row = bits_.begin() + static_cast<int64_t>(uint64_t{node} * words_per_row_);
  std::fill(row, row + words_per_row_, 0);
}

void ReportSet::SetBit(NodeIndex node, NodeIndex about) {
  bits_[uint64_t{node} * words_per_row_ + about / 64] |= uint64_t{1} << (about % 64);
}

void ReportSet::Mirror() {
  mirrored_ = true;
  for (std::optional<int64_t>& degree : noisy_degrees_) {
    constexpr int64_t kHalf = std::numeric_limits<int64_t>::max() / 2;
    if (degree) degree = 2 * std::clamp(*degree, -kHalf, kHalf);
  }
  if (!HasRows()) return;
  // A bit that was copied already is copied back to where it came from.
  for (NodeIndex i = 0; i < node_count(); ++i) {
    for (uint32_t w = 0; w < words_per_row_; ++w) {
      for (uint64_t bits = bits_[uint64_t{i} * words_per_row_ + w]; bits != 0; bits &= bits - 1) {
        SetBit(w * 64 + static_cast<uint32_t>(std::countr_zero(bits)), i);
      }
    }
  }
  for (NodeIndex i = 0; i < node_count(); ++i) {
    if (reported(i)) continue;
    for (uint32_t place = 0; place < OwnPairCount(i, node_count()); ++place) SetBit(i, OwnPairAt(i, place));
  }
}

absl::Span<const uint64_t> ReportSet::row(NodeIndex node) const {
  return absl::MakeConstSpan(bits_).subspan(HasRows() ? uint64_t{node} * words_per_row_ : 0, words_per_row_);
}

}  // namespace blink
