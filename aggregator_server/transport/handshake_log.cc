#include "aggregator_server/transport/handshake_log.h"

#include <netdb.h>
#include <netinet/in.h>
#include <openssl/ssl.h>

#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "aggregator_server/transport/caller_names.h"
#include "aggregator_server/transport/handshake_words.h"
#include "common/base/logging.h"
#include "common/pki/identity.h"
#include "common/pki/serial.h"
#include "common/rpc/grpc_log.h"

namespace blink {
namespace {

constexpr size_t kRevokedNamed = 5;  // certificates, when a list revokes many

// What is known of one connection; owned by its SSL object. Only the thread that drives that object touches it.
struct Observed {
  std::shared_ptr<ConnectionBooks> books;
  PeerAddress address;
  uint64_t id = 0;
  std::unique_ptr<HandshakeSeen> seen = std::make_unique<HandshakeSeen>();  // until the handshake is over and well
};

struct Arriving {
  std::shared_ptr<ConnectionBooks> books;
  PeerAddress address;
  uint64_t id = 0;
  bool taken = false;
};
thread_local std::unique_ptr<Arriving> arriving;
int ssl_index = -1;

Observed* FindObserved(const SSL* ssl) { return static_cast<Observed*>(SSL_get_ex_data(ssl, ssl_index)); }

int OnVerify(int verdict, X509_STORE_CTX* context) {
  const auto* const ssl =
      static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx()));
  // Stands before a callback of the store, and leaves the decision to it.
  const X509_STORE_CTX_verify_cb before = X509_STORE_get_verify_cb(SSL_CTX_get_cert_store(SSL_get_SSL_CTX(ssl)));
  if (before != nullptr) verdict = before(verdict, context);
  Observed* const observed = FindObserved(ssl);
  if (verdict == 0 && observed != nullptr && observed->seen != nullptr && observed->seen->refusal.empty()) {
    NoteRefusal(context, *observed->seen);
  }
  return verdict;
}

// It speaks HTTP/2: the handshake is over and well, and nothing more needs to be observed.
void FinishHandshake(Observed& observed, SSL* ssl) {
  observed.seen = nullptr;
  SSL_set_msg_callback(ssl, nullptr);
  X509* const certificate = SSL_get0_peer_certificate(ssl);
  const std::string name = certificate != nullptr ? ReadName(certificate) : std::string();
  const absl::StatusOr<Identity> identity = Identity::FromUri(name);
  const bool is_operator = identity.ok() && identity->kind == Identity::Kind::kOperator;
  const std::string serial = certificate != nullptr ? ReadSerial(certificate) : std::string();
  ConnectionBooks& books = *observed.books;
  const std::string who = name.empty() ? "a certificate without a blink:// name" : name;
  const auto report = [&](const char* kind, const std::string& whose, const absl::Status& why) {
    books.failures.Report(
        kind, observed.address.host, whose,
        absl::StrCat("refused a connection of ", who, " from ", observed.address.peer, ": ", why.message()));
  };
  absl::Status revoked = books.CheckSerial(serial);
  if (revoked.ok()) {
    const absl::Status taken = books.ledger.Finish(observed.id, name, is_operator, serial);
    if (!taken.ok()) return report("too many of one certificate", who, taken);
    revoked = books.CheckSerial(serial);  // a list that came meanwhile did not find it in the ledger
  }
  if (revoked.ok()) return;
  books.ledger.Disown(observed.id, std::chrono::steady_clock::now());
  report("revoked certificate", absl::StrCat(who, " ", serial), revoked);
}

void OnMessage(int sent, int, int type, const void* data, size_t size, SSL* ssl, void*) {
  Observed* const observed = FindObserved(ssl);
  if (observed == nullptr || observed->seen == nullptr || size == 0) return;
  HandshakeSeen& seen = *observed->seen;
  const auto* const bytes = static_cast<const unsigned char*>(data);
  if (type == SSL3_RT_ALERT && size >= 2) {
    if (bytes[1] != SSL_AD_CLOSE_NOTIFY) (sent != 0 ? seen.alert_sent : seen.alert_received) = bytes[1];
  } else if (sent != 0) {
    return;
  } else if (type == SSL3_RT_HEADER && size >= sizeof(seen.first)) {
    if (!std::exchange(seen.spoke, true)) std::memcpy(seen.first, bytes, sizeof(seen.first));
    // TLS 1.2 shows the type here; 1.3 hides it in the record, and shows it below.
    if (SSL_version(ssl) > TLS1_2_VERSION || bytes[0] != SSL3_RT_APPLICATION_DATA) return;
  } else if (type == SSL3_RT_HANDSHAKE) {
    seen.last_message = bytes[0];
    // The list of certificates follows the type, 3 bytes of length and, in TLS 1.3, an empty context.
    if (bytes[0] == SSL3_MT_CERTIFICATE) seen.empty_certificate = size <= 8;
    return;
  } else if (type != SSL3_RT_INNER_CONTENT_TYPE || bytes[0] != SSL3_RT_APPLICATION_DATA) {
    return;
  }
  if (SSL_is_init_finished(ssl)) FinishHandshake(*observed, ssl);
}

// At the end of SSL_new, on the thread that accepts.
void OnBirth(void* parent, void*, CRYPTO_EX_DATA* data, int index, long, void*) {
  if (arriving == nullptr || std::exchange(arriving->taken, true)) return;
  auto* const ssl = static_cast<SSL*>(parent);
  auto* const observed = new Observed{.books = arriving->books, .address = arriving->address, .id = arriving->id};
  CRYPTO_set_ex_data(data, index, observed);
  SSL_set_msg_callback(ssl, OnMessage);
  // gRPC sets none where the certificate is to be verified; where it does, it knows what for.
  if (SSL_get_verify_callback(ssl) == nullptr) SSL_set_verify(ssl, SSL_get_verify_mode(ssl), OnVerify);
}

void OnDeath(void* parent, void* ours, CRYPTO_EX_DATA*, int, long, void*) {
  const std::unique_ptr<Observed> observed(static_cast<Observed*>(ours));
  if (observed == nullptr) return;
  if (!observed->address.connection.empty()) Callers().Forget(observed->address.connection);
  const bool was_cut = observed->books->ledger.Leave(observed->id);
  if (observed->seen == nullptr) return;
  if (was_cut) return observed->books->failures.Count("cut in the handshake, to make room", observed->address.host);
  const HandshakeFailure failure =
      DescribeFailure(*observed->seen, SSL_is_init_finished(static_cast<SSL*>(parent)) != 0);
  const PeerAddress& from = observed->address;
  spdlog::debug("TLS handshake with {} failed: {}", from.peer, failure.text);
  if (!failure.actionable) return observed->books->failures.Count(failure.kind, from.host);
  const std::string& name = observed->seen->claimed_name;
  observed->books->failures.Report(failure.kind, from.host, name.empty() ? from.host : name,
                                   absl::StrCat("TLS handshake with ", from.peer, " failed: ", failure.text));
}

std::string Show(const void* address, socklen_t size, char* port, socklen_t port_size) {
  char host[NI_MAXHOST] = "?";
  ::getnameinfo(static_cast<const sockaddr*>(address), size, host, sizeof(host), port, port_size,
                NI_NUMERICHOST | NI_NUMERICSERV);
  return host;
}

}  // namespace

PeerAddress PeerAddress::Of(const sockaddr_storage& address, socklen_t size) {
  char port[NI_MAXSERV] = "?";
  sockaddr_storage shown = address;
  auto* const six = reinterpret_cast<sockaddr_in6*>(&shown);
  if (shown.ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
    const std::string own = Show(&shown, size, port, sizeof(port));
    std::memset(six->sin6_addr.s6_addr + 8, 0, 8);
    return {absl::StrCat("[", own, "]:", port), absl::StrCat(Show(&shown, size, nullptr, 0), "/64"), ""};
  }
  if (shown.ss_family == AF_INET6) {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = six->sin6_port;
    std::memcpy(&four.sin_addr, six->sin6_addr.s6_addr + 12, 4);
    shown = {};
    std::memcpy(&shown, &four, sizeof(four));
    size = sizeof(four);
  }
  const std::string host = Show(&shown, size, port, sizeof(port));
  return {absl::StrCat(host, ":", port), host, ""};
}

absl::Status ConnectionBooks::CheckSerial(const std::string& serial) const {
  return revocations != nullptr ? revocations->CheckSerial(serial) : absl::OkStatus();
}

void ConnectionBooks::Look() {
  failures.Look();
  const auto now = std::chrono::steady_clock::now();
  if (revocations != nullptr && revocations->list() != seen_) {
    seen_ = revocations->list();
    const auto disowned =
        ledger.DisownAll([this](const std::string& serial) { return seen_->Find(serial) != nullptr; }, now);
    int connections = 0;
    std::vector<std::string> shown;
    for (const auto& [whose, count] : disowned) {
      connections += count;
      if (shown.size() < kRevokedNamed) {
        shown.push_back(absl::StrCat(whose.first, " with serial number ", whose.second, " (", count, ")"));
      }
    }
    if (shown.size() < disowned.size()) shown.push_back(absl::StrCat(disowned.size() - shown.size(), " more"));
    if (connections > 0) {
      spdlog::warn("cutting {} connections whose certificate is revoked: {}", connections, absl::StrJoin(shown, ", "));
    }
  }
  ledger.CutDisowned(now);
}

void HandshakeLog::Install() {
  static const bool installed = [] {
    ssl_index = SSL_get_ex_new_index(0, nullptr, OnBirth, nullptr, OnDeath);
    InstallGrpcLog();
    return true;
  }();
  (void)installed;
}

HandshakeLog::Connection::Connection(std::shared_ptr<ConnectionBooks> books, const PeerAddress& address, uint64_t id) {
  arriving = std::make_unique<Arriving>(Arriving{std::move(books), address, id});
}

HandshakeLog::Connection::~Connection() {
  if (!arriving->taken) arriving->books->ledger.Leave(arriving->id);
  arriving = nullptr;
}

}  // namespace blink
