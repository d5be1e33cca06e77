#include "aggregator_server/rounds/new_round.h"

#include <sys/random.h>

#include <algorithm>
#include <random>
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
#include "aggregator_server/select/trainable.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/privacy/parameters.h"
#include "common/wire/groups_codec.h"
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

constexpr uint32_t kRandomGroupsDefault = 2;  // as LDPGen has it

// Each node is of any group. Nobody's privacy depends on the groups, which every node is told.
absl::StatusOr<NodeGroups> DrawGroups(uint32_t node_count, uint32_t count) {
  uint64_t seed = 0;
  if (::getrandom(&seed, sizeof(seed), 0) != static_cast<ssize_t>(sizeof(seed))) {
    return absl::UnavailableError("the system gave no random bytes for the groups");
  }
  std::mt19937_64 random(seed);
  NodeGroups groups{.count = count};
  for (uint32_t node = 0; node < node_count; ++node) groups.group_of.push_back(random() % count);
  return groups;
}

absl::Status CheckRequestId(const std::string& request_id) {
  const bool printable =
      std::all_of(request_id.begin(), request_id.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (request_id.size() <= kRequestIdCharactersMax && printable) return absl::OkStatus();
  return absl::InvalidArgumentError("request_id must have 1 .. 64 printable ASCII characters without spaces");
}

// "field is 7, but round <id>, which it follows, has 3: leave it out" unless it is left out or the same.
absl::Status CheckAsFollowed(const char* field, uint64_t value, uint64_t expected,
                             const v1::CreateRoundRequest& request, const char* has) {
  if (value == 0 || value == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", value, ", but round ", request.follows(),
                                                 ", which this one follows, ", has, " ", expected, ": leave it out"));
}

bool AsksAboutGroups(const v1::PrivacyParameters& parameters) {
  return parameters.mechanism() == static_cast<uint32_t>(Mechanism::kGroupDegrees);
}

// Takes from the followed round what is left out, and checks the rest.
absl::Status TakeFromFollowed(const v1::CreateRoundRequest& request, const FollowedRound& followed,
                              v1::PrivacyParameters& asked) {
  const uint64_t epsilon_micro = followed.round.parameters().epsilon_micro();
  BLINK_RETURN_IF_ERROR(CheckAsFollowed("mechanism", asked.mechanism(), static_cast<uint32_t>(Mechanism::kGroupDegrees),
                                        request, "has mechanism"));
  BLINK_RETURN_IF_ERROR(CheckAsFollowed("epsilon_micro", asked.epsilon_micro(), epsilon_micro, request, "has"));
  BLINK_RETURN_IF_ERROR(CheckAsFollowed("group_count", asked.group_count(), followed.groups.count, request, "made"));
  asked.set_mechanism(static_cast<uint32_t>(Mechanism::kGroupDegrees));
  asked.set_epsilon_micro(epsilon_micro);
  asked.set_group_count(followed.groups.count);
  return absl::OkStatus();
}

// `asked` is complete but for the digest. `coded` gets the groups.
absl::StatusOr<PrivacyParameters> AskAboutGroups(v1::PrivacyParameters asked, const FollowedRound* followed,
                                                 std::string& coded) {
  if (!asked.groups_sha256().empty()) {
    return absl::InvalidArgumentError("groups_sha256 is set, but the aggregator makes the groups: leave it out");
  }
  if (asked.group_count() == 0) asked.set_group_count(kRandomGroupsDefault);
  asked.set_groups_sha256(DigestToBytes(Digest{}));
  BLINK_RETURN_IF_ERROR(ParametersFromProto(asked).status());  // all but the groups, before they are drawn
  NodeGroups drawn;
  if (followed == nullptr) {
    BLINK_ASSIGN_OR_RETURN(drawn, DrawGroups(asked.node_count(), asked.group_count()));
  }
  const NodeGroups& groups = followed == nullptr ? drawn : followed->groups;
  coded = EncodeGroups(groups);
  return PrivacyParameters::CreateForGroups(asked.epsilon_micro(), asked.node_count(), QuestionAbout(groups));
}

absl::StatusOr<PrivacyParameters> ReadParameters(const v1::CreateRoundRequest& request, uint32_t node_count,
                                                 const FollowedRound* followed, std::string& groups) {
  v1::PrivacyParameters asked = request.parameters();
  if (followed != nullptr) BLINK_RETURN_IF_ERROR(TakeFromFollowed(request, *followed, asked));
  if (asked.node_count() == 0) asked.set_node_count(node_count);
  if (asked.mechanism() == 0) asked.set_mechanism(static_cast<uint32_t>(Mechanism::kBothEnds));
  if (asked.node_count() != node_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("node_count is ", asked.node_count(), ", the roster has ", node_count, " nodes: leave it out"));
  }
  if (AsksAboutGroups(asked)) return AskAboutGroups(std::move(asked), followed, groups);
  return ParametersFromProto(asked);
}

// What a round is to train. The first question of two has no links to train on.
absl::StatusOr<v1::TrainingSpec> ReadTraining(v1::TrainingSpec training, bool asks_about_random_groups) {
  if (asks_about_random_groups) {
    if (training.candidates() > 0 ||
        (training.model() != v1::MODEL_NONE && training.model() != v1::MODEL_UNSPECIFIED)) {
      return absl::InvalidArgumentError(
          "training asks for a model, but a round that asks about random groups trains nothing (model none): its "
          "answers "
          "make groups, and a round that follows it (follows) can train");
    }
    training.set_model(v1::MODEL_NONE);
  }
  return NormalizeTrainingSpec(std::move(training));
}

// What says how its reports are collected: for how long, from how many, and which of them count.
absl::Status CheckCollection(const v1::CreateRoundRequest& request, const PrivacyParameters& parameters,
                             uint32_t active) {
  const uint32_t node_count = parameters.node_count();
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
  if (parameters.sends_group_degrees() && (request.implausible() == v1::IMPLAUSIBLE_DROP || request.degree_max() > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.degree_max() > 0 ? "degree_max" : "implausible",
                     " asks for a check of reports, but any answer about groups may be an honest one: leave it out"));
  }
  return absl::OkStatus();
}

// What an operator says of a round, as CreateRound takes it; of a round that an older version made as this one would.
v1::CreateRoundRequest RecoverRequest(const v1::Round& round) {
  v1::CreateRoundRequest request;
  *request.mutable_parameters() = round.parameters();
  request.mutable_parameters()->clear_node_count();
  request.mutable_parameters()->clear_groups_sha256();  // each try draws other groups
  request.set_follows(round.follows());
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
  if (field.is_repeated()) {
    std::vector<std::string> values(message.GetReflection()->FieldSize(message, &field));
    for (size_t k = 0; k < values.size(); ++k) {
      google::protobuf::TextFormat::PrintFieldValueToString(message, &field, static_cast<int>(k), &values[k]);
    }
    return {field.name(), values.empty() ? "unset" : absl::StrJoin(values, ",")};
  }
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
    if (field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE && !field.is_repeated()) {
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

absl::StatusOr<std::string> DrawRoundId() {
  std::string bytes(16, '\0');
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return absl::UnavailableError("the system gave no random bytes for a round id");
  }
  return absl::BytesToHexString(bytes);
}

absl::Status CheckSameRequest(const std::string& request_id, const v1::Round& held, const v1::Round& asked) {
  std::vector<std::string> differences;
  AppendDifferences(RecoverRequest(held), RecoverRequest(asked), differences);
  if (differences.empty()) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat("request id ", request_id, " made round ", held.round_id(),
                                               " with other parameters (", absl::StrJoin(differences, "; "),
                                               "): ask for the same, or under another request id"));
}

absl::StatusOr<NewRound> MakeRound(const PipelineOptions& options, const v1::CreateRoundRequest& request,
                                   const FollowedRound* followed) {
  BLINK_RETURN_IF_ERROR(CheckRequestId(request.request_id()));
  NewRound made;
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters,
                         ReadParameters(request, options.node_count, followed, made.groups));
  if (followed != nullptr) BLINK_RETURN_IF_ERROR(CheckNeedsNoPosterior(request.training()));
  BLINK_ASSIGN_OR_RETURN(v1::TrainingSpec training, ReadTraining(request.training(), parameters.sends_group_degrees() &&
                                                                                         request.follows().empty()));
  const uint32_t active = options.active_nodes > 0 ? options.active_nodes : options.node_count;
  BLINK_RETURN_IF_ERROR(CheckCollection(request, parameters, active));
  v1::Round& round = made.round;
  BLINK_ASSIGN_OR_RETURN(*round.mutable_round_id(), options.draw_round_id());
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
  round.set_follows(request.follows());
  return made;
}

absl::StatusOr<v1::TrainingSpec> TrainingOfRetry(const v1::Round& round, const v1::TrainingSpec& given) {
  if (AsksAboutGroups(round.parameters())) {
    BLINK_RETURN_IF_ERROR(CheckNeedsNoPosterior(given));
    if (given.variant() != v1::VARIANT_UNSPECIFIED) {
      return absl::InvalidArgumentError(
          "training.variant is set, but links are drawn from the answers about groups: leave it out");
    }
  }
  return ReadTraining(OverrideTrainingSpec(round.training(), given),
                      AsksAboutGroups(round.parameters()) && round.follows().empty());
}

}  // namespace blink
