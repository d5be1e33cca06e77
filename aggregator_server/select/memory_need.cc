#include "aggregator_server/select/memory_need.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "aggregator_server/groups/group_answers.h"
#include "aggregator_server/reports/report_set.h"
#include "aggregator_server/select/candidate_grid.h"
#include "common/base/machine_memory.h"
#include "common/wire/training_spec.h"

namespace blink {
namespace {

constexpr double kLinksOfNode = 5;  // where nobody knows

// Distinct noisy degrees, roughly: the links of the nodes, and what noise of this scale makes of them.
double DegreeClasses(const ProblemSize& size, double epsilon_degree) {
  if (epsilon_degree <= 0) return 1;
  const double n = size.nodes;
  return std::min(n, 500 + 2 * std::log(n + 1) / epsilon_degree);
}

// Of the Soft weights: a list of the pairs that have a one, or packed bits (estimate/beta/soft.h), and tables.
double SoftBytes(const ProblemSize& size, double classes) {
  const double n = size.nodes, p = size.flip_probability;
  const double pairs_with_ones = n * n / 2 * (1 - (1 - p) * (1 - p)) + 2 * size.links;
  return std::min(16 * pairs_with_ones, n * n / 4) + 12 * classes * classes;
}

// Beside the soft weights: the pairs that the coefficients are learnt from, the likely pairs, and the features a few
// times over (estimate/attributed/attributed.h).
double AttributedBytes(const ProblemSize& size) {
  const double n = size.nodes;
  return 100 * std::min(4e6, n * n / 2) + 28 * std::min(50 * size.links, n * n / 2) +
         24 * static_cast<double>(size.scaled_values) + 400 * n;
}

}  // namespace

ReportsInMemory ReportsInMemory::Of(const PrivacyParameters* parameters, v1::Implausible implausible, bool on_disk) {
  if (parameters == nullptr) return {.are_drawn_or_read = false};
  if (parameters->sends_group_degrees()) {
    return {.have_bits = false,
            .group_answers = GroupLinksBytes(parameters->node_count(), parameters->question().count),
            .noise_links = NoiseLinksOfAnswer(parameters->epsilon(), parameters->question().count)};
  }
  // Packed rows are copied where implausible ones may be dropped, or the set is mirrored.
  const bool are_copied = FittingStorage(*parameters) == RowStorage::kPacked &&
                          (implausible == v1::IMPLAUSIBLE_DROP || parameters->mechanism() == Mechanism::kOneEnd);
  return {.have_bits = parameters->sends_bits(),
          .bytes = ExpectedMemoryBytes(*parameters, on_disk) * (are_copied ? 2 : 1),
          .flip_probability = parameters->sends_bits() ? parameters->flip_probability() : 0,
          .epsilon_degree = parameters->sends_degree() ? parameters->epsilon_degree() : 0};
}

MemoryNeed EstimateMemoryNeed(const v1::TrainingSpec& spec, const ProblemSize& given, const ReportsInMemory& reports) {
  ProblemSize size = given;
  if (size.links == 0) size.links = kLinksOfNode * size.nodes;
  size.flip_probability = reports.flip_probability;
  if (size.attributed_links == 0) size.attributed_links = size.links;
  const double n = size.nodes;
  size.links = std::min(size.links + n * reports.noise_links, n * n);
  MemoryNeed need;
  need.data = 40 * size.links + (size.features_are_dense ? 4 : 10) * static_cast<double>(size.feature_values) + 100 * n;
  const bool attributed = spec.prior() == v1::PRIOR_ATTRIBUTED;
  const bool searches = spec.candidates() > 0;
  if (absl::StatusOr<Candidate> candidate = CandidateFromSpec(spec); candidate.ok()) {
    candidate->variant = Variant::kHard;  // on the CPU a training reads the soft weights where they are
    need.training = TrainingBytes(*candidate, size);
  }
  need.estimate = reports.group_answers;
  if (!reports.are_drawn_or_read || reports.group_answers > 0) return need;
  if (reports.have_bits) {
    need.reports = reports.bytes;
    need.estimate =
        std::max(32e6, reports.bytes / 8);  // tables of pairs by their classes (estimate/beta/pair_counts.cc)
    const bool soft = searches || FromProto(spec.variant()).value_or(Variant::kHard) != Variant::kHard;
    if (soft) need.estimate += SoftBytes(size, DegreeClasses(size, reports.epsilon_degree));
  }
  if (attributed) need.estimate += AttributedBytes(size);
  return need;
}

std::string DescribeMemoryNeed(const MemoryNeed& need) {
  const std::string all = absl::StrCat("about ", FormatBytes(need.bytes()), " of memory");
  if (need.reports == 0) return all;
  return absl::StrCat(all, " (", FormatBytes(need.reports), " of them for the bits of the reports)");
}

absl::Status CheckMemory(const MemoryNeed& need, uint64_t had, const std::string& of) {
  if (need.bytes() <= static_cast<double>(had)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "this needs ", DescribeMemoryNeed(need), ", and ", of, " has ", FormatBytes(static_cast<double>(had)),
      ": take a machine with more, or fewer nodes, or insist with --ignore-memory"));
}

}  // namespace blink
