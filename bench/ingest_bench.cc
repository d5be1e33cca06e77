// Durable ingest over mTLS: how many reports a second an aggregator decodes, checks, fsyncs and acknowledges.
//
//   this process (client) ==mTLS==> child: the whole aggregator, its store on a real disk
//                         ==mTLS==> child: a service that reads the same messages, does nothing, and answers as many
//                         bytes
//
// Prints, for each repetition:
//   bare      one call a report to the service that does nothing: what gRPC and TLS allow here
//   durable   the same calls, bytes and channels to the aggregator, and its ratio to bare (target: 0.60 or more)
//   stream    one gateway's one stream of all reports (target: 20,000 acknowledged reports/s or more)
// and the medians of all. n = 22,470, epsilon = 6, degree share 0.1; every report has noise of its own. Both ends share
// this machine's cores.
//
//   ingest_bench [--channels 128] [--in-flight 1] [--reports 20000] [--repeats 3] [--data FOLDER]
//
// experiments/load/run measures a real blink-aggregator with it, by the commands `drive`, `bare` and `count`
// (load_driver.h).
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "aggregator_server/main/aggregator.h"
#include "bench/bare_service.h"
#include "bench/load_client.h"
#include "bench/load_driver.h"
#include "common/base/durable_file.h"
#include "common/base/logging.h"
#include "common/graph/dataset.h"
#include "common/pki/pki.h"
#include "common/rpc/credentials.h"
#include "common/wire/round.h"

namespace blink {
namespace {

using namespace load;

constexpr uint32_t kNodes = 22'470;
constexpr char kDeployment[] = "bench";

struct Options {
  int channels = 128;
  int in_flight = 1;  // calls at a time on each channel
  int reports = 20'000;
  int repeats = 3;
  std::string data = std::filesystem::temp_directory_path().string();
  std::string store;  // of the aggregator; empty: RocksDB
};

std::string RoundId(int round) { return absl::StrFormat("%032x", round + 1); }

TlsFiles CertifyServer(const CertificateAuthority& authority, const std::string& folder) {
  const std::string base = absl::StrCat(folder, "/server");
  const std::string key = Must(GenerateKey());
  CertificateOptions options;
  options.uri_san = absl::StrCat("blink://", kDeployment, "/aggregator");
  options.server = true;
  options.ip_addresses = {"127.0.0.1"};
  TlsFiles files{base + ".crt", base + ".key", base + ".ca"};
  Must(WriteFileAtomically(files.key, key));
  Must(WriteFileAtomically(files.certificate, Must(SignRequest(authority, Must(MakeRequest(key, "server")), options))));
  Must(WriteFileAtomically(files.ca, authority.certificate));
  return files;
}

// A server in a child process that ends with this object.
class Child {
 public:
  // `serve` gets what to call with the bound port, which returns when the parent wants it to end.
  template <typename Serve>
  explicit Child(Serve serve) {
    int up[2], down[2];
    if (::pipe(up) != 0 || ::pipe(down) != 0) std::exit(1);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(up[0]);
      ::close(down[1]);
      serve([&](int port) {
        char end;
        if (::write(up[1], &port, sizeof(port)) != sizeof(port)) ::_exit(1);
        (void)!::read(down[0], &end, 1);  // the end of the pipe is the end of the parent
      });
      ::_exit(0);
    }
    ::close(up[1]);
    ::close(down[0]);
    if (::read(up[0], &port_, sizeof(port_)) != sizeof(port_)) {
      std::fprintf(stderr, "ingest_bench: a server did not start\n");
      std::exit(1);
    }
    end_ = down[1];
  }
  ~Child() {
    ::close(end_);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  int port() const { return port_; }

 private:
  pid_t pid_;
  int port_ = 0;
  int end_;
};

v1::Round OpenRound(int round) {
  v1::Round made;
  made.set_round_id(RoundId(round));
  made.set_deployment(kDeployment);
  *made.mutable_parameters() = ParametersToProto(LoadParameters(kNodes));
  made.set_roster_version(1);
  made.set_state(v1::ROUND_STATE_OPEN);
  made.set_created_ms(absl::ToUnixMillis(absl::Now()) + round);
  made.set_deadline_ms(absl::ToUnixMillis(absl::Now() + absl::Hours(24)));
  made.set_quorum(1);
  return made;
}

template <typename Wait>
void ServeAggregator(const std::string& folder, const std::string& store, const TlsFiles& tls, int rounds, Wait wait) {
  SyntheticOptions synthetic;
  synthetic.nodes = kNodes;
  AggregatorOptions options;
  options.attributes_folder = folder + "/attributes";
  Must(WriteAttributes(Must(GenerateDataset(synthetic)).attributes, options.attributes_folder));
  options.data_folder = folder + "/data";
  options.deployment = {kDeployment, kNodes, 1};
  options.worker_path = "/bin/false";  // no round is sealed: its last nodes do not report
  options.server.tls = tls;
  if (!store.empty()) options.store = Must(PostgresTarget::Parse(store));
  const auto aggregator = Must(Aggregator::Start(options, SystemClock()));
  for (int round = 0; round < rounds; ++round) Must(aggregator->store().CreateRound(OpenRound(round), ""));
  wait(aggregator->port());
}

double CallsPerSecond(const Stubs& stubs, int in_flight, const std::vector<Message>& messages, int round, bool bare) {
  const int in_all = in_flight * static_cast<int>(stubs.size());
  const Acknowledged ignore = [](const std::string&, const Message&) {};
  return static_cast<double>(messages.size()) /
         Must(RunCalls(stubs, messages, RoundId(round), in_all, bare ? nullptr : ignore)).seconds;
}

double StreamedPerSecond(const Stubs& gateway, const std::vector<Message>& messages, int round) {
  const StreamRun run =
      Must(RunStreams(gateway, messages, {RoundId(round)}, [](const std::string&, const Message&) {}));
  if (run.refused > 0) Must(absl::InternalError(absl::StrCat(run.refused, " reports were refused")));
  return static_cast<double>(messages.size()) / run.seconds;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Print(const char* what, double bare, double durable, double stream) {
  std::printf("%-8s bare %8.0f calls/s   durable %8.0f calls/s   ratio %.2f   stream %8.0f reports/s\n", what, bare,
              durable, durable / bare, stream);
  std::fflush(stdout);
}

void Measure(const Options& options, const std::string& folder) {
  Must(MakeDirectories(folder));
  const CertificateAuthority authority = Must(CreateAuthority("bench authority", absl::Hours(24)));
  const TlsFiles server = CertifyServer(authority, folder);
  // Forked before this process has used gRPC.
  const Child aggregator([&](auto wait) { ServeAggregator(folder, options.store, server, 2 * options.repeats, wait); });
  const Child bare([&](auto wait) { ServeBareService(server, wait); });
  const std::vector<Message> messages = DrawReports(kDeployment, kNodes, options.reports);
  const auto senders = CertifySenders(authority, kDeployment, options.channels, messages.size());
  const Stubs to_bare = Must(Connect(bare.port(), senders));
  const Stubs to_aggregator = Must(Connect(aggregator.port(), senders));
  const Stubs gateway = Must(Connect(aggregator.port(), CertifySenders(authority, kDeployment, 1, messages.size())));
  std::printf("%d reports of n = %u, %d channels with %d calls at a time each, data in %s\n", options.reports, kNodes,
              options.channels, options.in_flight, folder.c_str());
  CallsPerSecond(to_bare, options.in_flight, messages, 0, true);  // warms both processes up
  std::vector<double> bares, durables, streams, ratios;
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    bares.push_back(CallsPerSecond(to_bare, options.in_flight, messages, 0, true));
    durables.push_back(CallsPerSecond(to_aggregator, options.in_flight, messages, 2 * repeat, false));
    streams.push_back(StreamedPerSecond(gateway, messages, 2 * repeat + 1));
    ratios.push_back(durables.back() / bares.back());
    Print(absl::StrCat("run ", repeat + 1).c_str(), bares.back(), durables.back(), streams.back());
  }
  Print("medians", Median(bares), Median(durables), Median(streams));
  std::printf("median ratio %.2f (target 0.60), stream over its target of 20,000: %.2f\n", Median(ratios),
              Median(streams) / 20'000);
}

int MeasureAlone(const Options& options) {
  const std::string folder = absl::StrCat(options.data, "/blink-ingest-bench-", ::getpid());
  Measure(options, folder);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return 0;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Durable ingest over mTLS, against a service that does nothing.", "ingest_bench");
  app.add_option("--channels", options.channels, "connections for single calls")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--in-flight", options.in_flight, "calls at a time on each")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--reports", options.reports, "reports a run")
      ->check(CLI::Range(1, static_cast<int>(kNodes) - 1))
      ->capture_default_str();
  app.add_option("--repeats", options.repeats, "runs")->check(CLI::Range(1, 100))->capture_default_str();
  app.add_option("--data", options.data, "a folder on the disk to be measured")->capture_default_str();
  app.add_option("--store", options.store, "the URI of an empty PostgreSQL database (default: RocksDB)");
  app.require_subcommand(0, 1);
  DriveOptions drive;
  CLI::App* const driver = app.add_subcommand("drive", "send what lines of standard input say");
  driver->add_option("--authority", drive.authority, "folder with ca.crt and ca.key")->required();
  driver->add_option("--deployment", drive.deployment)->required();
  driver->add_option("--nodes", drive.nodes)->required()->check(CLI::Range(2, 1'000'000));
  driver->add_option("--aggregator", drive.aggregator, "its port on loopback")->required();
  driver->add_option("--bare", drive.bare, "port of the service that does nothing");
  driver->add_option("--connections", drive.connections)->required()->check(CLI::Range(1, 100'000));
  driver->add_option("--gateways", drive.gateways, "streams at a time")->check(CLI::Range(1, 64));
  driver->add_option("--acknowledged", drive.acknowledged, "file of what was acknowledged")->required();
  TlsFiles tls;
  CLI::App* const bare = app.add_subcommand("bare", "serve, and do nothing with what comes");
  bare->add_option("--tls-certificate", tls.certificate)->required();
  bare->add_option("--tls-key", tls.key)->required();
  bare->add_option("--tls-ca", tls.ca)->required();
  std::string folder, uri, acknowledged;
  uint32_t nodes = 0;
  CLI::App* const count = app.add_subcommand("count", "look for what was acknowledged in the store that was left");
  count->add_option("--folder", folder, "of RocksDB");
  count->add_option("--store", uri, "of PostgreSQL")->excludes("--folder");
  count->add_option("--nodes", nodes)->required();
  count->add_option("--acknowledged", acknowledged, "file of what was acknowledged")->required();
  CLI11_PARSE(app, argc, argv);
  ::signal(SIGPIPE, SIG_IGN);
  Must(InitLogging("ingest_bench", "error"));
  RaiseDescriptorLimit();
  if (*driver) return Drive(drive);
  if (*bare) return ServeBare(tls.certificate, tls.key, tls.ca);
  if (*count) return CountHeld(folder, uri, nodes, acknowledged);
  return MeasureAlone(options);
}

}  // namespace
}  // namespace blink

int main(int argc, char** argv) { return blink::Main(argc, argv); }
