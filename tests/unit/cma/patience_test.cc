// Peers that wait for a program, with cm's own managers on both sides.
#include "cma/patience.h"

#include "tests/unit/cm/pair.h"

namespace softrnic::cma {
namespace {

constexpr std::uint8_t kGranted = 20;  // 4.3 s
constexpr IdNumber kId = 7;

class PatienceTest : public cm::Pair {
 protected:
  Patience patience{b.manager};
};

TEST_F(PatienceTest, AsksOnceHalfOfTheTimeHasGone) {
  connect();
  patience.expect_answer(kId, passive, kGranted, now);
  EXPECT_EQ(patience.deadline(), now + cm::duration_of(kGranted) / 2);
  patience.advance(patience.deadline() - Duration(1));
  EXPECT_TRUE(lose(b).empty());
  now = patience.deadline();
  patience.advance(now);
  EXPECT_EQ(lose(b), Messages{cm::Message::mra});
  EXPECT_EQ(patience.deadline(), now + cm::duration_of(24) / 2);
}

TEST_F(PatienceTest, APeerIsAskedForItOnceOnly) {
  connect();
  patience.expect_answer(kId, passive, kGranted, now);
  for (int i = 0; i < 2; ++i) patience.advance(now = patience.deadline());
  EXPECT_EQ(lose(b), Messages{cm::Message::mra}) << "IBTA knows no second MRA for one message";
  EXPECT_EQ(patience.deadline(), kNever);
}

TEST_F(PatienceTest, EndsWithTheAnswer) {
  connect();
  patience.expect_answer(kId, passive, kGranted, now);
  patience.answered(kId);
  patience.answered(kId);
  EXPECT_EQ(patience.deadline(), kNever);
}

TEST_F(PatienceTest, ANewWaitTakesThePlaceOfTheOld) {
  connect();
  patience.expect_answer(kId, passive, kGranted, now);
  patience.expect_answer(kId, passive, kGranted + 1, now);
  EXPECT_EQ(patience.deadline(), now + cm::duration_of(kGranted + 1) / 2);
  patience.answered(kId);
  EXPECT_EQ(patience.deadline(), kNever);
}

}  // namespace
}  // namespace softrnic::cma
