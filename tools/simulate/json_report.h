// What `blink simulate --json` prints.
#ifndef BLINK_TOOLS_SIMULATE_JSON_REPORT_H_
#define BLINK_TOOLS_SIMULATE_JSON_REPORT_H_

#include "nlohmann/json.hpp"
#include "tools/simulate/figures.h"

namespace blink {

// One object: format, program, partial, trials_asked, trials_done, dataset, graph, missing, privacy, report,
// plausibility, estimate, train, memory_need_bytes (the estimate), peak_rss_bytes, trials[]. With --bounds also
// true_links: the training on the true links.
// Figures above `trials` are means over the trials. mle_residual and mle_degree_distance are the largest.
// test_accuracy_std is the sample standard deviation, and null for one trial.
//   format     1; a later one may mean other things by the same names
//   partial    the simulation was interrupted, or failed. All figures are of the trials_done trials that were finished;
//              without any, train is null too
//   report, plausibility, estimate
//              null on the true graph, and for the MLP alone
//   estimate   of the attributed prior where it is used. estimate.beta is then of the beta prior on the same reports
//     links, precision, recall
//              of Hard, whatever was trained on
//     degree_mae
//              mean error of the estimated degrees
//     trained_*
//              of the links that the model saw, or without a model of those asked for. Of Soft, which weighs every
//              pair, links, precision and recall are null
//     gain     by how much the estimate is better than a plain one: than the beta prior on the same reports ("beta"),
//              or, of the beta prior, than the true share of links for every pair ("density")
//   train      null where nothing was trained: --model none, or no node with a label. Otherwise
//              features_only_accuracy_mean and features_only_name, of the best model that reads no report, after
//              searches and with --bounds. With --bounds also true_links_accuracy_mean, true_links_name,
//              recovered_mean, recovered_std and recovered_note (bounds.h); null where they are not defined, and
//              the note says why
//   train      after searches with `chosen`, the name that was chosen most often, and `candidates`: means over the
//              `trials` that trained one, and how often it was `chosen`
nlohmann::ordered_json SimulationJson(const SimulationFigures& figures);

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_JSON_REPORT_H_
