// `blink-node doctor`: what would stop a node or a gateway, or hurt it later. It never opens a list.
#ifndef BLINK_NODE_CLIENT_DOCTOR_H_
#define BLINK_NODE_CLIENT_DOCTOR_H_

#include <string>

#include "common/doctor/diagnosis.h"

namespace blink {

struct NodeDoctorOptions {
  std::string kit, journal;  // folders
  std::string policy;        // empty: the kit's
  std::string anchor;        // empty: none
  std::string proxy;         // empty: the kit's
};

// Reads the kit without its lists, of which it asks the file system alone; then the policy, the certificate and, beside
// a node that may run, the journal. Then it connects to the aggregator, as a node does, and makes no call. It changes
// nothing. The errors are those of a start, in its words and with its exit codes.
void DiagnoseNode(const NodeDoctorOptions& options, Diagnosis& diagnosis);

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_DOCTOR_H_
