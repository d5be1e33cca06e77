#include "aggregator_server/transport/guarded_reactor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "tests/testing/aggregator_fixtures.h"

namespace blink {
namespace {

using testing::Eventually;

// Stands in for one of gRPC's reactors.
class FakeStream {
 public:
  virtual ~FakeStream() = default;
  virtual void OnCancel() = 0;
  virtual void OnDone() = 0;
  void Finish(const grpc::Status& status) { finishes.push_back(status.error_code()); }

  std::vector<grpc::StatusCode> finishes;
};

struct Seen {
  std::atomic<int> begins{0}, times{0}, unsubscribes{0}, deaths{0};
};

class Reactor final : public GuardedReactor<FakeStream> {
 public:
  Reactor(grpc::CallbackServerContext& context, const Authenticator& authenticator, StreamTimer& timer, Seen& seen)
      : GuardedReactor(context, authenticator, &timer, absl::Milliseconds(5)), seen_(seen) {}
  ~Reactor() override { ++seen_.deaths; }

  using GuardedReactor::FinishWith;
  using GuardedReactor::KeepAlive;

 private:
  void Begin() override { ++seen_.begins; }
  Time OnTime() override {
    ++seen_.times;
    return In(absl::Milliseconds(1));
  }
  void Unsubscribe() override { ++seen_.unsubscribes; }

  Seen& seen_;
};

class GuardedReactorTest : public ::testing::Test {
 protected:
  Reactor* Launch(const absl::Status& allowed) {
    return LaunchReactor<Reactor>(allowed, context_, authenticator_, timer_, seen_);
  }

  testing::ManualClock clock_;
  CertificateGuard guard_{nullptr, clock_};
  const Authenticator authenticator_{"demo", /*insecure=*/true, guard_};
  StreamTimer timer_;
  grpc::CallbackServerContext context_;
  Seen seen_;
};

TEST_F(GuardedReactorTest, FinishesOnceWhateverEndsIt) {
  Reactor* const reactor = Launch(absl::OkStatus());
  EXPECT_EQ(seen_.begins, 1);
  EXPECT_TRUE(reactor->finishes.empty());
  reactor->OnCancel();
  reactor->FinishWith(absl::OkStatus());
  reactor->OnCancel();
  EXPECT_EQ(reactor->finishes, std::vector<grpc::StatusCode>{grpc::StatusCode::CANCELLED});
  reactor->OnDone();
}

TEST_F(GuardedReactorTest, DoesNotBeginWhatIsNotAllowed) {
  Reactor* const reactor = Launch(absl::PermissionDeniedError("not an operator"));
  EXPECT_EQ(seen_.begins, 0);
  EXPECT_EQ(reactor->finishes, std::vector<grpc::StatusCode>{grpc::StatusCode::PERMISSION_DENIED});
  reactor->OnDone();
}

TEST_F(GuardedReactorTest, IsCalledByTheTimerUntilItIsDone) {
  Reactor* const reactor = Launch(absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return seen_.times >= 3; }));
  reactor->FinishWith(absl::OkStatus());
  reactor->OnDone();
  const int times = seen_.times;
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_EQ(seen_.times, times);
  EXPECT_EQ(seen_.unsubscribes, 1);
  EXPECT_EQ(seen_.deaths, 1);
}

TEST_F(GuardedReactorTest, OutlivesItsStreamWhileACallbackHoldsIt) {
  Reactor* const reactor = Launch(absl::OkStatus());
  std::shared_ptr<void> alive = reactor->KeepAlive();
  reactor->FinishWith(absl::OkStatus());
  reactor->OnDone();
  EXPECT_EQ(seen_.deaths, 0);
  reactor->FinishWith(absl::InternalError("the store is late"));
  EXPECT_EQ(reactor->finishes.size(), 1u);
  alive = nullptr;
  EXPECT_EQ(seen_.deaths, 1);
}

}  // namespace
}  // namespace blink
