// What gRPC itself says, in the log of a program.
//
// A peer can make gRPC say the same thing thousands of times a second, so each place in its sources is heard once in
// kQuiet. The next line of a place tells how many were left out. At level debug, every line is written.
#ifndef BLINK_COMMON_RPC_GRPC_LOG_H_
#define BLINK_COMMON_RPC_GRPC_LOG_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"

namespace blink {

// Which lines are written. May be used from any thread.
class GrpcLines {
 public:
  static constexpr absl::Duration kQuiet = absl::Minutes(10);

  // How many lines of this place were left out before this one, or nothing where this one is to be left out too.
  std::optional<uint64_t> Admit(const std::string& file, int line, absl::Time now);

 private:
  struct Place {
    absl::Time written = absl::InfinitePast();
    uint64_t left_out = 0;
  };
  std::mutex mutex_;
  std::map<std::pair<std::string, int>, Place> places_;
};

// Sends gRPC's lines to the log from now on. After InitLogging.
void InstallGrpcLog();

}  // namespace blink

#endif  // BLINK_COMMON_RPC_GRPC_LOG_H_
