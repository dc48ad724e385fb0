#include "cli/program.h"

int main(int argc, char** argv) { return lingbot::cli::RunProgram(argc, argv); }
