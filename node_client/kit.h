// The start-up kit of a node, or of a gateway that hosts a range of nodes. It holds all that the node knows.
//
//   DIR/kit.json      who it is, n, roster version, and where the aggregator is
//   DIR/policy.json   what the owner of the lists allows (policy_file.h); may lie elsewhere
//   DIR/tls/          client.crt, client.key, ca.crt (not needed when "insecure": true)
//   DIR/lists.csv     header "node,neighbour", then one line per link of each hosted node, ascending
//
// Everything is validated here, at start-up. So nothing about a list can go wrong later, in a round, where the
// aggregator could see it. Errors name file and line but never a neighbour, because a list is private even in a log.
#ifndef BLINK_NODE_CLIENT_KIT_H_
#define BLINK_NODE_CLIENT_KIT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/privacy/bit_row.h"
#include "common/wire/roster.h"
#include "node_client/adjacency.h"
#include "node_client/policy_file.h"

namespace blink {

struct KitConfig {
  std::string deployment;
  NodeIndex first_node = 0;  // inclusive
  NodeIndex last_node = 0;   // inclusive
  uint32_t node_count = 0;   // n
  uint64_t roster_version = 0;
  std::string aggregator;  // HOST:PORT
  std::string proxy;       // the only way to it (http_proxy.h); empty: none is needed
  bool insecure = false;   // plaintext, loopback only
  std::string folder;      // where the kit was read from
  // The hosted nodes that have left, ascending and disjoint. Their reports are drawn and debited like all others, but
  // never sent. So public numbers alone decide what is drawn.
  std::vector<NodeRange> retired;

  bool is_gateway() const { return first_node != last_node; }
  uint32_t hosted() const { return last_node - first_node + 1; }
  bool IsRetired(NodeIndex node) const { return InRanges(retired, node); }
  std::string NodesName() const;  // "node-3" or "nodes-0-135"
  std::string certificate_path() const { return folder + "/tls/client.crt"; }
  std::string key_path() const { return folder + "/tls/client.key"; }
  std::string request_path() const { return folder + "/tls/client.csr"; }
  std::string ca_path() const { return folder + "/tls/ca.crt"; }
};

struct Kit {
  KitConfig config;
  NodePolicy policy;
  AdjacencyLists lists;
};

// Loads kit.json alone. Returns NOT_FOUND when it is missing. Returns INVALID_ARGUMENT, naming the key and its range,
// when it is malformed, lacks a key, or has an unknown key or a key twice.
absl::StatusOr<KitConfig> LoadKitConfig(const std::string& folder);

// Reads `text` as kit.json. `path` is for messages.
absl::StatusOr<KitConfig> ParseKitConfig(const std::string& text, const std::string& path);

// Loads lists.csv of a kit. Returns INVALID_ARGUMENT, with file and line, for a malformed line, a node that the kit
// does not host, a neighbour out of range, a self-loop, a duplicate, lines that do not ascend, or more links and nodes
// than `entries_max`. It reads line by line, and takes no more memory than the lists.
absl::StatusOr<AdjacencyLists> LoadLists(const KitConfig& config, uint64_t entries_max = kKitEntriesMax);

// Loads everything. The policy is the one at `policy_path`; when that is empty, the kit's own policy.json. Returns
// FAILED_PRECONDITION when the policy does not allow the kit's deployment.
absl::StatusOr<Kit> LoadKit(const std::string& folder, const std::string& policy_path = "");

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_KIT_H_
