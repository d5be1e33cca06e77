// What a server shows in its handshakes, as texts in memory: it was checked once, and files may change meanwhile.
#ifndef BLINK_COMMON_PKI_TLS_TEXTS_H_
#define BLINK_COMMON_PKI_TLS_TEXTS_H_

#include <string>

namespace blink {

// All PEM.
struct TlsTexts {
  std::string certificate;  // chain
  std::string key;
  std::string ca;
};

}  // namespace blink

#endif  // BLINK_COMMON_PKI_TLS_TEXTS_H_
