// ingest_bench as the sender of experiments/load: a process beside the aggregator, told by lines what to send.
#ifndef BLINK_BENCH_LOAD_DRIVER_H_
#define BLINK_BENCH_LOAD_DRIVER_H_

#include <cstdint>
#include <string>

namespace blink::load {

struct DriveOptions {
  std::string authority;  // folder with ca.crt and ca.key, which sign a certificate for each sender
  std::string deployment;
  uint32_t nodes = 0;
  int aggregator = 0;        // port
  int bare = 0;              // port; 0: there is none
  int connections = 0;       // each with a certificate of its own
  int gateways = 1;          // likewise; each with a share of the nodes
  std::string acknowledged;  // file: a line "ROUND NODE DIGEST" for each report that was acknowledged
};

// Answers each line of standard input with one line of JSON:
//   calls aggregator|bare ROUND IN_FLIGHT   {"reports", "seconds", "p50_ms", "p99_ms"}
//   stream ROUND[,ROUND...]                 {"reports", "seconds", "refused"}
//   nodes COUNT                             {"nodes"}: makes certificates for so many waiting nodes
//   wait ROUND SECONDS SPREAD               {"answers": [[[time, end of the window], ...] of each node], "failures"}
// or with {"error"}. Says {"ready": true} first, when all are connected. All nodes but the last one report, so that the
// round is not sealed. Returns at the end of the input.
int Drive(const DriveOptions& options);

// A service that reads the same messages, does nothing, and answers as many bytes. Says {"port"}, and returns at the
// end of standard input.
int ServeBare(const std::string& certificate, const std::string& key, const std::string& ca);

// Reads the store that an aggregator has left: RocksDB in `folder`, or PostgreSQL at `uri`. Every report of `file` (see
// DriveOptions::acknowledged) must be there, and must decode. Says {"rounds", "acknowledged", "held", "missing",
// "different"}.
int CountHeld(const std::string& folder, const std::string& uri, uint32_t nodes, const std::string& file);

}  // namespace blink::load

#endif  // BLINK_BENCH_LOAD_DRIVER_H_
