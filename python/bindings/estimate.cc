// The two estimates of links, and what the attributed one is given.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "aggregator_server/estimate/attributed/attributed.h"
#include "aggregator_server/estimate/attributed/degree_posterior.h"
#include "aggregator_server/estimate/beta/denoise.h"
#include "aggregator_server/profiles/nearest.h"
#include "aggregator_server/profiles/node_profiles.h"
#include "aggregator_server/train/cross_fit.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"
#include "python/bindings/arguments.h"

namespace blink::python {
namespace {

LinkEstimate EstimateBeta(const ReportSet& reports, const std::string& variant, uint64_t tie_seed, int threads,
                          nb::object progress) {
  Progress told(std::move(progress));
  EstimateOptions options;
  options.soft = VariantOf(variant) == Variant::kSoft;
  options.hybrid = VariantOf(variant) == Variant::kHybrid;
  options.tie_seed = tie_seed;
  options.threads = threads;
  options.progress = told.Function();
  LinkEstimate estimate = Run([&] { return EstimateLinks(reports, options); });
  told.Rethrow();
  return estimate;
}

FeatureMatrix DenseFeatures(const Matrix<float>& values) {
  return {.rows = static_cast<uint32_t>(values.shape(0)),
          .cols = static_cast<uint32_t>(values.shape(1)),
          .values = ToStdVector(values)};
}

FeatureMatrix SparseFeatures(uint32_t rows, uint32_t cols, const Vector<int64_t>& offsets,
                             const Vector<int32_t>& columns, const Vector<float>& values) {
  FeatureMatrix matrix{.rows = rows,
                       .cols = cols,
                       .sparse = true,
                       .row_offsets = ToStdVector(offsets),
                       .columns = ToStdVector(columns),
                       .values = ToStdVector(values)};
  bool fits = matrix.row_offsets.size() == size_t{rows} + 1 && matrix.row_offsets[0] == 0 &&
              matrix.row_offsets[rows] == static_cast<int64_t>(matrix.columns.size()) &&
              matrix.columns.size() == matrix.values.size();
  for (uint32_t i = 0; fits && i < rows; ++i) {
    const int64_t begin = matrix.row_offsets[i], end = matrix.row_offsets[i + 1];
    fits = 0 <= begin && begin <= end && end <= static_cast<int64_t>(matrix.columns.size());
    for (int64_t k = begin; fits && k < end; ++k) {
      fits = matrix.columns[k] >= (k == begin ? 0 : matrix.columns[k - 1] + 1) &&
             matrix.columns[k] < static_cast<int64_t>(cols);
    }
  }
  if (!fits) throw nb::value_error("features is no matrix in compressed rows with ascending columns");
  return matrix;
}

// What is public of the nodes, prepared: from it follow the classes of the nodes and the attributed estimate.
struct Public {
  NodeProfiles profiles;
  ClassProbabilities classes;
};

// Without labels to learn from all nodes are of one class, and the features alone say what is alike.
void UseOneClass(uint32_t n, Public& result) {
  const std::vector<float> certain(n, 1.0f);
  result.classes = {n, /*class_count=*/1, certain, certain};
}

absl::Status CheckLabels(const NodeAttributes& attributes, uint32_t n) {
  bool fits = attributes.labels.size() == n && attributes.split.size() == n;
  for (uint32_t i = 0; fits && i < n; ++i) {
    fits = attributes.labels[i] >= -1 && attributes.labels[i] < static_cast<int32_t>(attributes.class_count) &&
           attributes.split[i] <= Split::kTest;
  }
  return fits ? absl::OkStatus() : absl::InvalidArgumentError("labels or split do not fit the features");
}

// `labels` [n], -1: unknown; `split` [n] 0: none, 1: training, 2: validation, 3: test. Absent: there are none.
Public PrepareFromLabels(const FeatureMatrix& features, const std::optional<Vector<int32_t>>& labels,
                         const std::optional<Vector<uint8_t>>& split, uint32_t class_count, uint64_t seed,
                         int threads) {
  return Run([&]() -> absl::StatusOr<Public> {
    Public result{.profiles = MakeNodeProfiles(features, threads), .classes = {}};
    if (!labels || !split) {
      UseOneClass(features.rows, result);
      return result;
    }
    NodeAttributes attributes;
    attributes.node_count = features.rows;
    attributes.labels = ToStdVector(*labels);
    attributes.class_count = class_count;
    for (size_t i = 0; i < split->size(); ++i) attributes.split.push_back(static_cast<Split>(split->data()[i]));
    BLINK_RETURN_IF_ERROR(CheckLabels(attributes, features.rows));
    const NearestNodes nearest = FindNearest(result.profiles, kNearestCount, threads, [](double) {});
    BLINK_ASSIGN_OR_RETURN(FeatureClassifier classifier,
                           FitLinearFeatureClassifier(attributes, result.profiles,
                                                      {.nearest = &nearest, .seed = seed, .threads = threads}));
    result.classes = std::move(classifier.probabilities);
    return result;
  });
}

Public PrepareFromProbabilities(const FeatureMatrix& features, const Matrix<float>& open, const Matrix<float>& clamped,
                                int threads) {
  if (open.shape(0) != features.rows || clamped.shape(0) != features.rows || open.shape(1) != clamped.shape(1)) {
    throw nb::value_error("class_probabilities do not fit the features");
  }
  return Run([&]() -> absl::StatusOr<Public> {
    Public result{.profiles = MakeNodeProfiles(features, threads), .classes = {}};
    result.classes = {features.rows, static_cast<uint32_t>(open.shape(1)), ToStdVector(open), ToStdVector(clamped)};
    return result;
  });
}

LinkEstimate EstimateWithAttributes(const ReportSet& reports, const Public& known, const std::string& variant,
                                    std::optional<int> network_rounds, uint64_t seed, uint64_t tie_seed, int threads,
                                    nb::object progress) {
  Progress told(std::move(progress));
  AttributedOptions options;
  options.network_rounds = network_rounds;
  options.seed = seed;
  options.tie_seed = tie_seed;
  options.soft = VariantOf(variant) == Variant::kSoft;
  options.hybrid = VariantOf(variant) == Variant::kHybrid;
  options.threads = threads;
  options.progress = told.Function();
  LinkEstimate estimate = Run([&] { return EstimateAttributed(reports, known.profiles, known.classes, options); });
  told.Rethrow();
  return estimate;
}

const LinkWeights& WeightsOf(const LinkEstimate& estimate, const std::string& variant) {
  const LinkWeights* weights = estimate.Of(VariantOf(variant));
  if (weights == nullptr) throw nb::value_error(absl::StrCat("the variant ", variant, " was not estimated").c_str());
  return *weights;
}

// (beta [K], exists, regularised, residual, iterations); None under the attributed prior.
auto BetaFitOf(const LinkEstimate& estimate) {
  std::optional<std::tuple<nb::ndarray<nb::numpy, double>, bool, bool, double, int>> fit;
  if (estimate.beta_fit) {
    const BetaModel& mle = estimate.beta_fit->mle;
    fit.emplace(OwnedArray(std::vector<double>(mle.beta), {mle.beta.size()}), mle.exists, mle.regularised, mle.residual,
                mle.iterations);
  }
  return fit;
}

std::vector<std::pair<std::string, double>> CoefficientsOf(const LinkEstimate& estimate) {
  std::vector<std::pair<std::string, double>> coefficients;
  if (!estimate.attributed_fit) return coefficients;
  for (const auto& [feature, theta] : estimate.attributed_fit->coefficients) coefficients.emplace_back(feature, theta);
  return coefficients;
}

// (log-likelihood, AUC, error, precision, recall), as the estimate expects them of itself.
auto ExpectedQualityOf(const LinkEstimate& estimate) {
  std::optional<std::tuple<double, double, double, double, double>> expected;
  if (const auto& quality = estimate.BestGuess().expected_quality) {
    expected.emplace(quality->log_likelihood, quality->auc, quality->error, quality->precision, quality->recall);
  }
  return expected;
}

auto EstimateDegrees(const ReportSet& reports, int threads) {
  DegreePosterior degrees = Run([&]() -> absl::StatusOr<DegreePosterior> {
    BLINK_RETURN_IF_ERROR(CheckEstimable(reports, nullptr));
    return EstimateDegreePosterior(reports, threads);
  });
  const size_t n = degrees.mean.size();
  return std::pair(OwnedArray(std::move(degrees.mean), {n}), OwnedArray(std::move(degrees.deviation), {n}));
}

}  // namespace

void BindEstimate(nb::module_& module) {
  nb::class_<FeatureMatrix>(module, "FeatureMatrix").def_ro("rows", &FeatureMatrix::rows);
  module.def("dense_features", &DenseFeatures, nb::arg("values"));
  module.def("sparse_features", &SparseFeatures, nb::arg("rows"), nb::arg("cols"), nb::arg("offsets"),
             nb::arg("columns"), nb::arg("values"));
  nb::class_<Public>(module, "Public")
      .def_prop_ro(
          "class_probabilities",
          [](const Public& known) {
            const ClassProbabilities& classes = known.classes;
            const size_t n = classes.node_count, count = classes.class_count;
            return std::pair(OwnedArray(std::vector<float>(classes.open), {n, count}),
                             OwnedArray(std::vector<float>(classes.clamped), {n, count}));
          },
          nb::rv_policy::automatic);
  module.def("prepare_from_labels", &PrepareFromLabels, nb::arg("features"), nb::arg("labels").none(),
             nb::arg("split").none(), nb::arg("class_count"), nb::arg("seed"), nb::arg("threads"));
  module.def("prepare_from_probabilities", &PrepareFromProbabilities, nb::arg("features"), nb::arg("open"),
             nb::arg("clamped"), nb::arg("threads"));
  nb::class_<LinkEstimate>(module, "LinkEstimate")
      .def_ro("expected_links", &LinkEstimate::expected_links)
      .def_ro("soft_from", &LinkEstimate::soft_from)
      .def_ro("left_out_links", &LinkEstimate::left_out_links)
      .def_ro("nodes_without_report", &LinkEstimate::nodes_without_report)
      .def_ro("seconds", &LinkEstimate::seconds)
      .def_prop_ro("beta_fit", &BetaFitOf, nb::rv_policy::automatic)
      .def_prop_ro("coefficients", &CoefficientsOf)
      .def_prop_ro("expected_quality", &ExpectedQualityOf)
      .def_prop_ro(
          "best_guess", [](const LinkEstimate& e) -> const LinkWeights& { return e.BestGuess().hard; },
          nb::rv_policy::reference_internal)
      .def_prop_ro("best_guess_expected_links", [](const LinkEstimate& e) { return e.BestGuess().expected_links; })
      .def("weights", &WeightsOf, nb::arg("variant"), nb::rv_policy::reference_internal);
  module.def("estimate_beta", &EstimateBeta, nb::arg("reports"), nb::arg("variant"), nb::arg("tie_seed"),
             nb::arg("threads"), nb::arg("progress").none());
  module.def("estimate_attributed", &EstimateWithAttributes, nb::arg("reports"), nb::arg("known"), nb::arg("variant"),
             nb::arg("network_rounds").none(), nb::arg("seed"), nb::arg("tie_seed"), nb::arg("threads"),
             nb::arg("progress").none());
  module.def("estimate_degrees", &EstimateDegrees, nb::arg("reports"), nb::arg("threads"));
}

}  // namespace blink::python
