#include "aggregator_server/service/node_service.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "aggregator_server/service/submit_reactors.h"
#include "aggregator_server/transport/guarded_reactor.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/rpc/retry_trailer.h"
#include "common/rpc/status.h"

namespace blink {
namespace {

// Streams the digests page by page, so that a large gateway costs no more memory than a small one.
class ListDigestsReactor final : public GuardedReactor<grpc::ServerWriteReactor<v1::ListDigestsResponse>> {
 public:
  static constexpr uint64_t kPage = 1024;

  ListDigestsReactor(grpc::CallbackServerContext& context, const v1::ListDigestsRequest& request,
                     const Authenticator& authenticator, ReportStore& store, const Ingest& ingest, StreamTimer& timer)
      : GuardedReactor(context, authenticator, &timer, ingest.limits().report_time_max),
        request_(request),
        store_(store),
        ingest_(ingest),
        next_(request.first_node()) {}

  void OnWriteDone(bool ok) override {
    const Lock lock(mutex_);
    ++written_;
    page_.pop_front();
    ok ? WriteNextLocked() : FinishLocked(absl::CancelledError("the peer is gone"));
  }

 private:
  void Begin() override {
    const Lock lock(mutex_);
    WriteNextLocked();
  }
  // A peer that asks and does not read holds a page until then: a write that is stuck ends only with the call.
  // Without the lock, which is held while a page is read from the disk: all streams share the timer.
  Time OnTime() override {
    if (const uint64_t now = written_; now != std::exchange(seen_, now)) return In(ingest_.limits().report_time_max);
    LogRefusal(context_, absl::DeadlineExceededError("a list of digests was not read in time"));
    context_.TryCancel();
    return kNever;
  }
  std::optional<RetryWindow> WindowFor(const absl::Status& status) const override { return ingest_.WindowFor(status); }

  void WriteNextLocked() {
    if (finished()) return;
    if (page_.empty() && !ended_) {
      const absl::Status read = ReadPage();
      if (!read.ok()) return FinishLocked(read);
    }
    if (page_.empty()) return FinishLocked(absl::OkStatus());
    StartWrite(&page_.front());
  }
  absl::Status ReadPage() {
    BLINK_RETURN_IF_ERROR(store_.VisitDigests(request_.round_id(), next_, request_.last_node(), kPage,
                                              [&](uint64_t node, const Digest& digest) {
                                                page_.emplace_back().set_node_id(node);
                                                page_.back().set_digest(DigestToBytes(digest));
                                                return absl::OkStatus();
                                              }));
    ended_ = page_.size() < kPage;
    if (!page_.empty()) next_ = page_.back().node_id() + 1;
    return absl::OkStatus();
  }

  const v1::ListDigestsRequest request_;
  ReportStore& store_;
  const Ingest& ingest_;
  std::atomic<uint64_t> written_{0};
  uint64_t seen_ = 0;  // of written_, by OnTime

  // Guarded by mutex_.
  uint64_t next_;
  bool ended_ = false;
  std::deque<v1::ListDigestsResponse> page_;  // front: being written
};

}  // namespace

absl::Status NodeServiceImpl::FillRounds(const grpc::ServerContextBase& context, const v1::GetRoundsRequest& request,
                                         v1::GetRoundsResponse& response) {
  BLINK_ASSIGN_OR_RETURN(const Identity identity, authenticator_.IdentifyNode(context, request.deployment(),
                                                                              request.node_id(), request.node_id()));
  BLINK_RETURN_IF_ERROR(ingest_.CheckPeer(identity, request.deployment(), request.node_id(), request.node_id()));
  ingest_.advisor().NotePeer(identity);
  std::vector<v1::Round> rounds;
  if (request.round_id().empty()) {
    BLINK_ASSIGN_OR_RETURN(rounds, store_.ListOpenRounds());
    if (rounds.size() > kRoundsListedMax) rounds.resize(kRoundsListedMax);
  } else {
    BLINK_RETURN_IF_ERROR(ValidateRoundId(request.round_id()));
    BLINK_ASSIGN_OR_RETURN(v1::Round round, store_.GetRound(request.round_id()));
    rounds.push_back(std::move(round));
  }
  for (const v1::Round& round : rounds) {
    v1::NodeRound& shown = *response.add_rounds();
    shown.set_round_id(round.round_id());
    *shown.mutable_parameters() = round.parameters();
    shown.set_roster_version(round.roster_version());
    shown.set_state(round.state());
    shown.set_deadline_ms(round.deadline_ms());
    BLINK_ASSIGN_OR_RETURN(const std::optional<Digest> held, store_.GetDigest(round.round_id(), request.node_id()));
    if (held.has_value()) shown.set_held_digest(DigestToBytes(*held));
  }
  *response.mutable_retry() =
      RetryWindowToProto(rounds.empty() ? ingest_.advisor().WindowWhenIdle() : ingest_.advisor().WindowWhenWaiting());
  return absl::OkStatus();
}

absl::Status NodeServiceImpl::FillGroups(const grpc::ServerContextBase& context, const v1::GetGroupsRequest& request,
                                         v1::GetGroupsResponse& response) {
  BLINK_ASSIGN_OR_RETURN(const Identity identity, authenticator_.IdentifyNode(context, request.deployment(),
                                                                              request.node_id(), request.node_id()));
  BLINK_RETURN_IF_ERROR(ingest_.CheckPeer(identity, request.deployment(), request.node_id(), request.node_id()));
  BLINK_RETURN_IF_ERROR(ValidateRoundId(request.round_id()));
  BLINK_ASSIGN_OR_RETURN(*response.mutable_groups(), store_.GetGroupsPart(request.round_id(), request.part()));
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* NodeServiceImpl::Finish(grpc::CallbackServerContext& context, const absl::Status& filled) {
  grpc::ServerUnaryReactor* const reactor = context.DefaultReactor();
  if (!filled.ok()) {
    LogRefusal(context, filled);
    SetTrailingWindow(context, ingest_.WindowFor(filled));
  }
  reactor->Finish(ToGrpcStatus(filled));
  return reactor;
}

grpc::ServerUnaryReactor* NodeServiceImpl::GetRounds(grpc::CallbackServerContext* context,
                                                     const v1::GetRoundsRequest* request,
                                                     v1::GetRoundsResponse* response) {
  return Finish(*context, FillRounds(*context, *request, *response));
}

grpc::ServerUnaryReactor* NodeServiceImpl::GetGroups(grpc::CallbackServerContext* context,
                                                     const v1::GetGroupsRequest* request,
                                                     v1::GetGroupsResponse* response) {
  return Finish(*context, FillGroups(*context, *request, *response));
}

grpc::ServerUnaryReactor* NodeServiceImpl::NoteForeignReport(grpc::CallbackServerContext* context,
                                                             const v1::NoteForeignReportRequest* request,
                                                             v1::NoteForeignReportResponse* /*response*/) {
  const auto note = [&]() -> absl::Status {
    BLINK_ASSIGN_OR_RETURN(
        const Identity identity,
        authenticator_.IdentifyNode(*context, request->deployment(), request->node_id(), request->node_id()));
    return ingest_.NoteForeignReport(identity, *request);
  };
  return Finish(*context, note());
}

grpc::ServerReadReactor<v1::SubmitReportRequest>* NodeServiceImpl::SubmitReport(grpc::CallbackServerContext* context,
                                                                                v1::SubmitReportResponse* response) {
  return LaunchReactor<SubmitReportReactor>(absl::OkStatus(), *context, *response, authenticator_, ingest_, timer_);
}

grpc::ServerBidiReactor<v1::SubmitReportsRequest, v1::SubmitReportsResponse>* NodeServiceImpl::SubmitReports(
    grpc::CallbackServerContext* context) {
  return LaunchReactor<SubmitReportsReactor>(absl::OkStatus(), *context, authenticator_, ingest_, timer_);
}

grpc::ServerWriteReactor<v1::ListDigestsResponse>* NodeServiceImpl::ListDigests(grpc::CallbackServerContext* context,
                                                                                const v1::ListDigestsRequest* request) {
  const auto check = [&]() -> absl::Status {
    BLINK_ASSIGN_OR_RETURN(
        const Identity identity,
        authenticator_.IdentifyNode(*context, request->deployment(), request->first_node(), request->last_node()));
    BLINK_RETURN_IF_ERROR(
        ingest_.CheckPeer(identity, request->deployment(), request->first_node(), request->last_node()));
    ingest_.advisor().NotePeer(identity);
    return ValidateRoundId(request->round_id());
  };
  return LaunchReactor<ListDigestsReactor>(check(), *context, *request, authenticator_, store_, ingest_, timer_);
}

}  // namespace blink
