// A server and a visitor: two processes that connect to each other by rdma_cm, as often as a test says.
#pragma once

#include <set>

#include "two_children.h"

namespace softrnic::robust {

/// Accepts one connection after the other, and answers on all of them what was said on any. How it ends.
int serve(const Line& tester);
/// Connects to it, and asks on all connections.
int visit(const Line& tester);

/// A server and a visitor, who are connected as often as the test says.
class CmCouple {
 public:
  CmCouple() {
    server_ = start_child([this] { return serve(Line(to_server_.b.get())); });
    visitor_ = start_child([this] { return visit(Line(to_visitor_.b.get())); });
    std::uint16_t port = 0;
    EXPECT_TRUE(server().hear(port));
    EXPECT_TRUE(visitor().tell(port));
  }
  ~CmCouple() {
    server().tell('e');
    visitor().tell('e');
    EXPECT_EQ(end_of(server_), done);
    EXPECT_EQ(end_of(visitor_), done);
  }
  CmCouple(const CmCouple&) = delete;
  CmCouple& operator=(const CmCouple&) = delete;

  /// 'c': one connection more; any other: those that are there. All of them talk.
  bool talk(char order) const {
    return server().tell(order) && visitor().tell(order) && server().hear() && visitor().hear();
  }
  std::set<pid_t> processes() const { return {server_, visitor_}; }
  pid_t server_process() const { return server_; }

 private:
  Line server() const { return Line(to_server_.a.get()); }
  Line visitor() const { return Line(to_visitor_.a.get()); }
  Lines to_server_, to_visitor_;
  pid_t server_ = -1, visitor_ = -1;
};

}  // namespace softrnic::robust
