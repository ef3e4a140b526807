// The TCP connection over which two test programs tell each other about their queue pairs.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

namespace interop {

/// Ends the program with a message (and errno, when set) unless `ok`.
void require(bool ok, const char* what);

/// A connected TCP socket. Every failure ends the program.
class Channel {
 public:
  /// Waits for one client on `port`, IPv4 or IPv6.
  static Channel accept_one(std::uint16_t port);
  static Channel connect_to(const std::string& host, std::uint16_t port);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  /// Sends `mine` and returns the other side's value. Both sides are of one build, so the bytes are the
  /// format.
  template <typename T>
  T exchange(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    send_all(&mine, sizeof mine);
    T theirs{};
    receive_all(&theirs, sizeof theirs);
    return theirs;
  }
  void send_all(const void* data, std::size_t size);
  void receive_all(void* data, std::size_t size);
  /// Both sides have come here.
  void barrier() { (void)exchange(char{'b'}); }
  /// Whether a byte waits to be read.
  bool readable();

 private:
  explicit Channel(int fd);
  int fd_;
};

}  // namespace interop
