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
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "aggregator_server/main/aggregator.h"
#include "common/base/durable_file.h"
#include "common/base/logging.h"
#include "common/graph/dataset.h"
#include "common/pki/pki.h"
#include "common/privacy/privatizer.h"
#include "common/rpc/credentials.h"
#include "common/wire/report_codec.h"
#include "common/wire/round.h"
#include "tests/testing/server_credentials.h"

namespace blink {
namespace {

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

// A benchmark that cannot be set up says why and ends.
template <typename T>
T Must(absl::StatusOr<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "ingest_bench: %s\n", result.status().ToString().c_str());
    std::exit(1);
  }
  return *std::move(result);
}
void Must(const absl::Status& status) {
  if (!status.ok()) Must(absl::StatusOr<int>(status));
}

std::string RoundId(int round) { return absl::StrFormat("%032x", round + 1); }

PrivacyParameters Parameters() { return Must(PrivacyParameters::Create(6'000'000, 100'000, kNodes)); }

TlsFiles Certify(const CertificateAuthority& authority, const std::string& folder, const std::string& name,
                 const std::string& uri, bool server) {
  const std::string base = absl::StrCat(folder, "/", name);
  const std::string key = Must(GenerateKey());
  CertificateOptions options;
  options.uri_san = uri;
  options.server = server;
  if (server) options.ip_addresses = {"127.0.0.1"};
  TlsFiles files{base + ".crt", base + ".key", base + ".ca"};
  Must(WriteFileAtomically(files.key, key));
  Must(WriteFileAtomically(files.certificate, Must(SignRequest(authority, Must(MakeRequest(key, name)), options))));
  Must(WriteFileAtomically(files.ca, authority.certificate));
  return files;
}

// Reads a report as the aggregator does, and answers with a receipt of the same size; nothing is looked at, nothing is
// kept.
class BareService final : public v1::NodeService::CallbackService {
 public:
  grpc::ServerReadReactor<v1::SubmitReportRequest>* SubmitReport(grpc::CallbackServerContext*,
                                                                 v1::SubmitReportResponse* response) override {
    class Reactor final : public grpc::ServerReadReactor<v1::SubmitReportRequest> {
     public:
      explicit Reactor(v1::SubmitReportResponse& response) : response_(response) { StartRead(&request_); }
      void OnReadDone(bool ok) override {
        if (ok) return StartRead(&request_);
        v1::Receipt& receipt = *response_.mutable_receipt();
        receipt.set_round_id(RoundId(0));
        receipt.set_node_id(kNodes - 1);
        receipt.set_digest(std::string(32, 'd'));
        receipt.set_received_minute(30'000'000);
        *response_.mutable_retry() = RetryWindowToProto({absl::Milliseconds(250), absl::Milliseconds(750)});
        Finish(grpc::Status::OK);
      }
      void OnDone() override { delete this; }

     private:
      v1::SubmitReportResponse& response_;
      v1::SubmitReportRequest request_;
    };
    return new Reactor(*response);
  }
};

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
  *made.mutable_parameters() = ParametersToProto(Parameters());
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

template <typename Wait>
void ServeBare(const TlsFiles& tls, Wait wait) {
  BareService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", Must(testing::MakeServerCredentials(tls)), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  wait(port);
  server->Shutdown(std::chrono::system_clock::now());
}

struct Message {
  v1::ReportHeader header;
  std::string coded_bits;
};

// Real reports of lists of ten links.
std::vector<Message> DrawReports(int reports) {
  const PrivacyParameters parameters = Parameters();
  std::vector<Message> messages(reports);
  for (int node = 0; node < reports; ++node) {
    std::vector<NodeIndex> list;
    for (uint32_t j = 1; j <= 10; ++j) list.push_back((node + 997 * j) % kNodes);
    const NodeIndex self = static_cast<NodeIndex>(node);
    const CodedReport report = EncodeReport(
        parameters, Must(ApplyNoise(parameters, self, Must(DrawNoise(parameters, self, SecureRandom())), list)));
    v1::ReportHeader& header = messages[node].header;
    header.set_deployment(kDeployment);
    header.set_node_id(self);
    *header.mutable_parameters() = ParametersToProto(parameters);
    header.set_roster_version(1);
    header.set_noisy_degree(*report.noisy_degree);
    header.set_coded_bytes(static_cast<uint32_t>(report.coded_bits.size()));
    header.set_digest(DigestToBytes(report.digest));
    messages[node].coded_bits = report.coded_bits;
  }
  return messages;
}

using Channels = std::vector<std::shared_ptr<grpc::Channel>>;

Channels Connect(int port, int channels, const TlsFiles& tls) {
  Channels connected;
  for (int c = 0; c < channels; ++c) {
    connected.push_back(MakeChannel(absl::StrCat("127.0.0.1:", port), Must(MakeClientCredentials(tls, kDeployment))));
    connected.back()->GetState(/*try_to_connect=*/true);
  }
  for (const auto& channel : connected) {
    if (!channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(30))) {
      Must(absl::UnavailableError("no connection"));
    }
  }
  return connected;
}

// What one run shares: which report is next, and how many have been answered.
class Run {
 public:
  Run(const std::vector<Message>& messages, std::string round_id)
      : messages_(messages), round_id_(std::move(round_id)) {}
  // nullptr: all are on their way.
  const Message* Next() {
    const size_t next = next_.fetch_add(1);
    return next < messages_.size() ? &messages_[next] : nullptr;
  }
  void Answered(const grpc::Status& status) {
    if (!status.ok()) Must(absl::InternalError(absl::StrCat("a report was refused: ", status.error_message())));
    if (answered_.fetch_add(1) + 1 < messages_.size()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
  }
  const std::string& round_id() const { return round_id_; }

 private:
  const std::vector<Message>& messages_;
  const std::string round_id_;
  std::atomic<size_t> next_{0}, answered_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
};

// One call: header, chunk, receipt; then the next on the same channel. Deletes itself.
class Call final : public grpc::ClientWriteReactor<v1::SubmitReportRequest> {
 public:
  static void Start(v1::NodeService::Stub& stub, Run& run) {
    if (const Message* message = run.Next()) (new Call(stub, run, *message))->Begin();
  }

 private:
  Call(v1::NodeService::Stub& stub, Run& run, const Message& message) : stub_(stub), run_(run) {
    *header_.mutable_header() = message.header;
    header_.mutable_header()->set_round_id(run.round_id());
    chunk_.set_chunk(message.coded_bits);
  }
  void Begin() {
    stub_.async()->SubmitReport(&context_, &response_, this);
    StartWrite(&header_);
    StartCall();
  }
  void OnWriteDone(bool ok) override {
    if (ok && !std::exchange(sent_header_, true)) StartWriteLast(&chunk_, grpc::WriteOptions());
  }
  void OnDone(const grpc::Status& status) override {
    Start(stub_, run_);
    run_.Answered(status);
    delete this;
  }
  v1::NodeService::Stub& stub_;
  Run& run_;
  grpc::ClientContext context_;
  v1::SubmitReportRequest header_, chunk_;
  v1::SubmitReportResponse response_;
  bool sent_header_ = false;
};

double RateOf(size_t reports, std::chrono::steady_clock::time_point begin) {
  return static_cast<double>(reports) / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double CallsPerSecond(const Channels& channels, int in_flight, const std::vector<Message>& messages, int round) {
  std::vector<std::unique_ptr<v1::NodeService::Stub>> stubs;
  for (const auto& channel : channels) stubs.push_back(v1::NodeService::NewStub(channel));
  Run run(messages, RoundId(round));
  const auto begin = std::chrono::steady_clock::now();
  for (int call = 0; call < in_flight; ++call) {
    for (const auto& stub : stubs) Call::Start(*stub, run);
  }
  run.Wait();
  return RateOf(messages.size(), begin);
}

double StreamedPerSecond(const std::shared_ptr<grpc::Channel>& channel, const std::vector<Message>& messages,
                         int round) {
  const auto stub = v1::NodeService::NewStub(channel);
  grpc::ClientContext context;
  const auto begin = std::chrono::steady_clock::now();
  const auto stream = stub->SubmitReports(&context);
  std::thread writer([&] {
    v1::SubmitReportsRequest request;
    for (const Message& message : messages) {
      *request.mutable_header() = message.header;
      request.mutable_header()->set_round_id(RoundId(round));
      request.set_coded_bits(message.coded_bits);
      if (!stream->Write(request)) break;
    }
    stream->WritesDone();
  });
  v1::SubmitReportsResponse response;
  size_t receipts = 0;
  while (stream->Read(&response)) receipts += response.has_receipt();
  const double rate = RateOf(receipts, begin);
  writer.join();
  const grpc::Status status = stream->Finish();
  if (!status.ok() || receipts != messages.size()) {
    Must(absl::InternalError(absl::StrCat(receipts, " of ", messages.size(), " receipts: ", status.error_message())));
  }
  return rate;
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
  const TlsFiles server =
      Certify(authority, folder, "server", absl::StrCat("blink://", kDeployment, "/aggregator"), true);
  const TlsFiles client =
      Certify(authority, folder, "client", absl::StrCat("blink://", kDeployment, "/nodes/0-", kNodes - 1), false);
  // Forked before this process has used gRPC.
  const Child aggregator([&](auto wait) { ServeAggregator(folder, options.store, server, 2 * options.repeats, wait); });
  const Child bare([&](auto wait) { ServeBare(server, wait); });
  const std::vector<Message> messages = DrawReports(options.reports);
  const Channels to_bare = Connect(bare.port(), options.channels, client);
  const Channels to_aggregator = Connect(aggregator.port(), options.channels, client);
  std::printf("%d reports of n = %u, %d channels with %d calls at a time each, data in %s\n", options.reports, kNodes,
              options.channels, options.in_flight, folder.c_str());
  CallsPerSecond(to_bare, options.in_flight, messages, 0);  // warms both processes up
  std::vector<double> bares, durables, streams, ratios;
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    bares.push_back(CallsPerSecond(to_bare, options.in_flight, messages, 0));
    durables.push_back(CallsPerSecond(to_aggregator, options.in_flight, messages, 2 * repeat));
    streams.push_back(StreamedPerSecond(to_aggregator.front(), messages, 2 * repeat + 1));
    ratios.push_back(durables.back() / bares.back());
    Print(absl::StrCat("run ", repeat + 1).c_str(), bares.back(), durables.back(), streams.back());
  }
  Print("medians", Median(bares), Median(durables), Median(streams));
  std::printf("median ratio %.2f (target 0.60), stream over its target of 20,000: %.2f\n", Median(ratios),
              Median(streams) / 20'000);
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
  CLI11_PARSE(app, argc, argv);
  ::signal(SIGPIPE, SIG_IGN);
  Must(InitLogging("ingest_bench", "error"));
  RaiseDescriptorLimit();
  const std::string folder = absl::StrCat(options.data, "/blink-ingest-bench-", ::getpid());
  Measure(options, folder);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return 0;
}

}  // namespace
}  // namespace blink

int main(int argc, char** argv) { return blink::Main(argc, argv); }
