#include "aggregator_server/rounds/new_round.h"

#include <sys/random.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/privacy/parameters.h"
#include "common/wire/round.h"
#include "common/wire/training_spec.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"

namespace blink {
namespace {

constexpr uint64_t kOpenForMsMin = 1'000;
constexpr uint64_t kOpenForMsMax = 31'536'000'000;
constexpr size_t kRequestIdCharactersMax = 64;

absl::StatusOr<std::string> DrawRoundId() {
  std::string bytes(16, '\0');
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return absl::UnavailableError("the system gave no random bytes for a round id");
  }
  return absl::BytesToHexString(bytes);
}

absl::Status CheckRequestId(const std::string& request_id) {
  const bool printable =
      std::all_of(request_id.begin(), request_id.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (request_id.size() <= kRequestIdCharactersMax && printable) return absl::OkStatus();
  return absl::InvalidArgumentError("request_id must have 1 .. 64 printable ASCII characters without spaces");
}

absl::StatusOr<PrivacyParameters> ReadParameters(const v1::CreateRoundRequest& request, uint32_t node_count) {
  v1::PrivacyParameters asked = request.parameters();
  if (asked.node_count() == 0) asked.set_node_count(node_count);
  if (asked.mechanism() == 0) asked.set_mechanism(static_cast<uint32_t>(Mechanism::kBothEnds));
  if (asked.node_count() != node_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("node_count is ", asked.node_count(), ", the roster has ", node_count, " nodes: leave it out"));
  }
  if (asked.mechanism() == static_cast<uint32_t>(Mechanism::kGroupDegrees)) {
    return absl::InvalidArgumentError(
        "mechanism is 3 (group-degrees): nodes answer such rounds, but this aggregator opens none; "
        "ask for 1 (both-ends) or 2 (one-end)");
  }
  return ParametersFromProto(asked);
}

// What says how its reports are collected: for how long, from how many, and which of them count.
absl::Status CheckCollection(const v1::CreateRoundRequest& request, uint32_t node_count, uint32_t active) {
  if (request.open_for_ms() < kOpenForMsMin || request.open_for_ms() > kOpenForMsMax) {
    return absl::InvalidArgumentError(absl::StrCat("open_for_ms is ", request.open_for_ms(), ", it must be in ",
                                                   kOpenForMsMin, " .. ", kOpenForMsMax));
  }
  if (request.quorum() > active) {
    return absl::InvalidArgumentError(absl::StrCat("quorum is ", request.quorum(), ", it must be in 1 .. ", active,
                                                   ", the active nodes of the roster"));
  }
  if (!v1::Implausible_IsValid(request.implausible())) {
    return absl::InvalidArgumentError(
        absl::StrCat("implausible is ", static_cast<int>(request.implausible()), ", which this version does not know"));
  }
  if (request.degree_max() > node_count - 1) {
    return absl::InvalidArgumentError(absl::StrCat("degree_max is ", request.degree_max(), ", it must be in 1 .. ",
                                                   node_count - 1, ", or 0 for no bound"));
  }
  return absl::OkStatus();
}

// What an operator says of a round, as CreateRound takes it; of a round that an older version made as this one would.
v1::CreateRoundRequest RecoverRequest(const v1::Round& round) {
  v1::CreateRoundRequest request;
  *request.mutable_parameters() = round.parameters();
  request.mutable_parameters()->clear_node_count();
  const absl::StatusOr<v1::TrainingSpec> training = NormalizeTrainingSpec(round.training());
  *request.mutable_training() = training.ok() ? *training : round.training();
  request.set_open_for_ms(static_cast<uint64_t>(round.deadline_ms() - round.created_ms()));
  request.set_quorum(round.quorum());
  request.set_implausible(round.implausible() == v1::IMPLAUSIBLE_UNSPECIFIED ? v1::IMPLAUSIBLE_FLAG
                                                                             : round.implausible());
  request.set_degree_max(round.degree_max());
  return request;
}

// Units of the integers that stand for a decimal, by the end of their name.
constexpr absl::string_view kMillionths[] = {"_micro", "_ppm"};

// "epsilon 3" of epsilon_micro 3000000.
std::pair<std::string, std::string> DescribeField(const google::protobuf::Message& message,
                                                  const google::protobuf::FieldDescriptor& field) {
  if (field.has_presence() && !message.GetReflection()->HasField(message, &field)) return {field.name(), "unset"};
  std::string value;
  google::protobuf::TextFormat::PrintFieldValueToString(message, &field, -1, &value);
  for (const absl::string_view unit : kMillionths) {
    uint64_t millionths = 0;
    if (absl::EndsWith(field.name(), unit) && absl::SimpleAtoi(value, &millionths)) {
      return {std::string(absl::StripSuffix(field.name(), unit)),
              absl::StrFormat("%.9g", static_cast<double>(millionths) / kPartsPerMillion)};
    }
  }
  return {field.name(), value};
}

// "epsilon 3, not 4" of every field in which `held` and `asked`, of one type, differ.
void AppendDifferences(const google::protobuf::Message& held, const google::protobuf::Message& asked,
                       std::vector<std::string>& differences) {
  const google::protobuf::Descriptor& type = *held.GetDescriptor();
  for (int k = 0; k < type.field_count(); ++k) {
    const google::protobuf::FieldDescriptor& field = *type.field(k);
    if (field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
      AppendDifferences(held.GetReflection()->GetMessage(held, &field),
                        asked.GetReflection()->GetMessage(asked, &field), differences);
      continue;
    }
    const auto [name, value] = DescribeField(held, field);
    const std::string other = DescribeField(asked, field).second;
    if (value != other) differences.push_back(absl::StrCat(name, " ", value, ", not ", other));
  }
}

}  // namespace

absl::Status CheckSameRequest(const std::string& request_id, const v1::Round& held, const v1::Round& asked) {
  std::vector<std::string> differences;
  AppendDifferences(RecoverRequest(held), RecoverRequest(asked), differences);
  if (differences.empty()) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat("request id ", request_id, " made round ", held.round_id(),
                                               " with other parameters (", absl::StrJoin(differences, "; "),
                                               "): ask for the same, or under another request id"));
}

absl::StatusOr<v1::Round> MakeRound(const PipelineOptions& options, const v1::CreateRoundRequest& request) {
  BLINK_RETURN_IF_ERROR(CheckRequestId(request.request_id()));
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters, ReadParameters(request, options.node_count));
  BLINK_ASSIGN_OR_RETURN(v1::TrainingSpec training, NormalizeTrainingSpec(request.training()));
  const uint32_t active = options.active_nodes > 0 ? options.active_nodes : options.node_count;
  BLINK_RETURN_IF_ERROR(CheckCollection(request, options.node_count, active));
  v1::Round round;
  BLINK_ASSIGN_OR_RETURN(*round.mutable_round_id(), DrawRoundId());
  round.set_deployment(options.deployment);
  *round.mutable_parameters() = ParametersToProto(parameters);
  round.set_roster_version(options.roster_version);
  round.set_active_nodes(active);
  *round.mutable_training() = std::move(training);
  round.set_state(v1::ROUND_STATE_OPEN);
  round.set_quorum(std::max<uint32_t>(1, request.quorum()));
  round.set_implausible(request.implausible() == v1::IMPLAUSIBLE_UNSPECIFIED ? v1::IMPLAUSIBLE_FLAG
                                                                             : request.implausible());
  round.set_degree_max(request.degree_max());
  return round;
}

}  // namespace blink
