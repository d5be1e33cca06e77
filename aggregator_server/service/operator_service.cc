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
  WatchRoundReactor(grpc::CallbackServerContext& context, const Authenticator& authenticator, Pipeline& pipeline,
                    const std::string& round_id, absl::Status allowed)
      : authenticator_(authenticator), pipeline_(pipeline), round_id_(round_id) {
    if (allowed.ok()) {
      const absl::StatusOr<uint64_t> opened =
          authenticator_.Open(context, [this](const absl::Status& why) { FinishWith(why); });
      allowed = opened.status();
      if (opened.ok()) stream_id_ = *opened;
    }
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
    authenticator_.Close(stream_id_);
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

  const Authenticator& authenticator_;
  Pipeline& pipeline_;
  const std::string round_id_;
  uint64_t stream_id_ = 0;  // of the authenticator
  uint64_t watch_ = 0;
  std::mutex mutex_;
  v1::Round sent_;
  bool writing_ = false;
  bool finished_ = false;
};

// A file in chunks.
class GetResultReactor final : public grpc::ServerWriteReactor<v1::GetResultResponse> {
 public:
  GetResultReactor(grpc::CallbackServerContext& context, const Authenticator& authenticator,
                   const absl::StatusOr<std::string>& path)
      : authenticator_(authenticator) {
    absl::Status allowed = path.status();
    if (allowed.ok()) {
      const absl::StatusOr<uint64_t> opened = authenticator_.Open(context, [this](const absl::Status& why) {
        const std::lock_guard<std::mutex> lock(mutex_);
        FinishWith(why);
      });
      allowed = opened.status();
      if (opened.ok()) stream_id_ = *opened;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (allowed.ok()) {
      fd_ = ::open(path->c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
      if (fd_ < 0) allowed = FileError(errno, "open", "the artifact");
    }
    allowed.ok() ? WriteNext() : FinishWith(allowed);
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ok ? WriteNext() : FinishWith(absl::CancelledError("the peer is gone"));
  }
  void OnCancel() override {}  // the write that is under way fails
  void OnDone() override {
    authenticator_.Close(stream_id_);
    if (fd_ >= 0) ::close(fd_);
    delete this;
  }

 private:
  // With the lock held, both of these.
  void FinishWith(const absl::Status& status) {
    if (!std::exchange(finished_, true)) Finish(ToGrpcStatus(status));
  }
  void WriteNext() {
    if (finished_) return;
    std::string& chunk = *response_.mutable_chunk();
    chunk.resize(kChunkBytesMax);
    ssize_t got;
    do {
      got = ::read(fd_, chunk.data(), chunk.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) return FinishWith(FileError(errno, "read", "the artifact"));
    if (got == 0) return FinishWith(absl::OkStatus());
    chunk.resize(got);
    StartWrite(&response_);
  }

  const Authenticator& authenticator_;
  uint64_t stream_id_ = 0;  // of the authenticator
  std::mutex mutex_;
  bool finished_ = false;
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
                                                           const v1::CreateRoundRequest* request, v1::Round* response) {
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
                                                           const v1::CancelRoundRequest* request, v1::Round* response) {
  return Answer(context, authenticator_.RequireOperator(*context, request->deployment()),
                [&] { return Store(pipeline_.Cancel(request->round_id()), response); });
}

grpc::ServerWriteReactor<v1::Round>* OperatorServiceImpl::WatchRound(grpc::CallbackServerContext* context,
                                                                     const v1::WatchRoundRequest* request) {
  const absl::Status allowed = authenticator_.RequireOperator(*context, request->deployment());
  if (!allowed.ok()) LogRefusal(*context, allowed);
  return new WatchRoundReactor(*context, authenticator_, pipeline_, request->round_id(), allowed);
}

grpc::ServerWriteReactor<v1::GetResultResponse>* OperatorServiceImpl::GetResult(grpc::CallbackServerContext* context,
                                                                                const v1::GetResultRequest* request) {
  const absl::Status allowed = authenticator_.RequireOperator(*context, request->deployment());
  if (!allowed.ok()) LogRefusal(*context, allowed);
  return new GetResultReactor(*context, authenticator_,
                              allowed.ok() ? pipeline_.ResultPath(request->round_id(), request->artifact())
                                           : absl::StatusOr<std::string>(allowed));
}

}  // namespace blink
