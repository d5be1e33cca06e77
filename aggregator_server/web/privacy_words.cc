#include "aggregator_server/web/privacy_words.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace blink {
namespace {

constexpr double kBefore = 0.01;  // of the example

std::string Short(double value) { return absl::StrFormat("%.4g", value); }

std::string FactorText(double epsilon) {
  const double factor = std::exp(epsilon);
  if (factor >= 1e6) return "more than a million";
  if (factor >= 1000)
    return absl::StrFormat("%d,%03d", static_cast<int>(factor) / 1000, static_cast<int>(factor) % 1000);
  return absl::StrFormat("%.3g", factor);
}

std::string ChanceText(double chance) {
  if (chance > 0.9999) return "more than 99.99 %";
  return chance > 0.99 ? absl::StrFormat("%.2f %%", 100 * chance) : absl::StrFormat("%.1f %%", 100 * chance);
}

std::string OddsSentence(const char* what, const char* about, double epsilon) {
  return absl::StrCat(what, " changes anybody's odds of ", about, " by a factor of at most ", FactorText(epsilon),
                      ". Somebody who gave it a chance of 1 % before can give it at most ",
                      ChanceText(ChanceAfter(kBefore, epsilon)), " after.");
}

Json Cost(const char* what, double epsilon, const std::string& words) {
  return {{"what", what}, {"epsilon", epsilon}, {"words", words}};
}

Json Costs(const PrivacyParameters& parameters) {
  const double spent = parameters.achieved_epsilon();
  const double of_link = spent * parameters.reports_of_pair();
  Json costs = Json::array();
  costs.push_back(Cost("One entry of one list, in one report", spent, OddsSentence("The report", "the entry", spent)));
  costs.push_back(Cost(
      "One link, in all reports of this round", of_link,
      absl::StrCat(parameters.reports_of_pair() == 2
                       ? "A link stands in the lists of both its ends, and both report it, so it costs twice as much. "
                       : "A link stands in two lists, and only one of its ends reports it, so it costs no more. ",
                   OddsSentence("The round", "the link", of_link))));
  costs.push_back({{"what", "A whole list of d links, in one report"},
                   {"epsilon", nullptr},
                   {"words", absl::StrCat("Up to d times ", Short(spent),
                                          ". That is no small bound: single links are hidden, a whole list is not.")}});
  costs.push_back({{"what", "Further rounds"},
                   {"epsilon", nullptr},
                   {"words",
                    "A node that answers with the same report again spends nothing more. Another draw, in a later "
                    "epoch or with other parameters, costs its own budget again, and the costs add up."}});
  return costs;
}

Json Noise(const PrivacyParameters& parameters) {
  Json noise = Json::array();
  const double n = parameters.node_count();
  if (parameters.sends_bits()) {
    const double entries = parameters.mechanism() == Mechanism::kOneEnd ? (n - 1) / 2 : n - 1;
    const double flip = parameters.flip_probability();
    noise.push_back(absl::StrCat(
        "Each entry of a list is turned into its opposite with probability ", absl::StrFormat("%.3g", 100 * flip),
        " %. In a report that is about ", absl::StrFormat("%.0f", entries), " other nodes, about ",
        absl::StrFormat("%.2g", entries * flip), " entries are wrong for that reason, whatever the list is."));
  } else if (!parameters.sends_group_degrees()) {
    noise.push_back("The degree share is 1: no entry of a list is reported, only its length with noise.");
  }
  if (parameters.sends_degree()) {
    const double epsilon = parameters.epsilon_degree();
    noise.push_back(
        absl::StrCat("The degree share is ", Short(parameters.degree_share()), ": so much of the budget, ",
                     Short(epsilon), ", pays for the length of the list",
                     parameters.mechanism() == Mechanism::kOneEnd ? " (of the links that this node reports)" : "",
                     ". Noise is added to it. In 95 of 100 reports the noise is at most ", DegreeNoise95(epsilon),
                     " links up or down. That hides one link. It does not hide whether a list has 3 links or 3,000."));
  } else if (!parameters.sends_group_degrees()) {
    noise.push_back("The degree share is 0: the length of a list is not reported.");
  }
  if (parameters.sends_group_degrees()) {
    noise.push_back(absl::StrCat("A node reports how many links it has towards each of ", parameters.question().count,
                                 parameters.question().count == 1 ? " group" : " groups",
                                 " of nodes, with noise on each number. In 95 of 100 ", "numbers the noise is at most ",
                                 DegreeNoise95(parameters.epsilon()), " up or down."));
  }
  return noise;
}

}  // namespace

double ChanceAfter(double before, double epsilon) {
  return 1 / (1 + (1 - before) / before * std::exp(-epsilon));  // no overflow, however large epsilon is
}

uint64_t DegreeNoise95(double epsilon) {
  // Pr[|Y| > k] = 2 q^(k+1) / (1 + q) with q = e^-epsilon
  const double q = std::exp(-epsilon);
  const double k = std::log(0.05 * (1 + q) / 2) / -epsilon - 1;
  return k <= 0 ? 0 : static_cast<uint64_t>(std::ceil(k - 1e-9));
}

Json PrivacyWords(const PrivacyParameters& parameters) {
  Json json;
  json["epsilon"] = parameters.epsilon();
  json["degree_share"] = parameters.degree_share();
  json["mechanism"] = MechanismName(parameters.mechanism());
  json["costs"] = Costs(parameters);
  json["noise"] = Noise(parameters);
  json["result"] =
      "The estimate, the model and this page are computed from the reports, so they cost nothing more. They are also "
      "exactly as private as the reports: a better estimate is a better guess at single links.";
  json["not_protected"] = {
      "A whole list, and the number of links as such.",
      "Groups of links that are known to come together: they cost the sum of their links.",
      "Features, labels and the training split, which the aggregator knows, and who reported when.",
      "What is true of everybody: nodes that are alike may be linked, and no budget hides that.",
      "A device that somebody else controls."};
  return json;
}

}  // namespace blink
