// Whether a real server takes the same names for valid as zklock does, before it sends them.
#include "queue/node_path.hpp"
#include "support/admin_client.hpp"
#include "support/fresh_seed.hpp"
#include "support/zookeeper_server.hpp"

#include <doctest/doctest.h>

#include <iostream>

using namespace zklock;
using namespace zklock::test;

namespace {

bool server_takes(admin_client& admin, const std::string& path)
{
    try {
        admin.create(path);
        return true;
    } catch (const zookeeper_error& e) {
        constexpr std::int32_t bad_arguments = -8;
        REQUIRE(e.code() == bad_arguments);
        return false;
    }
}

std::string utf8(std::uint32_t c)
{
    const auto tail = [&](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3f)); };
    if (c < 0x80)
        return {static_cast<char>(c)};
    if (c < 0x800)
        return {static_cast<char>(0xc0 | c >> 6), tail(0)};
    if (c < 0x1'0000)
        return {static_cast<char>(0xe0 | c >> 12), tail(6), tail(0)};
    return {static_cast<char>(0xf0 | c >> 18), tail(12), tail(6), tail(0)};
}

} // namespace

TEST_CASE("the servers refuse the paths that zklock refuses, and no others")
{
    zookeeper_server server;
    admin_client admin{server.port()};
    admin.create("/p");
    std::vector<std::string> names = {".",
                                      "..",
                                      "...",
                                      ".a",
                                      "a b",
                                      "a\tb",
                                      std::string("a\0b", 3),
                                      "\xc3",
                                      "\x80",
                                      "\xc0\xaf",
                                      "\xe0\x80\xaf",
                                      "\xf8\x88\x80\x80\x80",
                                      "a\xff",
                                      "\xed\xa0\x80"};
    // Both sides of every border.
    for (const std::uint32_t c : {0x01u,   0x1fu,   0x20u,   0x7eu,   0x7fu,     0x80u,     0x9fu,     0xa0u,
                                  0x7ffu,  0x800u,  0xd7ffu, 0xd800u, 0xdfffu,   0xe000u,   0xf8ffu,   0xf900u,
                                  0xffefu, 0xfff0u, 0xfffdu, 0xffffu, 0x1'0000u, 0x1'f512u, 0x10'ffffu})
        names.push_back("c" + utf8(c));
    const auto seed = fresh_seed();
    std::cout << "paths: seed " << seed << '\n';
    std::mt19937_64 random{seed};
    for (int i = 0; i < 300; ++i) {
        std::string name = std::to_string(i) + '-';
        for (auto more = random() % 4; more != 0; --more) {
            if (random() % 3 == 0)
                name += static_cast<char>(random() % 255 + 1);
            else
                name += utf8(static_cast<std::uint32_t>(random() % (random() % 2 ? 0x11'0000 : 0x1'0000)));
        }
        if (name.find('/') == name.npos)
            names.push_back(name);
    }
    for (const std::string& name : names) {
        const std::string path = "/p/" + name;
        CAPTURE(path);
        CAPTURE(seed);
        CHECK(server_takes(admin, path) == queue::valid_path(path));
    }
    for (const char* path : {"/p/", "/p//a", "p", "", "/p/./a", "/p/../a"}) {
        CAPTURE(path);
        CHECK_FALSE(queue::valid_path(path));
    }
}
