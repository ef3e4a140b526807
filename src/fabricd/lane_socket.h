// The fabric's end of the socket to one lane of an emulated host: frames in and out, in messages
// (link/fabric_message.h).
//
// Neither direction loses a frame because the other side is slow. What the lane sends is read as fast as its
// port takes it. What comes for it waits in the port as soon as the socket is full, and is dropped only when
// the program has not read for kPatience: one that is stopped must not hold up its host, nor in the end the
// whole fabric.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "base/unique_fd.h"
#include "link/fabric_message.h"
#include "wire/gid.h"

namespace softrnic::fabricd {

/// The ports of the host, as a lane sends by them.
class HostPorts {
 public:
  virtual ~HostPorts() = default;
  enum class Sent : std::uint8_t {
    taken,
    no_room,  ///< LaneSocket::resume() tells when there is
    refused,  ///< and it is lost: the port is down, or the frame is none
  };
  /// A frame, LRH to ICRC.
  virtual Sent send(std::uint8_t port, Bytes frame) = 0;
};

class LaneSocket {
 public:
  static constexpr Duration kPatience = std::chrono::milliseconds(50);

  /// Takes over the fabric's end. `ports` outlives it.
  LaneSocket(UniqueFd socket, HostPorts& ports);

  int fd() const { return socket_.get(); }

  // From the lane.
  /// Reads and sends on until nothing is there, or the port has no room.
  void read();
  /// There may be room again.
  void resume() { waits_for_room_ = false; }
  /// Whether read() is to be called when the socket is readable.
  bool wants_to_read() const { return !waits_for_room_ && !at_end_; }

  // To the lane.
  /// Whether packets to the group that come to the port come to it.
  bool has_joined(std::uint8_t port, const wire::Gid& group) const;
  /// A frame, LRH to ICRC, for the lane. False: it is not taken now, and to be brought again.
  bool deliver(std::uint8_t port, Bytes frame, TimePoint now);
  /// Sends what has come together. After it, is_full() or not.
  void flush(TimePoint now);
  bool is_full() const { return full_since_ != kNever; }
  /// Of one that is full: from then on what comes is dropped.
  TimePoint gives_up_at() const { return is_full() ? full_since_ + kPatience : kNever; }

  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Membership {
    std::uint8_t port = 0;
    wire::Gid group;
    bool operator==(const Membership&) const = default;
  };
  /// What a message of frames still has to send.
  struct Unsent {
    std::uint8_t port = 0;
    Bytes frames{};
  };

  /// False: there is none.
  bool read_message();
  void take_message(Bytes message);
  /// False: the port has no room.
  bool send_frames();
  void begin_message(std::uint8_t port);

  UniqueFd socket_;
  HostPorts& ports_;
  std::unique_ptr<std::byte[]> in_;
  Unsent unsent_;
  bool waits_for_room_ = false;
  bool at_end_ = false;
  std::vector<Membership> groups_;  ///< at most link::kMostFabricGroups
  std::vector<std::byte> out_;      ///< the message that is put together
  TimePoint full_since_ = kNever;
  std::uint64_t dropped_ = 0;
};

}  // namespace softrnic::fabricd
