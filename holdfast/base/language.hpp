// language.hpp: which C++ a program must be compiled as. Public headers get it by their first include
// of ours, so that one sentence stands above all other errors.
#pragma once

#if __cplusplus < 202002L
#error "Holdfast needs C++20: compile with -std=c++20 or later"
#endif
