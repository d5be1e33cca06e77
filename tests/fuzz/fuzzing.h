// What the fuzz targets share: fields taken from the front of an input, files to be read, and a check that ends the
// process, so that libFuzzer keeps the input.
#ifndef BLINK_TESTS_FUZZ_FUZZING_H_
#define BLINK_TESTS_FUZZ_FUZZING_H_

#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "absl/strings/string_view.h"

#define FUZZ_CHECK(condition)                                                            \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

namespace blink::fuzzing {

// Fields from the front; zeros, or fewer bytes, once the input has ended. Little endian.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  template <typename T>
  T Get() {
    T value{};
    const absl::string_view bytes = Take(sizeof(T));
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  absl::string_view Take(size_t bytes) {
    const absl::string_view front = rest_.substr(0, bytes);
    rest_.remove_prefix(front.size());
    return front;
  }
  // A piece whose length (u16) stands before it.
  absl::string_view TakePiece() { return Take(Get<uint16_t>()); }
  // What stands before `separator`, which is passed over; all the rest without one.
  absl::string_view TakeUntil(char separator) {
    const size_t end = rest_.find(separator);
    const absl::string_view front = Take(end);
    Take(1);
    return front;
  }
  absl::string_view rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

 private:
  absl::string_view rest_;
};

// A folder of this process, in memory where that is possible; removed when the process ends well.
class Folder {
 public:
  Folder() {
    std::string pattern =
        (::access("/dev/shm", W_OK) == 0 ? std::string("/dev/shm") : std::filesystem::temp_directory_path().string()) +
        "/blink-fuzz-XXXXXX";
    FUZZ_CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string operator/(const char* name) const { return path_ + "/" + name; }

  std::string Write(const char* name, absl::string_view bytes) const {
    const std::string path = *this / name;
    std::FILE* file = std::fopen(path.c_str(), "wb");
    FUZZ_CHECK(file != nullptr);
    FUZZ_CHECK(std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size());
    FUZZ_CHECK(std::fclose(file) == 0);
    return path;
  }

 private:
  std::string path_;
};

}  // namespace blink::fuzzing

#endif  // BLINK_TESTS_FUZZ_FUZZING_H_
