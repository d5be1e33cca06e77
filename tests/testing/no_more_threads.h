// While this lives, the system starts no further threads for this process.
#ifndef BLINK_TESTS_TESTING_NO_MORE_THREADS_H_
#define BLINK_TESTS_TESTING_NO_MORE_THREADS_H_

#include <pthread.h>

#include <system_error>
#include <thread>

namespace blink::testing {

// By asking for stacks that are larger than the address space. A limit on processes would not bind the superuser, and
// one on memory not end with this.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_getattr_default_np(&huge);
    pthread_attr_setstacksize(&huge, size_t{1} << 60);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoMoreThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

  // Whether it is so: not everywhere has the C library a default that can be changed.
  static bool Holds() {
    try {
      std::thread([] {}).join();
      return false;
    } catch (const std::system_error&) {
      return true;
    }
  }

 private:
  pthread_attr_t before_;
};

}  // namespace blink::testing

#endif  // BLINK_TESTS_TESTING_NO_MORE_THREADS_H_
