// What a process has of management datagrams: its connection to the daemon, and its open ports by descriptor.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>

#include "base/expected.h"
#include "base/reason.h"
#include "control/mad_client.h"
#include "rnic/refusal.h"

namespace softrnic::umad {

struct OpenPort {
  std::shared_ptr<control::MadClient> client;  ///< that it was opened by: its end is the port's
  control::MadPortNumber number = 0;
  std::mutex receiving;  ///< held while a message is looked at and taken; nobody waits with it
};

/// Thread-safe. A forked child has one of its own: its parent's ports are nothing that it could send by.
class Process {
 public:
  Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// What `call(client)` answers. Connects, and starts the daemon, where that must be; anew where the last
  /// one has ended.
  template <typename Call>
  auto ask(Call call) -> decltype(call(std::shared_ptr<control::MadClient>())) {
    for (int attempt = 1;; ++attempt) {
      const auto current = client();
      if (!current) return Unexpected{current.error()};
      auto answer = call(*current);
      if (answer || attempt == 2 || !control::MadClient::is_gone(answer.error())) return answer;
      forget(*current);
    }
  }

  /// The port behind a descriptor of umad_open_port; nullptr: it is none.
  std::shared_ptr<OpenPort> find(int fd);
  void add(int fd, std::shared_ptr<OpenPort> port);
  /// Takes it out.
  std::shared_ptr<OpenPort> remove(int fd);

  const pid_t pid = getpid();

 private:
  Expected<std::shared_ptr<control::MadClient>, control::Error> client();
  void forget(const std::shared_ptr<control::MadClient>& gone);

  std::mutex mutex_;  ///< held while it connects
  std::shared_ptr<control::MadClient> client_;
  std::mutex ports_mutex_;
  std::map<int, std::shared_ptr<OpenPort>> ports_;
};

Process& this_process();

/// Explains what the daemon refused.
template <typename T>
Expected<T, Failure> heard(Expected<T, control::Error> answer) {
  if (!answer) return rnic::refused(answer.error().failure);
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return std::move(*answer);
  }
}

}  // namespace softrnic::umad
