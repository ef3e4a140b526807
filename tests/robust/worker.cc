// A program with a part to play in tests of many processes:
//
//   worker pair ROUNDS     connects to the worker at the other end of descriptor 3, exchanges ROUNDS
//                          messages, ends
//   worker stream [CODE]   the same without an end: until the connection fails, or the tester closes
//                          descriptor 4; with
//                          another timeout of ibv_modify_qp
//   worker churn           opens, creates, destroys and closes until it is killed
//   worker hold            opens, makes a queue pair, reports, and keeps it until the tester closes
//                          descriptor 4
//   worker once            opens, connects two queue pairs of its own, exchanges messages, closes
//   worker leave HOW       ends by exit, _exit, quick_exit or return, with everything open and threads in
//                          verbs
//
// Words of hardship.h may come first: `worker as-nobody limit nproc 1 once`. A refusal is told on stderr by
// its errno. Exit status: 0 done; 1 a verb refused; 2 wrong bytes or silence; 3 no peer; 4 no such hardship
// here; 100 + status of a bad completion.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "hardship.h"
#include "side.h"

namespace softrnic::robust {
namespace {

constexpr int kPeer = 3;
constexpr int kTester = 4;
enum Exit : int { done = 0, refused = 1, wrong = 2, no_peer = 3, cannot_undergo = 4, bad_completion = 100 };

template <typename T>
bool tell(const T& value) {
  return send(kPeer, &value, sizeof value, MSG_NOSIGNAL) == sizeof value;
}
template <typename T>
bool hear(T& value) {
  return recv(kPeer, &value, sizeof value, 0) == sizeof value;
}
bool meet() {
  char token = 0;
  return tell(token) && hear(token);
}
void report(char step) { send(kTester, &step, 1, MSG_NOSIGNAL | MSG_DONTWAIT); }

int refusal() {
  std::fprintf(stderr, "worker: %s\n", strerrorname_np(errno));
  return refused;
}

int exit_of(int result) {
  if (result == 0) return done;
  return result < 0 ? wrong : bad_completion + result - 1;
}

struct Hello {
  Card card;
  std::uint32_t salt;
};

/// Opens and connects to the worker at the other end.
int set_up(Side& side, std::uint32_t& peer_salt, std::uint8_t timeout = 14) {
  if (!side.open()) return refused;
  Hello own{side.card(), static_cast<std::uint32_t>(getpid())}, peer{};
  if (!tell(own) || !hear(peer)) return no_peer;
  peer_salt = peer.salt;
  if (!side.connect(peer.card, timeout)) return refused;
  return meet() ? done : no_peer;
}

int pair(std::uint32_t rounds) {
  Side side;
  std::uint32_t peer_salt = 0;
  if (const int failed = set_up(side, peer_salt)) return failed;
  const int result = exchange(side, rounds, static_cast<std::uint32_t>(getpid()), peer_salt);
  if (result != 0) return exit_of(result);
  if (!meet()) return no_peer;
  return side.close() ? done : refused;
}

bool told_to_end() {
  pollfd waiting{kTester, POLLIN, 0};
  return poll(&waiting, 1, 0) != 0;
}

int stream(std::uint8_t timeout) {
  Side side;
  std::uint32_t peer_salt = 0;
  if (const int failed = set_up(side, peer_salt, timeout)) return failed;
  std::uint32_t posted = 0, sent = 0, received = 0, shown = 0;
  while (!told_to_end()) {
    while (posted < sent + Side::kDepth / 2) {
      if (!side.post_send(posted++, static_cast<std::uint32_t>(getpid()))) return refused;
    }
    ibv_wc wc{};
    if (!side.next(wc)) return wrong;
    if (wc.status != IBV_WC_SUCCESS) return told_to_end() ? int{done} : exit_of(1 + wc.status);
    if (wc.opcode == IBV_WC_SEND) {
      if (++sent - shown >= 64) report('t'), shown = sent;
      continue;
    }
    const auto slot = static_cast<unsigned>(wc.wr_id);
    if (!side.holds(slot, received++, peer_salt)) return wrong;
    if (!side.post_receive(slot)) return refused;
  }
  return done;
}

int once() {
  static Couple couple;  // too big for a stack that may not grow
  if (!couple.open()) return refusal();
  for (std::uint32_t number = 0; number < 4; ++number)
    if (const int failed = exit_of(couple.talk(number))) return failed;
  if (!standard_descriptors_are_free()) return wrong;
  return couple.close() ? done : refusal();
}

int hold() {
  Side side;
  if (!side.open()) return refusal();
  report('h');
  pollfd waiting{kTester, POLLIN, 0};
  poll(&waiting, 1, -1);
  return side.close() ? done : refused;
}

int churn() {
  for (;;) {
    if (const int failed = once()) return failed;
    report('c');
  }
}

/// Closed by exit(), when the library may have begun to go.
struct ClosedAtExit {
  Couple couple;
  bool opened = false;
  ~ClosedAtExit() {
    if (opened && !(couple.talk(0) == 0 && couple.close())) _exit(wrong);
  }
};

int leave(const std::string& how) {
  static ClosedAtExit last;
  last.opened = last.couple.open();
  if (!last.opened) return refusal();
  static Couple& used = *new Couple;  // by threads that never end
  if (!used.open()) return refusal();
  static std::atomic<std::uint32_t> messages{0};
  std::thread([] {
    while (used.talk(messages) == 0) ++messages, messages.notify_one();
    _exit(wrong);
  }).detach();
  std::thread([] {
    ibv_async_event event{};
    static_cast<void>(ibv_get_async_event(used.a.context, &event));
  }).detach();
  while (messages < 100) messages.wait(messages);
  if (how == "exit") std::exit(done);
  if (how == "_exit") _exit(done);
  if (how == "quick_exit") std::quick_exit(done);
  return done;
}

int play(int count, char** words) {
  const int used = undergo(count, words);
  if (used < 0) return cannot_undergo;
  count -= used, words += used;
  const std::string part = count > 1 ? words[1] : "";
  if (part == "leave" && count > 2) return leave(words[2]);
  if (part == "pair" && count > 2)
    return pair(static_cast<std::uint32_t>(std::strtoul(words[2], nullptr, 10)));
  if (part == "stream")
    return stream(count > 2 ? static_cast<std::uint8_t>(std::strtoul(words[2], nullptr, 10)) : 14);
  if (part == "hold") return hold();
  if (part == "churn") return churn();
  if (part == "once") return once();
  return refused;
}

}  // namespace
}  // namespace softrnic::robust

int main(int count, char** words) { return softrnic::robust::play(count, words); }
