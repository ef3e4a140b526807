#include "wire/gid.h"
