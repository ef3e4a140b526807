// What libsoftrnic-sysfs.so exports. The preload library loads it when a program first looks at the
// devices, so that all other programs have nothing of it.
#pragma once

/// Brings the file `path` ("/sys/class/infiniband/…") below the folder `root` up to date, and the names of
/// all others. 0 or a positive errno: then the files are as they were. Keeps errno, throws nothing, opens
/// nothing that stays.
extern "C" int softrnic_sysfs_refresh(const char* root, const char* path);
