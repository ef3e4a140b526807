#include "rsocket/sizes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "rsocket/messages.h"

namespace softrnic::rsocket {
namespace {

std::optional<std::uint32_t> number_in(const char* name) {
  const UniqueFd file(open((std::string("/etc/rdma/rsocket/") + name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::array<char, 16> text{};
  const ssize_t size = read(file.get(), text.data(), text.size());
  std::uint32_t number = 0;
  if (size <= 0 || std::from_chars(text.data(), text.data() + size, number).ec != std::errc{})
    return std::nullopt;
  return number;
}

std::uint16_t short_of(std::uint32_t number) {
  return static_cast<std::uint16_t>(std::min<std::uint32_t>(number, 0xffff));
}

Defaults read_defaults() {
  Defaults read;
  Sizes& sizes = read.sizes;
  read.polling_us = number_in("polling_time").value_or(read.polling_us);
  sizes.inline_data = short_of(number_in("inline_default").value_or(sizes.inline_data));
  sizes.send_queue = short_of(number_in("sqsize_default").value_or(sizes.send_queue));
  sizes.receive_queue = short_of(number_in("rqsize_default").value_or(sizes.receive_queue));
  sizes.receive_buffer = std::max(number_in("mem_default").value_or(sizes.receive_buffer), 1U);
  sizes.send_buffer = number_in("wmem_default").value_or(sizes.send_buffer);
  if (sizes.send_buffer < kLeastSendRoom) sizes.send_buffer = 2 * kLeastSendRoom;
  sizes.mappings = from_scale(to_scale(short_of(number_in("iomap_size").value_or(0))));
  return read;
}

}  // namespace

const Defaults& defaults() {
  static const Defaults read = read_defaults();
  return read;
}

}  // namespace softrnic::rsocket
