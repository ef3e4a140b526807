// The functions of the table in checks.cc, by the file that has them.
#pragma once

#include "doctor/facts.h"
#include "doctor/finding.h"

namespace softrnic::doctor {

// judge_programs.cc
Finding judge_libraries(const Facts& facts);
Finding judge_plain_libraries(const Facts& facts);
Finding judge_settings(const Facts& facts);
Finding judge_preload(const Facts& facts);

// judge_host.cc
Finding judge_kernel(const Facts& facts);
Finding judge_libc(const Facts& facts);
Finding judge_crc(const Facts& facts);
Finding judge_clock(const Facts& facts);
Finding judge_processors(const Facts& facts);

// judge_limits.cc
Finding judge_descriptors(const Facts& facts);
Finding judge_threads(const Facts& facts);
Finding judge_address_space(const Facts& facts);
Finding judge_memlock(const Facts& facts);

// judge_same_host.cc
Finding judge_seccomp(const Facts& facts);
Finding judge_attach(const Facts& facts);
Finding judge_yama(const Facts& facts);
Finding judge_rseq(const Facts& facts);
Finding judge_memfd(const Facts& facts);
Finding judge_proc(const Facts& facts);
Finding judge_files(const Facts& facts);

// judge_daemon.cc
Finding judge_daemon(const Facts& facts);
Finding judge_namespaces(const Facts& facts);
Finding judge_port(const Facts& facts);
Finding judge_devices(const Facts& facts);

// judge_network.cc
Finding judge_receive_buffer(const Facts& facts);
Finding judge_send_buffer(const Facts& facts);
Finding judge_offload(const Facts& facts);
Finding judge_kernel_drops(const Facts& facts);
Finding judge_outside(const Facts& facts);
Finding judge_link(const DeviceFacts& device);
Finding judge_mtu(const DeviceFacts& device);
Finding judge_own_address(const DeviceFacts& device);

}  // namespace softrnic::doctor
