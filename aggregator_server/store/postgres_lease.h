// Which of the aggregators that share a database may seal and run rounds.
#ifndef BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_LEASE_H_
#define BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_LEASE_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "aggregator_server/store/postgres_session.h"

namespace blink {

// Takes the lease when nobody has it, and renews it, on a thread and a connection of its own. It ends here a fifth of
// its length before it ends by the server's clock, so that the holder has stopped when the next one begins. The token
// is another one for each holder, and ascends: the database refuses changes that carry an older one.
class PostgresLease {
 public:
  // All outlive it.
  PostgresLease(const PostgresTarget& target, const PostgresOptions& options, PostgresWatchdog& watchdog);
  ~PostgresLease();  // gives it back

  std::optional<uint64_t> Get();
  // Once, before Get matters.
  void Start();

 private:
  void Run();
  void TakeOrRenew();
  void GiveBack();

  const PostgresOptions& options_;
  const std::string holder_;
  PostgresSession session_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::optional<uint64_t> token_;
  SteadyTime until_;        // token_ holds so long
  std::string told_other_;  // the holder that the log has named; the thread's
  std::thread thread_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_LEASE_H_
