#include "node_client/grpc_link.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/rpc/grpc_log.h"
#include "common/rpc/retry_trailer.h"
#include "common/rpc/status.h"

namespace blink {
namespace {

constexpr absl::Duration kExplainEvery = absl::Minutes(1);  // while the failure is the same
constexpr absl::Duration kRemindEvery = absl::Hours(1);     // how often the dates are looked at

absl::StatusOr<Receipt> ReceiptFromProto(const v1::Receipt& proto, const KitConfig& kit) {
  Receipt receipt;
  if (proto.node_id() >= kit.node_count)
    return absl::InternalError("the aggregator's receipt is for a node outside the roster");
  auto digest = DigestFromBytes(proto.digest());
  if (!digest.ok()) return absl::InternalError("the aggregator's receipt has a malformed digest");
  receipt.round_id = proto.round_id();
  receipt.node = static_cast<NodeIndex>(proto.node_id());
  receipt.digest = *digest;
  receipt.received_minute = proto.received_minute();
  return receipt;
}

absl::Status StatusFromRefusal(const v1::Refusal& refusal) {
  const bool known = refusal.code() > 0 && refusal.code() <= 16;
  return absl::Status(known ? static_cast<absl::StatusCode>(refusal.code()) : absl::StatusCode::kUnknown,
                      PeerText(refusal.message()));
}

}  // namespace

// One call: its context, deadline, and its registration for Cancel().
class GrpcLink::Call {
 public:
  Call(GrpcLink* link, absl::Duration deadline) : link_(link) {
    link_->RemindOfExpiry();
    // A channel that has lost its connection fails calls at once. Its next handshake advances only while somebody waits
    // on the channel. Between our attempts nobody does, so the handshake would time out again and again. A new channel
    // connects within the call.
    // A new certificate needs a new channel as well, since the connection was made with the old certificate.
    const std::string stamp = link_->ReadStampOfFiles();
    if ((link_->broken_ || stamp != link_->stamp_) && link_->connect_) {
      if (std::shared_ptr<grpc::Channel> channel = link_->connect_()) {
        link_->stub_ = v1::NodeService::NewStub(std::move(channel));
        link_->broken_ = false;
        link_->stamp_ = stamp;
      }
    }
    context_.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(deadline));
    const std::lock_guard<std::mutex> lock(link_->mutex_);
    link_->active_ = &context_;
    if (link_->cancelled_) context_.TryCancel();
  }
  ~Call() {
    const std::lock_guard<std::mutex> lock(link_->mutex_);
    link_->active_ = nullptr;
  }
  grpc::ClientContext* context() { return &context_; }
  template <typename T>
  LinkResult<T> Failed(const grpc::Status& status) {
    const std::optional<RetryWindow> window = ReadTrailingWindow(context_);
    // Only the aggregator itself sends a window. So nothing was wrong with the handshake.
    return {window.has_value() ? FromGrpcStatus(status) : link_->ExplainFailure(status), window};
  }

 private:
  GrpcLink* const link_;
  grpc::ClientContext context_;
};

absl::StatusOr<std::unique_ptr<GrpcLink>> GrpcLink::Create(const KitConfig& kit, GrpcLinkOptions options) {
  InstallGrpcLog();
  const TlsFiles files{kit.certificate_path(), kit.key_path(), kit.ca_path()};
  BLINK_RETURN_IF_ERROR(PrepareProxy(kit.proxy, kit.insecure));
  if (kit.insecure) {
    BLINK_RETURN_IF_ERROR(RequireLoopback(kit.aggregator));
  } else {
    BLINK_RETURN_IF_ERROR(MakeClientCredentials(files, kit.deployment).status());
  }
  // Makes nothing while the files do not fit each other, since they are being replaced.
  auto connect = [address = kit.aggregator, deployment = kit.deployment, insecure = kit.insecure, proxy = kit.proxy,
                  files]() -> std::shared_ptr<grpc::Channel> {
    if (insecure) return MakeChannel(address, grpc::InsecureChannelCredentials());
    const auto credentials = MakeClientCredentials(files, deployment);
    return credentials.ok() ? MakeChannel(address, *credentials, {.deployment = deployment, .proxy = proxy}) : nullptr;
  };
  std::shared_ptr<grpc::Channel> channel = connect();
  if (channel == nullptr) return absl::UnavailableError("the TLS files change at this moment: start again");
  return std::make_unique<GrpcLink>(std::move(channel), kit, options, connect);
}

GrpcLink::GrpcLink(std::shared_ptr<grpc::Channel> channel, const KitConfig& kit, GrpcLinkOptions options,
                   std::function<std::shared_ptr<grpc::Channel>()> connect)
    : kit_(kit),
      options_(options),
      connect_(std::move(connect)),
      stub_(v1::NodeService::NewStub(std::move(channel))),
      stamp_(ReadStampOfFiles()) {}

std::string GrpcLink::ReadStampOfFiles() const {
  std::string stamp;
  if (kit_.insecure) return stamp;
  for (const std::string& path : {kit_.certificate_path(), kit_.key_path()}) {
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) continue;
    absl::StrAppend(&stamp, info.st_ino, " ", info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ");
  }
  return stamp;
}

void GrpcLink::RemindOfExpiry() {
  const absl::Time now = absl::Now();
  if (kit_.insecure || now - reminded_at_ < kRemindEvery) return;
  reminded_at_ = now;
  const TlsFiles files{kit_.certificate_path(), kit_.key_path(), kit_.ca_path()};
  for (const std::string& line : ::blink::RemindOfExpiry(files, reminder_, now)) spdlog::warn("{}", line);
}

void GrpcLink::Cancel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
  if (active_ != nullptr) active_->TryCancel();
}

absl::Status GrpcLink::ExplainFailure(const grpc::Status& reply) {
  absl::Status status = FromGrpcStatus(reply);
  if (status.code() == absl::StatusCode::kCancelled) {
    const std::lock_guard<std::mutex> lock(mutex_);
    // Not cancelled by us: an aggregator that stops ends its calls in this way. It may come back.
    if (!cancelled_) status = absl::UnavailableError("the aggregator ended the call; it may be restarting");
  }
  // Only a dead connection leaves a call without an answer until its deadline.
  const bool unanswered =
      status.code() == absl::StatusCode::kUnavailable || status.code() == absl::StatusCode::kDeadlineExceeded;
  broken_ = broken_ || unanswered;
  if (!unanswered) return status;
  // Costs a connection and up to five seconds. Another failure has another reason.
  if (absl::Now() - explained_at_ > kExplainEvery || status != explained_) {
    explained_at_ = absl::Now();
    explained_ = status;
    explanation_ = kit_.insecure ? DiagnosePlaintext(kit_.aggregator)
                                 : DiagnoseHandshake(TlsFiles{kit_.certificate_path(), kit_.key_path(), kit_.ca_path()},
                                                     kit_.aggregator, kit_.proxy);
  }
  return absl::Status(status.code(),
                      absl::StrCat("no answer from the aggregator at ", kit_.aggregator, ": ", status.message(),
                                   explanation_.empty() ? std::string() : absl::StrCat(" (", explanation_, ")")));
}

LinkResult<std::vector<OfferedRound>> GrpcLink::GetRounds(NodeIndex node, const std::string& round_id) {
  Call call(this, options_.call_deadline);
  v1::GetRoundsRequest request;
  request.set_deployment(kit_.deployment);
  request.set_node_id(node);
  request.set_round_id(round_id);
  v1::GetRoundsResponse response;
  const grpc::Status status = stub_->GetRounds(call.context(), request, &response);
  if (!status.ok()) return call.Failed<std::vector<OfferedRound>>(status);
  std::optional<RetryWindow> retry;
  if (response.has_retry()) retry = RetryWindowFromProto(response.retry());
  if (static_cast<uint32_t>(response.rounds_size()) > kRoundsListedMax) {
    return {absl::InternalError(absl::StrCat("the aggregator lists more than ", kRoundsListedMax, " rounds")), retry};
  }
  std::vector<OfferedRound> rounds;
  std::set<std::string> seen;
  for (const v1::NodeRound& proto : response.rounds()) {
    // A round without a proper name cannot even be refused by name.
    if (!ValidateRoundId(proto.round_id()).ok() || !seen.insert(proto.round_id()).second) {
      return {absl::InternalError("the aggregator lists a round with a malformed or repeated id"), retry};
    }
    rounds.push_back({proto.round_id(), RoundViewFromProto(proto)});
  }
  return {std::move(rounds), retry};
}

LinkResult<std::string> GrpcLink::GetGroups(NodeIndex node, const std::string& round_id, uint64_t bytes) {
  v1::GetGroupsRequest request;
  request.set_deployment(kit_.deployment);
  request.set_node_id(node);
  request.set_round_id(round_id);
  std::string groups;
  while (groups.size() < bytes) {
    Call call(this, options_.call_deadline);
    request.set_part(static_cast<uint32_t>(groups.size() / kGroupsPartBytes));
    v1::GetGroupsResponse response;
    const grpc::Status status = stub_->GetGroups(call.context(), request, &response);
    if (!status.ok()) return call.Failed<std::string>(status);
    const uint64_t expected = std::min<uint64_t>(kGroupsPartBytes, bytes - groups.size());
    groups += response.groups();
    if (response.groups().size() != expected) break;  // DecodeGroups refuses them
  }
  return {std::move(groups), std::nullopt};
}

void GrpcLink::NoteForeignReport(const std::string& round_id, NodeIndex node) {
  constexpr absl::Duration kDeadline = absl::Seconds(5);  // the node is ending
  v1::NoteForeignReportRequest request;
  request.set_deployment(kit_.deployment);
  request.set_node_id(node);
  request.set_round_id(round_id);
  Call call(this, kDeadline);
  v1::NoteForeignReportResponse response;
  const grpc::Status status = stub_->NoteForeignReport(call.context(), request, &response);
  if (!status.ok()) spdlog::debug("the aggregator was not told of the report: {}", PeerText(status.error_message()));
}

void GrpcLink::FillHeader(const std::string& round_id, const OutgoingReport& report, v1::ReportHeader* header) const {
  header->set_deployment(kit_.deployment);
  header->set_round_id(round_id);
  header->set_node_id(report.node);
  *header->mutable_parameters() = ParametersToProto(report.parameters);
  header->set_roster_version(kit_.roster_version);
  if (report.report.noisy_degree.has_value()) header->set_noisy_degree(*report.report.noisy_degree);
  header->set_coded_bytes(report.report.coded_bits.size());
  header->set_digest(DigestToBytes(report.report.digest));
}

LinkResult<Receipt> GrpcLink::SubmitReport(const std::string& round_id, const OutgoingReport& report) {
  Call call(this, options_.stream_deadline);
  v1::SubmitReportResponse response;
  const auto writer = stub_->SubmitReport(call.context(), &response);
  v1::SubmitReportRequest request;
  FillHeader(round_id, report, request.mutable_header());
  bool open = writer->Write(request);
  const std::string& bits = report.report.coded_bits;
  for (size_t at = 0; open && at < bits.size(); at += kChunkBytesMax) {
    request.set_chunk(bits.substr(at, kChunkBytesMax));
    open = writer->Write(request);
  }
  writer->WritesDone();
  const grpc::Status status = writer->Finish();  // also says why a write failed
  if (!status.ok()) return call.Failed<Receipt>(status);
  std::optional<RetryWindow> retry;
  if (response.has_retry()) retry = RetryWindowFromProto(response.retry());
  return {ReceiptFromProto(response.receipt(), kit_), retry};
}

LinkResult<Done> GrpcLink::SubmitReports(const std::string& round_id, const NextReport& next, const OnReply& on_reply) {
  Call call(this, options_.stream_deadline);
  const auto stream = stub_->SubmitReports(call.context());
  std::optional<RetryWindow> retry;
  std::map<NodeIndex, uint64_t> in_flight;  // and the bytes of each
  uint64_t bytes_in_flight = 0;
  absl::Status error;
  bool writing = true, alive = true;
  auto read_one = [&] {
    v1::SubmitReportsResponse response;
    if (!stream->Read(&response)) return false;
    if (response.has_retry()) retry = RetryWindowFromProto(response.retry());
    const auto it = response.node_id() < kit_.node_count ? in_flight.find(response.node_id()) : in_flight.end();
    if (it == in_flight.end()) {
      error = absl::InternalError("the aggregator answers for a report that is not on its way");
      return false;
    }
    const NodeIndex node = it->first;
    bytes_in_flight -= it->second;  // answers come in any order
    in_flight.erase(it);
    if (response.has_receipt()) {
      error = on_reply(node, ReceiptFromProto(response.receipt(), kit_));
    } else {
      error = on_reply(node, response.has_refusal() ? StatusFromRefusal(response.refusal())
                                                    : absl::InternalError("the aggregator's answer is empty"));
    }
    return error.ok();
  };
  while (alive && writing) {
    auto report = next();
    if (!report.ok()) {
      error = report.status();
      break;
    }
    if (!report->has_value()) {
      writing = false;
      break;
    }
    const uint64_t size = (*report)->report.coded_bits.size();
    while (alive && !in_flight.empty() &&
           (in_flight.size() >= static_cast<size_t>(options_.reports_in_flight_max) ||
            bytes_in_flight + size > options_.bytes_in_flight_max)) {
      alive = read_one();
    }
    if (!alive) break;
    v1::SubmitReportsRequest request;
    FillHeader(round_id, **report, request.mutable_header());
    request.set_coded_bits(std::move((*report)->report.coded_bits));
    if (!in_flight.emplace((*report)->node, size).second) {
      error = absl::InternalError("a node's report was given twice");
      break;
    }
    bytes_in_flight += size;
    alive = stream->Write(request);
  }
  if (!error.ok()) call.context()->TryCancel();
  if (alive && error.ok()) stream->WritesDone();
  while (error.ok() && read_one()) {
  }
  if (!error.ok()) call.context()->TryCancel();
  const grpc::Status status = stream->Finish();
  if (!error.ok()) return {error, retry};
  if (!status.ok()) return call.Failed<Done>(status);
  return {Done{}, retry};
}

LinkResult<Done> GrpcLink::ListDigests(const std::string& round_id, NodeIndex first, NodeIndex last,
                                       const OnDigest& on_digest) {
  Call call(this, options_.stream_deadline);
  v1::ListDigestsRequest request;
  request.set_deployment(kit_.deployment);
  request.set_round_id(round_id);
  request.set_first_node(first);
  request.set_last_node(last);
  const auto reader = stub_->ListDigests(call.context(), request);
  v1::ListDigestsResponse response;
  uint64_t next_node = first;
  absl::Status error;
  while (error.ok() && reader->Read(&response)) {
    const auto digest = DigestFromBytes(response.digest());
    if (response.node_id() < next_node || response.node_id() > last || !digest.ok()) {
      error = absl::InternalError("the aggregator's list of digests is malformed");
      call.context()->TryCancel();
      break;
    }
    next_node = response.node_id() + 1;
    on_digest(static_cast<NodeIndex>(response.node_id()), *digest);
  }
  const grpc::Status status = reader->Finish();
  if (!error.ok()) return {error, std::nullopt};
  if (!status.ok()) return call.Failed<Done>(status);
  return {Done{}, std::nullopt};
}

}  // namespace blink
