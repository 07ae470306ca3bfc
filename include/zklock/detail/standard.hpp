// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __cplusplus < 202002L
#error "zklock needs C++20: compile with -std=c++20 or a later standard"
#endif
