// Keys and certificates for tests that speak TLS.
#ifndef BLINK_TESTS_TESTING_CERTIFICATES_H_
#define BLINK_TESTS_TESTING_CERTIFICATES_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "common/base/durable_file.h"
#include "common/pki/pki.h"
#include "common/rpc/credentials.h"

namespace blink::testing {

// Makes a key and a certificate by `issuer` and writes both, and `trusted` as the authority to believe in, to the
// places that `files` names. Returns `files`.
inline TlsFiles WriteTlsFiles(const TlsFiles& files, const CertificateAuthority& issuer, const std::string& trusted,
                              const CertificateOptions& options) {
  const std::string key = *GenerateKey();
  const std::pair<std::string, std::string> texts[] = {
      {files.key, key},
      {files.certificate, *SignRequest(issuer, *MakeRequest(key, "test"), options)},
      {files.ca, trusted}};
  for (const auto& [path, text] : texts) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    EXPECT_TRUE(WriteFileAtomically(path, text).ok()) << path;
  }
  return files;
}

}  // namespace blink::testing

#endif  // BLINK_TESTS_TESTING_CERTIFICATES_H_
