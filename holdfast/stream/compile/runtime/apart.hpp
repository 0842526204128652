// apart.hpp: code that knows no types of a query. It is compiled once, beside the headers that a
// compiler has read before (precompiled.hpp), and linked to each query that begins with them. Where
// there are none, it is compiled with the query.
//
//   class Places { void sort(); };    declared as ever
//
//   #ifndef HOLDFAST_APART            and defined behind it, for those that have it not
//   HF_APART void Places::sort() {…}
//   #endif
//
// For each query a compiler instantiates all templates that other inline functions of headers
// use, called or not. So only what is small and often called is inline, and it uses few templates
// of std. <cmath> has a hundred of these: none of these headers includes it.
//
// HOLDFAST_APART        the query is linked to it
// HOLDFAST_APART_HERE   this is it: all functions are there, whoever calls them
#pragma once

#ifdef HOLDFAST_APART_HERE
#define HF_APART [[gnu::noinline]]
#else
#define HF_APART [[gnu::noinline]] inline
#endif
