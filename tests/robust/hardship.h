// What the surroundings of a program may be like: words that a worker begins with.
//
//   limit RESOURCE N   nofile, nproc, memlock, address-space (above what is in use) or file-size: no more
//                      than N from here on
//   as-nobody          without privileges, as user nobody; remains who it is when it is nobody privileged
//   without-stdio      stdin, stdout and stderr are closed
//   without-proc       nothing at /proc
//   hidden-proc        /proc shows no process that this one may not trace; for ordinary users
//   without-attach     the kernel refuses process_vm_readv and process_vm_writev
//   without-rseq, without-memfd, without-membarrier, without-pidfd, without-pidfd-getfd
//                      the kernel refuses these calls
//   anew               the program begins once more with the words that follow, under what went before
//   read-only          no file system can be written to, and nothing is at /dev/shm
//   in-pid-namespace   process 1 of a PID namespace; who began waits for it
//   in-mount-namespace, in-user-namespace
//                      of its own; who enters a user namespace keeps its number and loses all capabilities
//                      outside
#pragma once

namespace softrnic::robust {

/// Undergoes what the words say, from words[1] on, up to the first that is none of these. The number of words
/// used; -1: this is not possible here.
int undergo(int count, char** words);

/// After without-stdio: nothing has taken the place of stdin, stdout and stderr. Otherwise true.
bool standard_descriptors_are_free();

}  // namespace softrnic::robust
