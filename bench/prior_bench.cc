// What the attributed prior costs, stage by stage, and how it grows with n: synthetic graphs of mean degree 15 with 7
// classes, at epsilon 3 and degree share 0.02, each n in the same run, in processor time. Beside it the beta prior's
// Hard estimate of the same reports. Sparse features are words, dense ones 128 continuous columns.
//
//   prior_bench                         1,000 3,000 and 10,000 nodes, sparse features
//   prior_bench --nodes 22470 --dense   as the Facebook set
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <random>

#include "aggregator_server/estimate/attributed/attributed.h"
#include "aggregator_server/estimate/attributed/degree_posterior.h"
#include "aggregator_server/estimate/attributed/theta_fit.h"
#include "aggregator_server/estimate/beta/denoise.h"
#include "aggregator_server/profiles/node_profiles.h"
#include "bench/seconds_of.h"
#include "common/graph/dataset.h"
#include "common/privacy/privatizer.h"

namespace blink {
namespace {

constexpr uint32_t kClasses = 7;

ReportSet DrawReports(const CsrGraph& graph) {
  const uint32_t n = graph.node_count();
  const PrivacyParameters parameters = *PrivacyParameters::Create(3'000'000, 20'000, n);
  ReportSet reports(parameters);
  for (NodeIndex i = 0; i < n; ++i) {
    auto noise = DrawNoise(parameters, i, SecureRandom());
    if (!noise.ok() || !reports.Add(i, *ApplyNoise(parameters, i, *std::move(noise), graph.NeighboursOf(i))).ok()) {
      std::fprintf(stderr, "cannot draw the reports\n");
      std::exit(1);
    }
  }
  (void)reports.Complete();
  return reports;
}

// Features that say about as much of the class as words do.
FeatureMatrix DenseFeatures(const std::vector<int32_t>& labels, uint32_t columns) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  FeatureMatrix features;
  features.rows = static_cast<uint32_t>(labels.size());
  features.cols = columns;
  for (const int32_t label : labels) {
    for (uint32_t c = 0; c < columns; ++c) {
      features.values.push_back(normal(random) + (c % kClasses == static_cast<uint32_t>(label) ? 0.5f : 0.0f));
    }
  }
  return features;
}

// As a feature-only classifier with an accuracy of about 0.7 would have them; half of the labels known.
ClassProbabilities Classes(const std::vector<int32_t>& labels) {
  std::mt19937_64 random(2);
  ClassProbabilities classes;
  classes.node_count = static_cast<uint32_t>(labels.size());
  classes.class_count = kClasses;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto label = static_cast<uint32_t>(labels[i]);
    const uint32_t guess = random() % 10 < 7 ? label : random() % kClasses;
    for (uint32_t c = 0; c < kClasses; ++c) {
      classes.open.push_back(c == guess ? 0.7f : 0.3f / (kClasses - 1));
      classes.clamped.push_back(i % 2 == 0 ? static_cast<float>(c == label) : classes.open.back());
    }
  }
  return classes;
}

// As many pairs as a fit takes at most, with 18 features.
PairSample Sample(size_t pairs) {
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal;
  PairSample sample;
  sample.width = 18;
  for (size_t m = 0; m < pairs; ++m) {
    sample.base.push_back(-6 + normal(random));
    double log_odds = sample.base.back();
    for (uint32_t k = 0; k < sample.width; ++k) {
      sample.features.push_back(k == 0 ? 1.0f : normal(random));
      log_odds += 0.1 * k * sample.features.back();
    }
    const auto uniform = [&] { return (random() >> 11) * 0x1p-53; };
    const bool link = uniform() < 1 / (1 + std::exp(-log_odds));
    int evidence = 0;
    for (int report = 0; report < 2; ++report) evidence += link != (uniform() < 0.05) ? 1 : -1;
    sample.evidence.push_back(2.9f * static_cast<float>(evidence));
    sample.weights.push_back(1);
  }
  return sample;
}

double MebibytesPeak() {
  rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void MeasureCosts(uint32_t nodes, bool dense, int threads) {
  SyntheticOptions synthetic{.nodes = nodes, .classes = kClasses, .mean_degree = 15};
  if (dense) synthetic.features = 0, synthetic.words_per_node = 0;
  const Dataset dataset = *GenerateDataset(synthetic);
  const std::vector<int32_t>& labels = dataset.attributes.labels;
  const FeatureMatrix features = dense ? DenseFeatures(labels, 128) : dataset.attributes.features;
  const ReportSet reports = DrawReports(dataset.graph);
  const ClassProbabilities classes = Classes(labels);
  NodeProfiles profiles;
  const double profile = SecondsOf([&] { profiles = MakeNodeProfiles(features, threads); }, 1);
  const double degree = SecondsOf([&] { EstimateDegreePosterior(reports, threads); }, 1);
  const double beta = SecondsOf([&] { (void)EstimateLinks(reports, {.threads = threads}); }, 1);
  const double pairs = nodes * (nodes - 1.0) / 2;
  std::printf("%8u %9.3f %8.3f %8.3f", nodes, profile, degree, beta);
  for (const int rounds : {0, 1, 2}) {
    const AttributedOptions options{.network_rounds = rounds, .hybrid = false, .threads = threads};
    const double seconds = SecondsOf(
        [&] {
          const auto estimate = EstimateAttributed(reports, profiles, classes, options);
          if (estimate.ok()) return;
          std::fprintf(stderr, "%s\n", std::string(estimate.status().message()).c_str());
          std::exit(1);
        },
        1);
    std::printf(" %8.2f", seconds);
    if (rounds == 2) std::printf(" %9.1f %9.1f", 1e9 * seconds / pairs, seconds / beta);
  }
  std::printf(" %8.0f\n", MebibytesPeak());
  std::fflush(stdout);
}

}  // namespace
}  // namespace blink

int main(int argc, char** argv) {
  std::vector<uint32_t> nodes = {1000, 3000, 10'000};
  bool dense = false;
  int threads = 0;
  CLI::App app("What the attributed prior costs");
  app.add_option("--nodes", nodes, "numbers of nodes, ascending: the peak of memory is that of the largest so far");
  app.add_flag("--dense", dense, "128 dense columns in place of words");
  app.add_option("--threads", threads, "0: all cores");
  CLI11_PARSE(app, argc, argv);
  for (const size_t pairs : {size_t{1} << 20, size_t{3} << 20}) {
    const blink::PairSample sample = blink::Sample(pairs);
    blink::ThetaFit fit;
    const double seconds = blink::SecondsOf([&] { fit = *blink::FitTheta(sample, {.threads = threads}); }, 1);
    std::printf("theta on %zu pairs of 18 features: %.2f s, %d steps on all of them\n", pairs, seconds, fit.iterations);
  }
  std::printf(
      "\nprocessor seconds, all threads together; attributed: all of EstimateAttributed with 0, 1 and 2 network rounds "
      "(Hard and Soft)\n");
  std::printf("%8s %9s %8s %8s %8s %8s %8s %9s %9s %8s\n", "n", "profiles", "degrees", "beta", "0", "1", "2",
              "ns a pair", "over beta", "MiB peak");
  for (const uint32_t n : nodes) blink::MeasureCosts(n, dense, threads);
  return 0;
}
