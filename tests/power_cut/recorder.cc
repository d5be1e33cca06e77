// A preloaded library (LD_PRELOAD) that records what a program does to the files below a folder, and what it syncs. It
// changes nothing of what the program sees. recording.h reads what it writes.
//
//   POWER_CUT_ROOT     the folder; only what lies below it is recorded
//   POWER_CUT_LOG      the file that the records are appended to
//   POWER_CUT_KILL_AT  the process ends with SIGKILL right after its operation of this number, from 1 on
//
// What changes files in a way that is not understood here is recorded as such, and makes the test fail.
#include <cxxabi.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <set>
#include <string>

namespace {

thread_local bool inside = false;  // a call of this library itself, or of the C library on its behalf

struct Recorder {
  std::recursive_mutex mutex;  // held over an operation and its record, so that the log has the order of the disk
  std::string root;
  int log = -1;
  long kill_at = 0;
  long operations = 0;
  std::set<FILE*> streams;  // that are written by the C library, out of sight

  Recorder() {
    const char* const folder = ::getenv("POWER_CUT_ROOT");
    const char* const path = ::getenv("POWER_CUT_LOG");
    if (folder == nullptr || path == nullptr) return;
    root = folder;
    const long fd = ::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    log = ::fcntl(static_cast<int>(fd), F_DUPFD_CLOEXEC, 700);
    ::syscall(SYS_close, fd);
    if (const char* const number = ::getenv("POWER_CUT_KILL_AT")) kill_at = ::atol(number);
  }
};

Recorder& TheRecorder() {
  static auto* const recorder = new Recorder;
  return *recorder;
}

// The path below the root, "" for the root itself; false for everything else.
bool Below(const std::string& path, std::string& relative) {
  const std::string& root = TheRecorder().root;
  if (root.empty() || path.compare(0, root.size(), root) != 0) return false;
  if (path.size() > root.size() && path[root.size()] != '/') return false;
  relative = path.size() > root.size() ? path.substr(root.size() + 1) : "";
  while (!relative.empty() && relative.back() == '/') relative.pop_back();
  return true;
}

std::string PathOf(int fd) {
  char link[4096], name[64];
  ::snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(name, link, sizeof(link));
  return length > 0 ? std::string(link, length) : "";
}

bool Below(int fd, std::string& relative) {
  constexpr char kGone[] = " (deleted)";
  const std::string path = PathOf(fd);
  if (path.size() > sizeof(kGone) && path.compare(path.size() + 1 - sizeof(kGone), sizeof(kGone) - 1, kGone) == 0) {
    return false;
  }
  return Below(path, relative);
}

bool Below(int folder, const char* path, std::string& relative) {
  if (path == nullptr) return false;
  std::string whole = path;
  if (whole.empty() || whole[0] != '/') {
    char here[4096];
    whole = (folder == AT_FDCWD ? std::string(::getcwd(here, sizeof(here)) ? here : "") : PathOf(folder)) + "/" + whole;
  }
  return Below(std::filesystem::path(whole).lexically_normal().string(), relative);
}

// Who asks for a sync: the place in the program, with the places that call it up to one outside of a mere wrapper
// (blink::SyncDirectory), or the library that does.
std::string CallChain() {
  void* frames[24];
  const int count = ::backtrace(frames, 24);
  Dl_info own;
  ::dladdr(reinterpret_cast<void*>(&CallChain), &own);
  std::string chain;
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    if (::dladdr(frames[i], &info) == 0 || info.dli_fbase == own.dli_fbase) continue;
    if (::strstr(info.dli_fname, "rocksdb") != nullptr) return "rocksdb";
    if (::strstr(info.dli_fname, ".so") != nullptr) continue;
    const char* const symbol = info.dli_sname != nullptr ? info.dli_sname : "?";
    int failed = 0;
    char* const plain = abi::__cxa_demangle(symbol, nullptr, nullptr, &failed);
    const std::string name = failed == 0 ? plain : symbol;
    ::free(plain);
    if (name.compare(0, 9, "rocksdb::") == 0) return "rocksdb";
    char offset[32];
    ::snprintf(offset, sizeof(offset), "@%zx",
               static_cast<size_t>(static_cast<char*>(frames[i]) - static_cast<char*>(info.dli_fbase)));
    chain += (chain.empty() ? "" : " < ") + name.substr(0, name.find('(')) + offset;
    if (name.find("SyncDirectory") == std::string::npos) break;
  }
  return chain;
}

void Put(std::string& out, const std::string& bytes) {
  const uint64_t size = bytes.size();
  out.append(reinterpret_cast<const char*>(&size), sizeof(size));
  out += bytes;
}

void Record(char kind, const std::string& path, const std::string& text = "", uint64_t number = 0) {
  Recorder& recorder = TheRecorder();
  if (recorder.log < 0) return;
  std::string record(1, kind);
  Put(record, path);
  record.append(reinterpret_cast<const char*>(&number), sizeof(number));
  Put(record, text);
  std::string whole;
  Put(whole, record);
  if (::syscall(SYS_write, recorder.log, whole.data(), whole.size()) != static_cast<long>(whole.size())) ::abort();
  if (++recorder.operations == recorder.kill_at) ::kill(::getpid(), SIGKILL);
}

// Guards one intercepted call. `on` is false for calls from within.
struct Call {
  Call() : on(!inside) {
    if (on) TheRecorder().mutex.lock();
    inside = true;
  }
  ~Call() {
    if (!on) return;
    inside = false;
    TheRecorder().mutex.unlock();
  }
  const bool on;
};

template <typename F>
F* Real(F*, const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}
#define REAL(name) static auto* const real = Real(&::name, #name)

// What the C library has written of a stream, as one write of the whole file.
void RecordWhole(int fd, const std::string& path) {
  std::string content;
  char buffer[1 << 16];
  const int again = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, PathOf(fd).c_str(), O_RDONLY | O_CLOEXEC, 0));
  for (ssize_t got; (got = ::syscall(SYS_read, again, buffer, sizeof(buffer))) > 0;) content.append(buffer, got);
  ::syscall(SYS_close, again);
  Record('t', path, "", 0);
  Record('w', path, content, 0);
}

int Open(int folder, const char* path, int flags, mode_t mode) {
  Call call;
  std::string relative;
  const bool writes = call.on && ((flags & O_CREAT) != 0 || (flags & O_TRUNC) != 0) && Below(folder, path, relative);
  struct stat info;
  const bool existed = writes && ::fstatat(folder, path, &info, AT_SYMLINK_NOFOLLOW) == 0;
  const int fd = static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
  if (fd < 0 || !writes) return fd;
  const int kept = errno;
  if ((flags & O_TMPFILE) == O_TMPFILE) Record('X', relative, "O_TMPFILE");
  if (!existed) Record('c', relative);
  if (existed && (flags & O_TRUNC) != 0) Record('t', relative, "", 0);
  errno = kept;
  return fd;
}

ssize_t Wrote(bool on, int fd, const void* data, ssize_t count, off_t at) {
  std::string relative;
  if (!on || count <= 0 || !Below(fd, relative)) return count;
  const int kept = errno;
  const off_t from = at >= 0 ? at : ::lseek(fd, 0, SEEK_CUR) - count;
  Record('w', relative, std::string(static_cast<const char*>(data), count), from);
  errno = kept;
  return count;
}

int Synced(bool on, int fd, int result) {
  std::string relative;
  if (on && result == 0 && Below(fd, relative)) Record('s', relative, CallChain());
  return result;
}

void FlushStreamOf(bool on, int fd) {
  std::string relative;
  if (!on) return;
  for (FILE* stream : TheRecorder().streams) {
    if (::fileno(stream) == fd && Below(fd, relative)) RecordWhole(fd, relative);
  }
}

int TookName(bool on, char kind, int folder, const char* path, int result) {
  std::string relative;
  if (on && result == 0 && Below(folder, path, relative)) Record(kind, relative);
  return result;
}

int Renamed(bool on, int folder, const char* from, int new_folder, const char* to, unsigned flags, int result) {
  std::string before, after;
  if (!on || result != 0) return result;
  const bool has_before = Below(folder, from, before), has_after = Below(new_folder, to, after);
  if (has_before && has_after) {
    Record((flags & RENAME_EXCHANGE) != 0 ? 'x' : 'r', before, after);
  } else if (has_before || has_after) {
    Record('X', before + after, "a rename across the border");
  }
  return result;
}

mode_t ModeOf(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

// What a scenario tells the checker: from here on this is promised.
void PowerCutNote(const char* text) {
  Call call;
  Record('n', "", text);
}

#define DEFINE_OPEN(name)                         \
  int name(const char* path, int flags, ...) {    \
    va_list arguments;                            \
    va_start(arguments, flags);                   \
    const mode_t mode = ModeOf(flags, arguments); \
    va_end(arguments);                            \
    return Open(AT_FDCWD, path, flags, mode);     \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)
#define DEFINE_OPENAT(name)                                \
  int name(int folder, const char* path, int flags, ...) { \
    va_list arguments;                                     \
    va_start(arguments, flags);                            \
    const mode_t mode = ModeOf(flags, arguments);          \
    va_end(arguments);                                     \
    return Open(folder, path, flags, mode);                \
  }
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)
int __open_2(const char* path, int flags) { return Open(AT_FDCWD, path, flags, 0); }
int __open64_2(const char* path, int flags) { return Open(AT_FDCWD, path, flags, 0); }
int __openat_2(int folder, const char* path, int flags) { return Open(folder, path, flags, 0); }
int __openat64_2(int folder, const char* path, int flags) { return Open(folder, path, flags, 0); }
int creat(const char* path, mode_t mode) { return Open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char* path, mode_t mode) { return Open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

ssize_t write(int fd, const void* data, size_t size) {
  Call call;
  return Wrote(call.on, fd, data, ::syscall(SYS_write, fd, data, size), -1);
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t at) {
  Call call;
  return Wrote(call.on, fd, data, ::syscall(SYS_pwrite64, fd, data, size, at), at);
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t at) { return pwrite(fd, data, size, at); }
ssize_t writev(int fd, const struct iovec* parts, int count) {
  Call call;
  const ssize_t put = ::syscall(SYS_writev, fd, parts, count);
  std::string all;
  for (int i = 0; i < count; ++i) all.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  return Wrote(call.on, fd, all.data(), put, -1);
}
ssize_t pwritev(int fd, const struct iovec*, int, off_t) {
  Call call;
  std::string relative;
  if (call.on && Below(fd, relative)) Record('X', relative, "pwritev");
  errno = ENOSYS;
  return -1;
}
int ftruncate(int fd, off_t size) {
  Call call;
  std::string relative;
  const int result = static_cast<int>(::syscall(SYS_ftruncate, fd, size));
  if (call.on && result == 0 && Below(fd, relative)) Record('t', relative, "", size);
  return result;
}
int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }
int truncate(const char* path, off_t size) {
  Call call;
  std::string relative;
  const int result = static_cast<int>(::syscall(SYS_truncate, path, size));
  if (call.on && result == 0 && Below(AT_FDCWD, path, relative)) Record('t', relative, "", size);
  return result;
}
int fallocate(int fd, int mode, off_t at, off_t size) {
  Call call;
  std::string relative;
  const int result = static_cast<int>(::syscall(SYS_fallocate, fd, mode, at, size));
  if (call.on && result == 0 && mode != FALLOC_FL_KEEP_SIZE && Below(fd, relative)) {
    if (mode == 0) {
      Record('g', relative, "", at + size);
    } else if (mode != (FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE)) {  // RocksDB gives back what lies behind the end
      Record('X', relative, "fallocate");
    }
  }
  return result;
}
int fallocate64(int fd, int mode, off64_t at, off64_t size) { return fallocate(fd, mode, at, size); }
int posix_fallocate(int fd, off_t at, off_t size) { return fallocate(fd, 0, at, size) == 0 ? 0 : errno; }
int posix_fallocate64(int fd, off64_t at, off64_t size) { return posix_fallocate(fd, at, size); }

int fsync(int fd) {
  Call call;
  FlushStreamOf(call.on, fd);
  return Synced(call.on, fd, static_cast<int>(::syscall(SYS_fsync, fd)));
}
int fdatasync(int fd) {
  Call call;
  FlushStreamOf(call.on, fd);
  return Synced(call.on, fd, static_cast<int>(::syscall(SYS_fdatasync, fd)));
}
int syncfs(int fd) {
  Call call;
  std::string relative;
  const int result = static_cast<int>(::syscall(SYS_syncfs, fd));
  if (call.on && result == 0 && Below(fd, relative)) Record('S', relative, CallChain());
  return result;
}
void sync(void) {
  Call call;
  ::syscall(SYS_sync);
  Record('S', "", CallChain());
}

int rename(const char* from, const char* to) {
  Call call;
  const int result = static_cast<int>(::syscall(SYS_rename, from, to));
  return Renamed(call.on, AT_FDCWD, from, AT_FDCWD, to, 0, result);
}
int renameat(int folder, const char* from, int new_folder, const char* to) {
  Call call;
  const int result = static_cast<int>(::syscall(SYS_renameat2, folder, from, new_folder, to, 0));
  return Renamed(call.on, folder, from, new_folder, to, 0, result);
}
int renameat2(int folder, const char* from, int new_folder, const char* to, unsigned flags) {
  Call call;
  const int result = static_cast<int>(::syscall(SYS_renameat2, folder, from, new_folder, to, flags));
  return Renamed(call.on, folder, from, new_folder, to, flags, result);
}
int link(const char* from, const char* to) {
  Call call;
  std::string before, after;
  const int result = static_cast<int>(::syscall(SYS_link, from, to));
  if (call.on && result == 0 && Below(AT_FDCWD, from, before) && Below(AT_FDCWD, to, after)) {
    Record('l', before, after);
  }
  return result;
}
int symlink(const char* target, const char* path) {
  Call call;
  return TookName(call.on, 'X', AT_FDCWD, path, static_cast<int>(::syscall(SYS_symlink, target, path)));
}
int unlink(const char* path) {
  Call call;
  return TookName(call.on, 'u', AT_FDCWD, path, static_cast<int>(::syscall(SYS_unlink, path)));
}
int unlinkat(int folder, const char* path, int flags) {
  Call call;
  return TookName(call.on, 'u', folder, path, static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags)));
}
int rmdir(const char* path) {
  Call call;
  return TookName(call.on, 'u', AT_FDCWD, path, static_cast<int>(::syscall(SYS_rmdir, path)));
}
int remove(const char* path) {
  const int gone = unlink(path);
  return gone != 0 && errno == EISDIR ? rmdir(path) : gone;
}
int mkdir(const char* path, mode_t mode) {
  Call call;
  return TookName(call.on, 'm', AT_FDCWD, path, static_cast<int>(::syscall(SYS_mkdir, path, mode)));
}
int mkdirat(int folder, const char* path, mode_t mode) {
  Call call;
  return TookName(call.on, 'm', folder, path, static_cast<int>(::syscall(SYS_mkdirat, folder, path, mode)));
}

static FILE* OpenStream(FILE* (*real)(const char*, const char*), const char* path, const char* mode) {
  Call call;
  std::string relative;
  const bool writes = call.on && ::strpbrk(mode, "wa+") != nullptr && Below(AT_FDCWD, path, relative);
  struct stat info;
  const bool existed = writes && ::lstat(path, &info) == 0;
  FILE* const stream = real(path, mode);
  if (stream == nullptr || !writes) return stream;
  if (!existed) Record('c', relative);
  if (existed && mode[0] == 'w') Record('t', relative, "", 0);
  TheRecorder().streams.insert(stream);
  return stream;
}
FILE* fopen(const char* path, const char* mode) {
  REAL(fopen);
  return OpenStream(real, path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  REAL(fopen64);
  return OpenStream(real, path, mode);
}
int fclose(FILE* stream) {
  REAL(fclose);
  Call call;
  std::string relative;
  if (call.on && TheRecorder().streams.erase(stream) > 0) {
    ::fflush(stream);
    if (Below(::fileno(stream), relative)) RecordWhole(::fileno(stream), relative);
  }
  return real(stream);
}

void* mmap(void* where, size_t size, int protection, int flags, int fd, off_t at) {
  std::string relative;
  if ((flags & MAP_ANONYMOUS) == 0 && (flags & MAP_TYPE) != MAP_PRIVATE && (protection & PROT_WRITE) != 0) {
    Call call;
    if (call.on && Below(fd, relative)) Record('X', relative, "a shared mapping that is written to");
  }
  return reinterpret_cast<void*>(::syscall(SYS_mmap, where, size, protection, flags, fd, at));
}
void* mmap64(void* where, size_t size, int protection, int flags, int fd, off64_t at) {
  return mmap(where, size, protection, flags, fd, at);
}
ssize_t copy_file_range(int from, off64_t* from_at, int to, off64_t* to_at, size_t size, unsigned flags) {
  Call call;
  std::string relative;
  if (call.on && Below(to, relative)) Record('X', relative, "copy_file_range");
  return ::syscall(SYS_copy_file_range, from, from_at, to, to_at, size, flags);
}

}  // extern "C"
