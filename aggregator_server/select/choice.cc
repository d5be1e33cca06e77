#include "aggregator_server/select/choice.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace blink {

double LossWeight(Prior prior) { return prior == Prior::kAttributed ? 0.5 : 0.2; }

// Accuracy alone is coarse (many tie, and a few nodes decide), the loss alone rewards cautious probabilities, which
// differ with the dropout; together they choose better than either (experiments/choices.md).
double Score(const Tried& tried, Prior prior) {
  return tried.validation_measure.value_or(tried.validation_accuracy) - LossWeight(prior) * tried.validation_loss;
}

bool IsNear(const Tried& tried, double best_score, Prior prior, double near_score) {
  return tried.skipped.empty() && Score(tried, prior) >= best_score - near_score;
}

double NearScoreOf(size_t nodes) { return kNearScore + 1 / std::sqrt(static_cast<double>(nodes)); }

bool IsBetter(const Tried& a, const Tried& b, Prior prior) {
  if (!a.skipped.empty() || !b.skipped.empty()) return a.skipped.empty() && !b.skipped.empty();
  return Score(a, prior) > Score(b, prior);
}

size_t ChooseCandidate(const std::vector<Tried>& tried, Prior prior, size_t validation_nodes) {
  size_t best = 0;
  for (size_t k = 1; k < tried.size(); ++k) {
    if (IsBetter(tried[k], tried[best], prior)) best = k;
  }
  const double equally_good = Score(tried[best], prior) - 1.0 / static_cast<double>(validation_nodes);
  size_t chosen = best;
  for (size_t k = 0; k < tried.size(); ++k) {
    if (!tried[k].skipped.empty() || Score(tried[k], prior) < equally_good) continue;
    const size_t members = tried[k].candidate.members.size(), of_chosen = tried[chosen].candidate.members.size();
    if (members > of_chosen || (members == of_chosen && IsBetter(tried[k], tried[chosen], prior))) chosen = k;
  }
  return chosen;
}

std::optional<size_t> BestFeaturesOnly(const std::vector<Tried>& tried, Prior prior) {
  std::optional<size_t> best;
  for (size_t k = 0; k < tried.size(); ++k) {
    if (!tried[k].skipped.empty() || ReadsReports(tried[k].candidate)) continue;
    if (!best || IsBetter(tried[k], tried[*best], prior)) best = k;
  }
  return best;
}

std::vector<std::vector<size_t>> EnsemblesToTry(const std::vector<Candidate>& best_of_kind) {
  std::vector<std::vector<size_t>> means;
  const auto of = [&](Model model) -> std::optional<size_t> {
    for (size_t k = 0; k < best_of_kind.size(); ++k) {
      if (best_of_kind[k].options.model == model && best_of_kind[k].prior == Prior::kAttributed) return k;
    }
    return std::nullopt;
  };
  std::optional<size_t> beta, beta_stacked;  // the best network that sees links, and the stacked model
  for (size_t k = best_of_kind.size(); k-- > 0;) {
    if (best_of_kind[k].prior != Prior::kBeta || !ReadsReports(best_of_kind[k])) continue;
    (IsNetwork(best_of_kind[k].options.model) ? beta : beta_stacked) = k;
  }
  const auto add = [&](std::vector<size_t> members) {
    std::sort(members.begin(), members.end());
    if (members.size() > 1 && std::find(means.begin(), means.end(), members) == means.end())
      means.push_back(std::move(members));
  };
  const auto add_if_all = [&](const std::vector<std::optional<size_t>>& members) {
    std::vector<size_t> there;
    for (const std::optional<size_t>& member : members) {
      if (member) there.push_back(*member);
    }
    if (there.size() == members.size()) add(std::move(there));
  };
  const auto stacked = of(Model::kStacked), gcn = of(Model::kGcn), sage = of(Model::kGraphSage), gat = of(Model::kGat);
  add_if_all({stacked, beta_stacked});
  add_if_all({stacked, gcn});
  add_if_all({stacked, sage});
  add_if_all({stacked, gcn, sage});
  add_if_all({stacked, gcn, sage, gat});
  add_if_all({stacked, gcn, sage, beta});
  add_if_all({gcn, sage});
  for (size_t count = 2; count <= std::min<size_t>(4, best_of_kind.size()); ++count) {
    std::vector<size_t> best(count);
    for (size_t k = 0; k < count; ++k) best[k] = k;
    add(std::move(best));
  }
  return means;
}

}  // namespace blink
