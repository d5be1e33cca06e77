// What every doctor looks at on its machine. Each function adds its findings to `diagnosis`. None of them changes
// anything, and none opens a file but keys and certificates.
#ifndef BLINK_COMMON_DOCTOR_CHECKS_H_
#define BLINK_COMMON_DOCTOR_CHECKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/service_manager.h"
#include "common/doctor/diagnosis.h"

namespace blink {

// A clock that was set back leaves files from the future behind. Files that are missing are left out.
void LookAtClock(const std::vector<std::string>& files, absl::Time now, Diagnosis& diagnosis);

// A private file or folder: whether every user may read the file, and whether others than the owner may change it. The
// file's group may read it. What is missing is left out.
void LookAtMode(const std::string& check, const std::string& path, Diagnosis& diagnosis);

// Whether this user may make files in the folder; of one that is missing, in the nearest folder above it. Returns false
// where it is no folder, and cannot become one.
bool LookAtFolder(const std::string& check, const std::string& folder, Diagnosis& diagnosis);

// Whether the disk of a folder (which may not exist yet) has room for `need` bytes, which are for `what`.
void LookAtDisk(const std::string& folder, double need, const std::string& what, Diagnosis& diagnosis);

// Whether the service manager that started this process hears it. `is_managed`: NOTIFY_SOCKET was set.
void LookAtServiceManager(const ServiceManager& manager, bool is_managed, Diagnosis& diagnosis);

// Whether the program starts, and is of the version that this process is: runs it with --version.
void LookAtProgram(const std::string& path, Diagnosis& diagnosis);

}  // namespace blink

#endif  // BLINK_COMMON_DOCTOR_CHECKS_H_
