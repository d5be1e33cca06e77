#include "aggregator_server/web/result_json.h"

#include <string>

namespace blink {
namespace {

constexpr size_t kCandidatesShownMax = 100;
constexpr size_t kClassesShownMax = 64;  // as many as metrics.json has in a confusion matrix

// Those that read no report.
bool ReadsFeaturesAlone(const Json& model) { return model == "mlp" || model == "class-model"; }

Json AccuracyJson(const Json& train) {
  Json json;
  json["model"] = At(train, {"model"});
  json["prior"] = At(train, {"prior"});
  json["variant"] = At(train, {"variant"});
  json["chosen"] = At(train, {"chosen"});
  json["validation"] = At(train, {"validation_accuracy"});
  json["test"] = At(train, {"test_accuracy"});
  json["test_95"] = At(train, {"test_accuracy_95"});
  json["macro_f1"] = At(train, {"test_macro_f1"});
  json["nodes"] = At(train, {"nodes"});
  json["best_epoch"] = At(train, {"best_epoch"});
  json["features_only"] = nullptr;
  json["reads_reports"] = !ReadsFeaturesAlone(At(train, {"model"}));
  const Json& features_only = At(train, {"features_only"});
  if (features_only.is_object()) {
    json["features_only"] = {{"name", At(features_only, {"name"})},
                             {"validation", At(features_only, {"validation_accuracy"})}};
    const Json& validation = json["validation"];
    const Json& alone = At(features_only, {"validation_accuracy"});
    if (validation.is_number() && alone.is_number()) {
      json["advice"] =
          validation.get<double>() > alone.get<double>()
              ? "The chosen model validates better than the best model of the features alone. A difference "
                "of a few validation nodes may be chance."
              : "The chosen model does not validate better than the best model of the features alone: the "
                "reports gave nothing that the features do not.";
    }
  } else if (ReadsFeaturesAlone(At(train, {"model"}))) {
    json["advice"] = "This model reads the features alone and no report: its figure is what other rounds must exceed.";
  } else {
    json["advice"] =
        "This round has no figure of the features alone. A search has one (blink round create --tune), and so has a "
        "second round with --model mlp. Without it, nobody can say what the reports added.";
  }
  return json;
}

Json CandidatesJson(const Json& train) {
  const Json& candidates = At(train, {"candidates"});
  Json shown = Json::array();
  if (!candidates.is_array()) return shown;
  for (const Json& one : candidates) {
    if (shown.size() >= kCandidatesShownMax) break;
    shown.push_back({{"name", At(one, {"name"})},
                     {"validation_accuracy", At(one, {"validation_accuracy"})},
                     {"validation_loss", At(one, {"validation_loss"})},
                     {"skipped", At(one, {"skipped"})}});
  }
  return shown;
}

}  // namespace

Json ResultJson(const Json& metrics) {
  const Json& train = At(metrics, {"train"});
  const Json& estimate = At(metrics, {"estimate"});
  Json json;
  json["program"] = At(metrics, {"program"});
  json["dataset"] = At(metrics, {"dataset"});
  json["reports"] = At(metrics, {"reports"});
  json["accuracy"] = train.is_object() ? AccuracyJson(train) : Json(nullptr);
  json["candidates"] = CandidatesJson(train);
  json["warnings"] = At(train, {"warnings"});
  json["estimate"] = nullptr;
  if (estimate.is_object()) {
    json["estimate"] = {{"prior", At(estimate, {"prior"})},
                        {"links", At(estimate, {"links"})},
                        {"expected_links", At(estimate, {"expected_links"})},
                        {"precision", At(estimate, {"expected_quality", "precision"})},
                        {"recall", At(estimate, {"expected_quality", "recall"})},
                        {"auc", At(estimate, {"expected_quality", "auc"})}};
  }
  json["groups"] = At(metrics, {"groups"});
  return json;
}

absl::StatusOr<Json> ConfusionJson(const Json& metrics) {
  const Json& classes = At(metrics, {"classes"});
  const Json& confusion = At(classes, {"confusion"});
  if (!classes.is_object()) return absl::NotFoundError("this round trained no model, so no class was predicted");
  if (!confusion.is_array() || confusion.empty() || confusion.size() > kClassesShownMax) {
    return absl::NotFoundError(
        "there are too many classes for a confusion matrix: predictions.csv has the prediction of every node");
  }
  return Json{{"confusion", confusion}, {"classes", At(classes, {"test"})}};
}

absl::StatusOr<Json> PlausibilityFiguresJson(const Json& metrics) {
  const Json& plausibility = At(metrics, {"plausibility"});
  if (!plausibility.is_object()) return absl::NotFoundError("the reports of this round were not checked");
  return plausibility;
}

}  // namespace blink
