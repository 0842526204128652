// mutant.hpp: deliberate errors in the logic, one of which can be switched on in the traced build.
//
//   free_slots_.give(slot);
//   if (version <= HF_MUTANT("P05", newest, newest + 1)) …
//
// HF_MUTANT(id, expression, mutated) is `(expression)` in the normal build, and nothing else: no
// code, no data, no name. In the traced build it is `mutated` if the environment says so:
//
//   HOLDFAST_MUTANT=P05          this one is on; without it, none
//   HOLDFAST_MUTANTS_OUT=FILE    at exit, the ids that were reached are appended to FILE
//
// tests/logic_mutants.py runs the tests once per mutant: one of them must notice. docs/testing.md
// says how to add one. An id may stand at several places of one file, which change together: a step
// that is moved is left out at one and done at the other. Not for constant expressions.
#pragma once

#ifdef HF_TRACED

namespace holdfast {
// Also notes that it was reached. Asked once per place.
bool mutant_is_on(const char* id);
}  // namespace holdfast

#define HF_MUTANT(id, expression, mutated)                  \
  ([]() -> bool {                                           \
    static const bool hf_on = ::holdfast::mutant_is_on(id); \
    return hf_on;                                           \
  }()                                                       \
               ? (mutated)                                  \
               : (expression))

#else

#define HF_MUTANT(id, expression, mutated) (expression)

#endif
