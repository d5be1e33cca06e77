#include "aggregator_server/transport/handshake_log.h"

#include <grpc/support/log.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/logging.h"
#include "common/base/time_text.h"
#include "common/rpc/status.h"

namespace blink {
namespace {

// What is known of one connection; owned by its SSL object. Only the thread that drives that object touches it.
struct Observed {
  std::string peer, host;
  std::string refusal;  // why its certificate was refused
  int alert_sent = -1;  // descriptions, RFC 8446 section 6
  int alert_received = -1;
  int last_message = -1;           // type of the handshake message that came last
  bool empty_certificate = false;  // its Certificate message carried none
  unsigned char first[5] = {};     // of what it sent
  bool spoke = false;
  bool counted = false;
};

struct Unfinished {
  std::mutex mutex;
  std::map<std::string, int> by_host;
};

Unfinished& UnfinishedHandshakes() {
  static auto* const unfinished = new Unfinished;  // outlives every connection
  return *unfinished;
}

thread_local const std::string* current_peer = nullptr;
thread_local const std::string* current_host = nullptr;
int ssl_index = -1;

void Uncount(Observed& observed) {
  if (!std::exchange(observed.counted, false)) return;
  Unfinished& unfinished = UnfinishedHandshakes();
  std::lock_guard<std::mutex> lock(unfinished.mutex);
  const auto host = unfinished.by_host.find(observed.host);
  if (host != unfinished.by_host.end() && --host->second == 0) unfinished.by_host.erase(host);
}

// ---- Words

std::string FormatDate(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return "an unreadable date";
  return TimeText(absl::FromTM(parts, absl::UTCTimeZone()));
}

std::string Now() { return TimeText(absl::Now()); }

// The name in a certificate that nobody vouches for: printable, and short.
std::string ReadClaimedName(X509* certificate) {
  std::string name;
  auto* const names =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; names != nullptr && name.empty() && i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* const entry = sk_GENERAL_NAME_value(names, i);
    if (entry->type != GEN_URI) continue;
    const ASN1_STRING* const uri = entry->d.uniformResourceIdentifier;
    name.assign(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)), std::min(ASN1_STRING_length(uri), 200));
  }
  GENERAL_NAMES_free(names);
  return name.empty() ? "without a blink:// name" : PeerText(name);
}

std::string DescribeRefusal(X509_STORE_CTX* context) {
  const int error = X509_STORE_CTX_get_error(context);
  X509* const certificate = X509_STORE_CTX_get_current_cert(context);
  if (certificate == nullptr) return X509_verify_cert_error_string(error);
  const std::string which = X509_STORE_CTX_get_error_depth(context) == 0
                                ? absl::StrCat("its certificate (", ReadClaimedName(certificate), ")")
                                : "the certificate of an authority above its own";
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return absl::StrCat(which, " expired on ", FormatDate(X509_get0_notAfter(certificate)),
                          "; this machine's clock says ", Now());
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return absl::StrCat(which, " is not valid before ", FormatDate(X509_get0_notBefore(certificate)),
                          "; this machine's clock says ", Now());
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return absl::StrCat(which, " was not signed by the authority that this aggregator knows (--tls-ca)");
    case X509_V_ERR_INVALID_PURPOSE:
      return absl::StrCat(which, " is not one for clients");
    default:
      return absl::StrCat(which, " is refused: ", X509_verify_cert_error_string(error));
  }
}

// RFC 9113 section 3.4, RFC 9110 section 9, RFC 8446 section 5.1.
std::string DescribeNoTls(const unsigned char (&first)[5]) {
  const absl::string_view text(reinterpret_cast<const char*>(first), sizeof(first));
  if (absl::StartsWith(text, "PRI ")) {
    return "it speaks plaintext gRPC to a TLS port: is its kit or configuration marked insecure?";
  }
  for (const char* method : {"GET ", "HEAD", "POST", "PUT ", "OPTI", "CONN", "DELE", "PATC", "TRAC"}) {
    if (absl::StartsWith(text, method)) {
      return "it sent an HTTP/1 request to a TLS port: a browser, a scraper, or a proxy that does not speak TLS";
    }
  }
  return first[0] < 20 || first[0] > 24 || first[1] != 3 ? "what it sent is not TLS" : "";
}

std::string DescribeFailure(const Observed& observed, bool finished) {
  if (!observed.refusal.empty()) return observed.refusal;
  if (const std::string other = DescribeNoTls(observed.first); !other.empty()) return other;
  if (observed.alert_received > 0) {
    const char* const text = SSL_alert_desc_string_long(observed.alert_received);
    if (observed.alert_received == SSL_AD_UNKNOWN_CA) {
      return "it does not know the authority that signed this aggregator's certificate";
    }
    return absl::StrCat("it ended the handshake, saying '", text, "': its own log tells why");
  }
  constexpr int kClientHello = SSL3_MT_CLIENT_HELLO;
  if (observed.alert_sent == SSL_AD_PROTOCOL_VERSION) return "it speaks no TLS that is new enough: 1.2 is the least";
  if (observed.empty_certificate) return "it sent no certificate, and one is required";
  if (observed.alert_sent == SSL_AD_HANDSHAKE_FAILURE && observed.last_message == kClientHello) {
    return "it and this aggregator have no cipher in common";
  }
  if (observed.alert_sent > 0) return absl::StrCat("refused: ", SSL_alert_desc_string_long(observed.alert_sent));
  if (finished) return "it hung up as soon as it had seen this aggregator's certificate: its own log tells why";
  if (observed.last_message == kClientHello) {
    return "it hung up or fell silent when it had been shown this aggregator's certificate: its own log may tell why";
  }
  return "it hung up or fell silent in mid-handshake";
}

void LogFailure(const std::string& peer, const std::string& why) {
  static std::mutex mutex;
  static int64_t second = 0;
  static int logged = 0, left_out = 0;
  std::lock_guard<std::mutex> lock(mutex);
  const int64_t now = absl::ToUnixSeconds(absl::Now());
  if (std::exchange(second, now) != now) logged = 0;
  if (++logged > HandshakeLog::kPerSecondMax) {
    ++left_out;
    return;
  }
  const int before = std::exchange(left_out, 0);
  spdlog::warn("TLS handshake with {} failed: {}{}", peer, why,
               before > 0 ? absl::StrCat(" (", before, " more failed lately)") : std::string());
}

// ---- What OpenSSL tells

Observed* FindObserved(const SSL* ssl) { return static_cast<Observed*>(SSL_get_ex_data(ssl, ssl_index)); }

int OnVerify(int verdict, X509_STORE_CTX* context) {
  const auto* const ssl =
      static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx()));
  // Stands before a callback of the store, and leaves the decision to it.
  const X509_STORE_CTX_verify_cb before = X509_STORE_get_verify_cb(SSL_CTX_get_cert_store(SSL_get_SSL_CTX(ssl)));
  if (before != nullptr) verdict = before(verdict, context);
  Observed* const observed = FindObserved(ssl);
  if (verdict == 0 && observed != nullptr && observed->refusal.empty()) observed->refusal = DescribeRefusal(context);
  return verdict;
}

void OnMessage(int sent, int, int type, const void* data, size_t size, SSL* ssl, void*) {
  Observed* const observed = FindObserved(ssl);
  if (observed == nullptr || size == 0) return;
  const auto* const bytes = static_cast<const unsigned char*>(data);
  if (type == SSL3_RT_ALERT && size >= 2) {
    if (bytes[1] != SSL_AD_CLOSE_NOTIFY) (sent != 0 ? observed->alert_sent : observed->alert_received) = bytes[1];
  } else if (sent != 0) {
    return;
  } else if (type == SSL3_RT_HEADER && size >= sizeof(observed->first)) {
    if (!std::exchange(observed->spoke, true)) std::memcpy(observed->first, bytes, sizeof(observed->first));
    // TLS 1.2 shows the type here; 1.3 hides it in the record, and shows it below.
    if (SSL_version(ssl) > TLS1_2_VERSION || bytes[0] != SSL3_RT_APPLICATION_DATA) return;
  } else if (type == SSL3_RT_HANDSHAKE) {
    observed->last_message = bytes[0];
    // The list of certificates follows the type, 3 bytes of length and, in TLS 1.3, an empty context.
    if (bytes[0] == SSL3_MT_CERTIFICATE) observed->empty_certificate = size <= 8;
    return;
  } else if (type != SSL3_RT_INNER_CONTENT_TYPE || bytes[0] != SSL3_RT_APPLICATION_DATA) {
    return;
  }
  if (!SSL_is_init_finished(ssl)) return;
  // It speaks HTTP/2: the handshake is over and well, and nothing more needs to be observed.
  Uncount(*observed);
  delete observed;
  SSL_set_ex_data(ssl, ssl_index, nullptr);
  SSL_set_msg_callback(ssl, nullptr);
}

// At the end of SSL_new, on the thread that accepts.
void OnBirth(void* parent, void*, CRYPTO_EX_DATA* data, int index, long, void*) {
  if (current_peer == nullptr) return;
  auto* const ssl = static_cast<SSL*>(parent);
  auto* const observed = new Observed;
  observed->peer = *current_peer;
  observed->host = *current_host;
  {
    Unfinished& unfinished = UnfinishedHandshakes();
    std::lock_guard<std::mutex> lock(unfinished.mutex);
    ++unfinished.by_host[observed->host];
  }
  observed->counted = true;
  CRYPTO_set_ex_data(data, index, observed);
  SSL_set_msg_callback(ssl, OnMessage);
  // gRPC sets none where the certificate is to be verified; where it does, it knows what for.
  if (SSL_get_verify_callback(ssl) == nullptr) SSL_set_verify(ssl, SSL_get_verify_mode(ssl), OnVerify);
}

void OnDeath(void* parent, void* ours, CRYPTO_EX_DATA*, int, long, void*) {
  auto* const observed = static_cast<Observed*>(ours);
  if (observed == nullptr) return;
  Uncount(*observed);
  if (observed->spoke) {
    LogFailure(observed->peer, DescribeFailure(*observed, SSL_is_init_finished(static_cast<SSL*>(parent)) != 0));
  } else {
    spdlog::debug("{} connected and said nothing", observed->peer);
  }
  delete observed;
}

void OnGrpcLog(gpr_log_func_args* line) {
  const absl::string_view text(line->message);
  // what a client asked for
  const bool ours = absl::StrContains(text, "andshake") || absl::StrContains(text, "server name");
  if (line->severity != GPR_LOG_SEVERITY_ERROR || ours) {
    spdlog::debug("gRPC: {}", PeerText(text));
  } else {
    spdlog::warn("gRPC: {}", PeerText(text));
  }
}

}  // namespace

void HandshakeLog::Install() {
  static const bool installed = [] {
    ssl_index = SSL_get_ex_new_index(0, nullptr, OnBirth, nullptr, OnDeath);
    gpr_set_log_function(OnGrpcLog);
    return true;
  }();
  (void)installed;
}

HandshakeLog::Connection::Connection(const sockaddr_storage& address, socklen_t size) {
  char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
  sockaddr_storage shown = address;
  auto* const six = reinterpret_cast<sockaddr_in6*>(&shown);
  if (shown.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = six->sin6_port;
    std::memcpy(&four.sin_addr, six->sin6_addr.s6_addr + 12, 4);
    shown = {};
    std::memcpy(&shown, &four, sizeof(four));
    size = sizeof(four);
  }
  const int flags = NI_NUMERICHOST | NI_NUMERICSERV;
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&shown), size, host, sizeof(host), port, sizeof(port), flags);
  const bool is_six = shown.ss_family == AF_INET6;
  peer_ = is_six ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
  host_ = is_six ? std::string(reinterpret_cast<const char*>(six->sin6_addr.s6_addr), 8) : std::string(host);
  current_peer = &peer_;
  current_host = &host_;
}

HandshakeLog::Connection::~Connection() {
  current_peer = nullptr;
  current_host = nullptr;
}

int HandshakeLog::Connection::unfinished() const {
  Unfinished& all = UnfinishedHandshakes();
  std::lock_guard<std::mutex> lock(all.mutex);
  const auto host = all.by_host.find(host_);
  return host == all.by_host.end() ? 0 : host->second;
}

}  // namespace blink
