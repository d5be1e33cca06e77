// Answers GET and HEAD over HTTP: few paths, small requests, answers from memory.
//
//   const auto server = HttpServer::Listen("127.0.0.1:9464");
//   (*server)->Start([](const HttpRequest&) { return HttpResponse{.code = 404, .body = "no such path\n"}; });
//
// With Boost.Beast. One thread serves all connections and waits for none of them. A connection carries one request and
// is closed after its answer. Everything about it has a limit (HttpLimits). When there are too many connections, the
// oldest is closed, first of those that are still in the handshake: so peers that send nothing, or read nothing, cannot
// keep others out. Nothing that a peer does is logged.
//
//   400 not a request   404 the handler's   405 another method   408 too slow   431 too long   503 too much at once
//   505 another version
//
// Without `tls`, every answer may be read by anybody who reaches the address. With it, the handshake asks for a client
// certificate of the deployment's authority, and the handler says whose it must be (HttpRequest::certificate).
//
// An answer may be a stream of events (HttpStream). Streams are counted apart from connections, and are not closed for
// others. A peer that does not read is not waited for: it gets what has changed meanwhile in one piece, or its
// connection ends. Nothing is kept for it but the piece that is being written.
#ifndef BLINK_AGGREGATOR_SERVER_HTTP_HTTP_SERVER_H_
#define BLINK_AGGREGATOR_SERVER_HTTP_HTTP_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator_server/http/http_message.h"
#include "common/pki/tls_texts.h"

namespace blink {

struct HttpLimits {
  size_t connections_max = 32;
  size_t request_bytes_max = 8 << 10;            // request line and headers
  absl::Duration time_max = absl::Seconds(5);    // from the connection to the last byte of the answer
  absl::Duration linger_max = absl::Seconds(1);  // for a peer that still sends when it has been refused
  size_t streams_max = 16;
  absl::Duration stream_gap = absl::Milliseconds(100);  // between two pieces of a stream
  absl::Duration stream_idle_max = absl::Seconds(15);   // then a line without meaning shows that the stream lives
  absl::Duration stream_write_max = absl::Seconds(10);  // for the peer to take one piece
  absl::Duration stream_time_max = absl::Hours(1);      // a browser connects again by itself
};

class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  struct Options {
    HttpLimits limits = {};
    // The certificate and the authority in use, asked for at each connection. Absent: no TLS.
    std::function<std::shared_ptr<const TlsTexts>()> tls = nullptr;
    // Whether the handler may take long, as with files. It is then called on a thread of its own, one request after the
    // other, and connections go on meanwhile. Both threads leave the processor to others (nice 10).
    bool slow_handler = false;
  };

  // Binds HOST:PORT and listens; nobody is answered before Start. Without HOST only this machine gets in. The errors
  // are those of ListenOn.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Listen(const std::string& address, Options options);
  static absl::StatusOr<std::unique_ptr<HttpServer>> Listen(const std::string& address, const HttpLimits& limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  void Start(Handler handler);
  void Stop();  // closes everything

 private:
  struct State;

  HttpServer(std::unique_ptr<State> state, int port);

  const std::unique_ptr<State> state_;
  const int port_;
  std::thread thread_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_HTTP_HTTP_SERVER_H_
