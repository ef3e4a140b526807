// Queries for the tables of ports and switches, block by block (IBTA 15.2.5.4, 15.2.5.6 – 15.2.5.9,
// 15.2.5.11).
#pragma once

#include "mad/sa_table_records.h"
#include "subnet/sa_request.h"

namespace softrnic::subnet {

void query_sl_to_vl(const SaView& view, const SaRequest& request, SaRecords& out);
void query_linear_tables(const SaView& view, const SaRequest& request, SaRecords& out);
void query_multicast_tables(const SaView& view, const SaRequest& request, SaRecords& out);
/// For trusted requests alone.
void query_p_keys(const SaView& view, const SaRequest& request, SaRecords& out);
void query_arbitration(const SaView& view, const SaRequest& request, SaRecords& out);

}  // namespace softrnic::subnet
