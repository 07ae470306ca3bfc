#pragma once

/// For a test that has a function of its own where the library calls one of the C client. It names it in a line
/// `// replaces: NAME...`, and declares its own with the first of these, and with the second the one that it replaces.
#define ZKLOCK_REPLACES(name) __asm__("__wrap_" ZKLOCK_C_CLIENT_PREFIX #name)
#define ZKLOCK_REPLACED(name) __asm__("__real_" ZKLOCK_C_CLIENT_PREFIX #name)
