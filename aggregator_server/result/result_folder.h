// The result of a round as a folder of files.
#ifndef BLINK_AGGREGATOR_SERVER_RESULT_RESULT_FOLDER_H_
#define BLINK_AGGREGATOR_SERVER_RESULT_RESULT_FOLDER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "aggregator_server/result/analysis.h"
#include "aggregator_server/result/metrics_json.h"
#include "common/graph/node_attributes.h"
#include "common/privacy/parameters.h"

namespace blink {

// Writes, each durably:
//   metrics.json          MetricsJson
//   links.csv, links.npz  the links that the model saw (link_files.h); of a model that saw none, those of Hard
//   degrees.csv           node,degree,deviation, and where the nodes have ids of their own id
//   plausibility.csv      node,ones_z,degree_z,unconfirmed_z,omitted_z,flagged of every report; a test that was not
//                         made is empty; no line where the policy is to keep
// and where a model was trained:
//   predictions.csv       node,prediction,confidence (softmax),split, and id where the attributes have ids
//   curves.csv            epoch,train_loss,validation_loss,validation_accuracy; no line of a model without epochs
//   model.pt              a state dict for torch.load
//   model.ts              the same model for torch.jit.load (torch_script.h); not of a model that is no network
// Makes the folder where it is missing. A crash leaves a part of them: see ResultPlace (result_place.h).
absl::Status WriteResultFolder(const std::string& folder, const PrivacyParameters& parameters, uint32_t reports,
                               const Analysis& analysis, const NodeAttributes& attributes, ReportOrigin origin,
                               uint32_t active = 0);

// The files of a model: predictions.csv to model.ts above.
absl::Status WriteModelFiles(const std::string& folder, const TrainResult& training, const NodeAttributes& attributes);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_RESULT_RESULT_FOLDER_H_
