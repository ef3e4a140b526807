// softrnic: the command.
#include "cli/commands.h"

int main(int argc, char** argv) { return softrnic::cli::run_command_line(argc, argv); }
