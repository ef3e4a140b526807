// Options of fabrics that have cables to others: where, and the token that both know.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "base/unique_fd.h"

namespace softrnic::cli {

struct FabricCableOptions {
  std::string listen;  ///< ADDRESS[:PORT]; empty: no other fabric may join
  std::string join;    ///< ADDRESS[:PORT]; empty: it joins none
  std::string token_file;
};

/// For the process of the fabric.
struct FabricCable {
  std::vector<std::string> words;  ///< of its command line; it inherits the descriptor
  UniqueFd token;
};

/// As `softrnic serve` and `cp` do: who listens makes a token where there is none, and tells it; who joins
/// has to have one. An exit code: it was told what is wrong.
Expected<FabricCable, int> prepare_cable(const FabricCableOptions& options);

}  // namespace softrnic::cli
