// Who is behind a connection that a balancer passes on. gRPC knows the balancer's address alone.
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_CALLER_NAMES_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_CALLER_NAMES_H_

#include <grpcpp/server_context.h>

#include <mutex>
#include <string>
#include <unordered_map>

namespace blink {

// Both as gRPC writes addresses: "ipv4:192.0.2.7:40112". From any thread.
class CallerNames {
 public:
  void Set(const std::string& connection, const std::string& caller) {
    const std::lock_guard<std::mutex> lock(mutex_);
    callers_[connection] = caller;
  }
  void Forget(const std::string& connection) {
    const std::lock_guard<std::mutex> lock(mutex_);
    callers_.erase(connection);
  }
  // `connection` itself where no balancer is between.
  std::string Find(const std::string& connection) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = callers_.find(connection);
    return found == callers_.end() ? connection : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::string> callers_;
};

// Of this process.
inline CallerNames& Callers() {
  static CallerNames& callers = *new CallerNames;  // gRPC's threads may outlive main
  return callers;
}

// Where a call comes from.
inline std::string PeerOf(const grpc::ServerContextBase& context) { return Callers().Find(context.peer()); }

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRANSPORT_CALLER_NAMES_H_
