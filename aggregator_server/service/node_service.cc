#include "aggregator_server/service/node_service.h"

#include <atomic>
#include <deque>
#include <mutex>
#include <utility>

#include "aggregator_server/service/submit_reactors.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/rpc/retry_trailer.h"
#include "common/rpc/status.h"

namespace blink {
namespace {

// Streams the digests page by page, so that a large gateway costs no more memory than a small one.
class ListDigestsReactor final : public grpc::ServerWriteReactor<v1::ListDigestsResponse> {
 public:
  static constexpr uint64_t kPage = 1024;

  // Starts at once; `allowed` is the verdict on the request.
  ListDigestsReactor(grpc::CallbackServerContext& context, v1::ListDigestsRequest request, absl::Status allowed,
                     const Authenticator& authenticator, ReportStore& store, const Ingest& ingest, StreamTimer& timer)
      : context_(context),
        request_(std::move(request)),
        authenticator_(authenticator),
        store_(store),
        ingest_(ingest),
        timer_(timer),
        next_(request_.first_node()) {
    if (allowed.ok()) {
      const absl::StatusOr<uint64_t> opened = authenticator_.Open(context_, [this](const absl::Status& why) {
        const std::lock_guard<std::mutex> lock(mutex_);
        FinishWith(why);
      });
      allowed = opened.status();
      if (opened.ok()) stream_id_ = *opened;
    }
    // Whoever asks and does not read holds a page until then: a write that is stuck ends only with the call.
    const auto limit = absl::ToChronoMilliseconds(ingest_.limits().report_time_max);
    timer_id_ = timer_.Add(StreamTimer::Clock::now() + limit, [this, limit, seen = uint64_t{0}]() mutable {
      if (const uint64_t now = written_; now != std::exchange(seen, now)) return StreamTimer::Clock::now() + limit;
      LogRefusal(context_, absl::DeadlineExceededError("a list of digests was not read in time"));
      context_.TryCancel();
      return StreamTimer::Clock::time_point::max();
    });
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!allowed.ok()) {
      LogRefusal(context_, allowed);
      FinishWith(allowed);
    } else {
      WriteNext();
    }
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++written_;
    page_.pop_front();
    ok ? WriteNext() : FinishWith(absl::CancelledError("the peer is gone"));
  }
  void OnCancel() override {}  // the write that is under way fails
  void OnDone() override {
    authenticator_.Close(stream_id_);
    timer_.Remove(timer_id_);
    delete this;
  }

 private:
  // With the lock held, all of these.
  void WriteNext() {
    if (finished_) return;
    if (page_.empty() && !ended_) {
      const absl::Status read = ReadPage();
      if (!read.ok()) return FinishWith(read);
    }
    if (page_.empty()) return FinishWith(absl::OkStatus());
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
  void FinishWith(const absl::Status& status) {
    if (std::exchange(finished_, true)) return;
    SetTrailingWindow(context_, ingest_.WindowFor(status));
    Finish(ToGrpcStatus(status));
  }

  grpc::CallbackServerContext& context_;
  const v1::ListDigestsRequest request_;
  const Authenticator& authenticator_;
  ReportStore& store_;
  const Ingest& ingest_;
  uint64_t stream_id_ = 0;  // of the authenticator
  std::mutex mutex_;
  bool finished_ = false;
  StreamTimer& timer_;
  uint64_t timer_id_ = 0;
  std::atomic<uint64_t> written_{0};
  uint64_t next_;
  bool ended_ = false;
  std::deque<v1::ListDigestsResponse> page_;
};

}  // namespace

absl::Status NodeServiceImpl::FillRounds(const grpc::ServerContextBase& context, const v1::GetRoundsRequest& request,
                                         v1::GetRoundsResponse& response) {
  BLINK_ASSIGN_OR_RETURN(const Identity identity,
                         authenticator_.Node(context, request.deployment(), request.node_id(), request.node_id()));
  BLINK_RETURN_IF_ERROR(ingest_.CheckPeer(identity, request.deployment(), request.node_id(), request.node_id()));
  ingest_.advisor().NotePeer(identity);
  std::vector<v1::Round> rounds;
  if (request.round_id().empty()) {
    rounds = store_.ListOpenRounds();
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
      RetryWindowToProto(rounds.empty() ? ingest_.advisor().Idle() : ingest_.advisor().Waiting());
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* NodeServiceImpl::GetRounds(grpc::CallbackServerContext* context,
                                                     const v1::GetRoundsRequest* request,
                                                     v1::GetRoundsResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const absl::Status filled = FillRounds(*context, *request, *response);
  if (!filled.ok()) {
    LogRefusal(*context, filled);
    SetTrailingWindow(*context, ingest_.WindowFor(filled));
  }
  reactor->Finish(ToGrpcStatus(filled));
  return reactor;
}

grpc::ServerReadReactor<v1::SubmitReportRequest>* NodeServiceImpl::SubmitReport(grpc::CallbackServerContext* context,
                                                                                v1::SubmitReportResponse* response) {
  return SubmitReportReactor::Start(*context, *response, authenticator_, ingest_, timer_);
}

grpc::ServerBidiReactor<v1::SubmitReportsRequest, v1::SubmitReportsResponse>* NodeServiceImpl::SubmitReports(
    grpc::CallbackServerContext* context) {
  return SubmitReportsReactor::Start(*context, authenticator_, ingest_, timer_);
}

grpc::ServerWriteReactor<v1::ListDigestsResponse>* NodeServiceImpl::ListDigests(grpc::CallbackServerContext* context,
                                                                                const v1::ListDigestsRequest* request) {
  const auto check = [&]() -> absl::Status {
    BLINK_ASSIGN_OR_RETURN(const Identity identity, authenticator_.Node(*context, request->deployment(),
                                                                        request->first_node(), request->last_node()));
    BLINK_RETURN_IF_ERROR(
        ingest_.CheckPeer(identity, request->deployment(), request->first_node(), request->last_node()));
    ingest_.advisor().NotePeer(identity);
    return ValidateRoundId(request->round_id());
  };
  return new ListDigestsReactor(*context, *request, check(), authenticator_, store_, ingest_, timer_);
}

}  // namespace blink
