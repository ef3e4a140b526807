// The P_Keys of a port as what it receives and answers is judged by (IBTA 10.9.3).
#include <gtest/gtest.h>

#include "fabric/managed_node.h"

namespace softrnic::fabric {
namespace {

ManagedPort with_keys(std::vector<std::uint16_t> p_keys) {
  ManagedPort port;
  port.p_keys = std::move(p_keys);
  return port;
}

TEST(ManagedPort, AdmitsWhereOneIsAFullMember) {
  const ManagedPort port = with_keys({0xffff, 0x0001, 0, 0x8002});
  EXPECT_TRUE(port.admits(0x7fff));
  EXPECT_TRUE(port.admits(0x8001));
  EXPECT_FALSE(port.admits(0x0001));
  EXPECT_TRUE(port.admits(0x0002));
  EXPECT_FALSE(port.admits(0x0003));
  EXPECT_FALSE(port.admits(0x8000));
}

TEST(ManagedPort, AnswersAsTheMemberThatItIs) {
  const ManagedPort port = with_keys({0x7fff, 0x8001, 0x0002, 0x8002});
  EXPECT_EQ(port.p_key_index_of(0xffff), 0) << "limited itself";
  EXPECT_EQ(port.p_key_index_of(0x0001), 1) << "asked by a limited member, it is a full one";
  EXPECT_EQ(port.p_key_index_of(0x0002), 3) << "a full one of two";
  EXPECT_EQ(port.p_key_index_of(0x8003), 0);
}

}  // namespace
}  // namespace softrnic::fabric
