// What a message costs beside itself is the calls: it goes through small functions of several layers. A
// function that stands at the beginning of such a way is compiled as one with all that it calls, as far as
// the compiler sees that (the library of verbs is optimised as a whole): that took a sixth off a short
// message. For few functions, as each has its own copy.
#pragma once

#define SOFTRNIC_HOT_PATH [[gnu::flatten]]
/// Where such a way ends: what comes then is long or seldom, the same for all ways, and has one copy. Each
/// copy is paid for by all builds: an error path that was part of every way took the linker two minutes.
#define SOFTRNIC_OUT_OF_LINE [[gnu::noinline]]
