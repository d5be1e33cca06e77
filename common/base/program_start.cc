// What every program does before anything else. CMake links this file into each of them (BlinkTargets.cmake), and the
// loader runs it before the constructors of any library.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <new>
#include <system_error>

#include "common/base/exit_code.h"

namespace {

// A supervisor may start a program with closed standard descriptors. The next file that is opened would get their
// numbers, and the log would be written over a journal.
void HoldStandardDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1) continue;
    // The system hands out the lowest free descriptor. O_PATH needs no /dev; what is written to it is an error.
    const bool held = ::open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) == fd || ::open("/", O_PATH) == fd;
    if (!held) ::_exit(1);
  }
}

// Process 1 of a container ignores every signal that it does not handle. Elsewhere the default action stays.
void LetSignalsEndProcess1() {
  if (::getpid() != 1) return;
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    struct sigaction now = {};
    if (::sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    now.sa_handler = [](int received) { ::_exit(128 + received); };
    ::sigaction(number, &now, nullptr);
  }
}

// A supervisor's own choices outlive exec. A blocked signal would never arrive. Nobody learns how a child ended if
// SIGCHLD is ignored. What else is ignored stays so: nohup means it.
void ForgetSignalsOfParent() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  struct sigaction now = {};
  if (::sigaction(SIGCHLD, nullptr, &now) != 0 || now.sa_handler != SIG_IGN) return;
  now.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &now, nullptr);
}

std::terminate_handler other_end = nullptr;

// Allocates nothing.
[[noreturn]] void EndWithout(const char* what) {
  for (const char* text : std::initializer_list<const char*>{program_invocation_short_name, ": ", what, "\n"}) {
    [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text, std::strlen(text));
  }
  ::_exit(static_cast<int>(blink::ExitCode::kNoResources));
}

// What nobody caught, on any thread, a library's own included. A limit that is too low is no defect.
void EndProgramOfException() {
  try {
    if (std::current_exception() != nullptr) throw;
  } catch (const std::bad_alloc&) {
    EndWithout("out of memory: give it more, and do not limit its address space (ulimit -v)");
  } catch (const std::system_error& error) {
    if (error.code().value() == EAGAIN || error.code().value() == ENOMEM) {
      EndWithout(
          "the system gives it no further thread: do not limit its address space (ulimit -v), where each thread takes "
          "8 MB or more, and allow more processes (ulimit -u, TasksMax= of a unit, the limit of a container)");
    }
  } catch (...) {
  }
  other_end();
}

void StartProgram() {
  other_end = std::set_terminate(EndProgramOfException);
  HoldStandardDescriptors();
  LetSignalsEndProcess1();
  ForgetSignalsOfParent();
}

__attribute__((section(".preinit_array"), used)) void (*const start_program)() = StartProgram;

}  // namespace
