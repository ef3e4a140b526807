// A TCP connection that carries whole messages of fabric_cable_messages.h, both ways; does not block.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/unique_fd.h"
#include "fabricd/fabric_cable_messages.h"

namespace softrnic::fabricd {

class MessageStream {
 public:
  static constexpr std::size_t kReadAtOnce = 256 * 1024;

  /// A connected socket. It gets small messages out at once.
  explicit MessageStream(UniqueFd socket);

  int fd() const { return socket_.get(); }

  /// Takes what has come, at most kReadAtOnce. False: the connection has ended.
  bool receive();
  /// The next whole message; valid until the next receive(). Nothing: it has not come yet, or is_malformed().
  std::optional<Bytes> next();
  /// The peer has sent a length that no message has.
  bool is_malformed() const { return malformed_; }

  /// At the next flush().
  template <typename Message>
  void put(const Message& message) {
    append(out_, message);
  }
  /// Bytes that wait for flush().
  std::size_t waiting() const { return out_.size() - written_; }
  /// Sends what the socket takes. False: the connection has ended.
  bool flush();

 private:
  UniqueFd socket_;
  std::vector<std::byte> in_;
  std::size_t begin_ = 0, end_ = 0;  ///< what of in_ is not read yet
  std::vector<std::byte> out_;
  std::size_t written_ = 0;
  bool malformed_ = false;
};

}  // namespace softrnic::fabricd
