#include "aggregator_server/store/postgres_session.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/logging.h"

namespace blink {
namespace {

constexpr std::chrono::milliseconds kFirstWait(100), kWaitMax(2000);

// One line, for a log, without the statement.
std::string OneLine(absl::string_view message) {
  message = message.substr(0, message.find("\nLINE "));
  return absl::StrReplaceAll(absl::StripTrailingAsciiWhitespace(message), {{"\n\t", ". "}, {"\n", "; "}, {"\t", " "}});
}

// libpqxx 6 leaves it out of some of its exceptions.
std::string StateOf(const pqxx::sql_error& error) {
  if (!error.sqlstate().empty()) return error.sqlstate();
  if (dynamic_cast<const pqxx::insufficient_privilege*>(&error) != nullptr) return "42501";
  if (dynamic_cast<const pqxx::undefined_table*>(&error) != nullptr) return "42P01";
  if (dynamic_cast<const pqxx::disk_full*>(&error) != nullptr) return "53100";
  if (dynamic_cast<const pqxx::insufficient_resources*>(&error) != nullptr) return "53000";
  return "";
}

// On a connection that is gone libpqxx fails at the first thing that it tries, and tells of that.
std::string WhyLost(const std::exception& error) {
  const bool is_of_libpqxx = absl::StrContains(error.what(), "client encoding");
  return is_of_libpqxx ? "the connection was lost" : error.what();
}

}  // namespace

PostgresWatchdog::PostgresWatchdog() : thread_([this] { Run(); }) {}

PostgresWatchdog::~PostgresWatchdog() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void PostgresWatchdog::Watch(int socket, SteadyTime end) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ends_[socket] = end;
}

void PostgresWatchdog::Forget(int socket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ends_.erase(socket);
}

std::string PostgresWatchdog::WhyNotYet() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::chrono::steady_clock::now() < not_before_ ? why_ : "";
}

void PostgresWatchdog::NoteConnected() {
  const std::lock_guard<std::mutex> lock(mutex_);
  wait_ = std::chrono::milliseconds(0);
  not_before_ = SteadyTime::min();
}

void PostgresWatchdog::NoteNotConnected(const std::string& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  wait_ = wait_.count() == 0 ? kFirstWait : std::min(2 * wait_, kWaitMax);
  not_before_ = std::chrono::steady_clock::now() + wait_;
  why_ = why;
}

void PostgresWatchdog::NoteLost() {
  const SteadyTime now = std::chrono::steady_clock::now();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (minute_ == SteadyTime::min() || now - minute_ >= std::chrono::minutes(1)) {
    minute_ = now;
    losses_ = 0;
  }
  if (++losses_ <= kLossesMax) return;
  not_before_ = now + std::chrono::seconds(1);
  why_ = "connections are lost again and again";
}

void PostgresWatchdog::Tell(const std::string& kind, const std::string& text) {
  const SteadyTime now = std::chrono::steady_clock::now();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [told, is_first] = told_.try_emplace(kind, now);
    if (!is_first && now - told->second < std::chrono::minutes(1)) return;
    told->second = now;
  }
  spdlog::warn("{}", text);
}

void PostgresWatchdog::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    changed_.wait_for(lock, std::chrono::milliseconds(250));
    const SteadyTime now = std::chrono::steady_clock::now();
    for (auto& [socket, end] : ends_) {
      if (end <= now) ::shutdown(socket, SHUT_RDWR);
    }
  }
}

void PostgresSession::Connect() {
  connection_ = std::make_unique<pqxx::connection>(target_.connection_text());
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  connection_->inhibit_reactivation(true);  // a new connection would lack what is set below
#pragma GCC diagnostic pop
  quiet_ = std::make_unique<pqxx::quiet_errorhandler>(*connection_);
  socket_ = ::fcntl(connection_->sock(), F_DUPFD_CLOEXEC, 3);
  const auto ms = [](absl::Duration limit) { return absl::ToInt64Milliseconds(limit); };
  pqxx::nontransaction settings(*connection_);
  settings.exec(absl::StrCat("SET statement_timeout = ", ms(options_.statement_max),
                             "; SET lock_timeout = ", ms(options_.lock_max),
                             "; SET idle_in_transaction_session_timeout = ", ms(options_.call_max),
                             "; SET synchronous_commit = on; SET bytea_output = hex; SET search_path = pg_catalog; "
                             "SET client_min_messages = warning; SET default_transaction_read_only = off"));
}

void PostgresSession::Close() {
  quiet_.reset();
  connection_.reset();
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void PostgresSession::GoOn() {
  watchdog_.Watch(socket_, std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(options_.call_max));
}

PostgresOutcome PostgresSession::Run(absl::string_view what, const Work& work) {
  if (connection_ == nullptr) {
    if (const std::string why = watchdog_.WhyNotYet(); !why.empty()) return Lose(what, why);
  }
  bool is_connected = connection_ != nullptr;
  PostgresOutcome outcome;
  std::string why;
  try {
    if (!is_connected) {
      Connect();
      watchdog_.NoteConnected();
    }
    is_connected = true;
    GoOn();
    outcome = {work(*connection_)};
    watchdog_.Forget(socket_);
    return outcome;
  } catch (const pqxx::in_doubt_error& error) {
    watchdog_.Forget(socket_);
    outcome = Lose(what, "the connection was lost while a transaction was being committed");
    outcome.is_unknown = true;
  } catch (const pqxx::broken_connection& error) {
    watchdog_.Forget(socket_);
    why = WhyLost(error);
    outcome = Lose(what, why);
  } catch (const pqxx::transaction_rollback& error) {  // a deadlock, or a transaction that came in between
    watchdog_.Forget(socket_);
    TellDetail("rolled back", error.what());
    outcome = {absl::UnavailableError(absl::StrCat("cannot ", what, ": another transaction came in between")), true};
  } catch (const pqxx::sql_error& error) {
    watchdog_.Forget(socket_);
    outcome = Explain(what, StateOf(error), error.what());
  } catch (const std::exception& error) {
    watchdog_.Forget(socket_);
    if (is_connected && connection_->is_open()) {
      TellDetail("internal", error.what());
      outcome = {absl::InternalError(absl::StrCat("cannot ", what, ": see the log of the aggregator"))};
    } else {
      why = WhyLost(error);
      outcome = Lose(what, why);
    }
  }
  if (connection_ != nullptr && !connection_->is_open()) {
    const bool is_unknown = outcome.is_unknown;
    outcome = Lose(what, "the connection was lost");
    outcome.is_unknown = is_unknown;
  }
  if (!is_connected) {
    watchdog_.NoteNotConnected(why);
  } else if (connection_ == nullptr) {
    watchdog_.NoteLost();
  }
  return outcome;
}

void PostgresSession::TellDetail(const std::string& kind, const std::string& message) {
  detail_ = absl::StrCat(target_.shown(), ": ", target_.Redact(OneLine(message)));
  watchdog_.Tell(kind, detail_);
}

PostgresOutcome PostgresSession::Lose(absl::string_view what, const std::string& message) {
  Close();
  TellDetail("lost", absl::StrCat("cannot be reached: ", message,
                                  "; it is tried again by itself: see that the server runs, that it lets this machine "
                                  "in, and that nothing between them is cut"));
  return {absl::UnavailableError(absl::StrCat("cannot ", what, ": the database cannot be reached now: try again")),
          true};
}

PostgresOutcome PostgresSession::Explain(absl::string_view what, const std::string& sqlstate,
                                         const std::string& message) {
  TellDetail(sqlstate, message);
  const auto tell = [&](const auto&... why) { return absl::StrCat("cannot ", what, ": ", why...); };
  if (sqlstate == "53100") {
    return {absl::ResourceExhaustedError(tell("the disk of the database is full: free space on it"))};
  }
  if (sqlstate == "55P03" || sqlstate == "57014") {
    return {absl::UnavailableError(
        tell("another transaction held it up for too long: find that one in pg_stat_activity, and end it"))};
  }
  if (sqlstate == "25006") {  // it was a primary when we connected
    Close();
    return {absl::UnavailableError(tell("the server only reads now: looking for the primary")), true};
  }
  const absl::string_view kind = absl::string_view(sqlstate).substr(0, 2);
  if (kind == "08" || absl::StartsWith(sqlstate, "57P")) {
    Close();
    return {absl::UnavailableError(tell("the server ended the connection")), true};
  }
  if (kind == "53") return {absl::UnavailableError(tell("the server is short of resources")), true};
  if (kind == "XX" && sqlstate != "XX000") {
    return {absl::DataLossError(tell("the database is damaged: bring it back from a backup"))};
  }
  if (sqlstate == "42501" || sqlstate == "3F000" || sqlstate == "42P01") {
    return {absl::FailedPreconditionError(
        tell("the user lacks rights there, or tables are gone: let the user own the database's schema blink"))};
  }
  return {absl::InternalError(tell("SQLSTATE ", sqlstate, ": see the log of the aggregator"))};
}

absl::Status WithDetail(const absl::Status& status, const std::string& detail) {
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), detail.empty() ? "" : absl::StrCat(" (", detail, ")")));
}

PostgresPool::PostgresPool(const PostgresTarget& target, const PostgresOptions& options, PostgresWatchdog& watchdog,
                           size_t size)
    : wait_max_(options.call_max) {
  for (size_t i = 0; i < size; ++i) {
    sessions_.push_back(std::make_unique<PostgresSession>(target, options, watchdog));
    free_.push_back(sessions_.back().get());
  }
}

PostgresOutcome PostgresPool::Run(absl::string_view what,
                                  const std::function<absl::Status(PostgresSession&, pqxx::connection&)>& work) {
  PostgresSession* session = nullptr;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!freed_.wait_for(lock, absl::ToChronoMilliseconds(wait_max_), [&] { return !free_.empty(); })) {
      return {absl::UnavailableError(
          absl::StrCat("cannot ", what, ": all ", sessions_.size(), " connections to the database are busy"))};
    }
    session = free_.back();  // the one that was used last: the others may be stale
    free_.pop_back();
  }
  PostgresOutcome outcome =
      session->Run(what, [&](pqxx::connection& connection) { return work(*session, connection); });
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(session);
  }
  freed_.notify_one();
  return outcome;
}

absl::Status PostgresPool::RunAgain(absl::string_view what,
                                    const std::function<absl::Status(PostgresSession&, pqxx::connection&)>& work) {
  PostgresOutcome outcome = Run(what, work);
  for (int again = 0; again < 2 && outcome.may_retry; ++again) outcome = Run(what, work);
  return outcome.status;
}

}  // namespace blink
