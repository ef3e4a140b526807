#include "transport/ib/endpoint.h"
