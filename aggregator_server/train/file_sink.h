// Where LibTorch's writers put a file in memory. Internal to this folder.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_FILE_SINK_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_FILE_SINK_H_

#include <cstddef>
#include <new>
#include <string>
#include <utility>

namespace blink {

// LibTorch's writer of files ends the process when what it writes to fails: its destructor writes the end of the file,
// and throws. So a lack of memory is kept, and thrown when the writer is gone.
class FileSink {
 public:
  size_t Write(const void* data, size_t bytes) noexcept {
    try {
      if (!failed_) file_.append(static_cast<const char*>(data), bytes);
    } catch (...) {
      failed_ = true;
    }
    return bytes;
  }
  // The file. Throws std::bad_alloc when the memory did not suffice.
  std::string Take() {
    if (failed_) throw std::bad_alloc();
    return std::move(file_);
  }

 private:
  std::string file_;
  bool failed_ = false;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_FILE_SINK_H_
