// What the surroundings of a program may be like: words that a worker begins with.
//
//   limit RESOURCE N   nofile, nproc, address-space (above what is in use) or file-size: no more than N from here on
//   as-nobody          without privileges, as user nobody; remains who it is when it is nobody privileged
//   without-stdio      stdin, stdout and stderr are closed
//   without-proc       nothing at /proc
//   without-attach     the kernel refuses process_vm_readv and process_vm_writev
//   in-pid-namespace   process 1 of a PID namespace; who began waits for it
#pragma once

namespace softrnic::robust {

/// Undergoes what the words say, from words[1] on, up to the first that is none of these. The number of words used; -1:
/// this is not possible here.
int undergo(int count, char** words);

/// After without-stdio: nothing has taken the place of stdin, stdout and stderr. Otherwise true.
bool standard_descriptors_are_free();

}  // namespace softrnic::robust
