// softrnic cp: one copy, to or from a server.
#pragma once

#include <string>
#include <vector>

#include "copy/filter_list.h"
#include "copy/observer.h"
#include "copy/stream.h"

namespace softrnic::copy {

struct CopyOptions {
  std::string host;
  std::uint16_t port = kDefaultPort;
  std::string token;
  bool upload = true;
  std::vector<std::string> sources;  ///< here for an upload (or "-"), on the server for a download
  std::string destination;           ///< the other way round
  Job job;                           ///< flags and limit; the destination is filled in
  FilterList filters;
  std::uint64_t memory = 512U << 20;  ///< bytes for the names of a copy that this side has to hold
  bool outside_links = false;         ///< download: symbolic links may lead out of the destination
  std::uint32_t queue_pairs = 0;      ///< for the connection; 0: as many as help
  int stop_fd = -1;
};

/// What the receiver has counted.
Result<Finished> copy_files(const CopyOptions& options, Observer& observer);

}  // namespace softrnic::copy
