// Where tests find files that they need. One small source knows the folders: a macro with an absolute path in every
// test would keep the compiler cache from finding in one clone what another has compiled.
#ifndef BLINK_TESTS_TESTING_PLACES_H_
#define BLINK_TESTS_TESTING_PLACES_H_

#include <string>

namespace blink::testing {

// The absolute path of a file of the sources ("tests/samples"), and of one in the build folder ("bin/blink-worker").
std::string InSources(const std::string& name);
std::string InBuild(const std::string& name);

// The folder that holds torch/, for PYTHONPATH; empty in a build without LibTorch.
std::string TorchParent();

}  // namespace blink::testing

#endif  // BLINK_TESTS_TESTING_PLACES_H_
