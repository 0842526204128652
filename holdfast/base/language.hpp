// language.hpp: which C++ a program must be compiled as. The first include of ours in each public
// header leads to this file, so its error stands above all others.
#pragma once

#if __cplusplus < 202002L
#error "Holdfast needs C++20: compile with -std=c++20 or later"
#endif
