#include "tools/round/operator_client.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/address.h"
#include "common/base/durable_file.h"
#include "common/base/http_proxy.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/cli/config_file.h"
#include "common/cli/suggestion.h"
#include "common/rpc/grpc_log.h"
#include "common/rpc/retry_trailer.h"
#include "common/rpc/status.h"
#include "common/wire/retry_policy.h"
#include "common/wire/round.h"

namespace blink {
namespace {

constexpr uint64_t kConfigBytesMax = 64 << 10;
constexpr uint64_t kArtifactBytesMax = uint64_t{64} << 30;
constexpr char kAnswerPayload[] = "blink/aggregators-answer";

std::string Resolve(const std::string& folder, const std::string& path) {
  const std::filesystem::path named(path);
  return path.empty() || named.is_absolute() ? path : (std::filesystem::path(folder) / named).string();
}

const std::vector<std::string> kKeys = {"aggregator", "deployment", "tls-certificate", "tls-key",
                                        "tls-ca",     "proxy",      "insecure"};

struct Setting {
  std::string value, place;
};

absl::Status CheckConfig(const OperatorConfig& config) {
  for (const auto& [key, value] :
       {std::pair("deployment", config.deployment), std::pair("aggregator", config.aggregator)}) {
    if (value.empty()) return absl::InvalidArgumentError(absl::StrCat("the key ", key, " is missing"));
  }
  BLINK_RETURN_IF_ERROR(ValidateDeployment(config.deployment));
  BLINK_RETURN_IF_ERROR(ParseAddress(config.aggregator).status());
  if (!config.proxy.empty()) BLINK_RETURN_IF_ERROR(ParseHttpProxy(config.proxy).status());
  if (config.insecure) return RequireLoopback(config.aggregator);
  if (config.tls.certificate.empty() || config.tls.key.empty() || config.tls.ca.empty()) {
    return absl::InvalidArgumentError(
        "tls-certificate, tls-key and tls-ca are needed (or insecure=true, on loopback only)");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OperatorConfig> LoadOperatorConfig(const std::string& path, const OperatorOverrides& overrides,
                                                  std::string* printed) {
  BLINK_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kConfigBytesMax));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::map<std::string, Setting> settings;
  BLINK_ASSIGN_OR_RETURN(const std::vector<ConfigEntry> entries, ParseConfig(text, path));
  for (const auto& [key, value, line] : entries) {
    const std::string place = absl::StrCat(path, ":", line);
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      return absl::InvalidArgumentError(absl::StrCat(place, ": the key ", key, " is unknown", Suggest(key, kKeys)));
    }
    settings[key] = {absl::StartsWith(key, "tls-") ? Resolve(folder, value) : value, place};
  }
  // The variable of the flag --config is read with the flags.
  std::vector<std::string> variables = kKeys;
  variables.push_back("config");
  BLINK_ASSIGN_OR_RETURN(const auto found, FindSettings(overrides.environment, kOperatorPrefix, variables));
  for (const auto& [key, value] : found) {
    if (key != "config") settings[key] = {value, VariableName(kOperatorPrefix, key)};
  }
  if (!overrides.aggregator.empty()) settings["aggregator"] = {overrides.aggregator, "flag"};
  if (!overrides.proxy.empty()) settings["proxy"] = {overrides.proxy, "flag"};
  const Setting& insecure = settings["insecure"];
  if (!insecure.value.empty() && insecure.value != "true" && insecure.value != "false") {
    return absl::InvalidArgumentError(absl::StrCat(insecure.place, ": insecure is true or false"));
  }
  if (insecure.value.empty()) settings["insecure"] = {"false", "default"};
  for (const std::string& key : kKeys) {
    if (printed != nullptr) printed->append(SettingLine(key, settings[key].value, settings[key].place));
  }
  OperatorConfig config;
  config.aggregator = settings["aggregator"].value;
  config.deployment = settings["deployment"].value;
  config.proxy = settings["proxy"].value;
  config.tls.certificate = settings["tls-certificate"].value;
  config.tls.key = settings["tls-key"].value;
  config.tls.ca = settings["tls-ca"].value;
  config.insecure = settings["insecure"].value == "true";
  if (const absl::Status sound = CheckConfig(config); !sound.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", sound.message()));
  }
  return config;
}

bool IsAggregatorsAnswer(const absl::Status& status) { return status.GetPayload(kAnswerPayload).has_value(); }

absl::StatusOr<OperatorClient> OperatorClient::Connect(OperatorConfig config, absl::Duration timeout) {
  BLINK_RETURN_IF_ERROR(CheckConfig(config));
  BLINK_RETURN_IF_ERROR(PrepareProxy(config.proxy, config.insecure));
  InstallGrpcLog();
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!config.insecure) {
    BLINK_ASSIGN_OR_RETURN(credentials, MakeClientCredentials(config.tls, config.deployment));
    ExpiryReminder reminder;
    for (const std::string& line : RemindOfExpiry(config.tls, reminder, absl::Now())) {
      std::fprintf(stderr, "blink: warning: %s\n", line.c_str());
    }
  }
  OperatorClient client(std::move(config), timeout);
  client.credentials_ = std::move(credentials);
  client.MakeStub();
  return client;
}

void OperatorClient::MakeStub() {
  const ChannelOptions options = {.deployment = config_.deployment, .proxy = config_.proxy};
  stub_ = v1::OperatorService::NewStub(MakeChannel(config_.aggregator, credentials_, options));
}

absl::Status OperatorClient::Explain(const grpc::Status& status) const {
  const absl::Status plain = FromGrpcStatus(status);
  // CANCELLED: an aggregator that stops ends its calls so.
  const bool unanswered = absl::IsUnavailable(plain) || absl::IsDeadlineExceeded(plain) || absl::IsCancelled(plain);
  if (!unanswered) {
    const std::string why = plain.message().empty()
                                ? absl::StrCat(absl::StatusCodeToString(plain.code()), ", and it does not say why")
                                : std::string(plain.message());
    absl::Status answer(plain.code(), absl::StrCat("the aggregator at ", config_.aggregator, " refuses: ", why));
    answer.SetPayload(kAnswerPayload, absl::Cord());
    return answer;
  }
  const std::string reason = config_.insecure ? DiagnosePlaintext(config_.aggregator)
                                              : DiagnoseHandshake(config_.tls, config_.aggregator, config_.proxy);
  if (!reason.empty()) {
    return absl::UnavailableError(absl::StrCat("the aggregator at ", config_.aggregator, " is not reached: ", reason));
  }
  return absl::UnavailableError(absl::StrCat("the aggregator at ", config_.aggregator,
                                             " can be reached and gave no answer (", plain.message(),
                                             "): try again; if that does not help, see its log"));
}

template <typename Request>
absl::StatusOr<v1::Round> OperatorClient::Call(Method<Request> method, Request request) {
  request.set_deployment(config_.deployment);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout_));
  v1::Round round;
  const grpc::Status status = (stub_.get()->*method)(&context, request, &round);
  if (!status.ok()) return Explain(status);
  return round;
}

template <typename Request>
absl::StatusOr<v1::Round> OperatorClient::CallFor(Method<Request> method, const std::string& round_id) {
  BLINK_RETURN_IF_ERROR(ValidateRoundId(round_id));
  Request request;
  request.set_round_id(round_id);
  return Call(method, std::move(request));
}

absl::StatusOr<v1::Round> OperatorClient::Create(v1::CreateRoundRequest request) {
  return Call(&v1::OperatorService::Stub::CreateRound, std::move(request));
}

absl::StatusOr<std::vector<v1::Round>> OperatorClient::List() {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout_));
  v1::ListRoundsRequest request;
  request.set_deployment(config_.deployment);
  v1::ListRoundsResponse response;
  const grpc::Status status = stub_->ListRounds(&context, request, &response);
  if (!status.ok()) return Explain(status);
  return std::vector<v1::Round>(response.rounds().begin(), response.rounds().end());
}

absl::StatusOr<v1::Round> OperatorClient::GetStatus(const std::string& round_id) {
  return CallFor(&v1::OperatorService::Stub::GetRoundStatus, round_id);
}

absl::StatusOr<v1::Round> OperatorClient::Seal(const std::string& round_id) {
  return CallFor(&v1::OperatorService::Stub::SealRound, round_id);
}

absl::StatusOr<v1::Round> OperatorClient::Cancel(const std::string& round_id) {
  return CallFor(&v1::OperatorService::Stub::CancelRound, round_id);
}

absl::StatusOr<v1::Round> OperatorClient::Delete(const std::string& round_id) {
  return CallFor(&v1::OperatorService::Stub::DeleteRound, round_id);
}

absl::StatusOr<v1::Round> OperatorClient::Retry(const std::string& round_id, const v1::TrainingSpec& training) {
  BLINK_RETURN_IF_ERROR(ValidateRoundId(round_id));
  v1::RetryRoundRequest request;
  request.set_round_id(round_id);
  *request.mutable_training() = training;
  return Call(&v1::OperatorService::Stub::RetryRound, std::move(request));
}

absl::StatusOr<std::vector<NodeRange>> OperatorClient::ListMissing(const std::string& round_id) {
  BLINK_RETURN_IF_ERROR(ValidateRoundId(round_id));
  std::vector<NodeRange> missing;
  v1::ListMissingNodesRequest request;
  request.set_deployment(config_.deployment);
  request.set_round_id(round_id);
  while (true) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + timeout_));
    v1::ListMissingNodesResponse response;
    const grpc::Status status = stub_->ListMissingNodes(&context, request, &response);
    if (!status.ok()) return Explain(status);
    for (const v1::NodeRange& range : response.missing()) missing.push_back({range.first(), range.last()});
    if (!response.has_next_node()) return missing;
    if (response.next_node() <= request.first_node() || response.next_node() >= kNodesMax) {
      return absl::InternalError("the aggregator's pages of missing nodes have no end");
    }
    request.set_first_node(response.next_node());
  }
}

absl::StatusOr<v1::ListRefusedReportsResponse> OperatorClient::ListRefused(const std::string& round_id) {
  BLINK_RETURN_IF_ERROR(ValidateRoundId(round_id));
  v1::ListRefusedReportsRequest request;
  request.set_deployment(config_.deployment);
  request.set_round_id(round_id);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout_));
  v1::ListRefusedReportsResponse response;
  const grpc::Status status = stub_->ListRefusedReports(&context, request, &response);
  if (!status.ok()) return Explain(status);
  return response;
}

absl::StatusOr<v1::Round> OperatorClient::Watch(const std::string& round_id,
                                                const std::function<void(const v1::Round&)>& seen,
                                                absl::Duration give_up_after) {
  BLINK_RETURN_IF_ERROR(ValidateRoundId(round_id));
  absl::Time heard = absl::Now();
  for (int attempt = 0;; ++attempt) {
    grpc::ClientContext context;
    v1::WatchRoundRequest request;
    request.set_deployment(config_.deployment);
    request.set_round_id(round_id);
    std::unique_ptr<grpc::ClientReader<v1::Round>> reader = stub_->WatchRound(&context, request);
    v1::Round round;
    while (reader->Read(&round)) {
      attempt = 0;
      seen(round);
      if (IsTerminal(round.state())) {
        context.TryCancel();
        reader->Finish().ok();  // the end of the stream says nothing new
        return round;
      }
      heard = absl::Now();
    }
    const grpc::Status status = reader->Finish();
    const absl::Status plain =
        status.ok() ? absl::UnavailableError("the aggregator ended the watch") : FromGrpcStatus(status);
    // CANCELLED: an aggregator that stops ends its calls so
    if (!IsRetryable(plain) && !absl::IsCancelled(plain)) return Explain(status);
    if (absl::Now() - heard > give_up_after) return Explain(ToGrpcStatus(plain));
    const RetryPolicy policy = {.base = absl::Milliseconds(200), .max = absl::Seconds(5)};
    BLINK_ASSIGN_OR_RETURN(const absl::Duration wait,
                           DrawWait(policy, attempt, ReadTrailingWindow(context), SecureRandom()));
    absl::SleepFor(wait);
    MakeStub();  // nobody drives a channel on which no call waits: its handshake would time out between the attempts
  }
}

absl::Status OperatorClient::Fetch(const std::string& round_id, const std::string& artifact,
                                   const std::function<absl::Status(const std::string&)>& sink) {
  BLINK_RETURN_IF_ERROR(ValidateRoundId(round_id));
  grpc::ClientContext context;
  v1::GetResultRequest request;
  request.set_deployment(config_.deployment);
  request.set_round_id(round_id);
  request.set_artifact(artifact);
  std::unique_ptr<grpc::ClientReader<v1::GetResultResponse>> reader = stub_->GetResult(&context, request);
  v1::GetResultResponse response;
  uint64_t bytes = 0;
  absl::Status taken;
  while (taken.ok() && reader->Read(&response)) {
    bytes += response.chunk().size();
    taken = bytes > kArtifactBytesMax ? absl::OutOfRangeError(absl::StrCat(artifact, " has no end"))
                                      : sink(response.chunk());
  }
  if (!taken.ok()) context.TryCancel();
  const grpc::Status status = reader->Finish();
  if (!taken.ok()) return taken;
  return status.ok() ? absl::OkStatus() : Explain(status);
}

}  // namespace blink
