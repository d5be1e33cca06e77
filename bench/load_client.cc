#include "bench/load_client.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/digest.h"
#include "common/privacy/privatizer.h"
#include "common/wire/report_codec.h"
#include "common/wire/retry_policy.h"
#include "common/wire/round.h"

namespace blink::load {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

// What the calls of one run share.
class Calls {
 public:
  struct Item {
    v1::NodeService::Stub* stub;
    const Message* message;
    size_t index;
  };

  Calls(const Stubs& stubs, const std::vector<Message>& messages, std::string round_id,
        const Acknowledged& acknowledged)
      : round_id(std::move(round_id)), acknowledged_(acknowledged), latency_ms_(messages.size()) {
    std::vector<std::vector<size_t>> of_stub(stubs.size());
    for (size_t i = 0; i < messages.size(); ++i) of_stub[ShareOf(i, stubs.size(), messages.size())].push_back(i);
    for (size_t turn = 0; items_.size() < messages.size(); ++turn) {
      for (size_t s = 0; s < stubs.size(); ++s) {
        if (turn >= of_stub[s].size()) continue;
        items_.push_back({stubs[s].get(), &messages[of_stub[s][turn]], of_stub[s][turn]});
      }
    }
  }

  absl::StatusOr<CallRun> Run(int in_flight);
  // nullptr: all are on their way, or one has failed.
  const Item* Next() {
    if (failed_) return nullptr;
    const size_t next = next_.fetch_add(1);
    return next < items_.size() ? &items_[next] : nullptr;
  }
  void Answered(const Item& item, const absl::Status& status, const std::string& digest, Clock::time_point begun) {
    latency_ms_[item.index] = static_cast<float>(1000 * SecondsSince(begun));
    if (status.ok() && acknowledged_ == nullptr) return;
    if (status.ok() && digest == item.message->header.digest()) return acknowledged_(round_id, *item.message);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (error_.ok()) error_ = status.ok() ? absl::InternalError("a receipt is of another report") : status;
    failed_ = true;
  }
  void EndLane() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--lanes_ == 0) changed_.notify_all();
  }

  const std::string round_id;

 private:
  const Acknowledged& acknowledged_;
  std::vector<Item> items_;
  std::vector<float> latency_ms_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  absl::Status error_;
  int lanes_ = 0;
};

// One call: header, chunk, receipt; then the next one. Deletes itself.
class Call final : public grpc::ClientWriteReactor<v1::SubmitReportRequest> {
 public:
  static void StartNext(Calls& calls) {
    if (const Calls::Item* item = calls.Next()) return (new Call(calls, *item))->Begin();
    calls.EndLane();
  }

 private:
  Call(Calls& calls, const Calls::Item& item) : calls_(calls), item_(item) {
    *header_.mutable_header() = item.message->header;
    header_.mutable_header()->set_round_id(calls.round_id);
    chunk_.set_chunk(item.message->coded_bits);
  }
  void Begin() {
    item_.stub->async()->SubmitReport(&context_, &response_, this);
    StartWrite(&header_);
    StartCall();
  }
  void OnWriteDone(bool ok) override {
    if (ok && !std::exchange(sent_header_, true)) StartWriteLast(&chunk_, grpc::WriteOptions());
  }
  void OnDone(const grpc::Status& status) override {
    calls_.Answered(item_, FromGrpc(status), response_.receipt().digest(), begun_);
    StartNext(calls_);
    delete this;
  }
  Calls& calls_;
  const Calls::Item& item_;
  const Clock::time_point begun_ = Clock::now();
  grpc::ClientContext context_;
  v1::SubmitReportRequest header_, chunk_;
  v1::SubmitReportResponse response_;
  bool sent_header_ = false;
};

absl::StatusOr<CallRun> Calls::Run(int in_flight) {
  lanes_ = in_flight;
  const auto begin = Clock::now();
  for (int lane = 0; lane < in_flight; ++lane) Call::StartNext(*this);
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return lanes_ == 0; });
  if (!error_.ok()) return error_;
  return CallRun{SecondsSince(begin), std::move(latency_ms_)};
}

// One gateway's stream of `pending`. Returns those that were not acknowledged, and notes the last window in `window`.
std::vector<const Message*> StreamOnce(v1::NodeService::Stub& stub, const std::vector<const Message*>& pending,
                                       const std::string& round_id, const Acknowledged& acknowledged,
                                       std::optional<RetryWindow>& window, absl::Status& status) {
  grpc::ClientContext context;
  const auto stream = stub.SubmitReports(&context);
  std::thread writer([&] {
    v1::SubmitReportsRequest request;
    for (const Message* message : pending) {
      *request.mutable_header() = message->header;
      request.mutable_header()->set_round_id(round_id);
      request.set_coded_bits(message->coded_bits);
      if (!stream->Write(request)) break;
    }
    stream->WritesDone();
  });
  std::unordered_map<uint64_t, const Message*> missing;
  for (const Message* message : pending) missing.emplace(message->header.node_id(), message);
  v1::SubmitReportsResponse response;
  status = absl::OkStatus();
  while (stream->Read(&response)) {
    const auto found = missing.find(response.node_id());
    if (found == missing.end()) continue;
    window = RetryWindowFromProto(response.retry());
    if (!response.has_receipt()) {
      status = absl::Status(static_cast<absl::StatusCode>(response.refusal().code()), response.refusal().message());
    } else if (response.receipt().digest() == found->second->header.digest()) {
      acknowledged(round_id, *found->second);
      missing.erase(found);
    }
  }
  writer.join();
  if (const grpc::Status end = stream->Finish(); !end.ok()) status = FromGrpc(end);
  std::vector<const Message*> left;
  for (const Message* message : pending) {
    if (missing.count(message->header.node_id()) > 0) left.push_back(message);
  }
  return left;
}

}  // namespace

PrivacyParameters LoadParameters(uint32_t nodes) { return Must(PrivacyParameters::Create(6'000'000, 100'000, nodes)); }

std::vector<Message> DrawReports(const std::string& deployment, uint32_t nodes, int reports) {
  const PrivacyParameters parameters = LoadParameters(nodes);
  const uint32_t links = std::min<uint32_t>(10, (nodes - 1) / 2);
  std::vector<Message> messages(reports);
  for (int node = 0; node < reports; ++node) {
    std::vector<NodeIndex> list;
    for (uint32_t j = 1; j <= links; ++j) list.push_back((node + j * (nodes / (links + 1))) % nodes);
    const NodeIndex self = static_cast<NodeIndex>(node);
    const CodedReport report = EncodeReport(
        parameters, Must(ApplyNoise(parameters, self, Must(DrawNoise(parameters, self, SecureRandom())), list)));
    v1::ReportHeader& header = messages[node].header;
    header.set_deployment(deployment);
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

std::shared_ptr<grpc::ChannelCredentials> Certify(const CertificateAuthority& authority, const std::string& uri) {
  namespace tls = grpc::experimental;
  const std::string key = Must(GenerateKey());
  CertificateOptions certificate;
  certificate.uri_san = uri;
  const std::string signed_by = Must(SignRequest(authority, Must(MakeRequest(key, "sender")), certificate));
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<tls::StaticDataCertificateProvider>(
      authority.certificate, std::vector<tls::IdentityKeyCertPair>{{key, signed_by}}));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(true);
  options.set_check_call_host(false);
  options.set_certificate_verifier(std::make_shared<tls::NoOpCertificateVerifier>());  // of names; the chain is checked
  return tls::TlsCredentials(options);
}

std::vector<std::shared_ptr<grpc::ChannelCredentials>> CertifySenders(const CertificateAuthority& authority,
                                                                      const std::string& deployment, size_t senders,
                                                                      size_t messages) {
  std::vector<std::pair<size_t, size_t>> ranges(senders, {messages, 0});
  for (size_t i = 0; i < messages; ++i) {
    auto& [first, last] = ranges[ShareOf(i, senders, messages)];
    first = std::min(first, i);
    last = i;
  }
  std::vector<std::shared_ptr<grpc::ChannelCredentials>> credentials;
  for (const auto& [first, last] : ranges) {
    credentials.push_back(Certify(authority, absl::StrCat("blink://", deployment, "/nodes/", first, "-", last)));
  }
  return credentials;
}

absl::StatusOr<Stubs> Connect(int port, const std::vector<std::shared_ptr<grpc::ChannelCredentials>>& credentials) {
  constexpr size_t kAtATime = 250;
  const std::string address = absl::StrCat("127.0.0.1:", port);
  Stubs stubs;
  for (size_t begin = 0; begin < credentials.size(); begin += kAtATime) {
    std::vector<std::shared_ptr<grpc::Channel>> channels;
    for (size_t c = begin; c < std::min(begin + kAtATime, credentials.size()); ++c) {
      channels.push_back(MakeChannel(address, credentials[c]));
      channels.back()->GetState(/*try_to_connect=*/true);
      stubs.push_back(v1::NodeService::NewStub(channels.back()));
    }
    for (const auto& channel : channels) {
      if (!channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(30))) {
        return absl::UnavailableError(absl::StrCat("no connection to ", address, " within 30 s"));
      }
    }
  }
  return stubs;
}

absl::StatusOr<CallRun> RunCalls(const Stubs& stubs, const std::vector<Message>& messages, const std::string& round_id,
                                 int in_flight, const Acknowledged& acknowledged) {
  return Calls(stubs, messages, round_id, acknowledged).Run(in_flight);
}

absl::StatusOr<StreamRun> RunStreams(const Stubs& gateways, const std::vector<Message>& messages,
                                     const std::vector<std::string>& round_ids, const Acknowledged& acknowledged) {
  std::atomic<uint64_t> acknowledgements{0}, refused{0};
  const Acknowledged count = [&](const std::string& round_id, const Message& message) {
    acknowledgements.fetch_add(1);
    acknowledged(round_id, message);
  };
  std::mutex mutex;
  absl::Status error;
  const auto run_gateway = [&](size_t gateway) {
    std::vector<const Message*> own;
    for (size_t i = 0; i < messages.size(); ++i) {
      if (ShareOf(i, gateways.size(), messages.size()) == gateway) own.push_back(&messages[i]);
    }
    RandomSource& random = SecureRandom();
    for (const std::string& round_id : round_ids) {
      std::vector<const Message*> pending = own;
      for (int attempt = 0; !pending.empty(); ++attempt) {
        std::optional<RetryWindow> window;
        absl::Status status;
        pending = StreamOnce(*gateways[gateway], pending, round_id, count, window, status);
        if (pending.empty()) break;
        refused.fetch_add(pending.size());
        if (!IsRetryable(status)) {
          const std::lock_guard<std::mutex> lock(mutex);
          error = status.ok() ? absl::InternalError("a stream ended without an answer to each report") : status;
          return;
        }
        absl::SleepFor(Must(DrawWait(RetryPolicy(), attempt, window, random)));
      }
    }
  };
  const auto begin = Clock::now();
  std::vector<std::thread> threads;
  for (size_t g = 0; g < gateways.size(); ++g) threads.emplace_back(run_gateway, g);
  for (std::thread& thread : threads) thread.join();
  if (!error.ok()) return error;
  return StreamRun{SecondsSince(begin), acknowledgements, refused};
}

}  // namespace blink::load
