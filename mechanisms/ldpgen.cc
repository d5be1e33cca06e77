#include "mechanisms/ldpgen.h"

#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/groups/group_answers.h"
#include "common/base/status_macros.h"
#include "mechanisms/fine_laplace.h"
#include "mechanisms/list_check.h"

namespace blink {
namespace {

constexpr uint64_t kQuestions = 2;  // that share the budget evenly

absl::Status CheckGroups(const NodeGroups& groups, uint32_t node_count) {
  if (groups.IsPartitionOf(node_count)) return absl::OkStatus();
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
  BLINK_ASSIGN_OR_RETURN(NextGroups next,
                         FindNextGroups({std::move(groups_), answered_, std::move(answers_)}, parameters_.epsilon(),
                                        {.groups_max = n, .seed = seed_ + 1, .threads = threads_}));
  groups_ = std::move(next.groups);
  answers_ = std::vector<float>();
  answered_ = BitRow(n);
  question_ = 2;
  return absl::OkStatus();
}

absl::StatusOr<LinkWeights> LdpGenAggregator::Links() && {
  if (question_ != 2) return absl::FailedPreconditionError("the second question was not asked yet");
  BLINK_RETURN_IF_ERROR(CheckComplete());
  return DrawGroupLinks({std::move(groups_), std::move(answered_), std::move(answers_)}, seed_ + 2, threads_);
}

}  // namespace blink
