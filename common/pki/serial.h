// The serial number of a certificate that OpenSSL has parsed already.
#ifndef BLINK_COMMON_PKI_SERIAL_H_
#define BLINK_COMMON_PKI_SERIAL_H_

#include <openssl/x509.h>

#include <string>

namespace blink {

// As CertificateInfo::serial.
std::string ReadSerial(X509* certificate);

}  // namespace blink

#endif  // BLINK_COMMON_PKI_SERIAL_H_
