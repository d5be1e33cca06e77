#include "aggregator_server/http/http_connection.h"

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "aggregator_server/http/tls_contexts.h"

namespace blink {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Tcp = asio::ip::tcp;
using TlsStream = asio::ssl::stream<Tcp::socket>;

constexpr size_t kDiscardedBytesMax = 256 << 10;

const char* Explain(http::status code) {
  switch (code) {
    case http::status::method_not_allowed:
      return "only GET and HEAD are answered here\n";
    case http::status::request_timeout:
      return "the request did not arrive in time\n";
    case http::status::request_header_fields_too_large:
      return "the request is too long\n";
    case http::status::http_version_not_supported:
      return "only HTTP/1.0 and HTTP/1.1 are spoken here\n";
    case http::status::service_unavailable:
      return "too many streams are open: close one, or try again later\n";
    default:
      return "this is not an HTTP request\n";
  }
}

// The peer is gone; any other error is of what it sent.
bool HasEnded(const error_code& error) {
  static const auto& of_requests = http::make_error_code(http::error::bad_version).category();
  return error.category() != of_requests || error == http::error::end_of_stream ||
         error == http::error::partial_message;
}

http::status CodeOf(const error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return http::status::request_header_fields_too_large;
  }
  return error == http::error::bad_version ? http::status::http_version_not_supported : http::status::bad_request;
}

std::chrono::milliseconds In(absl::Duration duration) { return absl::ToChronoMilliseconds(duration); }

template <typename Header>
std::string TextOf(const Header& header, http::field field) {
  const auto value = header[field];
  return {value.data(), value.size()};
}

// `Stream` is a socket, or TLS around one.
template <typename Stream>
class Connection final : public HttpConnection, public std::enable_shared_from_this<Connection<Stream>> {
 public:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;

  Connection(Stream stream, std::shared_ptr<asio::ssl::context> tls, const Shared& shared)
      : tls_(std::move(tls)),
        stream_(std::move(stream)),
        timer_(stream_.get_executor()),
        gap_(stream_.get_executor()),
        shared_(shared),
        buffer_(shared.limits.request_bytes_max + 1) {
    in_handshake_ = kTls;
    parser_.header_limit(static_cast<uint32_t>(shared.limits.request_bytes_max));
  }
  ~Connection() override {
    events_ = nullptr;
    shared_.ended();
  }

  void Begin() override {
    error_code ignored;
    const auto remote = socket().remote_endpoint(ignored);
    std::ostringstream peer;
    peer << remote;
    request_.peer = peer.str();
    socket().set_option(Tcp::no_delay(true), ignored);
    timer_.expires_after(In(shared_.limits.time_max));
    timer_.async_wait([self = Self()](const error_code& error) {
      if (!error) self->TimeOut();
    });
    if constexpr (kTls) {
      stream_.async_handshake(asio::ssl::stream_base::server, [self = Self()](const error_code& error) {
        if (error) return self->Close();
        self->in_handshake_ = false;
        self->request_.certificate = PeerCertificate(self->stream_.native_handle());
        self->ReadHeader();
      });
    } else {
      ReadHeader();
    }
  }

  void Close() override {
    error_code ignored;
    is_closed_ = true;
    timer_.cancel();
    gap_.cancel();
    socket().close(ignored);
    events_ = nullptr;
  }

 private:
  std::shared_ptr<Connection> Self() { return this->shared_from_this(); }
  Tcp::socket& socket() {
    if constexpr (kTls) {
      return stream_.next_layer();
    } else {
      return stream_;
    }
  }

  void ReadHeader() {
    http::async_read_header(stream_, buffer_, parser_,
                            [self = Self()](const error_code& error, size_t) { self->Answer(error); });
  }

  void TimeOut() {
    error_code ignored;
    if (reading_ && !in_handshake_ && parser_.got_some()) {
      is_late_ = true;
      socket().cancel(ignored);  // Answer tells the peer
    } else {
      Close();
    }
  }

  void Answer(const error_code& error) {
    reading_ = false;
    if (is_late_) return kTls ? Close() : Refuse(http::status::request_timeout);  // TLS cannot go on after a cancel
    if (error && HasEnded(error)) return Close();
    if (error) return Refuse(CodeOf(error));
    const auto& header = parser_.get();
    if (header.method() != http::verb::get && header.method() != http::verb::head) {
      return Refuse(http::status::method_not_allowed);
    }
    const std::string target(header.target());
    if (!absl::StartsWith(target, "/") || header.count(http::field::host) > 1) return Refuse(http::status::bad_request);
    request_.path = target.substr(0, target.find('?'));
    request_.host = TextOf(header, http::field::host);
    const auto site = header["Sec-Fetch-Site"];
    request_.fetch_site.assign(site.data(), site.size());
    shared_.answer(std::move(request_), [self = Self()](HttpResponse answer) {
      if (self->is_closed_) return;
      answer.stream == nullptr ? self->Write(http::status(answer.code), answer) : self->BeginStream(std::move(answer));
    });
  }

  // What the peer still sends is read and dropped: its system might otherwise take the answer away from it.
  void Refuse(http::status code) {
    lingers_ = true;
    Write(code, HttpResponse{.body = Explain(code)});
  }

  void SetHead(http::status code, const HttpResponse& answer) {
    response_.version(11);
    response_.result(code);
    response_.set(http::field::content_type, answer.type);
    if (answer.stream == nullptr) response_.set(http::field::content_length, std::to_string(answer.body.size()));
    if (code == http::status::method_not_allowed) response_.set(http::field::allow, "GET, HEAD");
    response_.set(http::field::cache_control, "no-store");
    response_.set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : answer.headers) response_.set(name, value);
    response_.set(http::field::connection, "close");
  }

  void Write(http::status code, HttpResponse answer) {
    SetHead(code, answer);
    if (parser_.get().method() != http::verb::head) response_.body() = std::move(answer.body);
    if (lingers_) RestartTimer(shared_.limits.linger_max);
    http::async_write(stream_, response_, [self = Self()](const error_code& error, size_t) { self->EndWrite(error); });
  }

  void EndWrite(error_code error) {
    if (error) return Close();
    if constexpr (kTls) {
      if (lingers_) return Discard();
      RestartTimer(shared_.limits.linger_max);
      stream_.async_shutdown([self = Self()](const error_code&) { self->Close(); });
    } else {
      socket().shutdown(Tcp::socket::shutdown_send, error);
      error || !lingers_ ? Close() : Discard();
    }
  }

  void RestartTimer(absl::Duration duration) {
    timer_.expires_after(In(duration));
    timer_.async_wait([self = Self()](const error_code& error) {
      if (!error) self->Close();
    });
  }

  void Discard() {
    stream_.async_read_some(asio::buffer(discarded_), [self = Self()](const error_code& error, size_t got) {
      self->discarded_bytes_ += got;
      error || self->discarded_bytes_ > kDiscardedBytesMax ? self->Close() : self->Discard();
    });
  }

  void BeginStream(HttpResponse answer) {
    if (parser_.get().method() == http::verb::head) return Write(http::status::ok, {.type = answer.type});
    if (!shared_.begin_stream(*this)) return Refuse(http::status::service_unavailable);
    events_ = std::move(answer.stream);
    SetHead(http::status::ok, {.type = answer.type, .headers = answer.headers, .stream = events_});
    std::ostringstream head;
    head << response_.base();
    piece_ = head.str();
    ends_ = std::chrono::steady_clock::now() + In(shared_.limits.stream_time_max);
    const std::weak_ptr<Connection> weak = Self();
    // The last owner is never somebody else's thread, which may hold a lock that the end of the stream needs.
    const auto soon = [weak, executor = stream_.get_executor()](auto act) {
      asio::post(executor, [weak, act] {
        if (const auto self = weak.lock()) act(*self);
      });
    };
    events_->Begin([soon] { soon([](Connection& self) { self.Pump(); }); },
                   [soon] { soon([](Connection& self) { self.Close(); }); });
    Discard();  // sees the peer's end
    WritePiece();
  }

  void WritePiece() {
    writing_ = true;
    RestartTimer(shared_.limits.stream_write_max);
    asio::async_write(stream_, asio::buffer(piece_), [self = Self()](const error_code& error, size_t) {
      if (error || self->is_closed_) return self->Close();
      self->gap_.expires_after(In(self->shared_.limits.stream_gap));
      self->gap_.async_wait([self](const error_code& aborted) {
        if (aborted) return;
        self->writing_ = false;
        self->Pump();
      });
      self->WaitIdle();
    });
  }

  void WaitIdle() {
    timer_.expires_after(In(shared_.limits.stream_idle_max));
    timer_.async_wait([self = Self()](const error_code& error) {
      if (error || self->is_closed_) return;
      if (self->writing_ || std::chrono::steady_clock::now() > self->ends_) return self->Close();
      self->piece_ = ":\n\n";
      self->WritePiece();
    });
  }

  void Pump() {
    if (writing_ || is_closed_) return;
    if (std::chrono::steady_clock::now() > ends_) return Close();
    std::string piece = events_->Take();
    if (piece.empty()) return;
    piece_ = std::move(piece);
    WritePiece();
  }

  const std::shared_ptr<asio::ssl::context> tls_;  // outlives the stream
  Stream stream_;
  asio::steady_timer timer_, gap_;
  const Shared& shared_;
  boost::beast::flat_buffer buffer_;
  http::request_parser<http::empty_body> parser_;
  http::response<http::string_body> response_;
  HttpRequest request_;
  bool reading_ = true, is_late_ = false, lingers_ = false, is_closed_ = false;
  char discarded_[4096];
  size_t discarded_bytes_ = 0;

  // Of a stream.
  std::shared_ptr<HttpStream> events_;
  std::string piece_;
  bool writing_ = false;
  std::chrono::steady_clock::time_point ends_;
};

}  // namespace

std::shared_ptr<HttpConnection> MakeHttpConnection(Tcp::socket socket, std::shared_ptr<asio::ssl::context> tls,
                                                   const HttpConnection::Shared& shared) {
  if (tls == nullptr) return std::make_shared<Connection<Tcp::socket>>(std::move(socket), nullptr, shared);
  TlsStream stream(std::move(socket), *tls);
  return std::make_shared<Connection<TlsStream>>(std::move(stream), std::move(tls), shared);
}

}  // namespace blink
