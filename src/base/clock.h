// The clocks are public: weir/clock.h.

#pragma once

#include "weir/clock.h"
