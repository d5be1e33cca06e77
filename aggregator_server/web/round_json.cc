#include "aggregator_server/web/round_json.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>

#include "aggregator_server/web/privacy_words.h"
#include "aggregator_server/web/result_json.h"
#include "common/base/status_macros.h"
#include "common/wire/round.h"
#include "common/wire/training_choices.h"

namespace blink {
namespace {

constexpr size_t kRangesMax = 1000;
constexpr int kPagesMax = 20;  // of 10,000 reports each

// The proto's numbers are one more than those of the programs: 0 is "not set".
template <size_t n>
Json NameOf(int number, const std::array<const char*, n>& names) {
  return number >= 1 && static_cast<size_t>(number) <= n ? Json(names[number - 1]) : Json(nullptr);
}

uint32_t CountActive(const v1::Round& round) {
  return round.active_nodes() > 0 ? round.active_nodes() : round.parameters().node_count();
}

std::optional<int64_t> DateOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1'000'000;
}

Json SecondsBetween(std::optional<int64_t> from, std::optional<int64_t> to) {
  if (!from || !to || *to < *from) return nullptr;
  return static_cast<double>(*to - *from) / 1000;
}

Json Stage(const char* name, const char* source, Json seconds) {
  return {{"name", name}, {"source", source}, {"seconds", std::move(seconds)}};
}

Json Stages(const v1::Round& round, const std::string& folder, const Json& metrics) {
  constexpr char kDates[] = "dates of files";
  constexpr char kMeasured[] = "measured";
  const std::optional<int64_t> sealed = DateOf(folder + "/reports.blr");
  const bool is_ready = round.state() == v1::ROUND_STATE_READY;
  const std::optional<int64_t> done = is_ready ? DateOf(folder + "/result/metrics.json") : std::nullopt;
  Json stages = Json::array();
  if (!sealed) return stages;
  stages.push_back(Stage("Collecting reports", kDates, SecondsBetween(round.created_ms(), sealed)));
  if (!is_ready) return stages;
  stages.push_back(Stage("From the seal to the result", kDates, SecondsBetween(sealed, done)));
  stages.push_back(Stage("Checks of the reports", kMeasured, At(metrics, {"plausibility", "seconds"})));
  stages.push_back(Stage("Fit of the degrees", kMeasured, At(metrics, {"estimate", "mle_seconds"})));
  stages.push_back(Stage("Estimate of the links", kMeasured, At(metrics, {"estimate", "denoise_seconds"})));
  stages.push_back(Stage("Attributed estimate", kMeasured, At(metrics, {"estimate", "attributed_seconds"})));
  const Json& epoch_ms = At(metrics, {"train", "epoch_ms_mean"});
  const Json& epochs = At(metrics, {"train", "epochs_trained"});
  if (epoch_ms.is_number() && epochs.is_number()) {
    stages.push_back(Stage("Training of the model", kMeasured, epoch_ms.get<double>() * epochs.get<double>() / 1000));
  }
  stages.erase(std::remove_if(stages.begin(), stages.end(), [](const Json& one) { return one["seconds"].is_null(); }),
               stages.end());
  return stages;
}

}  // namespace

Json RoundSummary(const v1::Round& round) {
  const uint32_t nodes = CountActive(round);
  const v1::TrainingSpec& training = round.training();
  Json json;
  json["id"] = round.round_id();
  json["state"] = RoundStateName(round.state());
  json["is_over"] = IsTerminal(round.state());
  json["created_ms"] = round.created_ms();
  json["deadline_ms"] = round.deadline_ms();
  json["nodes"] = nodes;
  json["reports"] = round.reports();
  json["missing"] = nodes - std::min(nodes, round.reports());
  json["quorum"] = round.quorum();
  json["flagged"] = round.flagged();
  json["progress"] = round.progress();
  json["progress_text"] = round.progress_text();
  json["failure_reason"] = round.failure_reason();
  json["attempts"] = round.attempts();
  json["epsilon"] = static_cast<double>(round.parameters().epsilon_micro()) / 1e6;
  json["degree_share"] = round.parameters().degree_share_ppm() / 1e6;
  const auto mechanism = MechanismNumbered(round.parameters().mechanism());
  json["mechanism"] = mechanism ? Json(MechanismName(*mechanism)) : Json(nullptr);
  json["prior"] = training.prior() == v1::PRIOR_ATTRIBUTED ? "attributed" : "beta";
  json["model"] = training.candidates() > 0 && training.model() == v1::MODEL_UNSPECIFIED
                      ? Json("search")
                      : NameOf(training.model(), kModelNames);
  json["variant"] = NameOf(training.variant(), kVariantNames);
  return json;
}

Json RoundDetail(const v1::Round& round, const std::string& folder) {
  Json json = RoundSummary(round);
  json["candidates"] = round.training().candidates();
  json["implausible"] = ImplausibleName(round.implausible());
  json["follows"] = round.follows().empty() ? Json(nullptr) : Json(round.follows());
  const absl::StatusOr<PrivacyParameters> parameters = ParametersFromProto(round.parameters());
  json["privacy"] = parameters.ok() ? PrivacyWords(*parameters) : Json(nullptr);
  const Json metrics = Json::parse(round.result_json(), nullptr, /*allow_exceptions=*/false);
  const bool has_result = round.state() == v1::ROUND_STATE_READY && metrics.is_object();
  json["stages"] = Stages(round, folder, metrics);
  json["result"] = has_result ? ResultJson(metrics) : Json(nullptr);
  return json;
}

absl::StatusOr<Json> MissingJson(Pipeline& pipeline, const std::string& round_id) {
  BLINK_ASSIGN_OR_RETURN(const v1::Round round, pipeline.GetRound(round_id));
  const uint32_t nodes = CountActive(round);
  Json json = {{"nodes", nodes},
               {"reports", round.reports()},
               {"missing", nodes - std::min(nodes, round.reports())},
               {"ranges", Json::array()},
               {"complete", true}};
  std::optional<uint64_t> next = 0;
  for (int page = 0; next && page < kPagesMax && json["ranges"].size() <= kRangesMax; ++page) {
    BLINK_ASSIGN_OR_RETURN(const Pipeline::MissingNodes missing, pipeline.ListMissing(round_id, *next));
    for (const NodeRange& range : missing.ranges) json["ranges"].push_back({range.first, range.last});
    next = missing.next;
  }
  if (next || json["ranges"].size() > kRangesMax) {
    json["complete"] = false;
    while (json["ranges"].size() > kRangesMax) json["ranges"].erase(json["ranges"].size() - 1);
  }
  return json;
}

}  // namespace blink
