#include "bench/load_driver.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "aggregator_server/store/postgres_store.h"
#include "aggregator_server/store/rocksdb_store.h"
#include "bench/bare_service.h"
#include "bench/load_client.h"
#include "bench/waiting_nodes.h"
#include "common/base/durable_file.h"
#include "common/wire/report_codec.h"
#include "nlohmann/json.hpp"

namespace blink::load {
namespace {

using Json = nlohmann::json;

void Say(const Json& line) { std::cout << line.dump() << std::endl; }

class Driver {
 public:
  explicit Driver(const DriveOptions& options)
      : options_(options),
        messages_(DrawReports(options.deployment, options.nodes, static_cast<int>(options.nodes) - 1)),
        acknowledged_file_(options.acknowledged, std::ios::app),
        authority_{Must(ReadFile(options.authority + "/ca.crt", 1 << 20)),
                   Must(ReadFile(options.authority + "/ca.key", 1 << 20))} {
    const auto senders = CertifySenders(authority_, options.deployment, options.connections, messages_.size());
    to_aggregator_ = Must(Connect(options.aggregator, senders));
    if (options.bare > 0) to_bare_ = Must(Connect(options.bare, senders));
    gateways_ = Must(Connect(options.aggregator,
                             CertifySenders(authority_, options.deployment, options.gateways, messages_.size())));
  }

  Json Do(const std::vector<std::string>& words) {
    absl::StatusOr<Json> done = absl::InvalidArgumentError("unknown command");
    if (words[0] == "calls" && words.size() == 4) {
      done = DoCalls(words[1] == "bare", words[2], std::stoi(words[3]));
    } else if (words[0] == "stream" && words.size() == 2) {
      done = DoStream(absl::StrSplit(words[1], ','));
    } else if (words[0] == "nodes" && words.size() == 2) {
      done = MakeNodes(std::stoul(words[1]));
    } else if (words[0] == "wait" && words.size() == 4) {
      done = DoWait(words[1], std::stod(words[2]), std::stod(words[3]));
    }
    for (const auto& [round_id, message] : noted_) {
      acknowledged_file_ << round_id << ' ' << message->header.node_id() << ' '
                         << absl::BytesToHexString(message->header.digest()) << '\n';
    }
    noted_.clear();
    acknowledged_file_.flush();
    return done.ok() ? *done : Json{{"error", done.status().ToString()}};
  }

 private:
  void Note(const std::string& round_id, const Message& message) {
    const std::lock_guard<std::mutex> lock(mutex_);
    noted_.emplace_back(round_id, &message);
  }

  absl::StatusOr<Json> DoCalls(bool bare, const std::string& round_id, int in_flight) {
    const Acknowledged note = [this](const std::string& round, const Message& message) { Note(round, message); };
    absl::StatusOr<CallRun> run =
        RunCalls(bare ? to_bare_ : to_aggregator_, messages_, round_id, in_flight, bare ? nullptr : note);
    if (!run.ok()) return run.status();
    std::sort(run->latency_ms.begin(), run->latency_ms.end());
    const auto quantile = [&](double q) {
      return run->latency_ms[static_cast<size_t>(q * static_cast<double>(run->latency_ms.size() - 1))];
    };
    return Json{{"reports", messages_.size()},
                {"seconds", run->seconds},
                {"p50_ms", quantile(0.5)},
                {"p99_ms", quantile(0.99)}};
  }

  absl::StatusOr<Json> DoStream(const std::vector<std::string>& round_ids) {
    const absl::StatusOr<StreamRun> run =
        RunStreams(gateways_, messages_, round_ids,
                   [this](const std::string& round, const Message& message) { Note(round, message); });
    if (!run.ok()) return run.status();
    return Json{{"reports", run->acknowledged}, {"seconds", run->seconds}, {"refused", run->refused}};
  }

  absl::StatusOr<Json> MakeNodes(size_t count) {
    waiting_ =
        std::make_unique<WaitingNodes>(authority_, options_.deployment, options_.aggregator, count, options_.nodes);
    return Json{{"nodes", count}};
  }

  absl::StatusOr<Json> DoWait(const std::string& round_id, double seconds, double spread) {
    if (waiting_ == nullptr) return absl::FailedPreconditionError("there are no nodes");
    const Waited waited = waiting_->Wait(round_id, seconds, spread);
    Json nodes = Json::array();
    for (const std::vector<Answer>& answers : waited.answers) {
      Json node = Json::array();
      for (const Answer& answer : answers) node.push_back({answer.time, answer.window_end});
      nodes.push_back(std::move(node));
    }
    return Json{{"answers", std::move(nodes)}, {"failures", waited.failures}};
  }

  const DriveOptions options_;
  const std::vector<Message> messages_;
  std::mutex mutex_;
  std::vector<std::pair<std::string, const Message*>>
      noted_;  // written when a command is done, so that it takes no time
  std::ofstream acknowledged_file_;
  const CertificateAuthority authority_;
  Stubs to_aggregator_, to_bare_, gateways_;
  std::unique_ptr<WaitingNodes> waiting_;
};

struct Held {
  uint64_t held = 0, missing = 0, different = 0;
};

// `expected`: digests by node.
Held CountRound(ReportStore& store, const std::string& round_id, uint32_t nodes,
                std::map<uint64_t, std::string> expected) {
  const PrivacyParameters parameters = LoadParameters(nodes);
  Held held;
  Must(store.VisitReports(round_id, [&](uint64_t node, const CodedReport& report) -> absl::Status {
    ++held.held;
    const bool sound = DecodeReport(parameters, static_cast<NodeIndex>(node), report).ok();
    const auto found = expected.find(node);
    if (found == expected.end()) return absl::OkStatus();
    held.different += !sound || found->second != absl::BytesToHexString(DigestToBytes(report.digest));
    expected.erase(found);
    return absl::OkStatus();
  }));
  held.missing = expected.size();
  return held;
}

}  // namespace

int Drive(const DriveOptions& options) {
  Driver driver(options);
  Say({{"ready", true}});
  for (std::string line; std::getline(std::cin, line);) {
    Say(driver.Do(absl::StrSplit(line, ' ')));
  }
  return 0;
}

int ServeBare(const std::string& certificate, const std::string& key, const std::string& ca) {
  ServeBareService({certificate, key, ca}, [](int port) {
    Say({{"port", port}});
    for (std::string line; std::getline(std::cin, line);) {
    }
  });
  return 0;
}

int CountHeld(const std::string& folder, const std::string& uri, uint32_t nodes, const std::string& file) {
  std::map<std::string, std::map<uint64_t, std::string>> acknowledged;
  std::ifstream lines(file);
  std::string round_id, digest;
  uint64_t node, all = 0;
  while (lines >> round_id >> node >> digest) {
    acknowledged[round_id][node] = digest;
    ++all;
  }
  const std::unique_ptr<ReportStore> store =
      uri.empty() ? Must(OpenRocksDbStore(folder)) : Must(OpenPostgresStore(Must(PostgresTarget::Parse(uri))));
  Held sum;
  for (auto& [round, expected] : acknowledged) {
    const Held held = CountRound(*store, round, nodes, std::move(expected));
    sum.held += held.held;
    sum.missing += held.missing;
    sum.different += held.different;
  }
  Say({{"rounds", acknowledged.size()},
       {"acknowledged", all},
       {"held", sum.held},
       {"missing", sum.missing},
       {"different", sum.different}});
  return 0;
}

}  // namespace blink::load
