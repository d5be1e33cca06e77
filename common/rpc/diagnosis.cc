// DiagnoseHandshake and DiagnosePlaintext: one connection made without gRPC, to keep the reasons that gRPC throws away.
#include "common/rpc/diagnosis.h"

#include <fcntl.h>
#include <netdb.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/address.h"
#include "common/base/durable_file.h"
#include "common/base/http_proxy.h"
#include "common/base/ignored_proxy.h"
#include "common/base/status_macros.h"
#include "common/pki/pki.h"
#include "common/pki/server_certificate.h"
#include "common/rpc/credentials.h"
#include "common/rpc/status.h"

namespace blink {
namespace {

constexpr int kStepMs = 2'000;       // time allowed to the connection, and to each silence
constexpr int kHandshakeMs = 3'000;  // to all that follows the connection
// What an HTTP/2 client says first: the preface and empty SETTINGS (RFC 9113 section 3.4).
constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";

struct SocketCloser {
  int fd = -1;
  ~SocketCloser() {
    if (fd >= 0) ::close(fd);
  }
};

// OpenSSL writes to sockets with write(2): when the peer hangs up in mid-handshake that must not end the process.
class SigpipeHeldBack {
 public:
  SigpipeHeldBack() {
    ::sigemptyset(&sigpipe_);
    ::sigaddset(&sigpipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
  }
  ~SigpipeHeldBack() {
    const timespec now = {};
    if (!::sigismember(&before_, SIGPIPE)) ::sigtimedwait(&sigpipe_, nullptr, &now);  // takes back one that is pending
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t sigpipe_;
  sigset_t before_;
};

// Connects within kStepMs; the reason otherwise.
std::string ConnectTo(const std::string& address, SocketCloser& socket) {
  const absl::StatusOr<Address> parsed = ParseAddress(address);
  if (!parsed.ok()) return std::string(parsed.status().message());
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(parsed->host.c_str(), std::to_string(parsed->port).c_str(), &hints, &found);
      error != 0) {
    return absl::StrCat("the host name of ", address, " is not known here: ", ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> guard(found, ::freeaddrinfo);
  int error = 0;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    SocketCloser attempt{::socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol)};
    error = ::connect(attempt.fd, at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      pollfd waiting = {.fd = attempt.fd, .events = POLLOUT, .revents = 0};
      socklen_t size = sizeof(error);
      if (::poll(&waiting, 1, kStepMs) <= 0)
        error = ETIMEDOUT;
      else
        ::getsockopt(attempt.fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0) {
      std::swap(socket.fd, attempt.fd);
      return "";
    }
  }
  const std::string proxy = DescribeIgnoredProxy();
  const std::string note = proxy.empty() ? "" : absl::StrCat(" (", proxy, ")");
  if (error == ECONNREFUSED) {
    return absl::StrCat("nothing listens at ", address, ": is the aggregator running there?", note);
  }
  return absl::StrCat("no connection to ", address, ": ", std::strerror(error), note);
}

// Reads from a socket that does not block until the empty line behind HTTP's headers. Empty: nothing came in time.
std::string ReadHeaders(int fd) {
  constexpr size_t kBytesMax = 8 << 10;
  const absl::Time end = absl::Now() + absl::Milliseconds(kHandshakeMs);
  std::string headers;
  while (headers.size() < kBytesMax && !absl::EndsWith(headers, "\r\n\r\n")) {
    pollfd waiting = {.fd = fd, .events = POLLIN, .revents = 0};
    const int64_t left_ms = absl::ToInt64Milliseconds(end - absl::Now());
    if (left_ms <= 0 || ::poll(&waiting, 1, static_cast<int>(left_ms)) <= 0) return "";
    char byte = 0;  // one at a time: what follows is the aggregator's
    if (::recv(fd, &byte, 1, 0) != 1) break;
    headers.push_back(byte);
  }
  return headers;
}

// Connects to `address` through the proxy; the reason otherwise.
std::string ConnectThrough(const HttpProxy& proxy, const std::string& address, SocketCloser& socket) {
  const std::string place = proxy.address.ToString();
  if (const std::string reason = ConnectTo(place, socket); !reason.empty()) {
    return absl::StrCat("the proxy at ", place, " is not reached: ", reason);
  }
  const std::string authorization =
      proxy.credentials.empty()
          ? ""
          : absl::StrCat("Proxy-Authorization: Basic ", absl::Base64Escape(proxy.credentials), "\r\n");
  const std::string request =
      absl::StrCat("CONNECT ", address, " HTTP/1.1\r\nHost: ", address, "\r\n", authorization, "\r\n");
  if (::send(socket.fd, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
    return absl::StrCat("the proxy at ", place, " hangs up");
  }
  const std::string headers = ReadHeaders(socket.fd);
  if (headers.empty()) return absl::StrCat("the proxy at ", place, " says nothing: is it a proxy for HTTP CONNECT?");
  const std::string line = headers.substr(0, std::min<size_t>(headers.find_first_of("\r\n"), 100));
  const bool is_http = absl::StartsWith(line, "HTTP/1.");
  if (is_http && absl::StrContains(line, " 200")) return "";
  const char* const hint = absl::StrContains(line, " 407") ? ": it wants http://USER:PASSWORD@HOST:PORT"
                           : !is_http                      ? ": is it a proxy for HTTP CONNECT?"
                                                           : "";
  return absl::StrCat("the proxy at ", place, " does not connect to ", address, ": ", PeerText(line), hint);
}

void MakeBlocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  const timeval limit = {.tv_sec = kStepMs / 1000, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

// The certificates that the server sent, as PEM.
std::string ReadChain(SSL* ssl) {
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new(BIO_s_mem()), BIO_free_all);
  STACK_OF(X509)* const chain = SSL_get_peer_cert_chain(ssl);
  for (int i = 0; i < sk_X509_num(chain); ++i) PEM_write_bio_X509(bio.get(), sk_X509_value(chain, i));
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return size > 0 ? std::string(data, size) : std::string();
}

// What the server's certificate says that we would not accept; empty when it is the aggregator of `deployment`.
std::string JudgeServer(SSL* ssl, const std::string& address, const std::string& deployment,
                        const std::string& ca_path) {
  const absl::StatusOr<std::string> ca = ReadFile(ca_path, kPemBytesMax);
  if (!ca.ok() || deployment.empty()) return "";
  const absl::Status judged = CheckServerCertificate(ReadChain(ssl), *ca, deployment, absl::Now());
  if (judged.ok()) return "";
  return absl::StrCat("the certificate of the server at ", address, " ", judged.message());
}

// A connection that is closed at once looks the same with and without TLS.
std::string ExplainClosing(const std::string& address, absl::string_view or_else) {
  return absl::StrCat(
      "the server at ", address, " accepts connections and closes them before it says anything: ", or_else,
      "a balancer does so whose aggregators are all down, and an aggregator that has all the "
      "connections it may have. See whether the aggregator runs (blink-aggregator --check-health on its "
      "machine), and what its log says");
}

// `has_spoken`: the server has sent something. `result` is SSL_get_error's, `error_number` errno, of the call that
// failed.
std::string ExplainSilence(const std::string& address, bool connected, bool has_spoken, int result, int error_number) {
  const bool timed_out = result == SSL_ERROR_WANT_READ || (result == SSL_ERROR_SYSCALL && error_number == EAGAIN);
  if (timed_out) {
    return absl::StrCat("the server at ", address, " accepts connections and then says nothing for ", kStepMs / 1000,
                        " s: is it overloaded, or is something between us that swallows what we send?");
  }
  if (connected) {
    return absl::StrCat("the server at ", address,
                        " hangs up as soon as it has seen our certificate: by its clock and its list it "
                        "is expired, not yet valid, revoked or of a foreign authority; its log names the cause");
  }
  if (!has_spoken) return ExplainClosing(address, "");
  return absl::StrCat("the server at ", address,
                      " hangs up in the handshake: is it an aggregator, and may so many connect? "
                      "Its log names the cause");
}

std::string ExplainTlsError(const std::string& address) {
  const unsigned long error = ERR_peek_error();
  const int reason = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
  const char* text = error != 0 ? ERR_reason_error_string(error) : nullptr;
  ERR_clear_error();
  switch (reason) {
    case 0:
      return "";
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
      return "";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return absl::StrCat("the server at ", address, " speaks a TLS that is too old: 1.2 is the least");
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_UNEXPECTED_MESSAGE:
      return absl::StrCat("the server at ", address,
                          " does not speak TLS: is it another program, or started with --insecure?");
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return absl::StrCat("the server at ", address, " does not know the authority that signed our certificate");
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return absl::StrCat("the server at ", address, " holds our certificate for expired: do the clocks agree?");
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
      return absl::StrCat("the server at ", address, " refuses our certificate (", text,
                          "): do the clocks agree? Its log names the cause");
    default:
      return absl::StrCat("the TLS handshake with ", address, " fails: ", text != nullptr ? text : "unknown reason");
  }
}

// One connection's operations on a socket that does not block. A server that sends a byte now and then could keep
// blocking ones for ever.
class Steps {
 public:
  Steps(SSL* ssl, int fd) : ssl_(ssl), fd_(fd) {}

  // The operation's result; SSL_get_error says WANT_READ when the time was up.
  template <typename Operation>
  int Do(const Operation& operation) {
    while (true) {
      const int result = operation();
      const int error = SSL_get_error(ssl_, result);
      if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return result;
      const int64_t left_ms = std::min<int64_t>(kStepMs, absl::ToInt64Milliseconds(end_ - absl::Now()));
      pollfd waiting = {.fd = fd_, .events = static_cast<short>(error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT)};
      if (left_ms <= 0 || ::poll(&waiting, 1, static_cast<int>(left_ms)) <= 0) return result;
    }
  }
  // Ends the connection as a client of HTTP/2 does. A server takes who says nothing for a peer that hangs up in the
  // handshake.
  void Leave() {
    Do([&] { return SSL_write(ssl_, kPreface, sizeof(kPreface)); });
    SSL_shutdown(ssl_);
    ::shutdown(fd_, SHUT_WR);
    char rest[1024];
    // until it hangs up: what is left unread would reset the connection
    while (absl::Now() < end_ && Do([&] { return SSL_read(ssl_, rest, sizeof(rest)); }) > 0) {
    }
    ERR_clear_error();
  }

 private:
  SSL* const ssl_;
  const int fd_;
  const absl::Time end_ = absl::Now() + absl::Milliseconds(kHandshakeMs);
};

std::string Handshake(const TlsFiles& files, const std::string& address, const std::string& deployment, int fd,
                      std::string* chain) {
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_load_verify_file(context.get(), files.ca.c_str());
  SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str());
  SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM);
  // the verdict is read afterwards; nothing is sent over this
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), SSL_free);
  const unsigned char kHttp2[] = {2, 'h', '2'};
  SSL_set_alpn_protos(ssl.get(), kHttp2, sizeof(kHttp2));
  if (const std::string name = ServerName(deployment); !name.empty()) SSL_set_tlsext_host_name(ssl.get(), name.c_str());
  const SigpipeHeldBack quiet;
  SSL_set_fd(ssl.get(), fd);
  ERR_clear_error();
  Steps steps(ssl.get(), fd);
  int result = steps.Do([&] { return SSL_connect(ssl.get()); });
  const bool connected = result == 1;
  if (connected && chain != nullptr) *chain = ReadChain(ssl.get());
  if (const std::string judgement = connected ? JudgeServer(ssl.get(), address, deployment, files.ca) : "";
      !judgement.empty()) {
    return judgement;
  }
  // In TLS 1.3 the server's verdict on our certificate comes after our last message: wait for its first bytes or its
  // alert.
  char byte = 0;
  if (connected && (result = steps.Do([&] { return SSL_read(ssl.get(), &byte, 1); })) > 0) {
    steps.Leave();
    return "";
  }
  const int error_number = errno;
  result = SSL_get_error(ssl.get(), result);
  if (std::string reason = ExplainTlsError(address); !reason.empty()) return reason;
  const bool has_spoken = BIO_number_read(SSL_get_rbio(ssl.get())) > 0;
  return ExplainSilence(address, connected, has_spoken, result, error_number);
}

std::string DeploymentOf(const TlsFiles& files) {
  const absl::StatusOr<std::string> certificate = ReadFile(files.certificate, kPemBytesMax);
  if (!certificate.ok()) return "";
  const absl::StatusOr<CertificateInfo> info = InspectCertificate(*certificate);
  if (!info.ok() || info->uri_sans.size() != 1) return "";
  const absl::StatusOr<Identity> identity = Identity::FromUri(info->uri_sans[0]);
  return identity.ok() ? identity->deployment : "";
}

}  // namespace

std::string DiagnosePlaintext(const std::string& address) {
  SocketCloser socket;
  if (const std::string reason = ConnectTo(address, socket); !reason.empty()) return reason;
  MakeBlocking(socket.fd);
  if (::send(socket.fd, kPreface, sizeof(kPreface), MSG_NOSIGNAL) != sizeof(kPreface)) return "";
  unsigned char head[9] = {};  // of the frame that comes first
  const ssize_t got = ::recv(socket.fd, head, sizeof(head), MSG_WAITALL);
  if (got == sizeof(head) && head[3] == 4) return "";  // SETTINGS
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    return absl::StrCat("the server at ", address, " accepts connections and then says nothing");
  }
  if (got <= 0) return ExplainClosing(address, "it wants TLS, and the kit or configuration here says insecure; or ");
  return absl::StrCat("the server at ", address,
                      " does not take plaintext: it wants TLS, and the kit or configuration here says "
                      "insecure; or it is another program");
}

absl::Status CheckIssuedByAuthority(const TlsFiles& files) {
  BLINK_ASSIGN_OR_RETURN(const std::string certificate, ReadFile(files.certificate, kPemBytesMax));
  BLINK_ASSIGN_OR_RETURN(const std::string ca, ReadFile(files.ca, kPemBytesMax));
  if (CheckIssuedBy(certificate, ca).ok()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(files.certificate, " was not issued by the authority in ", files.ca,
                   ": they belong to different deployments, and the aggregator will refuse it"));
}

std::string DiagnoseHandshake(const TlsFiles& files, const std::string& address, const std::string& proxy) {
  return DiagnoseHandshakeSeeing(files, address, proxy, nullptr);
}

std::string DiagnoseHandshakeSeeing(const TlsFiles& files, const std::string& address, const std::string& proxy,
                                    std::string* chain) {
  if (const absl::Status sound = CheckTlsFiles(files); !sound.ok()) return std::string(sound.message());
  const absl::StatusOr<HttpProxy> through = ParseHttpProxy(proxy);
  if (!proxy.empty() && !through.ok()) return std::string(through.status().message());
  SocketCloser socket;
  const std::string reason = proxy.empty() ? ConnectTo(address, socket) : ConnectThrough(*through, address, socket);
  if (!reason.empty()) return reason;
  if (const absl::Status issued = CheckIssuedByAuthority(files); !issued.ok()) return std::string(issued.message());
  return Handshake(files, address, DeploymentOf(files), socket.fd, chain);
}

}  // namespace blink
