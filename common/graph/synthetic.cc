// GenerateDataset (data_random.h says why the random numbers are this folder's own).
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/graph/classless_links.h"
#include "common/graph/data_random.h"
#include "common/graph/dataset.h"

namespace blink {
namespace {

absl::Status Check(const SyntheticOptions& options) {
  const auto refuse = [](auto... parts) { return absl::InvalidArgumentError(absl::StrCat(parts...)); };
  if (options.nodes < kNodesMin || options.nodes > kNodesMax)
    return refuse("nodes is ", options.nodes, ": it must be from ", kNodesMin, " to ", kNodesMax);
  if (options.classes < 1 || options.classes > 1000 || options.classes > options.nodes)
    return refuse("classes is ", options.classes, ": it must be from 1 to 1000, and not more than the nodes");
  const double mean_max = std::min(1000.0, (options.nodes - 1) / 4.0);
  if (!(options.mean_degree >= 0 && options.mean_degree <= std::max(mean_max, 1.0)))
    return refuse("mean_degree is ", options.mean_degree, ": it must be from 0 to ", std::max(mean_max, 1.0), " with ",
                  options.nodes, " nodes");
  if (!(options.homophily >= 0 && options.homophily <= 1))
    return refuse("homophily is ", options.homophily, ": it must be from 0 to 1");
  if (options.features > 1'000'000) return refuse("features is ", options.features, ": it must be at most 1000000");
  if (options.features > 0 && !(options.words_per_node >= 0 && options.words_per_node <= 0.5 * options.features))
    return refuse("words_per_node is ", options.words_per_node, ": it must be from 0 to half the features, ",
                  0.5 * options.features);
  return CheckLinkModel(options);
}

// Classes of unequal size, as real ones are: class c has the weight 1 / (c + 2).
std::vector<int32_t> DrawLabels(const SyntheticOptions& options, SplitMix64& random) {
  Weighted classes;
  for (uint32_t c = 0; c < options.classes; ++c) classes.Add(c, 1.0 / (c + 2.0));
  std::vector<int32_t> labels(options.nodes);
  for (uint32_t i = 0; i < options.nodes; ++i)
    labels[i] = static_cast<int32_t>(i < options.classes ? i : classes.Draw(random));
  Shuffle(labels, random);
  return labels;
}

// Of the block model, every node first gets a link (real citation graphs have few isolated nodes), then links are added
// until the mean degree is reached. Popularity has a power-law tail of exponent 3, capped as in a graph of this size.
absl::StatusOr<CsrGraph> DrawLinks(const SyntheticOptions& options, const std::vector<int32_t>& labels,
                                   double inside_share, SplitMix64& random) {
  const uint32_t n = options.nodes;
  const uint64_t wanted = static_cast<uint64_t>(options.mean_degree * n / 2.0 + 0.5);
  if (options.model != LinkModel::kDegreeCorrected) {
    BLINK_ASSIGN_OR_RETURN(LinkList drawn, DrawClasslessLinks(options, wanted, random));
    return CsrGraph::FromLinks(n, std::move(drawn));
  }
  const double popularity_max = std::sqrt(static_cast<double>(n));
  std::vector<Weighted> of_class(options.classes);
  Weighted all;
  for (uint32_t i = 0; i < n; ++i) {
    const double popularity = std::min(popularity_max, 1.0 / std::sqrt(1.0 - random.Uniform()));
    of_class[labels[i]].Add(i, popularity);
    all.Add(i, popularity);
  }
  LinkList links;
  absl::flat_hash_set<uint64_t> seen;
  std::vector<bool> linked(n, false);
  const auto draw_from = [&](uint32_t i) {
    const bool inside = random.Uniform() < inside_share;
    for (int attempt = 0; attempt < 64; ++attempt) {
      const uint32_t j = inside ? of_class[labels[i]].Draw(random) : all.Draw(random);
      if (j == i || (!inside && options.classes > 1 && labels[j] == labels[i])) continue;
      const uint64_t key = (static_cast<uint64_t>(std::min(i, j)) << 32) | std::max(i, j);
      if (!seen.insert(key).second) continue;
      links.emplace_back(i, j);
      linked[i] = linked[j] = true;
      return;
    }
  };
  for (uint32_t i = 0; i < n && links.size() < wanted; ++i) {
    if (!linked[i]) draw_from(i);
  }
  for (uint64_t attempts = 0; links.size() < wanted && attempts < 20 * wanted + 1000; ++attempts)
    draw_from(all.Draw(random));
  return CsrGraph::FromLinks(n, std::move(links));
}

// A bag of words. A share of a node's words comes from its class's own vocabulary, the rest from a common one (both
// Zipf): enough for a model without links to do clearly better than chance, and clearly worse than one with links.
FeatureMatrix DrawFeatures(const SyntheticOptions& options, const std::vector<int32_t>& labels, SplitMix64& random) {
  constexpr double kTopicalShare = 0.30;
  FeatureMatrix features{.rows = options.nodes, .cols = options.features, .sparse = true};
  features.row_offsets.assign(1, 0);
  std::vector<uint32_t> vocabulary(options.features);
  std::iota(vocabulary.begin(), vocabulary.end(), 0u);
  const auto zipf = [&](uint32_t words) {
    Shuffle(vocabulary, random);
    Weighted weighted;
    for (uint32_t r = 0; r < words; ++r) weighted.Add(vocabulary[r], 1.0 / (r + 10.0));
    return weighted;
  };
  const Weighted common = zipf(options.features);
  std::vector<Weighted> topical;
  for (uint32_t c = 0; c < options.classes; ++c) topical.push_back(zipf(std::max<uint32_t>(1, options.features / 6)));
  for (uint32_t i = 0; i < options.nodes; ++i) {
    const double share = 2.0 * kTopicalShare * random.Uniform();  // some nodes speak of their class, some do not
    const uint32_t count = static_cast<uint32_t>(options.words_per_node * (0.5 + random.Uniform()) + 0.5);
    absl::flat_hash_set<int32_t> words;
    for (uint32_t attempts = 0; words.size() < count && attempts < 50 * count; ++attempts) {
      words.insert(
          static_cast<int32_t>(random.Uniform() < share ? topical[labels[i]].Draw(random) : common.Draw(random)));
    }
    std::vector<int32_t> row(words.begin(), words.end());
    std::sort(row.begin(), row.end());
    features.columns.insert(features.columns.end(), row.begin(), row.end());
    features.row_offsets.push_back(static_cast<int64_t>(features.columns.size()));
  }
  features.values.assign(features.columns.size(), 1.0f);
  return features;
}

// [node_count] Of `nodes`, in a random order, the first half trains, the next quarter validates, the rest tests.
std::vector<Split> DealSplit(uint32_t node_count, std::vector<uint32_t> nodes, SplitMix64& random) {
  Shuffle(nodes, random);
  std::vector<Split> split(node_count, Split::kNone);
  const size_t train = nodes.size() / 2, validation = nodes.size() / 4;
  for (size_t k = 0; k < nodes.size(); ++k) {
    split[nodes[k]] = k < train ? Split::kTrain : k < train + validation ? Split::kValidation : Split::kTest;
  }
  return split;
}

}  // namespace

absl::StatusOr<Dataset> GenerateDataset(const SyntheticOptions& options) {
  BLINK_RETURN_IF_ERROR(Check(options));
  SplitMix64 random(options.seed);
  Dataset dataset;
  dataset.name = absl::StrCat("synthetic-", options.seed);
  NodeAttributes& attributes = dataset.attributes;
  attributes.node_count = options.nodes;
  attributes.class_count = options.classes;
  attributes.labels = DrawLabels(options, random);
  for (uint32_t c = 0; c < options.classes; ++c) attributes.class_names.push_back(absl::StrCat("class-", c));
  // Some nodes get the label of a class drawn at random, so that no model is perfect. Links and words follow the class
  // before; the share of links inside it is raised, so that the labels have the homophily that was asked for.
  const double mislabelled = options.classes < 2 ? 0.0 : std::min(0.10, 1.0 - std::sqrt(options.homophily));
  const double others = std::max(1.0, options.classes - 1.0);
  const double wrong = mislabelled * others / (others + 1.0);  // a label drawn at random may be the right one
  const double equal_inside = (1.0 - wrong) * (1.0 - wrong) + wrong * wrong / others;
  const double equal_outside = 2.0 * wrong * (1.0 - wrong) / others;
  const double inside_share =
      std::clamp((options.homophily - equal_outside) / (equal_inside - equal_outside), 0.0, 1.0);
  BLINK_ASSIGN_OR_RETURN(dataset.graph, DrawLinks(options, attributes.labels, inside_share, random));
  attributes.features.rows = options.nodes;
  if (options.features > 0) attributes.features = DrawFeatures(options, attributes.labels, random);
  for (int32_t& label : attributes.labels) {
    if (random.Uniform() < mislabelled) label = static_cast<int32_t>(random.Below(options.classes));
  }
  std::vector<uint32_t> order(options.nodes);
  std::iota(order.begin(), order.end(), 0u);
  attributes.split = DealSplit(options.nodes, std::move(order), random);
  return dataset;
}

absl::StatusOr<std::vector<Split>> DrawSplit(const std::vector<int32_t>& labels, uint64_t seed) {
  constexpr size_t kLabelledMin = 4;
  std::vector<uint32_t> labelled;
  for (uint32_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= 0) labelled.push_back(i);
  }
  if (labelled.size() < kLabelledMin) {
    return absl::InvalidArgumentError(absl::StrCat(labelled.size(), " nodes have a label: a split needs ", kLabelledMin,
                                                   " or more, for training, validation and test"));
  }
  SplitMix64 random(seed);
  return DealSplit(static_cast<uint32_t>(labels.size()), std::move(labelled), random);
}

}  // namespace blink
