// Ctrl-C and SIGTERM as something to poll for.
#pragma once

namespace softrnic::cli {

/// From now on SIGINT, SIGTERM and SIGHUP make the descriptor that is returned readable, for ever; SIGPIPE is
/// an errno. A second signal ends the process. -1 when there is none.
int catch_stop_signals();

/// The signal that came, 0 when none did.
int stop_signal();

}  // namespace softrnic::cli
