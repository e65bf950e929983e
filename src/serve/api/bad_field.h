// What is wrong with a request's body, and where.

#pragma once

#include "engine/sent_attributes.h"

namespace weir::api {

using engine::BadField;

}  // namespace weir::api
