#include "aggregator_server/groups/group_answers.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/groups/block_chung_lu.h"
#include "aggregator_server/groups/kmeans.h"
#include "aggregator_server/profiles/tile_kernels.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr double kQuestions = 2;  // that share the budget evenly

absl::Status CheckAnswers(const GroupAnswersRead& answers) {
  const uint32_t n = answers.answered.size();
  if (!answers.asked.IsPartitionOf(n) || answers.degrees.size() != size_t{n} * answers.asked.count) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", answers.degrees.size(), " numbers of ", n,
                                                   " nodes towards ", answers.asked.count,
                                                   " groups, which must partition the nodes"));
  }
  if (answers.answered.Count() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError("nobody has answered about the groups: wait for reports");
}

// What an honest answer can hardly be.
void Bound(GroupAnswersRead& answers) {
  const auto n = static_cast<float>(answers.answered.size());
  for (float& degree : answers.degrees) degree = std::clamp(degree, -n, 2 * n);
}

// Makes the largest ones, `share` of all, as large as the largest of the others.
void Trim(double share, std::vector<uint32_t>& degrees) {
  const auto trimmed = static_cast<size_t>(std::ceil(share * static_cast<double>(degrees.size())));
  if (trimmed == 0 || trimmed >= degrees.size()) return;
  const auto first = degrees.end() - static_cast<int64_t>(trimmed);
  std::nth_element(degrees.begin(), first - 1, degrees.end());
  std::fill(first, degrees.end(), *(first - 1));
}

// Gives the nodes that did not answer the mean of those who did.
void FillWithMean(GroupAnswersRead& answers) {
  const uint32_t n = answers.answered.size(), k = answers.asked.count;
  std::vector<double> mean(k, 0);
  const double count = answers.answered.Count();
  if (count == n) return;
  answers.answered.ForEachOne([&](NodeIndex u) {
    for (uint32_t j = 0; j < k; ++j) mean[j] += answers.degrees[size_t{u} * k + j] / count;
  });
  for (NodeIndex u = 0; u < n; ++u) {
    for (uint32_t j = 0; j < k && !answers.answered.Test(u); ++j) {
      answers.degrees[size_t{u} * k + j] = static_cast<float>(mean[j]);
    }
  }
}

// Numbers the groups anew, so that each has a node.
NodeGroups WithoutEmpty(std::vector<uint32_t> group_of, uint32_t count) {
  std::vector<uint32_t> number(count, 0);
  for (const uint32_t group : group_of) number[group] = 1;
  NodeGroups groups;
  for (uint32_t& of_group : number) of_group = of_group == 1 ? groups.count++ : 0;
  for (uint32_t& group : group_of) group = number[group];
  groups.group_of = std::move(group_of);
  return groups;
}

}  // namespace

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

std::vector<NodeIndex> FindImplausibleAnswers(const GroupAnswersRead& answers, double epsilon, double false_alarm) {
  const uint32_t n = answers.answered.size(), k = answers.asked.count;
  // Pr[|Y| > t] <= 2 exp(-epsilon t) for each of the n k numbers.
  const double noise = std::log(2.0 * n * k / false_alarm) / epsilon;
  std::vector<double> largest(k, noise);
  for (const uint32_t group : answers.asked.group_of) largest[group] += 1;
  std::vector<NodeIndex> implausible;
  answers.answered.ForEachOne([&](NodeIndex u) {
    for (uint32_t j = 0; j < k; ++j) {
      const double degree = answers.degrees[size_t{u} * k + j];
      if (degree >= -noise && degree <= largest[j]) continue;
      implausible.push_back(u);
      return;
    }
  });
  return implausible;
}

absl::StatusOr<NextGroups> FindNextGroups(GroupAnswersRead answers, double epsilon, const NextGroupsOptions& options) {
  BLINK_RETURN_IF_ERROR(CheckAnswers(answers));
  Bound(answers);
  const uint32_t n = answers.answered.size(), width = answers.asked.count;
  std::vector<uint32_t> degrees;
  answers.answered.ForEachOne([&](NodeIndex u) {
    double sum = 0;
    for (uint32_t j = 0; j < width; ++j) sum += answers.degrees[size_t{u} * width + j];
    degrees.push_back(static_cast<uint32_t>(std::clamp(std::round(sum), 1.0, n - 1.0)));
  });
  Trim(options.trimmed, degrees);
  NextGroups next{.wanted = LdpGenGroupCount(degrees, epsilon)};
  FillWithMean(answers);
  const uint32_t count = std::min({next.wanted, options.groups_max, n});
  next.groups =
      WithoutEmpty(KMeans(answers.degrees, width, count, {.seed = options.seed, .threads = options.threads}), count);
  return next;
}

absl::StatusOr<LinkWeights> DrawGroupLinks(GroupAnswersRead answers, uint64_t seed, int threads) {
  BLINK_RETURN_IF_ERROR(CheckAnswers(answers));
  Bound(answers);
  const uint32_t n = answers.answered.size(), k = answers.asked.count;
  FillWithMean(answers);
  NodeGroups final_groups{.count = k};
  final_groups.group_of = KMeans(answers.degrees, k, k, {.seed = seed, .threads = threads});
  std::vector<float> sizes(k, 0.0f);
  for (const uint32_t group : answers.asked.group_of) ++sizes[group];
  for (size_t at = 0; at < answers.degrees.size(); ++at) {
    answers.degrees[at] = std::clamp(std::round(answers.degrees[at]), 0.0f, sizes[at % k]);
  }
  for (NodeIndex u = 0; u < n; ++u) {
    if (!answers.answered.Test(u)) std::fill_n(answers.degrees.begin() + static_cast<int64_t>(size_t{u} * k), k, 0.0f);
  }
  const std::vector<float> vectors = LdpGenVectors(answers.degrees, answers.asked, final_groups);
  answers.degrees = std::vector<float>();
  std::mt19937_64 random(seed + 1);
  return DrawBlockChungLu(vectors, final_groups.group_of, final_groups.count, random);
}

}  // namespace blink
