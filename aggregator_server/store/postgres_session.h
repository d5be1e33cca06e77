// Connections to PostgreSQL: how they are made, watched and given up, and what their errors mean.
#ifndef BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_SESSION_H_
#define BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_SESSION_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <pqxx/pqxx>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "aggregator_server/store/postgres_store.h"
#include "aggregator_server/store/postgres_target.h"

namespace blink {

using SteadyTime = std::chrono::steady_clock::time_point;

// What became of a piece of work on a connection.
struct PostgresOutcome {
  absl::Status status;
  bool may_retry = false;   // it was the connection's or the moment's fault: another try may succeed
  bool is_unknown = false;  // the connection was lost before the answer to COMMIT
};

// Ends connections whose server is silent for too long. The server's own limits do not help where it hangs, or waits
// for a standby that is gone. It also remembers for all connections that no new one could be made a moment ago.
class PostgresWatchdog {
 public:
  static constexpr int kLossesMax = 100;

  PostgresWatchdog();
  ~PostgresWatchdog();
  // `socket` is shut down at `end`, unless Forget comes first.
  void Watch(int socket, SteadyTime end);
  void Forget(int socket);

  // Why no connection could be made, while it is too early to try again; empty: try.
  std::string WhyNotYet();
  void NoteConnected();
  void NoteNotConnected(const std::string& why);
  // One was lost. libpqxx 6 leaks about 2 KB each time, so after kLossesMax within a minute the next try waits.
  void NoteLost();
  // Logs `text`, at most once a minute for each `kind`.
  void Tell(const std::string& kind, const std::string& text);

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::map<int, SteadyTime> ends_;
  SteadyTime not_before_ = SteadyTime::min();  // the next try to connect
  std::chrono::milliseconds wait_{0};          // before the one after it
  std::string why_;                            // the last one failed
  int losses_ = 0;                             // in the minute that began then
  SteadyTime minute_ = SteadyTime::min();
  std::map<std::string, SteadyTime> told_;  // by kind
  std::thread thread_;
};

// One connection, for one thread at a time. It is made when it is needed, and again after it was lost.
class PostgresSession {
 public:
  // All outlive it.
  PostgresSession(const PostgresTarget& target, const PostgresOptions& options, PostgresWatchdog& watchdog)
      : target_(target), options_(options), watchdog_(watchdog) {}
  ~PostgresSession() { Close(); }
  PostgresSession(const PostgresSession&) = delete;

  using Work = std::function<absl::Status(pqxx::connection&)>;

  // Runs `work`, whose exceptions become "cannot `what`: ..." with the remedy. UNAVAILABLE: the server cannot be
  // reached, or somebody else's lock. RESOURCE_EXHAUSTED: its disk is full. While the server cannot be reached it is
  // not asked at every call. The status is for everybody; what only the operator may know, such as where the server is,
  // goes to the log.
  PostgresOutcome Run(absl::string_view what, const Work& work);
  // What was logged about the last error.
  const std::string& detail() const { return detail_; }
  // From `work`: it goes on, and its time begins anew.
  void GoOn();

 private:
  void Connect();
  void Close();
  PostgresOutcome Explain(absl::string_view what, const std::string& sqlstate, const std::string& message);
  PostgresOutcome Lose(absl::string_view what, const std::string& message);
  void TellDetail(const std::string& kind, const std::string& message);

  const PostgresTarget& target_;
  const PostgresOptions& options_;
  PostgresWatchdog& watchdog_;
  std::unique_ptr<pqxx::connection> connection_;
  std::unique_ptr<pqxx::quiet_errorhandler> quiet_;  // libpqxx prints what the server says to standard error
  std::string detail_;
  int socket_ = -1;  // a copy of its descriptor, whose number stays ours when libpq closes its own
};

// `status` with the session's detail, for the operator who waits for it at a terminal.
absl::Status WithDetail(const absl::Status& status, const std::string& detail);

// Some of them, for whoever comes.
class PostgresPool {
 public:
  PostgresPool(const PostgresTarget& target, const PostgresOptions& options, PostgresWatchdog& watchdog, size_t size);

  PostgresOutcome Run(absl::string_view what,
                      const std::function<absl::Status(PostgresSession&, pqxx::connection&)>& work);
  // The same for what may be done twice, such as a read: again after a connection was lost.
  absl::Status RunAgain(absl::string_view what,
                        const std::function<absl::Status(PostgresSession&, pqxx::connection&)>& work);

 private:
  const absl::Duration wait_max_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<PostgresSession>> sessions_;
  std::vector<PostgresSession*> free_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_SESSION_H_
