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

TEST_F(LaterVerbTest, WorkQueuesAndIndirectionTables) {
  ibv_wq_init_attr init{};
  EXPECT_EQ(error_of_null(ibv_create_wq(context.get(), &init)), EOPNOTSUPP);
  auto queue = object<ibv_wq>();
  ibv_wq_attr attributes{};
  EXPECT_EQ(ibv_modify_wq(&queue, &attributes), EOPNOTSUPP);
  EXPECT_EQ(ibv_destroy_wq(&queue), EOPNOTSUPP);
  ibv_rwq_ind_table_init_attr table_init{};
  EXPECT_EQ(error_of_null(ibv_create_rwq_ind_table(context.get(), &table_init)), EOPNOTSUPP);
  auto table = object<ibv_rwq_ind_table>();
  EXPECT_EQ(ibv_destroy_rwq_ind_table(&table), EOPNOTSUPP);
}

TEST_F(LaterVerbTest, FlowsAndTheirActions) {
  const QpPtr qp = make_qp(IBV_QPT_UD);
  ibv_flow_attr wanted{};
  EXPECT_EQ(error_of_null(ibv_create_flow(qp.get(), &wanted)), EOPNOTSUPP);
  auto flow = object<ibv_flow>();
  EXPECT_EQ(ibv_destroy_flow(&flow), EOPNOTSUPP);
  ibv_flow_action_esp_attr esp{};
  EXPECT_EQ(error_of_null(ibv_create_flow_action_esp(context.get(), &esp)), EOPNOTSUPP);
  auto action = object<ibv_flow_action>();
  EXPECT_EQ(ibv_modify_flow_action_esp(&action, &esp), EOPNOTSUPP);
  EXPECT_EQ(ibv_destroy_flow_action(&action), EOPNOTSUPP);
}

TEST_F(LaterVerbTest, Counters) {
  ibv_counters_init_attr init{};
  EXPECT_EQ(error_of_null(ibv_create_counters(context.get(), &init)), EOPNOTSUPP);
  auto counters = object<ibv_counters>();
  auto flow = object<ibv_flow>();
  ibv_counter_attach_attr attach{};
  EXPECT_EQ(ibv_attach_counters_point_flow(&counters, &attach, &flow), EOPNOTSUPP);
  std::uint64_t value = 0;
  EXPECT_EQ(ibv_read_counters(&counters, &value, 1, 0), EOPNOTSUPP);
  EXPECT_EQ(ibv_destroy_counters(&counters), EOPNOTSUPP);
}

}  // namespace
}  // namespace softrnic::abi_test
