// `blink-aggregator doctor`: what would stop a start, or hurt later.
#ifndef BLINK_AGGREGATOR_SERVER_MAIN_DOCTOR_H_
#define BLINK_AGGREGATOR_SERVER_MAIN_DOCTOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "aggregator_server/main/aggregator.h"
#include "common/doctor/diagnosis.h"

namespace blink {

struct DoctorOptions {
  // Of the round that disk and memory are compared with; its other parameters are the defaults.
  uint64_t epsilon_micro = 1'000'000;
  bool is_complete = true;     // false: a file that the options are made from is bad, which the diagnosis says already
  bool is_store_known = true;  // false: one of them names the store
  std::vector<std::string> private_files;  // beside the key: others should not read them
  std::vector<std::string> files;          // beside those of `options`: none of them should be from the future
};

// Looks at everything that a start reads, and at what it would need, and asks the parts themselves what they refuse. It
// makes and changes nothing, and takes no lock. Where an aggregator runs on the data folder, it is asked whether it
// serves, and its ports and its store are left alone.
void DiagnoseAggregator(const AggregatorOptions& options, const DoctorOptions& doctor, Diagnosis& diagnosis);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_MAIN_DOCTOR_H_
