// Queries for paths: PathRecord and MultiPathRecord (IBTA 15.2.5.16, 15.2.5.20).
#pragma once

#include "mad/sa_path_records.h"
#include "subnet/multicast_groups.h"
#include "subnet/sa_request.h"

namespace softrnic::subnet {

mad::SaStatus query_paths(const SaView& view, const MulticastGroups& groups, const SaRequest& request,
                          SaRecords& out);

/// The answer has path records: between each source and each destination of the query, as many as it wants.
mad::SaStatus query_multi_path(const SaView& view, const SaRequest& request, SaRecords& out);

}  // namespace softrnic::subnet
