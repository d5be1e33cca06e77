#include "mechanisms/ldpgen.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/profiles/tile_kernels.h"
#include "common/base/status_macros.h"
#include "mechanisms/block_chung_lu.h"
#include "mechanisms/fine_laplace.h"
#include "mechanisms/kmeans.h"
#include "mechanisms/list_check.h"

namespace blink {
namespace {

constexpr uint64_t kQuestions = 2;  // that share the budget evenly

absl::Status CheckGroups(const NodeGroups& groups, uint32_t node_count) {
  const bool in_range =
      std::all_of(groups.group_of.begin(), groups.group_of.end(), [&](uint32_t group) { return group < groups.count; });
  if (groups.group_of.size() == node_count && in_range) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the groups do not partition the ", node_count,
                                                 " nodes: ", groups.group_of.size(),
                                                 " nodes have a group, and every group must be below ", groups.count));
}

}  // namespace

absl::StatusOr<LdpGenNode> LdpGenNode::Create(uint64_t epsilon_micro, uint32_t node_count) {
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters,
                         PrivacyParameters::Create(epsilon_micro, /*degree_share_ppm=*/0, node_count));
  return LdpGenNode(parameters);
}

absl::StatusOr<std::vector<int64_t>> LdpGenNode::Answer(const NodeGroups& groups, NodeIndex self,
                                                        absl::Span<const NodeIndex> neighbours,
                                                        RandomSource& random) const {
  const uint32_t n = parameters_.node_count();
  BLINK_RETURN_IF_ERROR(CheckGroups(groups, n));
  RandomBits bits(random);
  std::vector<int64_t> answer(groups.count);
  for (int64_t& entry : answer) entry = DrawFineLaplace(parameters_.epsilon_micro(), kQuestions, bits);
  if (!bits.ok()) return bits.status();
  BLINK_RETURN_IF_ERROR(CheckList(self, neighbours, n));
  for (const NodeIndex j : neighbours) answer[groups.group_of[j]] = AddNoise(1, answer[groups.group_of[j]]);
  return answer;
}

uint32_t LdpGenGroupCount(absl::Span<const uint32_t> degrees, double epsilon) {
  const double of_second = epsilon / kQuestions;
  double sum = 0;
  for (const uint32_t degree : degrees) {
    const double d = degree / 2.0;
    sum += d + (d * d - 2 * (1 + std::sqrt(5.0)) * d + 1) / of_second;
  }
  const double n = static_cast<double>(degrees.size());
  return static_cast<uint32_t>(std::clamp(std::ceil(sum / n), 1.0, n));
}

std::vector<float> LdpGenVectors(absl::Span<const float> answers, const NodeGroups& asked,
                                 const NodeGroups& final_groups) {
  const uint32_t n = static_cast<uint32_t>(asked.group_of.size()), k = asked.count;
  std::vector<float> shares(size_t{k} * k, 0.0f), sizes(k, 0.0f);  // [asked group, final group]
  for (NodeIndex u = 0; u < n; ++u) {
    ++sizes[asked.group_of[u]];
    ++shares[size_t{asked.group_of[u]} * k + final_groups.group_of[u]];
  }
  for (uint32_t j = 0; j < k; ++j) {
    for (uint32_t i = 0; i < k && sizes[j] > 0; ++i) shares[size_t{j} * k + i] /= sizes[j];
  }
  Panels panels;
  panels.Pack(shares.data(), k, k, k);
  constexpr uint32_t kRows = 64;
  const size_t stride = panels.padded_columns();
  std::vector<float> block(size_t{kRows} * k), vectors(size_t{n} * k);
  AlignedFloats products;
  products.Resize(kRows * stride);
  for (NodeIndex first = 0; first < n; first += kRows) {
    const uint32_t rows = std::min(kRows, n - first);
    std::copy_n(&answers[size_t{first} * k], size_t{rows} * k, block.begin());
    MultiplyPanels(block.data(), k, kRows, panels, /*add=*/false, products.data(), stride);
    for (uint32_t r = 0; r < rows; ++r) std::copy_n(products.data() + r * stride, k, &vectors[size_t{first + r} * k]);
  }
  return vectors;
}

LdpGenAggregator::LdpGenAggregator(const PrivacyParameters& parameters, uint64_t seed, int threads)
    : parameters_(parameters), seed_(seed), threads_(threads), answered_(parameters.node_count()) {
  std::mt19937_64 random(seed);
  groups_.count = 2;
  for (uint32_t i = 0; i < parameters.node_count(); ++i) groups_.group_of.push_back(random() >> 63);
}

absl::Status LdpGenAggregator::Add(NodeIndex node, absl::Span<const int64_t> answer) {
  const uint32_t n = parameters_.node_count();
  if (node >= n || answer.size() != groups_.count) {
    return absl::InvalidArgumentError(absl::StrCat("the answer of node ", node, " has ", answer.size(),
                                                   " numbers: expected are ", groups_.count, " of a node below ", n));
  }
  if (answered_.Test(node)) {
    return absl::InvalidArgumentError(absl::StrCat("node ", node, " has answered question ", question_, " twice"));
  }
  answered_.Set(node);
  if (answers_.empty()) answers_.resize(size_t{n} * groups_.count);
  for (uint32_t j = 0; j < groups_.count; ++j) {
    answers_[size_t{node} * groups_.count + j] = static_cast<float>(answer[j]) / kUnitsPerLink;
  }
  return absl::OkStatus();
}

absl::Status LdpGenAggregator::CheckComplete() const {
  const uint32_t n = parameters_.node_count(), count = answered_.Count();
  if (count == n) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(n - count, " of ", n, " nodes have not answered question ", question_, ": wait for their answers"));
}

absl::Status LdpGenAggregator::NextQuestion() {
  BLINK_RETURN_IF_ERROR(CheckComplete());
  if (question_ != 1) return absl::FailedPreconditionError("both questions were asked");
  const uint32_t n = parameters_.node_count();
  std::vector<uint32_t> degrees(n);
  for (NodeIndex i = 0; i < n; ++i) {
    const double sum = static_cast<double>(answers_[2 * size_t{i}]) + answers_[2 * size_t{i} + 1];
    degrees[i] = static_cast<uint32_t>(std::clamp(std::round(sum), 1.0, n - 1.0));
  }
  groups_.count = LdpGenGroupCount(degrees, parameters_.epsilon());
  groups_.group_of = KMeans(answers_, /*width=*/2, groups_.count, {.seed = seed_ + 1, .threads = threads_});
  answers_ = std::vector<float>();
  answered_ = BitRow(n);
  question_ = 2;
  return absl::OkStatus();
}

absl::StatusOr<LinkWeights> LdpGenAggregator::Links() && {
  if (question_ != 2) return absl::FailedPreconditionError("the second question was not asked yet");
  BLINK_RETURN_IF_ERROR(CheckComplete());
  NodeGroups final_groups{.count = groups_.count};
  final_groups.group_of = KMeans(answers_, groups_.count, groups_.count, {.seed = seed_ + 2, .threads = threads_});
  const float largest = static_cast<float>(parameters_.node_count()) - 1;
  for (float& answer : answers_) answer = std::clamp(std::round(answer), 0.0f, largest);
  const std::vector<float> vectors = LdpGenVectors(answers_, groups_, final_groups);
  answers_ = std::vector<float>();
  std::mt19937_64 random(seed_ + 3);
  return DrawBlockChungLu(vectors, final_groups.group_of, final_groups.count, random);
}

}  // namespace blink
