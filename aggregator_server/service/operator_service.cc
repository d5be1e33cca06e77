#include "aggregator_server/service/operator_service.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "aggregator_server/rounds/round_history.h"
#include "aggregator_server/transport/caller_names.h"
#include "aggregator_server/transport/guarded_reactor.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/rpc/status.h"
#include "common/wire/artifact_digests.h"
#include "common/wire/round.h"

namespace blink {
namespace {

// What is written to a peer must be read within this time.
constexpr absl::Duration kWriteTimeMax = absl::Seconds(60);

// For OnTime: resets the call when a write has waited since the last look, for peers that ask and do not read. A write
// that is stuck ends only with the call. `seen`: of `written`, at the last look.
StreamTimer::Clock::time_point CutIfStuck(grpc::CallbackServerContext& context, bool is_writing, uint64_t written,
                                          uint64_t& seen) {
  if (!is_writing || written != std::exchange(seen, written)) {
    return StreamTimer::Clock::now() + absl::ToChronoMilliseconds(kWriteTimeMax);
  }
  LogRefusal(context, absl::DeadlineExceededError("what was asked for was not read in time"));
  context.TryCancel();
  return StreamTimer::Clock::time_point::max();
}

// The status now and after every change; changes that come while a message is being written are told in one.
class WatchRoundReactor final : public GuardedReactor<grpc::ServerWriteReactor<v1::Round>> {
 public:
  WatchRoundReactor(grpc::CallbackServerContext& context, const Authenticator& authenticator, StreamTimer& timer,
                    Pipeline& pipeline, const std::string& round_id)
      : GuardedReactor(context, authenticator, &timer, kWriteTimeMax), pipeline_(pipeline), round_id_(round_id) {}

  void OnWriteDone(bool ok) override {
    {
      const Lock lock(mutex_);
      ++written_;
      writing_ = false;
      if (!ok) FinishLocked(absl::CancelledError("the peer is gone"));
    }
    WriteChange();
  }

 private:
  void Begin() override {
    watch_ = pipeline_.Watch(round_id_, [this] { WriteChange(); });
    WriteChange();
  }
  Time OnTime() override { return CutIfStuck(context_, writing_, written_, seen_); }
  void Unsubscribe() override {
    if (watch_ != 0) pipeline_.Unwatch(watch_);
  }
  void WriteChange() {
    const Lock lock(mutex_);
    if (finished() || writing_) return;
    if (IsTerminal(sent_.state())) return FinishLocked(absl::OkStatus());
    absl::StatusOr<v1::Round> round = pipeline_.GetRound(round_id_);
    if (!round.ok()) return FinishLocked(round.status());
    if (round->SerializeAsString() == sent_.SerializeAsString()) return;
    sent_ = *std::move(round);
    writing_ = true;
    StartWrite(&sent_);
  }

  Pipeline& pipeline_;
  const std::string round_id_;
  uint64_t watch_ = 0;

  std::atomic<bool> writing_{false};
  std::atomic<uint64_t> written_{0};
  uint64_t seen_ = 0;  // of written_, by OnTime
  v1::Round sent_;     // guarded by mutex_
};

// A file in chunks.
class GetResultReactor final : public GuardedReactor<grpc::ServerWriteReactor<v1::GetResultResponse>> {
 public:
  GetResultReactor(grpc::CallbackServerContext& context, const Authenticator& authenticator, StreamTimer& timer,
                   Pipeline& pipeline, const v1::GetResultRequest& request, std::shared_ptr<void> slot)
      : GuardedReactor(context, authenticator, &timer, kWriteTimeMax),
        slot_(std::move(slot)),
        pipeline_(pipeline),
        request_(request) {}
  ~GetResultReactor() override {
    if (fd_ >= 0) ::close(fd_);
  }

  void OnWriteDone(bool ok) override {
    const Lock lock(mutex_);
    ++written_;
    ok ? WriteNextLocked() : FinishLocked(absl::CancelledError("the peer is gone"));
  }

 private:
  Time OnTime() override { return CutIfStuck(context_, true, written_, seen_); }
  void Begin() override {
    const absl::Status opened = OpenFile();
    const Lock lock(mutex_);
    opened.ok() ? WriteNextLocked() : FinishLocked(opened);
  }
  absl::Status OpenFile() {
    BLINK_ASSIGN_OR_RETURN(const std::string path, pipeline_.FindResult(request_.round_id(), request_.artifact()));
    BLINK_ASSIGN_OR_RETURN(check_,
                           ArtifactCheck::Begin(std::filesystem::path(path).parent_path(), request_.artifact()));
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd_ >= 0) return absl::OkStatus();
    if (errno != ENOENT) return FileError(errno, "open", "the artifact");
    return absl::NotFoundError(
        absl::StrCat(request_.artifact(), " is not in the aggregator's folder of round ", request_.round_id(),
                     ": bring it back from a backup, or make the result again with blink-worker"));
  }
  void WriteNextLocked() {
    if (finished()) return;
    std::string& chunk = *response_.mutable_chunk();
    chunk.resize(kChunkBytesMax);
    ssize_t got;
    do {
      got = ::read(fd_, chunk.data(), chunk.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) return FinishLocked(FileError(errno, "read", "the artifact"));
    if (got == 0) return FinishLocked(check_->Finish());
    chunk.resize(got);
    check_->Update(chunk);
    StartWrite(&response_);
  }

  const std::shared_ptr<void> slot_;
  Pipeline& pipeline_;
  const v1::GetResultRequest request_;
  int fd_ = -1;
  std::optional<ArtifactCheck> check_;  // there once the file is open
  v1::GetResultResponse response_;
  std::atomic<uint64_t> written_{0};
  uint64_t seen_ = 0;  // of written_, by OnTime
};

absl::Status StoreRound(absl::StatusOr<v1::Round> round, v1::Round* response) {
  if (!round.ok()) return round.status();
  *response = *std::move(round);
  return absl::OkStatus();
}

// Before anything is recorded or repeated: what an operator says is small, and a round has an id.
absl::Status CheckForm(const google::protobuf::Message& request, const std::string& round_id, bool names_round) {
  constexpr size_t kBytesMax = 16 << 10;
  if (request.ByteSizeLong() > kBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request has ", request.ByteSizeLong(), " bytes, at most ", kBytesMax, " are taken"));
  }
  return names_round ? ValidateRoundId(round_id) : absl::OkStatus();
}

// A copy without the fields that this version does not know: they would be kept with the round.
template <typename Message>
Message OnlyKnown(const Message& message) {
  Message known = message;
  known.DiscardUnknownFields();
  return known;
}

// A request in one line, for the audit log.
std::string Shortened(const google::protobuf::Message& request) {
  constexpr size_t kCharactersMax = 1000;
  return request.ShortDebugString().substr(0, kCharactersMax);
}

// A creator's request id that somebody else has used names a round that is not the creator's.
absl::Status CheckIsTheirs(const v1::Round& round, const std::string& by) {
  if (!absl::StartsWith(by, "creator/") || CreatorOf(round) == by) return absl::OkStatus();
  return absl::AlreadyExistsError("the request id was used by another operator: choose another");
}

}  // namespace

absl::Status OperatorServiceImpl::CheckTakesRounds() const {
  if (!draining_) return absl::OkStatus();
  return absl::UnavailableError("the aggregator is about to stop: try again when it has started again");
}

absl::Status OperatorServiceImpl::CheckIsCreator(const Identity& who, const std::string& round_id) {
  if (who.role != Role::kCreate || round_id.empty()) return absl::OkStatus();
  const absl::StatusOr<v1::Round> round = pipeline_.GetRound(round_id);
  if (absl::IsNotFound(round.status())) return absl::OkStatus();  // what is done next says so
  BLINK_RETURN_IF_ERROR(round.status());
  const std::string creator = CreatorOf(*round);
  if (creator == who.Path()) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("round ", round_id, " was created by ",
                                                  creator.empty() ? "somebody unknown" : creator,
                                                  ", and the certificate ", who.ToUri(),
                                                  " may end only its own rounds: ask an operator who "
                                                  "administers the deployment"));
}

absl::StatusOr<Identity> OperatorServiceImpl::Allow(const Call& call, const google::protobuf::Message& request) {
  absl::StatusOr<Identity> who = authenticator_.RequireOperator(*call.context, call.deployment, call.needed);
  const auto check = [&]() -> absl::Status {
    BLINK_RETURN_IF_ERROR(who.status());
    BLINK_RETURN_IF_ERROR(CheckForm(request, call.round_id, call.names_round));
    return call.needed > Role::kRead ? CheckIsCreator(*who, call.round_id) : absl::OkStatus();
  };
  const absl::Status allowed = check();
  if (allowed.ok()) return who;
  audit_log_.Refuse(RecordOf(call, "refused"), allowed);
  return allowed;
}

AuditRecord OperatorServiceImpl::RecordOf(const Call& call, const std::string& event) const {
  return {.event = event,
          .who = authenticator_.Describe(*call.context),
          .peer = PeerOf(*call.context),
          .action = call.action,
          .round_id = ValidateRoundId(call.round_id).ok() ? call.round_id : "",
          .detail = call.detail};
}

absl::StatusOr<std::shared_ptr<void>> OperatorServiceImpl::TakeResultSlot(const std::string& who) {
  constexpr int kResultsMax = 16;
  const std::lock_guard<std::mutex> lock(open_results_->mutex);
  int& open = open_results_->by_operator[who];
  if (open >= kResultsMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat(who, " fetches ", kResultsMax, " files already: read them to their end first"));
  }
  ++open;
  return std::shared_ptr<void>(nullptr, [results = open_results_, who](void*) {
    const std::lock_guard<std::mutex> end_lock(results->mutex);
    if (--results->by_operator[who] == 0) results->by_operator.erase(who);
  });
}

grpc::ServerUnaryReactor* OperatorServiceImpl::Change(const Call& call, const google::protobuf::Message& request,
                                                      const Act& act) {
  const absl::StatusOr<Identity> who = Allow(call, request);
  const auto change = [&] {
    return audit_log_.RecordAround(RecordOf(call, "asked"),
                                   [&](AuditRecord& record) { return act(who->Path(), record.round_id); });
  };
  if (!who.ok()) LogRefusal(*call.context, who.status());
  grpc::ServerUnaryReactor* const reactor = call.context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(who.ok() ? change() : who.status()));
  return reactor;
}

grpc::ServerUnaryReactor* OperatorServiceImpl::Read(const Call& call, const google::protobuf::Message& request,
                                                    const std::function<absl::Status()>& read) {
  const absl::Status allowed = Allow(call, request).status();
  if (!allowed.ok()) LogRefusal(*call.context, allowed);
  grpc::ServerUnaryReactor* const reactor = call.context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(allowed.ok() ? read() : allowed));
  return reactor;
}

grpc::ServerUnaryReactor* OperatorServiceImpl::CreateRound(grpc::CallbackServerContext* context,
                                                           const v1::CreateRoundRequest* request, v1::Round* response) {
  return Change({context, request->deployment(), Role::kCreate, "create", "", Shortened(*request)}, *request,
                [&](const std::string& by, std::string& round_id) {
                  BLINK_RETURN_IF_ERROR(CheckTakesRounds());
                  const absl::Status created = StoreRound(pipeline_.CreateRound(OnlyKnown(*request), by), response);
                  round_id = response->round_id();
                  BLINK_RETURN_IF_ERROR(created);
                  return CheckIsTheirs(*response, by);
                });
}

grpc::ServerUnaryReactor* OperatorServiceImpl::ListRounds(grpc::CallbackServerContext* context,
                                                          const v1::ListRoundsRequest* request,
                                                          v1::ListRoundsResponse* response) {
  return Read({context, request->deployment(), Role::kRead, "list"}, *request, [&]() -> absl::Status {
    BLINK_ASSIGN_OR_RETURN(std::vector<v1::Round> rounds, pipeline_.ListRounds());
    // Newest first, and no more than one message holds; metrics are asked for one by one.
    constexpr size_t kRoundsMax = 1000, kListBytesMax = kMessageBytesMax / 2;
    size_t bytes = 0;
    for (auto round = rounds.rbegin(); round != rounds.rend() && response->rounds_size() < static_cast<int>(kRoundsMax);
         ++round) {
      round->clear_result_json();
      bytes += round->ByteSizeLong();
      if (bytes > kListBytesMax) break;
      *response->add_rounds() = std::move(*round);
    }
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* OperatorServiceImpl::GetRoundStatus(grpc::CallbackServerContext* context,
                                                              const v1::GetRoundStatusRequest* request,
                                                              v1::Round* response) {
  return Read({context, request->deployment(), Role::kRead, "status", request->round_id(), "", true}, *request,
              [&] { return StoreRound(pipeline_.GetRound(request->round_id()), response); });
}

grpc::ServerUnaryReactor* OperatorServiceImpl::SealRound(grpc::CallbackServerContext* context,
                                                         const v1::SealRoundRequest* request, v1::Round* response) {
  return Change({context, request->deployment(), Role::kCreate, "seal", request->round_id(), "", true}, *request,
                [&](const std::string& by, std::string&) {
                  return StoreRound(pipeline_.Seal(request->round_id(), by), response);
                });
}

grpc::ServerUnaryReactor* OperatorServiceImpl::CancelRound(grpc::CallbackServerContext* context,
                                                           const v1::CancelRoundRequest* request, v1::Round* response) {
  return Change({context, request->deployment(), Role::kCreate, "cancel", request->round_id(), "", true}, *request,
                [&](const std::string& by, std::string&) {
                  return StoreRound(pipeline_.Cancel(request->round_id(), by), response);
                });
}

grpc::ServerUnaryReactor* OperatorServiceImpl::RetryRound(grpc::CallbackServerContext* context,
                                                          const v1::RetryRoundRequest* request, v1::Round* response) {
  return Change(
      {context, request->deployment(), Role::kCreate, "retry", request->round_id(), Shortened(*request), true},
      *request, [&](const std::string& by, std::string&) {
        BLINK_RETURN_IF_ERROR(CheckTakesRounds());
        return StoreRound(pipeline_.AnalyseAgain(request->round_id(), OnlyKnown(request->training()), by), response);
      });
}

grpc::ServerUnaryReactor* OperatorServiceImpl::DeleteRound(grpc::CallbackServerContext* context,
                                                           const v1::DeleteRoundRequest* request, v1::Round* response) {
  return Change(
      {context, request->deployment(), Role::kAdminister, "delete", request->round_id(), "", true}, *request,
      [&](const std::string&, std::string&) { return StoreRound(pipeline_.Delete(request->round_id()), response); });
}

grpc::ServerUnaryReactor* OperatorServiceImpl::ListMissingNodes(grpc::CallbackServerContext* context,
                                                                const v1::ListMissingNodesRequest* request,
                                                                v1::ListMissingNodesResponse* response) {
  return Read({context, request->deployment(), Role::kRead, "missing", request->round_id(), "", true}, *request,
              [&]() -> absl::Status {
                BLINK_ASSIGN_OR_RETURN(const Pipeline::MissingNodes page,
                                       pipeline_.ListMissing(request->round_id(), request->first_node()));
                for (const NodeRange& range : page.ranges) {
                  v1::NodeRange& added = *response->add_missing();
                  added.set_first(range.first);
                  added.set_last(range.last);
                }
                if (page.next) response->set_next_node(*page.next);
                return absl::OkStatus();
              });
}

grpc::ServerUnaryReactor* OperatorServiceImpl::ListRefusedReports(grpc::CallbackServerContext* context,
                                                                  const v1::ListRefusedReportsRequest* request,
                                                                  v1::ListRefusedReportsResponse* response) {
  return Read({context, request->deployment(), Role::kRead, "refused", request->round_id(), "", true}, *request,
              [&]() -> absl::Status {
                BLINK_RETURN_IF_ERROR(pipeline_.GetRound(request->round_id()).status());
                const RefusedReports::Listing listing = refused_reports_.List(request->round_id());
                for (const RefusedReport& report : listing.reports) {
                  v1::RefusedReport& added = *response->add_refused();
                  added.set_node_id(report.node);
                  added.set_by(report.by);
                  added.set_code(static_cast<uint32_t>(report.why.code()));
                  added.set_message(std::string(report.why.message()));
                  added.set_first_ms(absl::ToUnixMillis(report.first));
                  added.set_last_ms(absl::ToUnixMillis(report.last));
                  added.set_count(report.count);
                }
                response->set_left_out(listing.left_out);
                response->set_since_ms(absl::ToUnixMillis(listing.since));
                return absl::OkStatus();
              });
}

grpc::ServerWriteReactor<v1::Round>* OperatorServiceImpl::WatchRound(grpc::CallbackServerContext* context,
                                                                     const v1::WatchRoundRequest* request) {
  const absl::Status allowed =
      Allow({context, request->deployment(), Role::kRead, "watch", request->round_id(), "", true}, *request).status();
  return LaunchReactor<WatchRoundReactor>(allowed, *context, authenticator_, timer_, pipeline_, request->round_id());
}

grpc::ServerWriteReactor<v1::GetResultResponse>* OperatorServiceImpl::GetResult(grpc::CallbackServerContext* context,
                                                                                const v1::GetResultRequest* request) {
  const Call call{context, request->deployment(), Role::kRead, "result", request->round_id(), request->artifact(),
                  true};
  const absl::StatusOr<Identity> who = Allow(call, *request);
  absl::StatusOr<std::shared_ptr<void>> slot = who.ok() ? TakeResultSlot(who->Path()) : nullptr;
  absl::Status allowed = who.ok() ? slot.status() : who.status();
  if (allowed.ok()) allowed = audit_log_.Append(RecordOf(call, "asked"));
  return LaunchReactor<GetResultReactor>(allowed, *context, authenticator_, timer_, pipeline_, *request,
                                         slot.ok() ? *std::move(slot) : nullptr);
}

}  // namespace blink
