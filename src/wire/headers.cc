#include "wire/headers.h"
