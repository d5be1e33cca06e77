// Memory that grows in pieces and never moves: the process's own, or that of a file without a name, which the system
// may write to the disk and which ends with the process.
#ifndef BLINK_AGGREGATOR_SERVER_REPORTS_SCRATCH_BYTES_H_
#define BLINK_AGGREGATOR_SERVER_REPORTS_SCRATCH_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace blink {

class ScratchBytes {
 public:
  // `folder`: of the file; empty: memory of the process.
  explicit ScratchBytes(std::string folder) : folder_(std::move(folder)) {}
  ScratchBytes(const ScratchBytes&) = delete;
  ScratchBytes& operator=(const ScratchBytes&) = delete;
  ~ScratchBytes();

  // `bytes` that nobody else has, and kSlack more that may be read. RESOURCE_EXHAUSTED: the memory or the disk is full,
  // and what is left is as before. A full disk is found out here, and never when the bytes are written.
  absl::StatusOr<uint8_t*> Take(size_t bytes);

  // Says that what was taken between these two addresses is not read for some time: of a file, it leaves the memory of
  // the process. What is in it stays, and so does whatever else lies between them. Not beside a Take.
  void Rest(const uint8_t* begin, const uint8_t* end) const;

  uint64_t taken() const { return taken_; }
  static constexpr size_t kSlack = 8;

 private:
  struct Piece {
    uint8_t* begin = nullptr;
    size_t size = 0;
  };
  absl::Status AddPiece(size_t size);
  absl::Status OpenFile();

  const std::string folder_;
  int fd_ = -1;
  uint64_t file_size_ = 0, taken_ = 0;
  size_t used_ = 0;  // of the last piece
  std::vector<Piece> pieces_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_REPORTS_SCRATCH_BYTES_H_
