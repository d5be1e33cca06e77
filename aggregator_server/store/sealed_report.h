// A report as encrypted_store.h keeps it: a CodedReport whose digest is the report's, without a degree, and whose bits
// are these, sealed for "blink report 1|<round>|<node>|<digest>":
//
//   degree present (u8), degree (i64, little endian), coded bits
#ifndef BLINK_AGGREGATOR_SERVER_STORE_SEALED_REPORT_H_
#define BLINK_AGGREGATOR_SERVER_STORE_SEALED_REPORT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/sealed.h"
#include "common/wire/report_codec.h"

namespace blink {

absl::StatusOr<CodedReport> SealReport(const SecretKey& key, const std::string& round_id, uint64_t node,
                                       const CodedReport& report);
// DATA_LOSS: it was changed, or is of another round or node.
absl::StatusOr<CodedReport> UnsealReport(const SecretKey& key, const std::string& round_id, uint64_t node,
                                         const CodedReport& sealed);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_STORE_SEALED_REPORT_H_
