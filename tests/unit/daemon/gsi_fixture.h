// What the tests of QP1 share: a page, and what was received and explained.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "control/page_reader.h"
#include "daemon/gsi.h"
#include "tests/unit/link/link_fixture.h"

namespace softrnic::daemon {

class GsiFixture : public ::testing::Test {
 protected:
  struct Got {
    mad::Address from;
    std::vector<std::byte> mad;
  };
  static inline std::vector<Explanation> explanations;

  void SetUp() override {
    explanations.clear();
    set_explain_sink([](const Explanation& e) { explanations.push_back(e); });
  }
  void TearDown() override {
    set_explain_sink([](const Explanation&) {});
  }

  void listen(Gsi& gsi) {
    gsi.set_handler([this](const mad::Address& from, Bytes mad) {
      got_.push_back({from, {mad.begin(), mad.end()}});
    });
  }
  std::uint64_t counter(ib::Counter which) const {
    const auto reader = control::PageReader::open(page_.fd());
    return reader->lanes().at(0).counters[static_cast<std::size_t>(which)];
  }

  control::PageWriter page_;
  std::vector<Got> got_;
};

}  // namespace softrnic::daemon
