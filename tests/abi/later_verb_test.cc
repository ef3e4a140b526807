// The verbs that are not there yet: each says so by EOPNOTSUPP, whether it has an object or is to make one.
#include <cerrno>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::abi_test {
namespace {

class LaterVerbTest : public VerbsTest {
 protected:
  /// An object of a kind that cannot be made: its verbs find their way by its context.
  template <typename T>
  T object() const {
    T made{};
    made.context = context.get();
    return made;
  }
  static int error_of_null(const void* made) { return made == nullptr ? errno : 0; }
};

TEST_F(LaterVerbTest, FlowActions) {
  ibv_flow_action_esp_attr esp{};
  EXPECT_EQ(error_of_null(ibv_create_flow_action_esp(context.get(), &esp)), EOPNOTSUPP);
  auto action = object<ibv_flow_action>();
  EXPECT_EQ(ibv_modify_flow_action_esp(&action, &esp), EOPNOTSUPP);
  EXPECT_EQ(ibv_destroy_flow_action(&action), EOPNOTSUPP);
}

}  // namespace
}  // namespace softrnic::abi_test
