#include "aggregator_server/store/postgres_lease.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/logging.h"

namespace blink {
namespace {

std::string NameOfThisProcess() {
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  return absl::StrCat(host, ":", ::getpid());
}

}  // namespace

PostgresLease::PostgresLease(const PostgresTarget& target, const PostgresOptions& options, PostgresWatchdog& watchdog)
    : options_(options),
      holder_(options.holder.empty() ? NameOfThisProcess() : options.holder),
      session_(target, options, watchdog) {}

PostgresLease::~PostgresLease() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void PostgresLease::Start() {
  TakeOrRenew();
  thread_ = std::thread([this] { Run(); });
}

std::optional<uint64_t> PostgresLease::Get() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (token_.has_value() && std::chrono::steady_clock::now() >= until_) token_.reset();
  return token_;
}

void PostgresLease::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    changed_.wait_for(lock, absl::ToChronoMilliseconds(options_.lease / 5), [this] { return stopping_; });
    if (stopping_) break;
    lock.unlock();
    TakeOrRenew();
    lock.lock();
  }
  lock.unlock();
  GiveBack();
}

void PostgresLease::TakeOrRenew() {
  const std::optional<uint64_t> held = Get();
  const SteadyTime asked = std::chrono::steady_clock::now();
  const double seconds = absl::ToDoubleSeconds(options_.lease);
  std::optional<uint64_t> token;
  std::string other;
  const PostgresOutcome outcome = session_.Run("take the lease", [&](pqxx::connection& connection) {
    pqxx::work transaction(connection);
    // The time is in the token, so that a standby that lacks the last lease gives out no token twice.
    const pqxx::result rows =
        held.has_value()
            ? transaction.exec_params(
                  "UPDATE blink.lease SET expires = clock_timestamp() + $1 * interval '1 second' "
                  "WHERE token = $2 RETURNING token",
                  seconds, *held)
            : transaction.exec_params(
                  "UPDATE blink.lease SET holder = $2, expires = clock_timestamp() + $1 * interval '1 second', "
                  "token = greatest(token + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) "
                  "WHERE expires < clock_timestamp() RETURNING token",
                  seconds, holder_);
    if (!rows.empty()) {
      token = rows[0][0].as<uint64_t>();
    } else {
      other = transaction.exec1("SELECT holder FROM blink.lease")[0].as<std::string>();
    }
    transaction.commit();
    return absl::OkStatus();
  });
  if (!outcome.status.ok()) {
    if (held.has_value()) spdlog::warn("the lease is not renewed: {}", std::string(outcome.status.message()));
    return;  // what is held goes on until its end
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (held.has_value() && !token.has_value()) {
    spdlog::warn("another aggregator has taken the lease: {}", other);
  } else if (!held.has_value() && token.has_value()) {
    spdlog::info("{} has the lease: it seals and runs the rounds now", holder_);
  } else if (!token.has_value() && other != std::exchange(told_other_, other)) {
    spdlog::info("{} has the lease: it seals and runs the rounds, and this aggregator collects", other);
  }
  token_ = token;
  until_ = asked + absl::ToChronoMilliseconds(options_.lease * 4 / 5);
}

void PostgresLease::GiveBack() {
  const std::optional<uint64_t> held = Get();
  if (!held.has_value()) return;
  const PostgresOutcome outcome = session_.Run("give the lease back", [&](pqxx::connection& connection) {
    pqxx::nontransaction(connection)
        .exec_params("UPDATE blink.lease SET expires = '-infinity' WHERE token = $1", *held);
    return absl::OkStatus();
  });
  if (!outcome.status.ok()) spdlog::debug("the lease runs out: {}", std::string(outcome.status.message()));
}

}  // namespace blink
