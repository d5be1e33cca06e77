#include "aggregator_server/ingest/ingest.h"

#include <algorithm>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/privacy/own_pairs.h"
#include "common/wire/group_degrees_codec.h"

namespace blink {
namespace {

// A node has one report; those before it may hang in connections that were lost.
constexpr uint64_t kReportsOfANodeMax = 4;

// PrivacyParameters::row_bits, without the exact arithmetic that making them takes.
uint32_t RowBits(const v1::PrivacyParameters& parameters, NodeIndex node) {
  const bool one_end = parameters.mechanism() == static_cast<uint32_t>(Mechanism::kOneEnd);
  return one_end ? OwnPairCount(node, parameters.node_count()) : parameters.node_count();
}

bool AsksAboutGroups(const v1::PrivacyParameters& parameters) {
  return parameters.mechanism() == static_cast<uint32_t>(Mechanism::kGroupDegrees);
}

// How many coded bytes a report of `node` has, at least and at most.
std::pair<uint32_t, uint32_t> CodedBytesRange(const v1::PrivacyParameters& parameters, NodeIndex node) {
  if (AsksAboutGroups(parameters)) return {parameters.group_count(), parameters.group_count() * kGroupDegreeBytesMax};
  if (parameters.degree_share_ppm() == kPartsPerMillion) return {0, 0};
  return {1, CodedBytesMax(RowBits(parameters, node))};
}

std::string DescribeParameters(const v1::PrivacyParameters& parameters) {
  const std::string groups =
      AsksAboutGroups(parameters)
          ? absl::StrCat(", group_count ", parameters.group_count(), ", groups_sha256 ",
                         absl::BytesToHexString(parameters.groups_sha256().substr(0, sizeof(Digest))))
          : "";
  return absl::StrCat("epsilon_micro ", parameters.epsilon_micro(), ", degree_share_ppm ",
                      parameters.degree_share_ppm(), ", node_count ", parameters.node_count(), ", mechanism ",
                      parameters.mechanism(), groups);
}

bool AreEqual(const v1::PrivacyParameters& a, const v1::PrivacyParameters& b) {
  return a.epsilon_micro() == b.epsilon_micro() && a.degree_share_ppm() == b.degree_share_ppm() &&
         a.node_count() == b.node_count() && a.mechanism() == b.mechanism() && a.group_count() == b.group_count() &&
         a.groups_sha256() == b.groups_sha256();
}

}  // namespace

Ingest::Reservation::~Reservation() {
  if (ingest_ == nullptr) return;
  GiveBackShare();
  ingest_->bytes_in_flight_.fetch_sub(bytes_);
  ingest_->reports_in_flight_.fetch_sub(1);  // last: it tells that all is given back
}

void Ingest::Reservation::GiveBackShare() {
  if (!std::exchange(has_share_, false)) return;
  const std::lock_guard<std::mutex> lock(ingest_->peers_mutex_);
  const auto found = ingest_->peers_.find(peer_);
  found->second.bytes -= bytes_;
  if (--found->second.reports == 0) ingest_->peers_.erase(found);
}

Ingest::Ingest(Deployment deployment, IngestLimits limits, ReportStore& store, Clock& clock, Stored stored)
    : deployment_(std::move(deployment)),
      limits_(limits),
      store_(store),
      clock_(clock),
      stored_(std::move(stored)),
      advisor_(clock),
      refused_reports_(clock.Now()) {}

absl::Status Ingest::CheckPeer(const Identity& identity, const std::string& deployment, uint64_t first,
                               uint64_t last) const {
  if (deployment != deployment_.name) {
    // The other name is not repeated unless it is one: it goes into logs and terminals.
    return absl::NotFoundError(absl::StrCat(
        "this aggregator serves deployment \"", deployment_.name, "\", not ",
        ValidateDeployment(deployment).ok() ? absl::StrCat("\"", deployment, "\"") : "the one that was named"));
  }
  if (identity.deployment != deployment_.name) {
    return absl::PermissionDeniedError(
        absl::StrCat("the certificate ", identity.ToUri(), " is not of deployment \"", deployment_.name, "\""));
  }
  if (identity.kind != Identity::Kind::kNodes) {
    return absl::PermissionDeniedError(
        absl::StrCat("the certificate ", identity.ToUri(), " names no node: use a node's or a gateway's"));
  }
  if (first > last) return absl::InvalidArgumentError("first_node is above last_node");
  if (!identity.Covers(first) || !identity.Covers(last)) {
    const std::string claim = first == last ? absl::StrCat("node ", first) : absl::StrCat("nodes ", first, "-", last);
    return absl::PermissionDeniedError(absl::StrCat("the certificate ", identity.ToUri(), " does not cover ", claim));
  }
  if (last >= deployment_.node_count) {
    return absl::InvalidArgumentError(absl::StrCat("node ", last, " is not on the roster of deployment \"",
                                                   deployment_.name, "\": its nodes are 0 .. ",
                                                   deployment_.node_count - 1));
  }
  return absl::OkStatus();
}

absl::StatusOr<Ingest::Rules> Ingest::FindRules(const v1::Round& round) {
  std::lock_guard<std::mutex> lock(rules_mutex_);
  if (const auto found = rules_.find(round.round_id()); found != rules_.end()) return found->second;
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters, ParametersFromProto(round.parameters()));
  // Any numbers may be an honest answer about groups: no report is implausible.
  if (parameters.sends_group_degrees()) return Rules{parameters, {}, {}};
  const TestOptions options{.degree_max = round.degree_max()};
  BLINK_ASSIGN_OR_RETURN(const ReportTests of_even, ReportTests::Create(parameters, options));
  Rules rules{parameters, of_even.MakeScreen(), {}};
  rules.of_odd = rules.of_even;
  if (parameters.pairs_of_report(1) != parameters.pairs_of_report(0)) {
    BLINK_ASSIGN_OR_RETURN(const ReportTests of_odd, ReportTests::Create(parameters, options, /*node=*/1));
    rules.of_odd = of_odd.MakeScreen();
  }
  if (rules_.size() >= 2 * kRoundsListedMax) rules_.clear();
  rules_.emplace(round.round_id(), rules);
  return rules;
}

absl::Status Ingest::CheckMembership(uint64_t node, const v1::Round& round) const {
  if (node >= round.parameters().node_count()) {
    return absl::InvalidArgumentError(absl::StrCat("node ", node, " was added after roster version ",
                                                   round.roster_version(), ", with which round ", round.round_id(),
                                                   " began: its nodes are 0 .. ", round.parameters().node_count() - 1));
  }
  bool retired = round.roster_version() == deployment_.roster_version && InRanges(deployment_.retired, node);
  for (const Roster& roster : deployment_.earlier) {
    retired = retired || (roster.version() == round.roster_version() && roster.IsRetired(node));
  }
  if (!retired) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("node ", node, " is retired in roster version ",
                                                  round.roster_version(), " of deployment \"", deployment_.name,
                                                  "\": it takes part in no round of it"));
}

absl::Status Ingest::CheckHeader(const v1::ReportHeader& header, const v1::Round& round) const {
  const v1::PrivacyParameters& parameters = round.parameters();
  if (!AreEqual(header.parameters(), parameters)) {
    return absl::InvalidArgumentError(absl::StrCat("the report has other parameters (",
                                                   DescribeParameters(header.parameters()), ") than round ",
                                                   round.round_id(), " (", DescribeParameters(parameters), ")"));
  }
  if (header.roster_version() != round.roster_version()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the report is for roster version ", header.roster_version(), ", round ", round.round_id(),
                     " has version ", round.roster_version(),
                     header.roster_version() < round.roster_version() ? ": the node needs a new kit"
                                                                      : ": it began before the node had its kit"));
  }
  const bool sends_degree = parameters.degree_share_ppm() > 0;
  if (header.has_noisy_degree() != sends_degree) {
    return absl::InvalidArgumentError(sends_degree ? "the report lacks the noisy degree"
                                                   : "the report has a noisy degree although the round's "
                                                     "degree share is 0");
  }
  const auto [bytes_min, bytes_max] = CodedBytesRange(parameters, static_cast<NodeIndex>(header.node_id()));
  if (header.coded_bytes() < bytes_min || header.coded_bytes() > bytes_max) {
    return absl::InvalidArgumentError(absl::StrCat("coded_bytes is ", header.coded_bytes(),
                                                   ", a report of this round has ", bytes_min, " .. ", bytes_max));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Ingest::Reservation>> Ingest::Reserve(const Identity& peer, uint64_t bytes) {
  const uint64_t peer_reports_max =
      std::min<uint64_t>(limits_.peer_reports_max, kReportsOfANodeMax * (peer.last_node - peer.first_node + 1));
  bool too_many = false;
  {
    const std::lock_guard<std::mutex> lock(peers_mutex_);
    InFlight& in_flight = peers_[{peer.first_node, peer.last_node}];
    in_flight.bytes += bytes;
    too_many =
        ++in_flight.reports > peer_reports_max || (in_flight.bytes > limits_.peer_bytes_max && in_flight.reports > 1);
  }
  const uint32_t reports = reports_in_flight_.fetch_add(1) + 1;
  const uint64_t total = bytes_in_flight_.fetch_add(bytes) + bytes;
  auto reservation = std::make_shared<Reservation>(this, peer, bytes);  // gives back what a refusal took
  if (too_many) {
    return absl::ResourceExhaustedError(absl::StrCat(peer.ToUri(),
                                                     " has too many reports in flight already: end them, or try "
                                                     "again within the retry window"));
  }
  if (reports > limits_.reports_in_flight_max) {
    return absl::ResourceExhaustedError(absl::StrCat(
        limits_.reports_in_flight_max, " reports are in flight already: try again within the retry window"));
  }
  if (total > limits_.bytes_in_flight_max) {
    return absl::ResourceExhaustedError("too many bytes are in flight already: try again within the retry window");
  }
  return reservation;
}

absl::Status Ingest::Refuse(const std::string& round_id, uint64_t node, const std::string& peer,
                            const absl::Status& why) {
  refused_.Add(why.code());
  refused_reports_.Note(round_id, node, peer, why, clock_.Now());
  return why;
}

absl::Status Ingest::NoteForeignReport(const Identity& identity, const v1::NoteForeignReportRequest& request) {
  BLINK_RETURN_IF_ERROR(CheckPeer(identity, request.deployment(), request.node_id(), request.node_id()));
  BLINK_RETURN_IF_ERROR(ValidateRoundId(request.round_id()));
  BLINK_ASSIGN_OR_RETURN(const v1::Round round, store_.GetRound(request.round_id()));
  BLINK_ASSIGN_OR_RETURN(const std::optional<Digest> held, store_.GetDigest(request.round_id(), request.node_id()));
  if (!held.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat("no report of node ", request.node_id(), " is held"));
  }
  refused_reports_.Note(round.round_id(), request.node_id(), identity.Path(),
                        absl::AlreadyExistsError("the node says that its journal did not draw the report that is held: "
                                                 "its certificate is used twice, or an older copy of its journal was "
                                                 "restored"),
                        clock_.Now());
  return absl::OkStatus();
}

IngestActivity Ingest::GetActivity() const {
  return {.fresh = fresh_.load(), .repeated = repeated_.load(), .bytes = bytes_.load(), .refused = refused_.Read()};
}

absl::StatusOr<Ingest::Admission> Ingest::Admit(const Identity& identity, const v1::ReportHeader& header) {
  absl::StatusOr<Admission> admission = CheckAndReserve(identity, header);
  if (admission.ok()) return admission;
  // Only of rounds that there are: names that a peer makes up would fill the memory.
  const bool is_known = ValidateRoundId(header.round_id()).ok() && store_.GetRound(header.round_id()).ok();
  return Refuse(is_known ? header.round_id() : "", header.node_id(), identity.Path(), admission.status());
}

absl::StatusOr<Ingest::Admission> Ingest::CheckAndReserve(const Identity& identity, const v1::ReportHeader& header) {
  BLINK_RETURN_IF_ERROR(CheckPeer(identity, header.deployment(), header.node_id(), header.node_id()));
  if (draining_) return absl::UnavailableError("the aggregator is about to stop: try again within the retry window");
  BLINK_RETURN_IF_ERROR(ValidateRoundId(header.round_id()));
  BLINK_ASSIGN_OR_RETURN(const v1::Round round, store_.GetRecentRound(header.round_id()));
  BLINK_RETURN_IF_ERROR(CheckMembership(header.node_id(), round));
  BLINK_RETURN_IF_ERROR(CheckHeader(header, round));
  BLINK_ASSIGN_OR_RETURN(const Digest digest, DigestFromBytes(header.digest()));
  if (round.state() != v1::ROUND_STATE_OPEN) {
    BLINK_ASSIGN_OR_RETURN(const std::optional<Digest> held, store_.GetDigest(header.round_id(), header.node_id()));
    if (!held.has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat("round ", header.round_id(), " is ", RoundStateName(round.state()),
                       ": it accepts no further report, and none of node ", header.node_id(), " is held"));
    }
  }
  BLINK_ASSIGN_OR_RETURN(const Rules rules, FindRules(round));  // only now: of a finished round they are seldom needed
  BLINK_ASSIGN_OR_RETURN(std::shared_ptr<Reservation> reservation, Reserve(identity, header.coded_bytes()));
  Admission admission{header.round_id(),
                      static_cast<NodeIndex>(header.node_id()),
                      identity.Path(),
                      rules.parameters,
                      header.node_id() % 2 == 0 ? rules.of_even : rules.of_odd,
                      CodedReport(),
                      header.coded_bytes(),
                      std::move(reservation)};
  admission.report.digest = digest;
  if (header.has_noisy_degree()) admission.report.noisy_degree = header.noisy_degree();
  return admission;
}

void Ingest::Submit(Admission admission, std::string coded_bits,
                    std::function<void(absl::StatusOr<v1::Receipt>)> done) {
  const auto refuse = [&](const absl::Status& why) {
    admission.reservation->GiveBackShare();
    return Refuse(admission.round_id, admission.node, admission.peer, why);
  };
  if (coded_bits.size() != admission.coded_bytes) {
    return done(refuse(absl::InvalidArgumentError(
        absl::StrCat("the header says ", admission.coded_bytes, " coded bytes, ", coded_bits.size(), " arrived"))));
  }
  admission.report.coded_bits = std::move(coded_bits);
  const absl::StatusOr<PrivateReport> decoded = DecodeReport(admission.parameters, admission.node, admission.report);
  if (!decoded.ok()) return done(refuse(decoded.status()));
  CheckedReport checked;
  checked.round_id = admission.round_id;
  checked.node = admission.node;
  checked.received_minute = absl::ToUnixSeconds(clock_.Now()) / 60;
  checked.report = std::move(admission.report);
  checked.implausible = admission.screen.IsImplausible(decoded->bits.Count(), decoded->noisy_degree);
  store_.PutReport(std::move(checked),
                   [this, bytes = admission.coded_bytes, reservation = std::move(admission.reservation),
                    fresh = std::move(admission.fresh), round_id = std::move(admission.round_id), node = admission.node,
                    peer = std::move(admission.peer), done = std::move(done)](absl::StatusOr<PutOutcome> outcome) {
                     reservation->GiveBackShare();
                     if (!outcome.ok()) return done(Refuse(round_id, node, peer, outcome.status()));
                     (outcome->fresh ? fresh_ : repeated_).fetch_add(1, std::memory_order_relaxed);
                     if (outcome->fresh && fresh != nullptr) fresh->fetch_add(1, std::memory_order_relaxed);
                     if (outcome->fresh) bytes_.fetch_add(bytes, std::memory_order_relaxed);
                     if (outcome->fresh && stored_) stored_(outcome->receipt.round_id(), outcome->reports);
                     done(std::move(outcome->receipt));
                   });
}

RetryWindow Ingest::WindowFor(const absl::Status& status) const {
  if (status.ok()) return advisor_.WindowWhenWaiting();
  const double reports = static_cast<double>(reports_in_flight_.load()) / limits_.reports_in_flight_max;
  const double bytes = static_cast<double>(bytes_in_flight_.load()) / static_cast<double>(limits_.bytes_in_flight_max);
  return advisor_.WindowWhenBusy(std::max(reports, bytes));
}

}  // namespace blink
