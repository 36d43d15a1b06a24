// A comparison as a picture: one SVG file that needs nothing beside it.
#pragma once

#include <string>

#include "app/compare_report.h"

namespace motley::app {

// How many positions have which KL, and where in the text they are.
std::string compare_svg(const Comparison& comparison);

}  // namespace motley::app
