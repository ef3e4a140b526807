// Frames for tests, header by header.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "base/bytes.h"

namespace softrnic::ethernet::test {

/// Bytes that grow at their end.
class FrameBuilder {
 public:
  FrameBuilder& raw(std::initializer_list<int> bytes) {
    for (const int byte : bytes) bytes_.push_back(static_cast<std::byte>(byte));
    return *this;
  }
  FrameBuilder& be16(unsigned value) {
    return raw({static_cast<int>(value >> 8 & 0xff), static_cast<int>(value & 0xff)});
  }
  FrameBuilder& be32(std::uint32_t value) { return be16(value >> 16).be16(value & 0xffff); }
  FrameBuilder& zeros(std::size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }

  FrameBuilder& ethernet(unsigned type) { return raw({2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}).be16(type); }
  FrameBuilder& ipv4(int protocol, unsigned fragment = 0x4000) {
    return raw({0x45, 0x12})
        .zeros(4)
        .be16(fragment)
        .raw({64, protocol})
        .zeros(2)
        .raw({10, 0, 0, 1, 10, 0, 0, 2});
  }
  FrameBuilder& ipv6(int next) {
    be32(0x61234567).zeros(2).raw({next, 63});
    for (const int last : {1, 2}) raw({0x20, 1}).zeros(13).raw({last});
    return *this;
  }
  FrameBuilder& udp(unsigned source, unsigned destination) { return be16(source).be16(destination).zeros(4); }
  FrameBuilder& tcp(unsigned source, unsigned destination) {
    return be16(source).be16(destination).zeros(16);
  }
  FrameBuilder& vxlan(std::uint32_t vni) { return raw({8, 0, 0, 0}).be32(vni << 8); }

  operator Bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace softrnic::ethernet::test
