// What most tests include besides.
#pragma once

#include <gtest/gtest.h>

#include "product.h"
