#include "fabricd/json_text.h"

#include <gtest/gtest.h>

namespace softrnic::fabricd {
namespace {

TEST(JsonText, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(json_text(nlohmann::json("caf\xe9 \xc3\xa9")), "\"caf\xef\xbf\xbd \xc3\xa9\"");
}

}  // namespace
}  // namespace softrnic::fabricd
