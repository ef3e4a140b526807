// What tests of RMPP share: messages, headers of either side, and what a side says next.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "mad/rmpp_receiver.h"
#include "mad/rmpp_sender.h"

namespace softrnic::mad {

inline constexpr std::size_t kSaOffset = 56;
inline constexpr std::size_t kSaData = 200;
inline constexpr TimePoint kStart{std::chrono::seconds(1)};

/// A message of GetTableResp with so many bytes of data.
inline std::vector<std::byte> message_of(std::size_t data, std::size_t offset = kSaOffset) {
  std::vector<std::byte> message(offset + data);
  for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::byte>(i * 7 + i / 251);
  encode_header({.management_class = ManagementClass::subnet_administration,
                 .class_version = 2,
                 .method = Method::get_table_response,
                 .transaction = 0x1234,
                 .attribute = 0x11},
                message);
  encode_rmpp({.response_time = RmppHeader::kNoResponseTime}, message);
  return message;
}

inline RmppHeader data_header(std::uint32_t number, bool last, std::uint32_t payload) {
  return {.type = RmppType::data,
          .last = last,
          .first = number == 1,
          .active = true,
          .segment_number = number,
          .payload_length = payload};
}
inline RmppHeader ack_header(std::uint32_t number, std::uint32_t window_last) {
  return {.type = RmppType::ack,
          .response_time = RmppHeader::kNoResponseTime,
          .active = true,
          .segment_number = number,
          .payload_length = window_last};
}

inline Mad mad_of(const RmppHeader& header) {
  Mad mad{};
  const auto message = message_of(kSaData);
  std::copy_n(message.begin(), mad.size(), mad.begin());
  encode_rmpp(header, mad);
  return mad;
}

struct Heard {
  RmppType type = RmppType::none;
  std::uint32_t number = 0, length = 0;
  RmppStatus status{};
  bool operator==(const Heard&) const = default;
};

template <typename Side>
Heard heard(Side& side, TimePoint now = kStart) {
  Mad mad;
  if (!side.next(now, mad)) return {};
  const RmppHeader header = decode_rmpp(mad);
  return {header.type, header.segment_number, header.payload_length, header.status};
}
inline constexpr Heard kNothing{};
inline Heard data(std::uint32_t number, std::uint32_t length) { return {RmppType::data, number, length, {}}; }
inline Heard ack(std::uint32_t number, std::uint32_t window) { return {RmppType::ack, number, window, {}}; }
inline Heard abort_with(RmppStatus status) { return {RmppType::abort, 0, 0, status}; }

inline RmppSender sender_of(std::size_t bytes) {
  return RmppSender(message_of(bytes), {.data_offset = kSaOffset});
}
inline RmppReceiver receiver(RmppReceiving how = {}) {
  how.data_offset = kSaOffset;
  return RmppReceiver(how);
}

}  // namespace softrnic::mad
