#include "wire/icrc.h"
