// The life of one stream, from its admission to its end. Every reactor of the services is a GuardedReactor.
//
//   LaunchReactor(allowed) -- refused --------------------> RefuseLocked -----------------.
//      |                                                                                  v
//      '-- admitted -> Begin -> (reads and writes of the subclass) -> FinishWith -> Finish -> OnDone
//                                       ^      ^       ^
//       the timer (OnTime), the certificate guard and the peer (OnCancel) may end it at any moment
//
// The subclass says what the stream reads and writes. This class does the rest:
// - It keeps the object alive until OnDone, and longer while somebody holds KeepAlive().
// - It asks the certificate guard before Begin, and ends the stream when the certificate is revoked or expires.
// - It calls OnTime when the time of the stream is up.
// - It calls Finish exactly once, with the retry window that belongs to the status.
// - It logs refusals.
//
// Locks. Start... and Finish... are called with mutex_ held, and nothing is started once finished() is true. Begin and
// OnTime are called without the lock. context_ is valid until OnDone ends; neither the timer nor the guard calls after
// that. A callback that may be later still (the store's) touches context_ only after it has seen that the stream is not
// finished().
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_GUARDED_REACTOR_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_GUARDED_REACTOR_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator_server/transport/authenticator.h"
#include "aggregator_server/transport/stream_timer.h"
#include "common/rpc/retry_trailer.h"
#include "common/rpc/status.h"

namespace blink {

// `Reactor` is one of gRPC's: ServerReadReactor, ServerWriteReactor, ServerBidiReactor.
template <typename Reactor>
class GuardedReactor : public Reactor {
 public:
  // For LaunchReactor: `self` is the only owner.
  void Run(std::shared_ptr<void> self, const absl::Status& allowed) {
    self_ = std::move(self);
    ++authenticator_.streams();
    if (timer_ != nullptr) timer_id_ = timer_->Add(In(time_max_), [this] { return OnTime(); });
    const absl::Status admitted = allowed.ok() ? OpenStream() : allowed;
    if (admitted.ok()) return Begin();
    const Lock lock(mutex_);
    RefuseLocked(admitted);
  }

  void OnCancel() override { FinishWith(absl::CancelledError("the call was cancelled")); }
  void OnDone() final {
    authenticator_.CloseStream(stream_id_);
    --authenticator_.streams();
    if (timer_ != nullptr) timer_->Remove(timer_id_);
    Unsubscribe();
    const std::shared_ptr<void> last = std::move(self_);
  }

 protected:
  using Lock = std::lock_guard<std::mutex>;
  using Time = StreamTimer::Clock::time_point;
  static constexpr Time kNever = Time::max();
  static Time In(absl::Duration duration) { return StreamTimer::Clock::now() + absl::ToChronoMilliseconds(duration); }

  // All outlive the stream. OnTime is called `time_max` after the launch, unless there is no timer.
  GuardedReactor(grpc::CallbackServerContext& context, const Authenticator& authenticator, StreamTimer* timer = nullptr,
                 absl::Duration time_max = absl::InfiniteDuration())
      : context_(context), authenticator_(authenticator), timer_(timer), time_max_(time_max) {}

  // The stream is admitted: starts the first operation, unless it has finished() meanwhile.
  virtual void Begin() = 0;
  // Returns when it is to be called next, kNever for never. On the timer's thread: must be quick.
  virtual Time OnTime() { return kNever; }
  // The retry window to send with the final `status`, if any.
  virtual std::optional<RetryWindow> WindowFor(const absl::Status& /*status*/) const { return std::nullopt; }
  // Called in OnDone. After it, nobody may call the object who does not hold KeepAlive().
  virtual void Unsubscribe() {}

  // Ends the stream, unless it has ended.
  void FinishWith(const absl::Status& status) {
    const Lock lock(mutex_);
    FinishLocked(status);
  }
  // The same, with mutex_ held.
  void FinishLocked(const absl::Status& status) {
    if (std::exchange(finished_, true)) return;
    if (const std::optional<RetryWindow> window = WindowFor(status)) SetTrailingWindow(context_, *window);
    this->Finish(ToGrpcStatus(status));
  }
  // The same, and logs `status`. With mutex_ held.
  void RefuseLocked(const absl::Status& status) {
    if (finished_) return;
    LogRefusal(context_, status);
    FinishLocked(status);
  }
  // With mutex_ held.
  bool finished() const { return finished_; }

  // For callbacks that may run after OnDone, such as the store's. Not from Unsubscribe.
  std::shared_ptr<void> KeepAlive() const { return self_; }

  grpc::CallbackServerContext& context_;
  const Authenticator& authenticator_;
  std::mutex mutex_;

 private:
  absl::Status OpenStream() {
    const absl::StatusOr<uint64_t> opened =
        authenticator_.OpenStream(context_, [this](const absl::Status& why) { FinishWith(why); });
    if (opened.ok()) stream_id_ = *opened;
    return opened.status();
  }

  // gRPC calls OnDone only when the handler has returned the reactor, so OnDone sees what Run wrote.
  StreamTimer* const timer_;
  const absl::Duration time_max_;
  std::shared_ptr<void> self_;
  uint64_t timer_id_ = 0;
  uint64_t stream_id_ = 0;  // of the certificate guard; 0: none is open
  bool finished_ = false;
};

// Makes a Reactor from `arguments` and starts it; unless `allowed` is OK, it is refused at once. It owns itself: the
// caller hands the pointer to gRPC and does nothing else with it.
template <typename Reactor, typename... Arguments>
Reactor* LaunchReactor(const absl::Status& allowed, Arguments&&... arguments) {
  auto reactor = std::make_shared<Reactor>(std::forward<Arguments>(arguments)...);
  Reactor* const raw = reactor.get();
  raw->Run(std::move(reactor), allowed);
  return raw;
}

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRANSPORT_GUARDED_REACTOR_H_
