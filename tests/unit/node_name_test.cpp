#include "queue/node_name.hpp"
#include "queue/node_path.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace zklock;
using namespace zklock::queue;

TEST_SUITE("node names")
{
    constexpr std::string_view uuid = "0f1e2d3c-4b5a-4697-8899-aabbccddeeff";

    TEST_CASE("are those of the clients a path is shared with")
    {
        CHECK(name_prefix(naming::curator, uuid) == "_c_0f1e2d3c-4b5a-4697-8899-aabbccddeeff-lock-");
        CHECK(name_prefix(naming::kazoo, uuid) == "0f1e2d3c4b5a46978899aabbccddeeff__lock__");
    }

    TEST_CASE("tell the place in the queue by their number alone, whatever comes before it")
    {
        CHECK(sequence_of("_c_0f1e2d3c-4b5a-4697-8899-aabbccddeeff-lock-0000000007") == 7);
        CHECK(sequence_of("lock-0000000007") == 7);
        CHECK(sequence_of("0f1e2d3c4b5a46978899aabbccddeeff__lock__0000000012") == 12);
        CHECK(sequence_of("__lock__0000000000") == 0);
        CHECK(sequence_of("_c_ffff-lock-2147483647") == 2147483647);
    }

    TEST_CASE("may have overflowed")
    {
        CHECK(sequence_of("lock--2147483648") == std::int64_t{-2147483648});
        CHECK(sequence_of("_c_ab-lock--0000000001") == -1);
        CHECK(sequence_of("ab__lock__-2147483647") == -2147483647);
        CHECK(prefix_of("_c_ab-lock--2147483648", -2147483648) == "_c_ab-lock-");
        CHECK(prefix_of("_c_ab-lock-2147483647", 2147483647) == "_c_ab-lock-");
    }

    TEST_CASE("of children that are no contenders tell nothing")
    {
        for (const std::string name :
             {"", "config", "0000000001", "-0000000001", "lock-", "lock-000000001", "lock-00000000a1", "lock-2147483648",
              "lock--2147483649", "clock0000000001", "__READ__0000000001", "lock-0000000001 ", "lock---0000000001",
              "lease-0000000001", "leaf_lock_0000000001"}) {
            CAPTURE(name);
            CHECK_FALSE(sequence_of(name));
        }
    }
}

TEST_SUITE("node paths")
{
    TEST_CASE("that a server would take")
    {
        for (const std::string path : {"/a", "/a/b/c", "/a b", "/...", "/a/.b", "/gr\xc3\xbc\xc3\x9f" "e", "/\xef\xa4\x80"}) {
            CAPTURE(path);
            CHECK(valid_path(path));
        }
        CHECK(valid_path("/" + std::string(4095, 'x')));
    }

    TEST_CASE("that a server would refuse, or that no lock can have")
    {
        const std::vector<std::string> bad = {
            "", "/", "a", "a/b", "/a/", "//a", "/a//b", "/.", "/..", "/a/./b", "/a/..", std::string("/a\0b", 4), "/a\tb",
            "/a\x7f", "/\xc2\x80", "/\xed\xa0\x80" /* surrogate */, "/\xef\xbf\xbf", "/\xc3" /* cut off */, "/\x80",
            "/\xf0\x9f\x94\x92" /* two surrogates to a server */, "/\xc0\xaf" /* overlong */,
            "/\xf8\x88\x80\x80\x80", "/" + std::string(4096, 'x')};
        for (const std::string& path : bad) {
            CAPTURE(path);
            CHECK_FALSE(valid_path(path));
        }
    }

    TEST_CASE("come apart and go together")
    {
        CHECK(parent_of("/a/b/c") == "/a/b");
        CHECK(parent_of("/a") == "");
        CHECK(name_of("/a/b") == "b");
        CHECK(child_of("/a", "b") == "/a/b");
    }
}
