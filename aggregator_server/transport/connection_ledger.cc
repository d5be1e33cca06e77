#include "aggregator_server/transport/connection_ledger.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

namespace blink {
namespace {

constexpr int64_t kFilesMax = 512;
constexpr int64_t kDescriptorsCounted = 1 << 30;  // more make no difference

absl::Status Full(absl::string_view why) { return absl::ResourceExhaustedError(why); }

}  // namespace

absl::StatusOr<ConnectionLimits> ConnectionLimits::ForDescriptors(int64_t descriptors) {
  if (descriptors < kDescriptorsMin) {
    return absl::FailedPreconditionError(absl::StrCat("the limit of open files is ", descriptors,
                                                      ", and an aggregator needs ", kDescriptorsMin,
                                                      " at least: raise it (ulimit -n, LimitNOFILE=)"));
  }
  descriptors = std::min(descriptors, kDescriptorsCounted);
  const int budget = static_cast<int>(descriptors - std::min(kFilesMax, descriptors / 2));
  ConnectionLimits limits;
  limits.descriptors = static_cast<int>(descriptors);
  limits.leaving = budget / 8;
  limits.open = budget - limits.leaving;
  limits.handshakes = limits.open / 2;
  limits.handshakes_per_host = limits.open / 4;
  limits.handshakes_kept = limits.open / 8;
  limits.operators_kept = std::max(2, limits.open / 16);
  limits.per_name = std::clamp(limits.open / 8, 2, 64);
  return limits;
}

std::string ConnectionLimits::ToText() const {
  return absl::StrCat("limit of open files ", descriptors, ": at most ", open, " connections, ", handshakes,
                      " of them in the handshake (", handshakes_per_host, " from one address), ", per_name,
                      " with one certificate's name, ", operators_kept, " kept for operators");
}

void ConnectionLedger::AddHandshake(const std::string& host, uint64_t id) {
  std::set<uint64_t>& own = by_host_[host];
  if (!own.empty()) ranks_.erase(Rank(own.size(), std::numeric_limits<uint64_t>::max() - *own.begin(), host));
  own.insert(id);
  ranks_.insert(Rank(own.size(), std::numeric_limits<uint64_t>::max() - *own.begin(), host));
  ++handshakes_;
}

void ConnectionLedger::RemoveHandshake(const std::string& host, uint64_t id) {
  const auto found = by_host_.find(host);
  std::set<uint64_t>& own = found->second;
  ranks_.erase(Rank(own.size(), std::numeric_limits<uint64_t>::max() - *own.begin(), host));
  own.erase(id);
  --handshakes_;
  if (own.empty()) {
    by_host_.erase(found);
  } else {
    ranks_.insert(Rank(own.size(), std::numeric_limits<uint64_t>::max() - *own.begin(), host));
  }
}

void ConnectionLedger::Release(Connection& connection, uint64_t id) {
  switch (connection.state) {
    case State::kHandshake:
      return RemoveHandshake(connection.host, id);
    case State::kLeaving:
      --leaving_;
      return;
    case State::kNode:
      --nodes_;
      break;
    case State::kOperator:
      --operators_;
      break;
  }
  const auto name = by_name_.find(connection.name);
  if (--name->second == 0) by_name_.erase(name);
}

// The caller has taken it out of what its state had counted.
void ConnectionLedger::CutLocked(Connection& connection) {
  connection.state = State::kLeaving;
  ++leaving_;
  if (connection.fd >= 0) cut_(connection.fd);
}

bool ConnectionLedger::MakeRoomFor(const std::string& host) {
  if (ranks_.empty() || leaving_ >= limits_.leaving) return false;
  const auto own = by_host_.find(host);
  const auto& [count, age, heaviest] = *ranks_.rbegin();
  if (count <= (own != by_host_.end() ? own->second.size() : 0)) return false;
  const std::string victim_host = heaviest;
  const uint64_t victim = *by_host_[victim_host].begin();
  RemoveHandshake(victim_host, victim);
  CutLocked(connections_[victim]);
  return true;
}

absl::StatusOr<uint64_t> ConnectionLedger::Arrive(const std::string& host, int fd) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // A number that the system gives again was closed before.
  if (const auto before = by_fd_.find(fd); before != by_fd_.end()) {
    connections_[before->second].fd = -1;
    by_fd_.erase(before);
  }
  const auto own = by_host_.find(host);
  if (own != by_host_.end() && own->second.size() >= static_cast<size_t>(limits_.handshakes_per_host)) {
    return Full(absl::StrCat(limits_.handshakes_per_host, " handshakes from this address are under way, its share"));
  }
  if (OpenLocked() + leaving_ >= limits_.open + limits_.leaving) {
    return Full(absl::StrCat(OpenLocked(), " connections are open, and ", leaving_, " are being closed"));
  }
  if ((handshakes_ >= limits_.handshakes || OpenLocked() >= limits_.open) && !MakeRoomFor(host)) {
    return Full(absl::StrCat(OpenLocked(), " connections are open, ", handshakes_, " of them in the handshake"));
  }
  const uint64_t id = next_id_++;
  connections_.emplace(id, Connection{.host = host, .fd = fd});
  by_fd_[fd] = id;
  AddHandshake(host, id);
  return id;
}

absl::Status ConnectionLedger::Finish(uint64_t id, const std::string& name, bool is_operator,
                                      const std::string& serial) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.state != State::kHandshake) return absl::OkStatus();
  Connection& connection = found->second;
  RemoveHandshake(connection.host, id);
  const int finished_max = limits_.open - limits_.handshakes_kept;
  const auto own = by_name_.find(name);
  absl::Status status;
  if (own != by_name_.end() && own->second >= limits_.per_name) {
    status = Full(absl::StrCat("certificates of this name have ", limits_.per_name, " connections, their share"));
  } else if (nodes_ + operators_ >= finished_max || (!is_operator && nodes_ >= finished_max - limits_.operators_kept)) {
    status = Full(absl::StrCat("the certificates of all have ", nodes_ + operators_,
                               " connections, and the rest is kept: raise the limit of open files"));
  }
  if (!status.ok()) {
    CutLocked(connection);
    return status;
  }
  connection.name = name;
  connection.serial = serial;
  connection.state = is_operator ? State::kOperator : State::kNode;
  ++(is_operator ? operators_ : nodes_);
  ++by_name_[name];
  return absl::OkStatus();
}

void ConnectionLedger::DisownLocked(Connection& connection, uint64_t id, Time now) {
  if (connection.state == State::kLeaving) return;
  Release(connection, id);
  connection.state = State::kHandshake;
  AddHandshake(connection.host, id);
  disowned_.emplace_back(now, id);
}

void ConnectionLedger::Disown(uint64_t id, Time now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = connections_.find(id); found != connections_.end()) DisownLocked(found->second, id, now);
}

std::map<std::pair<std::string, std::string>, int> ConnectionLedger::DisownAll(
    const std::function<bool(const std::string&)>& is_revoked, Time now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::map<std::pair<std::string, std::string>, int> disowned;
  for (auto& [id, connection] : connections_) {
    const bool finished = connection.state == State::kNode || connection.state == State::kOperator;
    if (!finished || !is_revoked(connection.serial)) continue;
    DisownLocked(connection, id, now);
    ++disowned[{connection.name, connection.serial}];
  }
  return disowned;
}

void ConnectionLedger::CutDisowned(Time now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (!disowned_.empty() && now - disowned_.front().first >= kDisownedFor && leaving_ < limits_.leaving) {
    const uint64_t id = disowned_.front().second;
    disowned_.pop_front();
    const auto found = connections_.find(id);
    if (found == connections_.end() || found->second.state != State::kHandshake) continue;
    RemoveHandshake(found->second.host, id);
    CutLocked(found->second);
  }
}

bool ConnectionLedger::Leave(uint64_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = connections_.find(id);
  if (found == connections_.end()) return false;
  Connection& connection = found->second;
  const bool was_cut = connection.state == State::kLeaving;
  Release(connection, id);
  if (const auto at = by_fd_.find(connection.fd); at != by_fd_.end() && at->second == id) by_fd_.erase(at);
  connections_.erase(found);
  return was_cut;
}

int ConnectionLedger::open() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return OpenLocked();
}

int ConnectionLedger::unfinished(const std::string& host) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto own = by_host_.find(host);
  return own == by_host_.end() ? 0 : static_cast<int>(own->second.size());
}

int ConnectionLedger::finished(const std::string& name) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto own = by_name_.find(name);
  return own == by_name_.end() ? 0 : own->second;
}

}  // namespace blink
