#include "aggregator_server/select/training_cost.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "aggregator_server/profiles/node_profiles.h"
#include "aggregator_server/train/folds.h"

namespace blink {
namespace {

// Seconds of all the attention over every pair of nodes. Per pair a pass costs about 20 operations and 2 per column of
// the layer (1 without a gradient), eight at once: measured with AVX2, and right within a factor of about two.
double PairAttentionSeconds(const TrainOptions& options, const ProblemSize& size) {
  constexpr double kSecondsPerOperation = 5e-11;
  double operations = 0;
  for (int layer = 0; layer < options.layers; ++layer) {
    const double width = layer + 1 == options.layers ? size.classes : options.hidden;
    operations += 2 * (20 + 2 * width);       // forward with a gradient, and backward
    if (layer > 0) operations += 20 + width;  // the evaluation; the first layer's serves both
  }
  return operations * size.nodes * size.nodes * options.epochs * kSecondsPerOperation;
}

constexpr double kMultiplicationsPerSecond = 4e9;

double FeatureValues(const Candidate& candidate, const ProblemSize& size) {
  return static_cast<double>(candidate.prior == Prior::kAttributed ? size.scaled_values : size.feature_values);
}

// Pairs in both directions that have a weight of their own in what a candidate is trained on.
double OwnPairs(const Candidate& candidate, const ProblemSize& size) {
  const double n = size.nodes, p = size.flip_probability;
  const bool soft = candidate.variant == Variant::kSoft;
  if (candidate.prior == Prior::kAttributed) return 2 * (soft ? size.attributed_kept : size.attributed_links);
  return 2 * size.links + (soft ? n * n * (1 - (1 - p) * (1 - p)) : 0);
}

// How many values are held of every node and column of a layer: activations, masks and gradients of a training, and
// what its evaluation adds; of the last layer also the best epoch's, and probabilities in float64. Fitted to peaks on
// a million nodes (memory_need_test.cc).
struct LayerCopies {
  double hidden, classes;
};
LayerCopies CopiesOf(Model model) {
  if (model == Model::kGat) return {10.5, 12};  // also the sums for the gradient of the attention
  if (model == Model::kGraphSage) return {4.5, 12};
  return {4, 8.5};
}

// What the steps of an epoch of batches (TrainOptions::batch_nodes) see, one step at most: nodes and directed links.
struct SampleSize {
  double steps = 1, nodes = 0, links = 0;
};
SampleSize SizeOfSample(const Candidate& candidate, const ProblemSize& size) {
  const double n = size.nodes, train = std::max(1u, size.labelled_train);
  const double degree = candidate.options.model == Model::kMlp ? 0 : OwnPairs(candidate, size) / std::max(n, 1.0);
  const double batch = std::min<double>(candidate.options.batch_nodes, train);
  SampleSize sample{.steps = std::ceil(train / batch), .nodes = batch};
  double reached = batch;
  for (const uint32_t fan_out : candidate.options.fan_out) {
    const double drawn = reached * std::min<double>(fan_out, degree);
    sample.links += drawn;
    reached = std::min(drawn, n - sample.nodes);
    sample.nodes += reached;
  }
  return sample;
}

}  // namespace

bool AttendsAllPairs(const Candidate& candidate) {
  return candidate.options.model == Model::kGat && candidate.variant == Variant::kSoft &&
         candidate.prior == Prior::kBeta;
}

std::string ExplainCost(const Candidate& candidate, const ProblemSize& size) {
  const std::string takes =
      absl::StrFormat("it takes about %.1f hours of one core, and more than %g are not spent unasked: ",
                      NominalSeconds(candidate, size) / 3600, kNominalSecondsMax / 3600);
  if (!AttendsAllPairs(candidate)) return takes + "name its model and variant to train it all the same";
  return takes +
         "use Hard or Hybrid links, GCN or GraphSAGE, or fewer epochs, or insist with allow_slow_attention "
         "(--allow-slow-attention)";
}

bool HasFewLabels(const ProblemSize& size) {
  constexpr double kNodesOfFoldMin = 4;
  const double choosing = size.labelled_validation, labelled = choosing + size.labelled_train;
  return size.nodes <= kFewLabelsNodesMax && choosing > 0 && 0.5 / std::sqrt(choosing) > kChoiceErrorMax &&
         labelled >= kNodesOfFoldMin * kFolds;
}

double AttributedNominalSeconds(uint32_t nodes, uint32_t dense_columns, uint32_t classes) {
  constexpr double kPasses = 4;   // a first posterior, two network rounds, and the sample that is fitted on
  constexpr double kOfPair = 60;  // multiplications that a pair costs beside its columns, its exponentials above all
  const double columns = kLatentWidth + dense_columns + 2.0 * classes;
  return kPasses * 0.5 * nodes * nodes * (2 * kOfPair + columns) / kMultiplicationsPerSecond;
}

double NominalSeconds(const Candidate& candidate, const ProblemSize& size) {
  constexpr double kPasses = 3;        // forward and backward for the training, forward for the evaluation
  constexpr double kExponential = 30;  // multiplications that an attention coefficient costs
  const TrainOptions& options = candidate.options;
  const double n = size.nodes;
  const double own = OwnPairs(candidate, size);
  if (options.model == Model::kStacked) {
    constexpr double kEvaluations = 1000;  // of all ridges, on the training nodes: half of all, about
    // Under the beta prior two products with every pair, and the squares of their rows: three passes like an
    // estimate's.
    const double sums = candidate.prior == Prior::kBeta ? 2 * own * size.classes + 3 * 8 * n * n : own * size.classes;
    return (kEvaluations * n * 9 * size.classes * size.classes + sums) / kMultiplicationsPerSecond;
  }
  if (!IsNetwork(options.model)) return 0;  // it is there already
  const double width = static_cast<double>(options.hidden) * (options.layers - 1) + size.classes;
  const auto products_on = [&](double nodes, double pairs) {
    const double products =
        FeatureValues(candidate, size) / std::max(n, 1.0) * nodes * options.hidden + nodes * options.hidden * width;
    if (options.model == Model::kMlp || AttendsAllPairs(candidate)) return products;
    const bool attends = options.model == Model::kGat;
    return products + (attends ? (pairs + nodes) * (width + kExponential * options.layers) : pairs * width);
  };
  double products = kPasses * products_on(n, own);
  if (options.batch_nodes > 0) {
    constexpr double kSampling = 100;  // multiplications that a node or a link costs to be found, drawn and copied
    const SampleSize sample = SizeOfSample(candidate, size);
    products =
        products_on(n, own) + kSampling * (n + own) * options.layers +  // the evaluation
        sample.steps *
            ((kPasses - 1) * products_on(sample.nodes, sample.links) +
             kSampling * (sample.nodes * (1 + FeatureValues(candidate, size) / std::max(n, 1.0) / 10) + sample.links));
  }
  return products * options.epochs / kMultiplicationsPerSecond +
         (AttendsAllPairs(candidate) ? PairAttentionSeconds(options, size) : 0);
}

double TrainingBytes(const Candidate& candidate, const ProblemSize& size) {
  constexpr double kFeatureCopies = 3;  // as made, as normalised, and their transpose or product with the links
  constexpr double kEntryBytes = 8;     // a value and its column, or row
  constexpr double kLinkBytes = 12;     // of a link in one direction: the transpose, and what finds it
  const TrainOptions& options = candidate.options;
  const double n = size.nodes, p = size.flip_probability;
  if (!IsNetwork(options.model)) return n * size.classes * (options.model == Model::kStacked ? 25 : 2) * sizeof(float);
  if (options.batch_nodes > 0) {
    // A batch with its layers, or two or three matrices of all nodes and a block of rows in the evaluation; and the
    // logits of the result.
    constexpr double kBlockBytes = 4 * (1 << 24) * sizeof(float);  // a block's rows a few times (sampled_pass.cc)
    constexpr double kValueBytes = 12, kCopies = 12;  // of a value with its place; of a layer, in a training step
    const SampleSize sample = SizeOfSample(candidate, size);
    const double width = static_cast<double>(options.hidden) * (options.layers - 1) + size.classes;
    const double widest = std::max<double>(options.layers > 1 ? options.hidden : 0, size.classes);
    const double of_batch =
        FeatureValues(candidate, size) / std::max(n, 1.0) * sample.nodes * kFeatureCopies * kValueBytes +
        sample.nodes * width * kCopies * sizeof(float) + sample.links * 4 * kValueBytes;
    const double of_evaluation = 3 * n * widest * sizeof(float) + std::min(kBlockBytes, 4 * n * widest * sizeof(float));
    return std::max(of_batch, of_evaluation) + 3 * n * size.classes * sizeof(float) + 8 * n;
  }
  const LayerCopies copies = CopiesOf(options.model);
  const double hidden = static_cast<double>(options.hidden) * (options.layers - 1);
  const bool dense = size.features_are_dense && candidate.prior != Prior::kAttributed;
  double bytes = FeatureValues(candidate, size) * kFeatureCopies * (dense ? sizeof(float) : kEntryBytes) +
                 n * (hidden * copies.hidden + size.classes * copies.classes) * sizeof(float);
  if (options.model == Model::kMlp) return bytes;
  bytes += kLinkBytes * (candidate.prior == Prior::kAttributed ? OwnPairs(candidate, size) : 2 * size.links);
  // Of a soft pair with a one either an entry, or two bits of n^2.
  if (candidate.variant == Variant::kSoft && candidate.prior == Prior::kBeta)
    bytes += std::min(n * n * (1 - (1 - p) * (1 - p)) * 2 * kLinkBytes, n * n / 2);
  return bytes;
}

}  // namespace blink
