// Why a handshake failed, in words for the aggregator's log.
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_HANDSHAKE_WORDS_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_HANDSHAKE_WORDS_H_

#include <openssl/ssl.h>

#include <string>

namespace blink {

// What was seen of one handshake.
struct HandshakeSeen {
  std::string refusal;       // why its certificate was refused
  std::string refusal_kind;  // the same, for counting
  std::string claimed_name;  // in that certificate; nobody vouches for it
  int alert_sent = -1;       // descriptions, RFC 8446 section 6
  int alert_received = -1;
  int last_message = -1;           // type of the handshake message that came last
  bool empty_certificate = false;  // its Certificate message carried none
  unsigned char first[5] = {};     // of what it sent
  bool spoke = false;
};

struct HandshakeFailure {
  std::string kind;  // one of few
  std::string text;
  bool actionable;  // an operator can do something about it; otherwise it happens by itself
};
// `finished`: our side of the handshake had come to its end.
HandshakeFailure DescribeFailure(const HandshakeSeen& seen, bool finished);

// Notes why `context` refuses a certificate.
void NoteRefusal(X509_STORE_CTX* context, HandshakeSeen& seen);

// The URI in a certificate, or "": printable and short.
std::string ReadName(X509* certificate);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRANSPORT_HANDSHAKE_WORDS_H_
