#ifndef LINGBOT_CLI_STOP_SIGNAL_H_
#define LINGBOT_CLI_STOP_SIGNAL_H_

namespace lingbot::cli {

// While alive, the first SIGINT, SIGTERM or SIGHUP asks the run to end after the step in work; the
// next one of the kind ends the process at once. A signal that the parent had ignored (nohup) stays
// ignored. One object at a time.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool received() const { return number() != 0; }
  int number() const;  // of the signal, 0 = none yet
};

}  // namespace lingbot::cli

#endif  // LINGBOT_CLI_STOP_SIGNAL_H_
