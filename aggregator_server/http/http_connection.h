// One connection of an HttpServer, with or without TLS. Internal to this folder.
//
//   Begin -> [handshake] -> header -> handler -> answer -> closed
//                                           '-> head of a stream -> piece, piece, .. -> closed
//
// Each step waits for the one before, and a timer ends whichever step is waited for. A connection lives until no step
// is left. All of it runs on the server's thread, but for the handler where that is slow.
#ifndef BLINK_AGGREGATOR_SERVER_HTTP_HTTP_CONNECTION_H_
#define BLINK_AGGREGATOR_SERVER_HTTP_HTTP_CONNECTION_H_

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>

#include "aggregator_server/http/http_server.h"

namespace blink {

class HttpConnection {
 public:
  // What the connections of a server share.
  struct Shared {
    HttpLimits limits;
    // Answers a request, now or later, by calling `done` on the server's thread.
    std::function<void(HttpRequest, std::function<void(HttpResponse)> done)> answer;
    // Whether one more stream may begin; from then on this connection counts as one.
    std::function<bool(HttpConnection&)> begin_stream;
    std::function<void()> ended;
  };

  virtual ~HttpConnection() = default;
  virtual void Begin() = 0;
  virtual void Close() = 0;
  bool in_handshake() const { return in_handshake_; }

 protected:
  bool in_handshake_ = false;
};

// `tls`: absent without. `shared` outlives the connection.
std::shared_ptr<HttpConnection> MakeHttpConnection(boost::asio::ip::tcp::socket socket,
                                                   std::shared_ptr<boost::asio::ssl::context> tls,
                                                   const HttpConnection::Shared& shared);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_HTTP_HTTP_CONNECTION_H_
