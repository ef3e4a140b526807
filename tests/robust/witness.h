// What a test says when something went otherwise than it should have: to stderr, as long as
// the processes are there.
#pragma once

#include <infiniband/verbs.h>
#include <sys/types.h>

#include <string_view>

namespace softrnic::robust {

/// How a child ends.
enum Exit : int { done = 0, refused = 1, wrong_bytes = 2, no_peer = 3, not_as_expected = 4 };

/// Says what was expected and what was there instead, and all that the adapters of this network namespace
/// tell of their queue pairs, counters and refusals. Returns `how`.
Exit fail(Exit how, std::string_view expected, std::string_view instead);
/// Instead: errno.
Exit fail(Exit how, std::string_view expected);
inline Exit fail(Exit how, std::string_view expected, const ibv_wc& instead) {
  return fail(how, expected, ibv_wc_status_str(instead.status));
}

/// Where the threads of a process are.
void show_threads(pid_t process);

}  // namespace softrnic::robust
