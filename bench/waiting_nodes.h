// Thousands of nodes in one process that wait for the end of a round, as after they have reported.
//
// A gRPC channel parses its key and certificates anew for every connection, which takes 10 ms of a processor. Thousands
// of them in one process would measure that. So these nodes speak the few frames of HTTP/2 that a call needs, over TLS
// with a certificate of each, parsed once. A connection then costs this process what it costs the aggregator.
#ifndef BLINK_BENCH_WAITING_NODES_H_
#define BLINK_BENCH_WAITING_NODES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/pki/pki.h"

namespace blink::load {

struct Answer {
  double time = 0;        // Unix time, seconds
  double window_end = 0;  // seconds: the end of the retry window that it carried
};
struct Waited {
  std::vector<std::vector<Answer>> answers;  // by node
  uint64_t failures = 0;                     // calls without an answer
};

class WaitingNodes {
 public:
  // Node i gets a certificate for the i-th of `count` shares of the nodes 0 .. node_count - 1.
  WaitingNodes(const CertificateAuthority& authority, const std::string& deployment, int port, size_t count,
               uint32_t node_count);
  ~WaitingNodes();

  // Each calls GetRounds, waits within the window of the answer or, without one, backs off, and calls again, by the
  // rules of blink-node (retry_policy.h). The first calls are spread over `spread` seconds.
  Waited Wait(const std::string& round_id, double seconds, double spread);

 private:
  class Node;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace blink::load

#endif  // BLINK_BENCH_WAITING_NODES_H_
