// A file of the user: a path, a pipe, or "-" for standard input. It is opened once and read from front to back, so that
// nothing of a pipe is lost. Gzip is recognised by its bytes and unpacked on the way.
//
//   BLINK_ASSIGN_OR_RETURN(std::unique_ptr<Input> input, Input::Open(path));
//   input->Peek();                                        // the first bytes, to recognise the format by
//   while (BLINK_ASSIGN_OR_RETURN(const size_t got, input->Read(buffer, sizeof(buffer))), got > 0) ...
#ifndef BLINK_COMMON_GRAPH_INPUT_H_
#define BLINK_COMMON_GRAPH_INPUT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace blink {

inline constexpr char kStandardInput[] = "-";

// Whether compressed bytes grow as no data do, but as files do that are made to fill the memory: to more than 256 MiB,
// and to more than 200 times what they were.
inline bool GrowsImplausibly(uint64_t packed_bytes, uint64_t unpacked_bytes) {
  return unpacked_bytes > uint64_t{256} << 20 && unpacked_bytes / 200 > packed_bytes;
}

class Input {
 public:
  // Errors are those of common/base/durable_file.h. INVALID_ARGUMENT for a folder.
  static absl::StatusOr<std::unique_ptr<Input>> Open(const std::string& path);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  const std::string& name() const { return name_; }  // for messages: the path, or "standard input"
  // The first bytes, unpacked: kPeekBytes, or fewer where the input ends before. They are still to be read. To be
  // called before the first Read.
  absl::StatusOr<absl::string_view> Peek();
  // Fills `buffer` unless the input ends before. 0: the end. Returns INVALID_ARGUMENT when a gzip stream is damaged,
  // cut off, followed by something else, or grows implausibly.
  absl::StatusOr<size_t> Read(char* buffer, size_t bytes);
  // All that is left. OUT_OF_RANGE when it is more than `bytes_max`.
  absl::StatusOr<std::string> ReadAll(uint64_t bytes_max);

  static constexpr size_t kPeekBytes = 4096;

 private:
  struct Gzip;
  Input(std::string name, int fd);
  absl::StatusOr<size_t> ReadRaw(char* buffer, size_t bytes);
  absl::StatusOr<size_t> ReadGzip(char* buffer, size_t bytes);
  absl::Status Begin();

  std::string name_;
  int fd_;
  bool begun_ = false;
  std::string ahead_;  // read, but not yet given out: as it is on disk in a gzip stream, else as it is given out
  std::string peeked_;
  std::unique_ptr<Gzip> gzip_;
};

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_INPUT_H_
