#include "transport/ib/path_window.h"
