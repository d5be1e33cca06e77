#include "bench/waiting_nodes.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/load_client.h"
#include "common/wire/retry_policy.h"
#include "common/wire/round.h"

namespace blink::load {
namespace {

using Clock = std::chrono::steady_clock;

template <typename T, void (*Free)(T*)>
struct Deleter {
  void operator()(T* object) const { Free(object); }
};
using Context = std::shared_ptr<SSL_CTX>;
using Certificate = std::unique_ptr<X509, Deleter<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY, EVP_PKEY_free>>;
using Tls = std::unique_ptr<SSL, Deleter<SSL, SSL_free>>;
using Bio = std::unique_ptr<BIO, Deleter<BIO, BIO_free_all>>;

Bio MemoryOf(const std::string& pem) { return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))); }

// HTTP/2 (RFC 9113).
constexpr char kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kPing = 6, kGoAway = 7;
constexpr char kEndStream = 1, kAck = 1, kEndHeaders = 4;

void PutBigEndian(std::string& out, uint32_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i)));
}

std::string MakeFrame(char type, char flags, uint32_t stream, const std::string& payload) {
  std::string frame;
  PutBigEndian(frame, static_cast<uint32_t>(payload.size()), 3);
  frame.push_back(type);
  frame.push_back(flags);
  PutBigEndian(frame, stream, 4);
  return frame + payload;
}

// Literals without indexing (RFC 7541, 6.2.2), all shorter than 127 bytes.
std::string MakeHeaders(const std::string& path) {
  std::string block;
  for (const auto& [name, value] :
       std::initializer_list<std::pair<std::string, std::string>>{{":method", "POST"},
                                                                  {":scheme", "https"},
                                                                  {":path", path},
                                                                  {":authority", "127.0.0.1"},
                                                                  {"te", "trailers"},
                                                                  {"content-type", "application/grpc"}}) {
    block.push_back(0);
    for (const std::string& text : {name, value}) {
      block.push_back(static_cast<char>(text.size()));
      block += text;
    }
  }
  return block;
}

}  // namespace

class WaitingNodes::Node {
 public:
  Node(Context context, Certificate certificate, EVP_PKEY* key, std::string deployment, int port, uint64_t first_node)
      : context_(std::move(context)), certificate_(std::move(certificate)), key_(key), port_(port) {
    request_.set_deployment(std::move(deployment));
    request_.set_node_id(first_node);
  }
  ~Node() { Close(); }

  // nullopt: there was no answer, and the connection is closed.
  std::optional<v1::GetRoundsResponse> Ask(const std::string& round_id) {
    request_.set_round_id(round_id);
    if (IsCut()) Close();
    std::optional<v1::GetRoundsResponse> response;
    if (tls_ != nullptr || Connect()) response = Call();
    if (!response.has_value()) Close();
    return response;
  }

  int unanswered = 0;  // calls in a row

 private:
  bool Connect() {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{30, 0};
    const int on = 1;
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return false;
    tls_.reset(SSL_new(context_.get()));
    SSL_use_certificate(tls_.get(), certificate_.get());
    SSL_use_PrivateKey(tls_.get(), key_);
    SSL_set_fd(tls_.get(), fd_);
    next_stream_ = 1;
    return SSL_connect(tls_.get()) == 1 && Write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + MakeFrame(kSettings, 0, 0, ""));
  }
  // The other end has closed the connection while it was idle: the next call needs a new one, and has not failed.
  bool IsCut() const {
    char byte;
    if (fd_ < 0) return false;
    const ssize_t got = ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN);
  }
  void Close() {
    tls_.reset();
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  bool Write(const std::string& bytes) {
    return SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size())) == static_cast<int>(bytes.size());
  }
  bool Read(std::string& bytes, size_t size) {
    bytes.resize(size);
    for (size_t got = 0; got < size;) {
      const int more = SSL_read(tls_.get(), bytes.data() + got, static_cast<int>(size - got));
      if (more <= 0) return false;
      got += static_cast<size_t>(more);
    }
    return true;
  }

  std::optional<v1::GetRoundsResponse> Call() {
    const uint32_t stream = std::exchange(next_stream_, next_stream_ + 2);
    const std::string message = request_.SerializeAsString();
    std::string data(1, '\0');  // not compressed
    PutBigEndian(data, static_cast<uint32_t>(message.size()), 4);
    if (!Write(MakeFrame(kHeaders, kEndHeaders, stream, MakeHeaders("/blink.v1.NodeService/GetRounds")) +
               MakeFrame(kData, kEndStream, stream, data + message))) {
      return std::nullopt;
    }
    std::string answer, head, payload;
    while (Read(head, 9)) {
      const auto byte = [&](int i) { return static_cast<uint32_t>(static_cast<uint8_t>(head[i])); };
      const bool is_own = (byte(5) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8)) == stream;
      const char type = head[3], flags = head[4];
      if (!Read(payload, byte(0) << 16 | byte(1) << 8 | byte(2))) break;
      if (type == kGoAway || (type == kReset && is_own)) break;
      if (type == kSettings && (flags & kAck) == 0 && !Write(MakeFrame(kSettings, kAck, 0, ""))) break;
      if (type == kPing && (flags & kAck) == 0 && !Write(MakeFrame(kPing, kAck, 0, payload))) break;
      if (type == kData && is_own) answer += payload;
      if (type == kHeaders && is_own && (flags & kEndStream) != 0) {
        v1::GetRoundsResponse response;
        constexpr size_t kPrefix = 5;  // of a message; an error has none
        if (answer.size() < kPrefix || !response.ParseFromString(answer.substr(kPrefix))) return std::nullopt;
        return response;
      }
    }
    return std::nullopt;
  }

  const Context context_;
  const Certificate certificate_;
  EVP_PKEY* const key_;
  const int port_;
  v1::GetRoundsRequest request_;
  Tls tls_;
  int fd_ = -1;
  uint32_t next_stream_ = 1;
};

WaitingNodes::WaitingNodes(const CertificateAuthority& authority, const std::string& deployment, int port, size_t count,
                           uint32_t node_count) {
  // One key does: it is the name in the certificate that tells them apart.
  static EVP_PKEY* const key = EVP_EC_gen("P-256");
  const Bio out(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  char* text = nullptr;
  const long length = BIO_get_mem_data(out.get(), &text);
  const std::string request = Must(MakeRequest(std::string(text, length), "waiting"));
  const Context context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  const Certificate root(PEM_read_bio_X509(MemoryOf(authority.certificate).get(), nullptr, nullptr, nullptr));
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), root.get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_alpn_protos(context.get(), reinterpret_cast<const unsigned char*>("\2h2"), 3);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t first = i * node_count / count, last = (i + 1) * node_count / count - 1;
    CertificateOptions options;
    options.uri_san = absl::StrCat("blink://", deployment, "/nodes/", first, "-", last);
    const std::string pem = Must(SignRequest(authority, request, options));
    Certificate certificate(PEM_read_bio_X509(MemoryOf(pem).get(), nullptr, nullptr, nullptr));
    nodes_.push_back(std::make_unique<Node>(context, std::move(certificate), key, deployment, port, first));
  }
}

WaitingNodes::~WaitingNodes() = default;

Waited WaitingNodes::Wait(const std::string& round_id, double seconds, double spread) {
  Waited waited;
  waited.answers.resize(nodes_.size());
  std::multimap<Clock::time_point, size_t> due;
  std::mutex mutex;
  std::condition_variable changed;
  const auto after = [](double wait) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wait));
  };
  const auto end = after(seconds);
  for (size_t n = 0; n < nodes_.size(); ++n) {
    due.emplace(after(spread * static_cast<double>(n) / static_cast<double>(nodes_.size())), n);
  }
  const auto call = [&] {
    std::unique_lock<std::mutex> lock(mutex);
    while (Clock::now() < end) {
      if (due.empty() || due.begin()->first > Clock::now()) {
        changed.wait_until(lock, due.empty() ? end : std::min(end, due.begin()->first));
        continue;
      }
      const size_t n = due.begin()->second;
      due.erase(due.begin());
      lock.unlock();
      const std::optional<v1::GetRoundsResponse> response = nodes_[n]->Ask(round_id);
      lock.lock();
      int& unanswered = nodes_[n]->unanswered;
      std::optional<RetryWindow> window;
      if (response.has_value()) {
        window = RetryWindowFromProto(response->retry());
        unanswered = 0;
        waited.answers[n].push_back(
            {absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()), absl::ToDoubleSeconds(window->max)});
      } else {
        ++waited.failures;
      }
      const int attempt = response.has_value() ? 0 : unanswered++;
      due.emplace(after(absl::ToDoubleSeconds(Must(DrawWait(RetryPolicy(), attempt, window, SecureRandom())))), n);
      changed.notify_one();
    }
  };
  constexpr int kThreads = 32;  // calls at a time
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(call);
  for (std::thread& thread : threads) thread.join();
  return waited;
}

}  // namespace blink::load
