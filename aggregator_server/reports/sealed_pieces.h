// A stream of bytes in a file, encrypted piece by piece, so that never more than a piece is in memory:
//
//   for each piece   length of the sealed piece (u32, little endian; its highest bit: it is the last), sealed piece,
//                    whose context is "blink reports 2|<round>|<number of the piece>|<1 of the last, else 0>"
//
// So no piece can be left out, moved, added, or brought from another round.
#ifndef BLINK_AGGREGATOR_SERVER_REPORTS_SEALED_PIECES_H_
#define BLINK_AGGREGATOR_SERVER_REPORTS_SEALED_PIECES_H_

#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/sealed.h"

namespace blink {

inline constexpr absl::string_view kEncryptedFile = "BLINKR02";  // what such a file begins with, before its pieces
inline constexpr size_t kPieceBytesMax = 64 << 10;

class PieceSealer {
 public:
  PieceSealer(const SecretKey& key, std::string round_id) : key_(key), round_id_(std::move(round_id)) {}
  // The next pieces of the file; the last of them ends it if `is_last`.
  absl::StatusOr<std::string> SealNext(absl::string_view bytes, bool is_last);

 private:
  SecretKey key_;
  std::string round_id_;
  uint64_t count_ = 0;
};

class PieceReader {
 public:
  PieceReader(const SecretKey& key, std::string round_id) : key_(key), round_id_(std::move(round_id)) {}
  // The bytes of the next piece. OUT_OF_RANGE: the file ends early. DATA_LOSS: it was changed, or there is no next one.
  absl::StatusOr<std::string> ReadNext(std::FILE* file);
  bool has_ended() const { return has_ended_; }

 private:
  SecretKey key_;
  std::string round_id_;
  uint64_t count_ = 0;
  bool has_ended_ = false;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_REPORTS_SEALED_PIECES_H_
