#ifndef LINGBOT_OPS_CPU_STATE_H_
#define LINGBOT_OPS_CPU_STATE_H_

#include "lingbot/options.h"

namespace lingbot::ops {

class CpuState {
 public:
  AttentionBackend last_attention = AttentionBackend::kAuto;
};

}  // namespace lingbot::ops

#endif  // LINGBOT_OPS_CPU_STATE_H_
