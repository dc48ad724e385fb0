#ifndef LINGBOT_BASE_PROGRAM_STREAMS_H_
#define LINGBOT_BASE_PROGRAM_STREAMS_H_

namespace lingbot {

// For the start of a program, never for the library. Makes failing writes plain errors: file size
// limits and closed pipes no longer end the process by signal; and where standard input, output or
// error is closed, its descriptor is taken by /dev/null, so that no file opened later can become it
// and receive messages.
void PrepareProgramStreams();

}  // namespace lingbot

#endif  // LINGBOT_BASE_PROGRAM_STREAMS_H_
