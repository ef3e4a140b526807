// Paths that connections of a host ask the subnet administrator for.
#pragma once

#include <functional>
#include <map>

#include "cma/host.h"
#include "fabricd/sa_client.h"

namespace softrnic::fabricd {

class PathQueries {
 public:
  using Found = std::function<void(cma::IdNumber id, const cma::PathAnswer& answer)>;

  /// `sa` outlives it.
  PathQueries(SaClient& sa, Found found) : sa_(sa), found_(std::move(found)) {}

  /// Answered once, from within or later, unless it is forgotten.
  void ask(cma::IdNumber id, const cma::PathQuery& query);
  void forget(cma::IdNumber id);

 private:
  SaClient& sa_;
  Found found_;
  std::map<cma::IdNumber, SaClient::Token> waiting_;
};

}  // namespace softrnic::fabricd
