// The memory store, for tests of layers that do not see stores.

#pragma once

#include "store/memory/memory_store.h"
