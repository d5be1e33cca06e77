#include "tools/round/report.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "common/base/time_text.h"
#include "common/cli/decimal.h"
#include "common/cli/program_json.h"
#include "common/rpc/status.h"
#include "common/wire/round.h"
#include "common/wire/training_spec.h"
#include "nlohmann/json.hpp"
#include "tools/round/metrics_table.h"

namespace blink {
namespace {

using Json = nlohmann::ordered_json;

std::string MillisText(int64_t ms) { return IsoTimeText(absl::FromUnixMillis(ms)); }

// What a search is to choose has no value yet.
Json Named(const char* name, bool is_set) { return is_set ? Json(name) : Json(nullptr); }

bool AsksAboutGroups(const v1::Round& round) {
  return round.parameters().mechanism() == static_cast<uint32_t>(Mechanism::kGroupDegrees);
}

// As the round takes it: links that are drawn from answers about groups have no variant.
v1::TrainingSpec TrainingOf(const v1::Round& round) {
  v1::TrainingSpec spec = round.training();
  if (AsksAboutGroups(round)) spec.clear_variant();
  return spec;
}

Json TrainingJson(const v1::TrainingSpec& spec) {
  const bool searches = spec.candidates() > 0;
  const auto of_model = [&](const auto& value) { return spec.model() == v1::MODEL_NONE ? Json(nullptr) : Json(value); };
  // a round of before there were priors
  Json json = {
      {"prior", spec.prior() == v1::PRIOR_UNSPECIFIED ? "beta" : PriorName(spec.prior())},
      {"variant", Named(VariantName(spec.variant()), spec.variant() != v1::VARIANT_UNSPECIFIED)},
      {"model", Named(ModelName(spec.model()), spec.model() != v1::MODEL_UNSPECIFIED)},
      {"learning_rate", searches && spec.learning_rate() == 0 ? Json(nullptr) : of_model(spec.learning_rate())},
      {"weight_decay", searches && !spec.has_weight_decay() ? Json(nullptr) : of_model(spec.weight_decay())},
      {"dropout", searches && !spec.has_dropout() ? Json(nullptr) : of_model(spec.dropout())},
      {"epochs", of_model(spec.epochs())},
      {"hidden", searches && spec.hidden() == 0 ? Json(nullptr) : of_model(spec.hidden())},
      {"layers", of_model(spec.layers())},
      {"patience", of_model(spec.patience())},
      {"balance_classes", spec.balance_classes()},
      {"node_features",
       Named(NodeFeaturesName(spec.node_features()), spec.node_features() != v1::NODE_FEATURES_UNSPECIFIED)},
      {"deterministic", spec.deterministic()},
      {"allow_slow_attention", spec.allow_slow_attention()},
      {"candidates", spec.candidates()},
      {"score", Named(MeasureName(FromProto(spec.score())), searches)},
      {"seed", spec.seed()},
      {"device", spec.device()},
      {"on_out_of_memory", spec.out_of_memory() == v1::OUT_OF_MEMORY_CPU ? "cpu" : "fail"}};
  if (spec.batch_nodes() > 0) {
    json["batch_nodes"] = spec.batch_nodes();
    json["fan_out"] = std::vector<uint32_t>(spec.fan_out().begin(), spec.fan_out().end());
  }
  return json;
}

// "gcn, hard", "mlp", or for a search what it is restricted to: "best of 24: gcn", "best of 24"; and the prior, if it
// is not the usual one: "best of 24, attributed prior".
std::string TrainingText(const v1::TrainingSpec& spec) {
  std::string text;
  if (spec.model() != v1::MODEL_UNSPECIFIED) text = ModelName(spec.model());
  if (spec.variant() != v1::VARIANT_UNSPECIFIED && spec.model() != v1::MODEL_MLP) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", VariantName(spec.variant()));
  }
  if (spec.candidates() == 0 && text.empty()) text = "unspecified";
  if (spec.candidates() > 0) text = absl::StrCat("best of ", spec.candidates(), text.empty() ? "" : ": ", text);
  if (spec.prior() == v1::PRIOR_ATTRIBUTED) absl::StrAppend(&text, ", ", PriorName(spec.prior()), " prior");
  return text;
}

// Its number, where this program is older than the round.
std::string MechanismText(const v1::Round& round) {
  const uint32_t number = round.parameters().mechanism();
  const std::optional<Mechanism> known = MechanismNumbered(number);
  return known ? MechanismName(*known) : absl::StrCat(number);
}

// What the table of rounds says of a mechanism that is not the usual one: ", one-end", ", follows 10b3055a".
std::string MechanismNote(const v1::Round& round) {
  if (!round.follows().empty()) return absl::StrCat(", follows ", PeerText(round.follows().substr(0, 8)));
  if (round.parameters().mechanism() == static_cast<uint32_t>(Mechanism::kBothEnds)) return "";
  return absl::StrCat(", ", MechanismText(round));
}

// "by" is null where the aggregator did it itself.
Json HistoryJson(const v1::Round& round) {
  Json history = Json::array();
  for (const v1::RoundEvent& event : round.history()) {
    history.push_back({{"state", RoundStateName(event.state())},
                       {"at", MillisText(event.at_ms())},
                       {"by", event.by().empty() ? Json(nullptr) : Json(event.by())}});
  }
  return history;
}

// "2026-11-30T10:00:00Z  sealed, by operator/ann"
std::string HistoryText(const v1::Round& round) {
  std::string text;
  for (const v1::RoundEvent& event : round.history()) {
    absl::StrAppend(&text, TableLine(text.empty() ? "history" : "",
                                     absl::StrCat(MillisText(event.at_ms()), "  ", RoundStateName(event.state()),
                                                  event.by().empty() ? "" : ", by ", PeerText(event.by()))));
  }
  return text;
}

std::string CodeName(const v1::RefusedReport& report) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(report.code()));
}

Json ToJson(const v1::Round& round) {
  Json json = {{"round_id", round.round_id()},
               {"deployment", round.deployment()},
               {"state", RoundStateName(round.state())},
               {"failure_reason", round.failure_reason()},
               {"epsilon", FormatMicro(round.parameters().epsilon_micro())},
               {"degree_share", FormatMicro(round.parameters().degree_share_ppm())},
               {"mechanism", MechanismText(round)},
               {"groups", AsksAboutGroups(round) ? Json(round.parameters().group_count()) : Json(nullptr)},
               {"follows", round.follows().empty() ? Json(nullptr) : Json(round.follows())},
               {"node_count", round.parameters().node_count()},
               {"roster_version", round.roster_version()},
               {"active_nodes", ActiveNodes(round)},
               {"retired_nodes", round.parameters().node_count() - ActiveNodes(round)},
               {"reports", round.reports()},
               {"implausible", AsksAboutGroups(round) ? Json(nullptr) : Json(ImplausibleName(round.implausible()))},
               {"degree_max", round.degree_max() > 0 ? Json(round.degree_max()) : Json(nullptr)},
               {"flagged", round.flagged()},
               {"encrypted", round.encrypted()},
               {"reports_deleted",
                round.reports_deleted_ms() > 0 ? Json(MillisText(round.reports_deleted_ms())) : Json(nullptr)},
               {"deleting", round.deleting()},
               {"result_deleted", round.result_deleted()},
               {"missing", ActiveNodes(round) - std::min(round.reports(), ActiveNodes(round))},
               {"quorum", round.quorum()},
               {"created", MillisText(round.created_ms())},
               {"deadline", MillisText(round.deadline_ms())},
               {"progress", round.progress()},
               {"progress_text", round.progress_text()},
               {"attempts", round.attempts()},
               {"history", HistoryJson(round)},
               {"training", TrainingJson(TrainingOf(round))}};
  if (!round.result_json().empty()) {
    Json result = Json::parse(round.result_json(), nullptr, /*allow_exceptions=*/false);
    if (!result.is_discarded()) json["result"] = std::move(result);
  }
  return json;
}

}  // namespace

// An aggregator of before there were rosters does not say it: then all are active.
uint32_t ActiveNodes(const v1::Round& round) {
  const uint32_t n = round.parameters().node_count();
  return round.active_nodes() > 0 && round.active_nodes() <= n ? round.active_nodes() : n;
}

std::string TimeToDeadline(const v1::Round& round, absl::Time now) {
  const absl::Time deadline = absl::FromUnixMillis(round.deadline_ms());
  const absl::Duration left = absl::Ceil(deadline - now, absl::Seconds(1));
  if (left <= absl::ZeroDuration()) return absl::StrCat("the deadline was ", TimeText(deadline));
  return absl::StrCat("open for ", absl::FormatDuration(left), " more, until ", TimeText(deadline));
}

std::string RoundJson(const v1::Round& round) {
  Json json = {{"format", 1}, {"program", ProgramJson()}};
  json.update(ToJson(round));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string RoundsJson(const std::vector<v1::Round>& rounds) {
  Json list = Json::array();
  for (const v1::Round& round : rounds) list.push_back(ToJson(round));
  return list.dump(2) + "\n";
}

std::string RoundTable(const v1::Round& round) {
  std::string table = TableLine("round", round.round_id());
  absl::StrAppend(&table, TableLine("state", RoundStateName(round.state())));
  if (!round.failure_reason().empty()) absl::StrAppend(&table, TableLine("reason", PeerText(round.failure_reason())));
  absl::StrAppend(
      &table, TableLine("epsilon", FormatMicro(round.parameters().epsilon_micro())),
      TableLine("degree share", FormatMicro(round.parameters().degree_share_ppm())),
      TableLine("mechanism", MechanismText(round)),
      AsksAboutGroups(round) ? TableLine("groups asked about", absl::StrCat(round.parameters().group_count())) : "",
      round.follows().empty() ? "" : TableLine("follows round", PeerText(round.follows())),
      TableLine("reports", absl::StrCat(round.reports(), " of ", ActiveNodes(round), ", quorum ", round.quorum())),
      AsksAboutGroups(round)
          ? ""
          : TableLine("flagged so far", absl::StrCat(round.flagged(), " (", ImplausibleName(round.implausible()), ")")),
      TableLine("created", MillisText(round.created_ms())), TableLine("deadline", MillisText(round.deadline_ms())),
      TableLine("model", TrainingText(TrainingOf(round))));
  if (ActiveNodes(round) < round.parameters().node_count()) {
    absl::StrAppend(&table,
                    TableLine("retired nodes", absl::StrCat(round.parameters().node_count() - ActiveNodes(round))));
  }
  if (round.encrypted()) absl::StrAppend(&table, TableLine("at rest", "its reports are encrypted"));
  if (round.reports_deleted_ms() > 0) {
    absl::StrAppend(&table, TableLine(round.deleting() ? "being deleted" : "deleted",
                                      absl::StrCat(MillisText(round.reports_deleted_ms()), "  its reports",
                                                   round.result_deleted() ? " and its result" : "")));
  }
  if (!round.progress_text().empty()) absl::StrAppend(&table, TableLine("progress", PeerText(round.progress_text())));
  absl::StrAppend(&table, HistoryText(round));
  return table;
}

std::string RoundsTable(const std::vector<v1::Round>& rounds) {
  std::string table = absl::StrFormat("%-32s  %-10s  %9s  %17s  %-20s  %s\n", "ROUND", "STATE", "EPSILON", "REPORTS",
                                      "DEADLINE", "MODEL");
  for (const v1::Round& round : rounds) {
    absl::StrAppendFormat(&table, "%-32s  %-10s  %9s  %17s  %-20s  %s\n", round.round_id(),
                          RoundStateName(round.state()), FormatMicro(round.parameters().epsilon_micro()),
                          absl::StrCat(round.reports(), "/", ActiveNodes(round)), MillisText(round.deadline_ms()),
                          absl::StrCat(TrainingText(TrainingOf(round)), MechanismNote(round)));
  }
  return table;
}

std::string MissingJson(const std::vector<NodeRange>& missing) {
  Json json = {{"format", 1}, {"program", ProgramJson()}, {"missing", CountNodes(missing)}};
  json["ranges"] = Json::array();
  for (const auto& [first, last] : missing) json["ranges"].push_back({first, last});
  return json.dump(2) + "\n";
}

std::string RefusedJson(const v1::ListRefusedReportsResponse& refused) {
  Json json = {{"format", 1}, {"program", ProgramJson()}, {"since", MillisText(refused.since_ms())}};
  json["refused"] = Json::array();
  for (const v1::RefusedReport& report : refused.refused()) {
    json["refused"].push_back({{"node", report.node_id()},
                               {"by", report.by()},
                               {"code", CodeName(report)},
                               {"message", report.message()},
                               {"first", MillisText(report.first_ms())},
                               {"last", MillisText(report.last_ms())},
                               {"count", report.count()}});
  }
  json["left_out"] = refused.left_out();
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string RefusedTable(const v1::ListRefusedReportsResponse& refused) {
  std::string table = TableLine("refused since", MillisText(refused.since_ms()));
  for (const v1::RefusedReport& report : refused.refused()) {
    absl::StrAppend(&table, "node ", report.node_id(), ", by ", PeerText(report.by()), ", ", report.count(),
                    report.count() == 1 ? " time" : " times", ", last ", MillisText(report.last_ms()), ": ",
                    CodeName(report), ": ", PeerText(report.message()), "\n");
  }
  if (refused.refused().empty()) absl::StrAppend(&table, "none\n");
  if (refused.left_out() > 0) absl::StrAppend(&table, "and ", refused.left_out(), " refusals more\n");
  return table;
}

std::string MissingTable(const std::vector<NodeRange>& missing) {
  std::string table = TableLine("missing nodes", absl::StrCat(CountNodes(missing)));
  for (const auto& [first, last] : missing) {
    absl::StrAppend(&table, first, first == last ? "" : absl::StrCat("-", last), "\n");
  }
  return table;
}

}  // namespace blink
