// The ways that a WRITE to another process of this host goes without packets, for the
// tests of robust_direct_test.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/ib/types.h"
#include "two_children.h"

namespace softrnic::robust {

constexpr std::uint8_t kWritten = 0xaa;  ///< by the peer
constexpr std::uint8_t kOwn = 0x55;      ///< by the owner of the memory

/// Both ways, by the memory of both sides.
struct Way {
  const char* name;
  Side::Memory (*memory)();
  bool mapped;
};
inline constexpr Way kWays[] = {{"attach", Side::own_memory, false}, {"mapped", Side::shared_memory, true}};
class DirectTest : public testing::TestWithParam<Way> {};
class DirectDeathTest : public testing::TestWithParam<Way> {};
inline std::string name_of(const testing::TestParamInfo<Way>& info) { return info.param.name; }

bool post_write(Side& side, const Card& peer, std::uint32_t bytes);
/// One of no bytes and no key: IBV_WR_RDMA_WRITE or IBV_WR_RDMA_READ.
bool post_empty(Side& side, ibv_wr_opcode opcode);
/// Posts one and waits for its completion, which must be a success. Says what else it was.
bool write_once(Side& side, const Card& peer, std::uint32_t bytes);
/// Writes until one of those WRITEs has gone the way that it should, which takes a moment. Says why not.
bool write_until_it_goes(const Way& way, Side& side, const Card& peer);

/// Of all lanes of this process.
std::uint64_t counted(ib::Counter counter);

}  // namespace softrnic::robust
