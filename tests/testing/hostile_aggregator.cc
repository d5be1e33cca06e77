#include "tests/testing/hostile_aggregator.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/limits.h"
#include "tests/testing/certificates.h"
#include "tests/testing/server_credentials.h"

namespace blink::testing {
namespace {

constexpr int kTickMs = 5;

// One authority for the whole process: keys cost time.
const CertificateAuthority& Authority() {
  static const CertificateAuthority authority = *CreateAuthority("demo", absl::Hours(1));
  return authority;
}

TlsFiles Certify(const std::string& folder, const std::string& role, const std::string& who) {
  return WriteTlsFiles({folder + "/" + role + ".crt", folder + "/" + role + ".key", folder + "/ca.crt"}, Authority(),
                       Authority().certificate, {.uri_san = "blink://demo/" + who, .server = role == "server"});
}

constexpr int kBacklog = 16;

int Bind(int* port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ::bind(listener, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  *port = ntohs(address.sin_port);
  return listener;
}

int Listen(int* port) {
  const int listener = Bind(port);
  ::listen(listener, kBacklog);
  return listener;
}

void CloseWithReset(int fd) {
  const linger now{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  ::close(fd);
}

// False at the end of the stream.
bool Pump(int from, int to) {
  char bytes[16384];
  const ssize_t got = ::recv(from, bytes, sizeof(bytes), 0);
  for (ssize_t done = 0; done < got;) {
    const ssize_t put = ::send(to, bytes + done, got - done, MSG_NOSIGNAL);
    if (put <= 0) return false;
    done += put;
  }
  return got > 0;
}

}  // namespace

std::string HostileService::SeenReport::Content() const {
  v1::ReportHeader content = header;
  content.clear_round_id();
  return absl::StrCat(content.SerializeAsString(), bits);
}

size_t HostileService::Polls() const {
  return std::count_if(calls.begin(), calls.end(),
                       [](const std::string& call) { return call.starts_with("GetRounds all "); });
}

bool HostileService::HangsIn(Method method, grpc::ServerContext* context) const {
  if (hang != method) return false;
  while (!context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(kTickMs));
  return true;
}

grpc::Status HostileService::GetRounds(grpc::ServerContext* context, const v1::GetRoundsRequest* request,
                                       v1::GetRoundsResponse* response) {
  if (HangsIn(Method::kGetRounds, context)) return grpc::Status::CANCELLED;
  const std::lock_guard<std::mutex> lock(mutex_);
  calls.push_back(absl::StrCat("GetRounds ", request->round_id().empty() ? "all" : request->round_id(), " ",
                               request->node_id(), ": ", request->ByteSizeLong(), " bytes"));
  if (before_poll) {
    const grpc::Status status = before_poll(context, *request);
    if (!status.ok()) return status;
  }
  for (v1::NodeRound round : rounds) {
    const bool asked =
        request->round_id().empty() ? round.state() == v1::ROUND_STATE_OPEN : round.round_id() == request->round_id();
    if (!asked) continue;
    const auto& reports_held = held[round.round_id()];
    const auto it = reports_held.find(request->node_id());
    if (it != reports_held.end()) round.set_held_digest(it->second.header.digest());
    *response->add_rounds() = round;
  }
  response->mutable_retry()->set_min_ms(100);
  response->mutable_retry()->set_max_ms(2000);
  if (tamper_rounds) tamper_rounds(*request, response);
  if (!request->round_id().empty() && response->rounds().empty()) return grpc::Status(grpc::NOT_FOUND, "no such round");
  return grpc::Status::OK;
}

grpc::Status HostileService::GetGroups(grpc::ServerContext*, const v1::GetGroupsRequest* request,
                                       v1::GetGroupsResponse* response) {
  const std::lock_guard<std::mutex> lock(mutex_);
  calls.push_back(absl::StrCat("GetGroups ", request->round_id(), " ", request->node_id(), ": part ", request->part()));
  const size_t at = size_t{request->part()} * kGroupsPartBytes;
  if (at >= groups.size()) return grpc::Status(grpc::NOT_FOUND, "no such part");
  response->set_groups(groups.substr(at, kGroupsPartBytes));
  if (tamper_groups) tamper_groups(*request, response);
  return grpc::Status::OK;
}

grpc::Status HostileService::Take(SeenReport report, v1::Receipt* receipt) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const v1::ReportHeader& header = report.header;
  v1::ReportHeader uncoded = header;
  uncoded.clear_coded_bytes();
  uncoded.clear_noisy_degree();
  uncoded.clear_digest();
  calls.push_back(absl::StrCat("report ", header.round_id(), " ", header.node_id(), ": ", uncoded.ByteSizeLong(),
                               " bytes, ", header.has_noisy_degree() ? "a" : "no", " degree, digest of ",
                               header.digest().size(), " bytes"));
  reports.push_back(report);
  if (before_take) {
    const grpc::Status status = before_take(header);
    if (!status.ok()) return status;
  }
  const auto [it, added] = held[header.round_id()].emplace(header.node_id(), report);
  if (!added && it->second.header.digest() != header.digest()) {
    return grpc::Status(grpc::ALREADY_EXISTS, "another report is held");
  }
  receipt->set_round_id(header.round_id());
  receipt->set_node_id(header.node_id());
  receipt->set_digest(header.digest());
  receipt->set_received_minute(28'333'333);
  if (tamper_receipt) tamper_receipt(receipt);
  return after_take ? after_take(header) : grpc::Status::OK;
}

grpc::Status HostileService::SubmitReport(grpc::ServerContext* context,
                                          grpc::ServerReader<v1::SubmitReportRequest>* reader,
                                          v1::SubmitReportResponse* response) {
  if (unread && HangsIn(Method::kSubmitReport, context)) return grpc::Status::CANCELLED;
  SeenReport report;
  v1::SubmitReportRequest request;
  while (reader->Read(&request)) {
    if (request.has_header()) report.header = request.header();
    report.bits += request.chunk();
  }
  if (HangsIn(Method::kSubmitReport, context)) return grpc::Status::CANCELLED;
  const grpc::Status status = Take(std::move(report), response->mutable_receipt());
  if (tamper_response) tamper_response(response);
  return status;
}

grpc::Status HostileService::SubmitReports(grpc::ServerContext* context, Stream* stream) {
  if (unread && HangsIn(Method::kSubmitReports, context)) return grpc::Status::CANCELLED;
  if (submit_reports) return submit_reports(stream);
  v1::SubmitReportsRequest request;
  while (stream->Read(&request)) {
    if (hang == Method::kSubmitReports) continue;
    v1::SubmitReportsResponse response;
    response.set_node_id(request.header().node_id());
    const grpc::Status status = Take({request.header(), request.coded_bits()}, response.mutable_receipt());
    if (status.error_code() == grpc::UNAVAILABLE) return status;
    if (!status.ok()) {
      response.mutable_refusal()->set_code(status.error_code());
      response.mutable_refusal()->set_message(status.error_message());
    }
    stream->Write(response);
  }
  return HangsIn(Method::kSubmitReports, context) ? grpc::Status::CANCELLED : grpc::Status::OK;
}

grpc::Status HostileService::ListDigests(grpc::ServerContext* context, const v1::ListDigestsRequest* request,
                                         DigestWriter* writer) {
  if (HangsIn(Method::kListDigests, context)) return grpc::Status::CANCELLED;
  std::vector<v1::ListDigestsResponse> answer;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    calls.push_back(absl::StrCat("ListDigests ", request->round_id(), " ", request->first_node(), "-",
                                 request->last_node(), ": ", request->ByteSizeLong(), " bytes"));
    for (const auto& [node, report] : held[request->round_id()]) {
      answer.emplace_back().set_node_id(node);
      answer.back().set_digest(report.header.digest());
    }
  }
  if (list_digests) return list_digests(*request, writer);
  for (const v1::ListDigestsResponse& digest : answer) writer->Write(digest);
  return grpc::Status::OK;
}

HostileAggregator::HostileAggregator() {
  std::string pattern = (std::filesystem::temp_directory_path() / "blink-hostile-XXXXXX").string();
  folder_ = ::mkdtemp(pattern.data());
  const auto credentials = testing::MakeServerCredentials(Certify(folder_, "server", "aggregator"));
  grpc::ServerBuilder builder;
  AllowKeepalive(builder);
  builder.AddListeningPort("127.0.0.1:0", *credentials, &port_);
  builder.RegisterService(&service);
  server_ = builder.BuildAndStart();
}

HostileAggregator::~HostileAggregator() {
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
  std::filesystem::remove_all(folder_);
}

std::string HostileAggregator::address() const { return absl::StrCat("127.0.0.1:", port_); }

void HostileAggregator::MakeTls(const std::string& folder, const std::string& who) const {
  Certify(folder + "/tls", "client", who);
}

ResettingProxy::ResettingProxy(int target_port) : target_port_(target_port) {
  listener_ = Listen(&port_);
  acceptor_ = std::thread([this] { Accept(); });
}

ResettingProxy::~ResettingProxy() {
  quit_ = true;
  acceptor_.join();
  for (std::thread& forwarder : forwarders_) forwarder.join();
  ::close(listener_);
}

std::string ResettingProxy::address() const { return absl::StrCat("127.0.0.1:", port_); }

void ResettingProxy::Reset() {
  const int mine = ++resets_;
  const auto older = [&] {  // not those that are made again meanwhile
    const std::lock_guard<std::mutex> lock(mutex_);
    return !made_after_.empty() && *made_after_.begin() < mine;
  };
  while (older()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void ResettingProxy::Accept() {
  while (!quit_) {
    pollfd waiting{listener_, POLLIN, 0};
    if (::poll(&waiting, 1, kTickMs) <= 0) continue;
    const int node = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (node < 0) continue;
    const std::lock_guard<std::mutex> lock(mutex_);
    const int resets_before = resets_;
    made_after_.insert(resets_before);
    forwarders_.emplace_back([this, node, resets_before] { Forward(node, resets_before); });
  }
}

void ResettingProxy::Forward(int node, int resets_before) {
  const int aggregator = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(target_port_);
  bool open = ::connect(aggregator, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  while (open && !quit_ && resets_ == resets_before) {
    pollfd both[2] = {{node, POLLIN, 0}, {aggregator, POLLIN, 0}};
    ::poll(both, 2, kTickMs);
    if (both[0].revents != 0) open = Pump(node, aggregator);
    if (open && both[1].revents != 0) open = Pump(aggregator, node);
  }
  CloseWithReset(node);
  CloseWithReset(aggregator);
  const std::lock_guard<std::mutex> lock(mutex_);
  made_after_.erase(made_after_.find(resets_before));
}

SilentServer::SilentServer(bool open) {
  listener_ = Bind(&port_);
  if (open) Open();
}
SilentServer::~SilentServer() { ::close(listener_); }
void SilentServer::Open() { ::listen(listener_, kBacklog); }
std::string SilentServer::address() const { return absl::StrCat("127.0.0.1:", port_); }

}  // namespace blink::testing
