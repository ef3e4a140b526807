#include "wire/opcode.h"
