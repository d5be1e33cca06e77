// Reports: drawn from lists, made from arrays, or read from the folder of a round.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "aggregator_server/reports/report_file.h"
#include "aggregator_server/reports/report_set.h"
#include "common/base/status_macros.h"
#include "common/graph/csr_graph.h"
#include "common/privacy/privatizer.h"
#include "common/wire/degree_share.h"
#include "python/bindings/arguments.h"

namespace blink::python {
namespace {

absl::Status CheckMemoryForBits(const PrivacyParameters& parameters) {
  const double nodes = parameters.node_count();
  return CheckMemory(parameters.sends_bits() ? nodes * nodes / 8 : 0, "a set of reports");
}

// As the node does it, for each list in turn, with the system's secure generator.
absl::StatusOr<ReportSet> Draw(const CsrGraph& lists, const PrivacyParameters& parameters,
                               const std::atomic<bool>& stop) {
  BLINK_RETURN_IF_ERROR(CheckMemoryForBits(parameters));
  ReportSet reports(parameters, RowStorage::kPacked);  // whose words numpy sees
  for (NodeIndex i = 0; i < lists.node_count(); ++i) {
    if (stop) return absl::CancelledError("interrupted");
    BLINK_ASSIGN_OR_RETURN(ReportNoise noise, DrawNoise(parameters, i, SecureRandom()));
    BLINK_ASSIGN_OR_RETURN(PrivateReport report, ApplyNoise(parameters, i, std::move(noise), lists.NeighboursOf(i)));
    BLINK_RETURN_IF_ERROR(reports.Add(i, std::move(report)));
  }
  return reports;
}

ReportSet Privatise(const Vector<int64_t>& offsets, const Vector<uint32_t>& neighbours, uint64_t epsilon_micro,
                    uint32_t degree_share_ppm) {
  return RunUntilSignal([&](const std::atomic<bool>& stop) -> absl::StatusOr<ReportSet> {
    std::vector<uint64_t> rows(offsets.data(), offsets.data() + offsets.size());
    BLINK_ASSIGN_OR_RETURN(const CsrGraph lists, CsrGraph::FromRows(std::move(rows), ToStdVector(neighbours)));
    BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters,
                           PrivacyParameters::Create(epsilon_micro, degree_share_ppm, lists.node_count()));
    return Draw(lists, parameters, stop);
  });
}

// `words` [n, ceil(n / 64)], or [n, 0] where no bits were sent; `degrees` [n], or absent.
ReportSet FromArrays(const Matrix<uint64_t>& words, const std::optional<Vector<int64_t>>& degrees,
                     const Vector<bool>& reported, uint64_t epsilon_micro, uint32_t degree_share_ppm) {
  return Run([&]() -> absl::StatusOr<ReportSet> {
    const auto n = static_cast<uint32_t>(reported.size());
    BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters,
                           PrivacyParameters::Create(epsilon_micro, degree_share_ppm, n));
    const size_t words_per_row = parameters.sends_bits() ? (n + 63) / 64 : 0;
    if (words.shape(0) != n || words.shape(1) != words_per_row || (degrees && degrees->size() != n)) {
      return absl::InvalidArgumentError(absl::StrCat("bits, degrees and reported are not of one set of ", n, " nodes"));
    }
    BLINK_RETURN_IF_ERROR(CheckMemoryForBits(parameters));
    ReportSet reports(parameters, RowStorage::kPacked);  // whose words numpy sees
    for (uint32_t i = 0; i < n; ++i) {
      if (!reported.data()[i]) continue;
      PrivateReport report;
      if (parameters.sends_bits()) {
        report.bits = BitRow(n);
        std::memcpy(report.bits.mutable_words().data(), words.data() + i * words_per_row,
                    words_per_row * sizeof(uint64_t));
        report.bits.ClearTail();
        report.bits.Clear(i);
      }
      if (degrees) report.noisy_degree = degrees->data()[i];
      BLINK_RETURN_IF_ERROR(reports.Add(i, std::move(report)));
    }
    return reports;
  });
}

std::tuple<ReportSet, std::string> ReadFolder(const std::string& folder) {
  RoundFolder read = Run([&]() -> absl::StatusOr<RoundFolder> {
    BLINK_ASSIGN_OR_RETURN(RoundFolder read, ReadRoundFolder(folder, {.storage = RowStorage::kPacked}));
    if (read.reports.parameters().mechanism() == Mechanism::kBothEnds) return read;
    return absl::InvalidArgumentError(
        absl::StrCat(folder, " holds reports of the mechanism ", MechanismName(read.reports.parameters().mechanism()),
                     ", which this package does not read: use blink-worker, or blink simulate --reports"));
  });
  return {std::move(read.reports), read.round.round_id()};
}

// A view: the array keeps the reports alive.
auto Words(const ReportSet& reports) {
  const size_t words = reports.report_count() > 0 ? reports.words_per_row() : 0;
  const uint64_t* data = words > 0 ? reports.row(0).data() : nullptr;
  return nb::ndarray<nb::numpy, const uint64_t>(data, {reports.node_count(), words}, nb::find(&reports));
}

auto Degrees(const ReportSet& reports) {
  std::vector<int64_t> degrees(reports.node_count());
  for (NodeIndex i = 0; i < reports.node_count(); ++i) degrees[i] = reports.noisy_degree(i).value_or(0);
  return OwnedArray(std::move(degrees), {reports.node_count()});
}

auto Reported(const ReportSet& reports) {
  std::vector<uint8_t> reported(reports.node_count());
  for (NodeIndex i = 0; i < reports.node_count(); ++i) reported[i] = reports.reported(i) ? 1 : 0;
  return OwnedArray(std::move(reported), {reports.node_count()});
}

}  // namespace

void BindReports(nb::module_& module) {
  nb::class_<ReportSet>(module, "ReportSet")
      .def_prop_ro("node_count", &ReportSet::node_count)
      .def_prop_ro("report_count", &ReportSet::report_count)
      .def_prop_ro("epsilon_micro", [](const ReportSet& r) { return r.parameters().epsilon_micro(); })
      .def_prop_ro("degree_share_ppm", [](const ReportSet& r) { return r.parameters().degree_share_ppm(); })
      .def_prop_ro("flip_numerator", [](const ReportSet& r) { return r.parameters().flip_numerator(); })
      .def_prop_ro("flip_probability", [](const ReportSet& r) { return r.parameters().flip_probability(); })
      .def_prop_ro("achieved_epsilon", [](const ReportSet& r) { return r.parameters().achieved_epsilon(); })
      .def_prop_ro("sends_bits", [](const ReportSet& r) { return r.parameters().sends_bits(); })
      .def_prop_ro("sends_degree", [](const ReportSet& r) { return r.parameters().sends_degree(); })
      .def_prop_ro("words", &Words, nb::rv_policy::automatic)
      .def_prop_ro("degrees", &Degrees, nb::rv_policy::automatic)
      .def_prop_ro("reported", &Reported, nb::rv_policy::automatic);
  module.def("privatise", &Privatise, nb::arg("offsets"), nb::arg("neighbours"), nb::arg("epsilon_micro"),
             nb::arg("degree_share_ppm"));
  module.def("reports_from_arrays", &FromArrays, nb::arg("words"), nb::arg("degrees").none(), nb::arg("reported"),
             nb::arg("epsilon_micro"), nb::arg("degree_share_ppm"));
  module.def("read_round_folder", &ReadFolder, nb::arg("folder"));
  module.def(
      "default_degree_share_ppm",
      [](uint64_t epsilon_micro, const std::string& prior) {
        return DefaultDegreeSharePpm(epsilon_micro, PriorOf(prior));
      },
      nb::arg("epsilon_micro"), nb::arg("prior"));
}

}  // namespace blink::python
