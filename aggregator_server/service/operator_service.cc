#include "aggregator_server/service/operator_service.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/rpc/status.h"
#include "common/wire/round.h"

namespace blink {
namespace {

// The status now and after every change; changes that come while a message is being written are told in one.
class WatchRoundReactor final : public grpc::ServerWriteReactor<v1::Round> {
 public:
  WatchRoundReactor(Pipeline& pipeline, const std::string& round_id, const absl::Status& allowed)
      : pipeline_(pipeline), round_id_(round_id) {
    if (!allowed.ok()) {
      FinishWith(allowed);
      return;
    }
    watch_ = pipeline_.Watch(round_id, [this] { Pump(); });
    Pump();
  }

  void OnWriteDone(bool ok) override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      writing_ = false;
      if (!ok) FinishLocked(absl::CancelledError("the peer is gone"));
    }
    Pump();
  }
  void OnCancel() override { FinishWith(absl::CancelledError("the call was cancelled")); }
  void OnDone() override {
    if (watch_ != 0) pipeline_.Unwatch(watch_);
    delete this;
  }

 private:
  void Pump() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (finished_ || writing_) return;
    if (IsTerminal(sent_.state())) return FinishLocked(absl::OkStatus());
    absl::StatusOr<v1::Round> round = pipeline_.GetRound(round_id_);
    if (!round.ok()) return FinishLocked(round.status());
    if (round->SerializeAsString() == sent_.SerializeAsString()) return;
    sent_ = *std::move(round);
    writing_ = true;
    StartWrite(&sent_);
  }
  void FinishWith(const absl::Status& status) {
    std::lock_guard<std::mutex> lock(mutex_);
    FinishLocked(status);
  }
  void FinishLocked(const absl::Status& status) {
    if (std::exchange(finished_, true)) return;
    Finish(ToGrpcStatus(status));
  }

  Pipeline& pipeline_;
  const std::string round_id_;
  uint64_t watch_ = 0;
  std::mutex mutex_;
  v1::Round sent_;
  bool writing_ = false;
  bool finished_ = false;
};

// A file in chunks.
class GetResultReactor final : public grpc::ServerWriteReactor<v1::GetResultResponse> {
 public:
  explicit GetResultReactor(const absl::StatusOr<std::string>& path) {
    if (!path.ok()) {
      Finish(ToGrpcStatus(path.status()));
      return;
    }
    fd_ = ::open(path->c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd_ < 0) {
      Finish(ToGrpcStatus(FileError(errno, "open", "the artifact")));
    } else {
      WriteNext();
    }
  }

  void OnWriteDone(bool ok) override {
    ok ? WriteNext() : Finish(ToGrpcStatus(absl::CancelledError("the peer is gone")));
  }
  void OnCancel() override {}  // the write that is under way fails
  void OnDone() override {
    if (fd_ >= 0) ::close(fd_);
    delete this;
  }

 private:
  void WriteNext() {
    std::string& chunk = *response_.mutable_chunk();
    chunk.resize(kChunkBytesMax);
    ssize_t got;
    do {
      got = ::read(fd_, chunk.data(), chunk.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) return Finish(ToGrpcStatus(FileError(errno, "read", "the artifact")));
    if (got == 0) return Finish(grpc::Status::OK);
    chunk.resize(got);
    StartWrite(&response_);
  }

  int fd_ = -1;
  v1::GetResultResponse response_;
};

grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, const absl::Status& allowed,
                                 const std::function<absl::Status()>& act) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  if (!allowed.ok()) LogRefusal(*context, allowed);
  reactor->Finish(ToGrpcStatus(allowed.ok() ? act() : allowed));
  return reactor;
}

absl::Status Store(absl::StatusOr<v1::Round> round, v1::Round* response) {
  if (round.ok()) *response = *std::move(round);
  return round.status();
}

}  // namespace

grpc::ServerUnaryReactor* OperatorServiceImpl::CreateRound(grpc::CallbackServerContext* context,
                                                           const v1::CreateRoundRequest* request,
                                                           v1::Round* response) {
  return Answer(context, authenticator_.RequireOperator(*context, request->deployment()),
                [&] { return Store(pipeline_.CreateRound(*request), response); });
}

grpc::ServerUnaryReactor* OperatorServiceImpl::ListRounds(grpc::CallbackServerContext* context,
                                                          const v1::ListRoundsRequest* request,
                                                          v1::ListRoundsResponse* response) {
  return Answer(context, authenticator_.RequireOperator(*context, request->deployment()), [&] {
    std::vector<v1::Round> rounds = pipeline_.ListRounds();
    // Newest first, and no more than one message holds; metrics are asked for one by one.
    constexpr size_t kRoundsMax = 1000;
    for (auto round = rounds.rbegin(); round != rounds.rend() && response->rounds_size() < static_cast<int>(kRoundsMax);
         ++round) {
      round->clear_result_json();
      *response->add_rounds() = std::move(*round);
    }
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* OperatorServiceImpl::GetRoundStatus(grpc::CallbackServerContext* context,
                                                              const v1::GetRoundStatusRequest* request,
                                                              v1::Round* response) {
  return Answer(context, authenticator_.RequireOperator(*context, request->deployment()),
                [&] { return Store(pipeline_.GetRound(request->round_id()), response); });
}

grpc::ServerUnaryReactor* OperatorServiceImpl::SealRound(grpc::CallbackServerContext* context,
                                                         const v1::SealRoundRequest* request, v1::Round* response) {
  return Answer(context, authenticator_.RequireOperator(*context, request->deployment()),
                [&] { return Store(pipeline_.Seal(request->round_id()), response); });
}

grpc::ServerUnaryReactor* OperatorServiceImpl::CancelRound(grpc::CallbackServerContext* context,
                                                           const v1::CancelRoundRequest* request,
                                                           v1::Round* response) {
  return Answer(context, authenticator_.RequireOperator(*context, request->deployment()),
                [&] { return Store(pipeline_.Cancel(request->round_id()), response); });
}

grpc::ServerWriteReactor<v1::Round>* OperatorServiceImpl::WatchRound(grpc::CallbackServerContext* context,
                                                                     const v1::WatchRoundRequest* request) {
  const absl::Status allowed = authenticator_.RequireOperator(*context, request->deployment());
  if (!allowed.ok()) LogRefusal(*context, allowed);
  return new WatchRoundReactor(pipeline_, request->round_id(), allowed);
}

grpc::ServerWriteReactor<v1::GetResultResponse>* OperatorServiceImpl::GetResult(grpc::CallbackServerContext* context,
                                                                                const v1::GetResultRequest* request) {
  const absl::Status allowed = authenticator_.RequireOperator(*context, request->deployment());
  if (!allowed.ok()) LogRefusal(*context, allowed);
  return new GetResultReactor(allowed.ok() ? pipeline_.ResultPath(request->round_id(), request->artifact())
                                           : absl::StatusOr<std::string>(allowed));
}

}  // namespace blink
