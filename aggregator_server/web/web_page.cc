#include "aggregator_server/web/web_page.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "aggregator_server/reports/report_file.h"
#include "aggregator_server/rounds/round_files.h"
#include "aggregator_server/transport/refusal_log.h"
#include "aggregator_server/web/artifact_series.h"
#include "aggregator_server/web/result_json.h"
#include "aggregator_server/web/round_json.h"
#include "aggregator_server/web/system_json.h"
#include "aggregator_server/web/web_files.h"
#include "common/base/status_macros.h"
#include "common/wire/round.h"

namespace blink {
namespace {

constexpr size_t kRoundsShownMax = 200;
constexpr size_t kAnswersKeptMax = 64;
constexpr char kHtml[] = "text/html; charset=utf-8";

int CodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kFailedPrecondition:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnavailable:
      return 503;
    default:
      return 500;
  }
}

std::string EscapeHtml(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string Printable(absl::string_view text) {
  std::string shown(text);
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

bool IsApi(const HttpRequest& request) { return absl::StartsWith(request.path, "/api/"); }

HttpResponse ErrorFor(const HttpRequest& request, const absl::Status& status) {
  HttpResponse answer{.code = CodeOf(status)};
  if (IsApi(request)) {
    answer.type = "application/json";
    answer.body = TextOf({{"error", std::string(status.message())}});
    return answer;
  }
  answer.type = kHtml;
  answer.body = absl::StrCat(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>blink: not shown</title>\n</head>\n<body>\n<main>\n"
      "<h1>This page is not shown</h1>\n<p>",
      EscapeHtml(Printable(status.message())), "</p>\n",
      answer.code == 403
          ? "<p>It is for operators. Choose an operator's certificate of this deployment in the browser, "
            "and close all its windows before, since it remembers the choice.</p>\n"
          : "",
      "</main>\n</body>\n</html>\n");
  return answer;
}

// Nothing is loaded from elsewhere, and no other page may show this one in a frame or read it.
void Secure(HttpResponse& answer) {
  answer.headers = {{"Content-Security-Policy",
                     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
                     "trusted-types 'none'"},
                    {"Referrer-Policy", "no-referrer"},
                    {"Cross-Origin-Resource-Policy", "same-origin"},
                    {"Cross-Origin-Opener-Policy", "same-origin"},
                    {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
                    {"X-Frame-Options", "DENY"}};
}

// Changes when one of the files does.
std::string StampOf(const std::vector<std::string>& paths) {
  std::string stamp;
  for (const std::string& path : paths) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) {
      absl::StrAppend(&stamp, "none ");
    } else {
      absl::StrAppend(&stamp, info.st_ino, " ", info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ",
                      info.st_ctim.tv_sec, ".", info.st_ctim.tv_nsec, " ");
    }
  }
  return stamp;
}

}  // namespace

// A page of another origin can make a browser ask here, with the operator's certificate. It cannot read the answer, but
// it must not cost anything either. And with --insecure a name that leads to 127.0.0.1 would be that origin itself.
absl::Status WebPage::CheckOrigin(const HttpRequest& request) const {
  if (sources_.authenticator.insecure()) {
    const std::string host = request.host.substr(0, request.host.rfind(':'));
    const bool has_port = request.host.find(':') != std::string::npos && !absl::EndsWith(request.host, "]");
    const std::string name = has_port ? host : request.host;
    if (name != "localhost" && name != "127.0.0.1" && name != "[::1]") {
      return absl::PermissionDeniedError(
          "with --insecure this page is shown under the names localhost, 127.0.0.1 and [::1] alone");
    }
  }
  if (IsApi(request) && !request.fetch_site.empty() && request.fetch_site != "same-origin" &&
      request.fetch_site != "none") {
    return absl::PermissionDeniedError("another page has asked for this");
  }
  return absl::OkStatus();
}

HttpResponse WebPage::Answer(const HttpRequest& request) {
  HttpResponse answer;
  absl::StatusOr<Identity> who = sources_.authenticator.IdentifyOperator(request.certificate);
  if (const absl::Status origin = CheckOrigin(request); who.ok() && !origin.ok()) who = origin;
  if (who.ok()) {
    answer = AnswerOperator(request, *who);
  } else {
    Refusals().Report(request.peer, who.status());
    answer = ErrorFor(request, who.status());
  }
  Secure(answer);
  return answer;
}

HttpResponse WebPage::AnswerOperator(const HttpRequest& request, const Identity& who) {
  for (const WebFile& file : WebFiles()) {
    if (request.path == file.path) return {.type = file.type, .body = std::string(file.text)};
  }
  if (request.path == "/api/events") {
    absl::StatusOr<std::shared_ptr<HttpStream>> stream = events_.Open(request, who.ToUri());
    if (!stream.ok()) return ErrorFor(request, stream.status());
    return {.type = "text/event-stream", .stream = *std::move(stream)};
  }
  const absl::StatusOr<Json> json = Ask(request, who);
  if (!json.ok()) return ErrorFor(request, json.status());
  return {.type = "application/json", .body = TextOf(*json)};
}

absl::StatusOr<Json> WebPage::Ask(const HttpRequest& request, const Identity& who) {
  if (request.path == "/api/system") return DescribeSystem(request, who);
  if (request.path == "/api/rounds") return ListRounds();
  const std::vector<std::string> parts = absl::StrSplit(request.path, '/');  // "", "api", "rounds", id, about
  const bool is_round = parts.size() == 4 || (parts.size() == 5 && !parts[4].empty());
  if (is_round && parts[1] == "api" && parts[2] == "rounds") {
    BLINK_RETURN_IF_ERROR(ValidateRoundId(parts[3]));  // it becomes a part of a path
    return AskRound(parts[3], parts.size() == 5 ? parts[4] : "");
  }
  return absl::NotFoundError("there is no such page");
}

std::string WebPage::FolderOf(const std::string& round_id) const {
  return RoundFiles(sources_.data_folder + "/rounds", round_id).folder();
}

absl::StatusOr<Json> WebPage::AskRound(const std::string& round_id, const std::string& about) {
  const std::string folder = FolderOf(round_id);
  BLINK_ASSIGN_OR_RETURN(const v1::Round round, sources_.pipeline.GetRound(round_id));
  if (about.empty()) return RoundDetail(round, folder);
  if (about == "missing") return MissingJson(sources_.pipeline, round_id);
  if (about == "degrees" && round.reports_deleted_ms() != 0) {
    return absl::FailedPreconditionError("the reports of this round were deleted");
  }
  if (about == "degrees") return AskDegrees(round, folder);
  if (about != "curves" && about != "confusion" && about != "plausibility") {
    return absl::NotFoundError("there is no such page");
  }
  BLINK_ASSIGN_OR_RETURN(const std::string metrics_path, sources_.pipeline.FindResult(round_id, "metrics.json"));
  if (about == "curves") {
    const std::string result = folder + "/result";
    const std::string stamp = StampOf({metrics_path, result + "/curves.csv"});
    auto& [kept_stamp, kept] = kept_.try_emplace(result + "/curves.csv", "", absl::UnknownError("")).first->second;
    if (kept_stamp != stamp || !kept.ok()) {
      const absl::Status is_there = sources_.pipeline.FindResult(round_id, "curves.csv").status();
      kept = is_there.ok() ? CurvesJson(result) : is_there;
      kept_stamp = stamp;
    }
    absl::StatusOr<Json> answer = kept;
    if (kept_.size() > kAnswersKeptMax) kept_.clear();
    return answer;
  }
  const Json metrics = Json::parse(round.result_json(), nullptr, /*allow_exceptions=*/false);
  if (!metrics.is_object()) return absl::DataLossError("the metrics of this round cannot be read");
  return about == "confusion" ? ConfusionJson(metrics) : PlausibilityFiguresJson(metrics);
}

absl::StatusOr<Json> WebPage::AskDegrees(const v1::Round& round, const std::string& folder) {
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters, ParametersFromProto(round.parameters()));
  if (parameters.sends_group_degrees()) {
    return absl::NotFoundError("this round asks about groups of nodes, so there are no degrees");
  }
  if (round.state() == v1::ROUND_STATE_OPEN) {
    return absl::FailedPreconditionError("degrees are shown once the round is sealed");
  }
  const std::string result = folder + "/result";
  const std::string stamp = StampOf({folder + "/reports.blr", result + "/metrics.json", result + "/degrees.csv"});
  auto& [kept_stamp, kept] = kept_.try_emplace(folder + "/degrees", "", absl::UnknownError("")).first->second;
  if (kept_stamp == stamp && kept.ok()) return kept;
  const auto compute = [&]() -> absl::StatusOr<Json> {
    std::optional<std::vector<float>> noisy, estimated;
    if (parameters.sends_degree()) {
      BLINK_ASSIGN_OR_RETURN(const std::optional<SecretKey> key, sources_.store.GetDataKey(round.round_id()));
      BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> degrees, ReadNoisyDegrees(folder, key ? &*key : nullptr));
      // As the estimate reads them (ReportSet::Mirror).
      const float pairs_of_link = parameters.mechanism() == Mechanism::kOneEnd ? 2 : 1;
      noisy.emplace();
      for (const int64_t degree : degrees) noisy->push_back(static_cast<float>(degree) * pairs_of_link);
    }
    if (round.state() == v1::ROUND_STATE_READY) {
      BLINK_ASSIGN_OR_RETURN(estimated, ReadEstimatedDegrees(result));
    }
    Json json = DegreesJson(noisy, estimated);
    json["doubled"] = parameters.mechanism() == Mechanism::kOneEnd;
    return json;
  };
  kept = compute();
  kept_stamp = stamp;
  absl::StatusOr<Json> answer = kept;
  if (kept_.size() > kAnswersKeptMax) kept_.clear();
  return answer;
}

absl::StatusOr<Json> WebPage::ListRounds() {
  BLINK_ASSIGN_OR_RETURN(const std::vector<v1::Round> rounds, sources_.pipeline.ListRounds());
  Json json = {{"deployment", sources_.deployment}, {"total", rounds.size()}, {"rounds", Json::array()}};
  for (auto round = rounds.rbegin(); round != rounds.rend() && json["rounds"].size() < kRoundsShownMax; ++round) {
    json["rounds"].push_back(RoundSummary(*round));
  }
  return json;
}

Json WebPage::DescribeSystem(const HttpRequest& request, const Identity& who) {
  Json json;
  json["deployment"] = sources_.deployment;
  json["nodes"] = sources_.nodes;
  json["active_nodes"] = sources_.active_nodes;
  json["roster_version"] = sources_.roster_version;
  json["operator"] = sources_.authenticator.insecure() ? Json(nullptr) : Json(who.name);
  AddSystem({.store = sources_.store,
             .pipeline = sources_.pipeline,
             .revocations = sources_.guard.revocations(),
             .tls = server_ == nullptr ? nullptr : server_.load()->tls(),
             .data_folder = sources_.data_folder,
             .own_certificate = request.certificate,
             .ready = sources_.ready()},
            json);
  return json;
}

}  // namespace blink
