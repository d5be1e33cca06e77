#include "common/privacy/privatizer.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/discrete_laplace.h"
#include "common/privacy/own_pairs.h"
#include "common/privacy/random_bits.h"
#include "common/privacy/randomized_response.h"

namespace blink {
namespace {

constexpr uint64_t kDegreeEpsilonDenominator = 1'000'000'000'000;
constexpr uint64_t kGroupEpsilonDenominator = 1'000'000;

void Cleanse(BitRow& row) { OPENSSL_cleanse(row.mutable_words().data(), row.words().size() * sizeof(uint64_t)); }

void Cleanse(ReportNoise& noise) {
  Cleanse(noise.flips);
  OPENSSL_cleanse(noise.group_noise.data(), noise.group_noise.size() * sizeof(int64_t));
}

// About as many random words as a report takes, and hardly ever fewer: some dozens for the degree.
uint64_t ExpectedWords(const PrivacyParameters& parameters, NodeIndex self) {
  constexpr uint64_t kDegreeWords = 64;
  uint64_t expected = parameters.sends_degree() ? kDegreeWords : kDegreeWords * parameters.question().count;
  if (parameters.sends_bits()) {
    const uint64_t words = (uint64_t{parameters.row_bits(self)} + 63) / 64;
    expected += ExpectedRandomWords(parameters.flip_numerator(), words);
  }
  return expected;
}

absl::Status ValidateSelf(const PrivacyParameters& parameters, NodeIndex self) {
  if (self < parameters.node_count()) return absl::OkStatus();
  return absl::InvalidArgumentError("the node's own index is not below the number of nodes");
}

// The message names no neighbour: lists are private, also in an error.
absl::Status ValidateList(uint32_t node_count, NodeIndex self, absl::Span<const NodeIndex> neighbours) {
  std::vector<NodeIndex> list(neighbours.begin(), neighbours.end());
  std::sort(list.begin(), list.end());
  const bool distinct = std::adjacent_find(list.begin(), list.end()) == list.end();
  const bool sound =
      distinct && (list.empty() || list.back() < node_count) && !std::binary_search(list.begin(), list.end(), self);
  OPENSSL_cleanse(list.data(), list.size() * sizeof(NodeIndex));
  if (sound) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "an adjacency list must hold distinct nodes below the number of nodes, without the node itself; "
      "validate lists when they are loaded");
}

// One entry of the list changes one of the sums by 1.
absl::StatusOr<PrivateReport> ApplyGroupNoise(const PrivacyParameters& parameters, NodeIndex self, ReportNoise noise,
                                              absl::Span<const NodeIndex> neighbours, const NodeGroups* groups) {
  // The whole map, so that the refusal does not depend on who the neighbours are.
  const bool partitioned = groups != nullptr && groups->count == parameters.question().count &&
                           groups->IsPartitionOf(parameters.node_count());
  const absl::Status sound =
      partitioned ? ValidateList(parameters.node_count(), self, neighbours)
                  : absl::InvalidArgumentError("the groups do not partition the nodes as the parameters say");
  if (!sound.ok()) {
    Cleanse(noise);
    return sound;
  }
  PrivateReport report;
  report.group_degrees = std::move(noise.group_noise);
  for (const NodeIndex j : neighbours) {
    int64_t& sum = report.group_degrees[groups->group_of[j]];
    sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + 1);  // modulo 2^64, as the noise is: see discrete_laplace.h
  }
  return report;
}

}  // namespace

absl::StatusOr<ReportNoise> DrawNoise(const PrivacyParameters& parameters, NodeIndex self, RandomSource& random) {
  BLINK_RETURN_IF_ERROR(ValidateSelf(parameters, self));
  RandomBits bits(random, ExpectedWords(parameters, self));
  ReportNoise noise;
  if (parameters.sends_bits()) {
    noise.flips = BitRow(parameters.row_bits(self));
    FillBernoulli(parameters.flip_numerator(), bits, noise.flips.mutable_words());
    noise.flips.ClearTail();
    // There is no link to oneself, and the bit says nothing: it is always 0.
    if (parameters.mechanism() == Mechanism::kBothEnds) noise.flips.Clear(self);
  }
  if (parameters.sends_degree()) {
    noise.degree_noise = DrawDiscreteLaplace(parameters.degree_epsilon_numerator(), kDegreeEpsilonDenominator, bits);
  }
  noise.group_noise.resize(parameters.question().count);
  for (int64_t& of_group : noise.group_noise) {
    of_group = DrawDiscreteLaplace(parameters.epsilon_micro(), kGroupEpsilonDenominator, bits);
  }
  if (!bits.ok()) {
    Cleanse(noise);
    return bits.status();
  }
  return noise;
}

absl::StatusOr<PrivateReport> ApplyNoise(const PrivacyParameters& parameters, NodeIndex self, ReportNoise noise,
                                         absl::Span<const NodeIndex> neighbours, const NodeGroups* groups) {
  BLINK_RETURN_IF_ERROR(ValidateSelf(parameters, self));
  const uint32_t bits = parameters.sends_bits() ? parameters.row_bits(self) : 0;
  if (noise.flips.size() != bits || noise.degree_noise.has_value() != parameters.sends_degree() ||
      noise.group_noise.size() != parameters.question().count) {
    Cleanse(noise);
    return absl::InvalidArgumentError("the noise was drawn for other parameters");
  }
  if (parameters.sends_group_degrees()) return ApplyGroupNoise(parameters, self, std::move(noise), neighbours, groups);
  if (const absl::Status sound = ValidateList(parameters.node_count(), self, neighbours); !sound.ok()) {
    Cleanse(noise);
    return sound;
  }
  const bool all_entries = parameters.mechanism() == Mechanism::kBothEnds;
  uint64_t count = 0;  // of the entries that the report is about
  for (const NodeIndex j : neighbours) {
    if (!all_entries && !OwnsPair(self, j)) continue;
    ++count;
    if (parameters.sends_bits()) noise.flips.Flip(all_entries ? j : OwnPairPlace(self, j));
  }
  PrivateReport report;
  if (parameters.sends_bits()) report.bits = std::move(noise.flips);
  // Modulo 2^64, as the noise is: see discrete_laplace.h.
  if (parameters.sends_degree()) {
    report.noisy_degree = static_cast<int64_t>(count + static_cast<uint64_t>(*noise.degree_noise));
  }
  return report;
}

}  // namespace blink
