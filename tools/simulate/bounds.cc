#include "tools/simulate/bounds.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/simulate/means.h"

namespace blink {
namespace {

std::optional<double> IfNumber(double value) {
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

std::string MostFrequentName(const std::vector<Trial>& trials) {
  std::vector<std::pair<std::string, int>> names;
  for (const Trial& trial : trials) {
    const std::string name = CandidateName(trial.features_only->candidate);
    const auto same = std::find_if(names.begin(), names.end(), [&](const auto& entry) { return entry.first == name; });
    if (same == names.end())
      names.emplace_back(name, 1);
    else
      ++same->second;
  }
  return std::max_element(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// Of trials that lack an accuracy.
std::string WhyNotMeasured(const std::vector<Trial>& trials) {
  const auto without =
      std::count_if(trials.begin(), trials.end(), [](const Trial& trial) { return !trial.features_only.has_value(); });
  if (without > 0) {
    return absl::StrFormat("no model could be trained on the features alone in %d of %d trials", without,
                           trials.size());
  }
  return "no node with a label is in the test split, and accuracies are measured there: give nodes with a label the "
         "split \"test\" in split.csv";
}

// What is read of the share beside its number.
std::string NoteOf(const BoundsFigures& figures) {
  if (*figures.recovered_mean <= 0) {
    return "not above zero: the reports gave nothing that the features alone do not give";
  }
  if (figures.recovered_std && *figures.recovered_mean < *figures.recovered_std) {
    return "less above zero than its deviation: other draws may give nothing";
  }
  return "";
}

void AddRecovered(const std::vector<Trial>& trials, BoundsFigures& figures) {
  if (!figures.features_only_accuracy_mean || !figures.true_links_accuracy_mean) {
    figures.recovered_note = absl::StrCat("no share: ", WhyNotMeasured(trials));
    return;
  }
  const double gap = *figures.true_links_accuracy_mean - *figures.features_only_accuracy_mean;
  if (gap < kSmallestGap) {
    figures.recovered_note = absl::StrFormat(
        "no share: the true links themselves give %.1f points more than the features alone, which is too little to "
        "divide by",
        100 * gap);
    return;
  }
  const auto share = [&](const Trial& trial) {
    return (trial.training.test_accuracy - trial.features_only->test_accuracy) / gap;
  };
  figures.recovered_mean = MeanOver(trials, share);
  figures.recovered_std = StandardDeviationOver(trials, share);
  figures.recovered_note = NoteOf(figures);
}

}  // namespace

std::optional<BoundsFigures> FiguresOfBounds(const Simulation& simulation) {
  const std::vector<Trial>& trials = simulation.trials;
  if (trials.empty()) return std::nullopt;
  const bool known =
      std::all_of(trials.begin(), trials.end(), [](const Trial& trial) { return trial.features_only.has_value(); });
  const bool searched =
      std::all_of(trials.begin(), trials.end(), [](const Trial& trial) { return !trial.search.empty(); });
  if (!known && !searched && !simulation.true_links) return std::nullopt;
  BoundsFigures figures;
  if (known) {
    figures.features_only_accuracy_mean =
        IfNumber(MeanOver(trials, [](const Trial& trial) { return trial.features_only->test_accuracy; }));
    figures.features_only_name = MostFrequentName(trials);
  }
  if (!simulation.true_links) return figures;
  figures.has_true_links = true;
  figures.true_links_accuracy_mean = IfNumber(simulation.true_links->training.test_accuracy);
  figures.true_links_name = CandidateName(simulation.true_links->trained);
  AddRecovered(trials, figures);
  return figures;
}

LinkGain::Figures FiguresOfDensity(uint32_t nodes, uint64_t links) {
  const double n = nodes, linked = static_cast<double>(links), pairs = n * (n - 1) / 2, others = pairs - linked;
  const auto log_likelihood = [&](double count) { return count > 0 ? count * std::log(count / pairs) : 0; };
  return {.log_likelihood = log_likelihood(linked) + log_likelihood(others),
          .auc = 0.5,
          .mae = pairs > 0 ? 4 * linked * (others / pairs) / (n * n) : 0};
}

}  // namespace blink
