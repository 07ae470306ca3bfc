#include "queue/node_name.hpp"
#include "queue/node_path.hpp"

#include <doctest/doctest.h>

using namespace zklock;
using namespace zklock::queue;

// --- node names ------------------------------------------------------------------------------------------------------

const std::string uuid = "0f1e2d3c-4b5a-4697-8899-aabbccddeeff";

TEST_CASE("are those of the clients a path is shared with")
{
    CHECK(name_rules().prefix(naming::curator, contender_kind::mutex, uuid) ==
          "_c_0f1e2d3c-4b5a-4697-8899-aabbccddeeff-lock-");
    CHECK(name_rules().prefix(naming::kazoo, contender_kind::mutex, uuid) ==
          "0f1e2d3c4b5a46978899aabbccddeeff__lock__");
    CHECK(name_rules().prefix(naming::curator, contender_kind::writer, uuid) ==
          "_c_0f1e2d3c-4b5a-4697-8899-aabbccddeeff-__WRIT__");
    CHECK(name_rules().prefix(naming::curator, contender_kind::reader, uuid) ==
          "_c_0f1e2d3c-4b5a-4697-8899-aabbccddeeff-__READ__");
    CHECK(name_rules().prefix(naming::kazoo, contender_kind::writer, uuid) ==
          "0f1e2d3c4b5a46978899aabbccddeeff-w__lock__");
    CHECK(name_rules().prefix(naming::kazoo, contender_kind::reader, uuid) ==
          "0f1e2d3c4b5a46978899aabbccddeeff__rlock__");
}

TEST_CASE("tell who shares the lock with whom, and who may come to")
{
    const auto kind = [](std::string_view name) { return name_rules().parse(name).value().kind; };
    for (const naming names : {naming::curator, naming::kazoo})
        for (const auto k : {contender_kind::mutex, contender_kind::writer, contender_kind::reader})
            CHECK(kind(name_rules().prefix(names, k, uuid) + "0000000001") == k);
    CHECK(kind("_c_ab-__READ__-2147483647") == contender_kind::reader);
    CHECK(kind("ab__rlock__0000000001") == contender_kind::reader);
    CHECK(kind("ab__lock__0000000001") == contender_kind::mutex);
    CHECK(kind("x-1-0000000001") == contender_kind::mutex);
    CHECK(is_shared(contender_kind::reader));
    CHECK_FALSE(is_shared(contender_kind::writer));
    CHECK_FALSE(is_shared(contender_kind::mutex));
}

TEST_CASE("of a reader that was a writer: its uuid and its number")
{
    CHECK(reader_name("_c_ab-__WRIT__0000000012") == "_c_ab-__READ__0000000012");
    CHECK(reader_name("_c_ab-__WRIT__-2147483647") == "_c_ab-__READ__-2147483647");
    CHECK(reader_name("ab-w__lock__0000000012") == "ab__rlock__0000000012");
}

TEST_CASE("of ZooKeeper's own recipe have the session in them")
{
    CHECK(name_rules().sequence_of("x-72057594037927936-0000000003") == 3);
    CHECK(name_rules().sequence_of("x--72057594037927936-0000000003") == 3);
    CHECK(name_rules().sequence_of("x-0100000000000000-0000000004") == 4); // the one in C
    CHECK(name_rules().sequence_of("x-ffabcdef01234567-0000000004") == 4);
    CHECK(name_rules().sequence_of("x-12--2147483648") == std::int64_t{-2147483648});
    CHECK(name_rules().sequence_of("x--12--2147483648") == std::int64_t{-2147483648});
    for (const std::string name :
         {"x-0000000003", "x--0000000003", "x---0000000003", "x-ab-0000000003", "x-12-13-0000000003", "y-12-0000000003",
          "x-FFABCDEF01234567-0000000004", "x-12345678901234567890-0000000003", "x-12_0000000003"}) {
        CAPTURE(name);
        CHECK_FALSE(name_rules().sequence_of(name));
    }
}

TEST_CASE("tell the place in the queue by their number alone, whatever comes before it")
{
    CHECK(name_rules().sequence_of("_c_0f1e2d3c-4b5a-4697-8899-aabbccddeeff-lock-0000000007") == 7);
    CHECK(name_rules().sequence_of("lock-0000000007") == 7);
    CHECK(name_rules().sequence_of("0f1e2d3c4b5a46978899aabbccddeeff__lock__0000000012") == 12);
    CHECK(name_rules().sequence_of("__lock__0000000000") == 0);
    CHECK(name_rules().sequence_of("_c_ffff-lock-2147483647") == 2147483647);
}

TEST_CASE("may have overflowed")
{
    CHECK(name_rules().sequence_of("lock--2147483648") == std::int64_t{-2147483648});
    CHECK(name_rules().sequence_of("_c_ab-lock--0000000001") == -1);
    CHECK(name_rules().sequence_of("ab__lock__-2147483647") == -2147483647);
    CHECK(prefix_of("_c_ab-lock--2147483648", -2147483648) == "_c_ab-lock-");
    CHECK(prefix_of("_c_ab-lock-2147483647", 2147483647) == "_c_ab-lock-");
}

TEST_CASE("of children that are no contenders tell nothing")
{
    for (const std::string name :
         {"", "config", "0000000001", "-0000000001", "lock-", "lock-000000001", "lock-00000000a1", "lock-2147483648",
          "lock--2147483649", "clock0000000001", "READ__0000000001", "__read__0000000001", "__WRIT__",
          "lock-0000000001 ", "lock---0000000001", "lease-0000000001", "leaf_lock_0000000001"}) {
        CAPTURE(name);
        CHECK_FALSE(name_rules().sequence_of(name));
    }
}

// --- who holds a lock ------------------------------------------------------------------------------------------------

TEST_CASE("the first; or all readers before the first that is none; a reader with its writer's number")
{
    using names = std::vector<std::string>;
    CHECK(name_rules().holders_of({}) == names{});
    CHECK(name_rules().holders_of({"notes", "x-1-lease-0000000001"}) == names{});
    CHECK(name_rules().holders_of({"b-lock-0000000004", "notes", "a-lock-0000000005"}) == names{"b-lock-0000000004"});
    CHECK(name_rules().holders_of({"a-__READ__0000000004", "a-__WRIT__0000000003", "b-__READ__0000000005"}) ==
          names{"a-__WRIT__0000000003"});
    CHECK(name_rules().holders_of({"c-__READ__0000000007", "b-__READ__0000000003", "a-__READ__0000000004",
                                   "a-__WRIT__0000000006", "a-__rlock__0000000005"}) ==
          names{"b-__READ__0000000003", "a-__READ__0000000004", "a-__rlock__0000000005"});
    CHECK(name_rules().holders_of({"a-__WRIT__0000000003", "b-__READ__0000000003", "c-__READ__0000000004"}) ==
          names{"a-__WRIT__0000000003", "b-__READ__0000000003"});
    CHECK(name_rules().holders_of({"b-__WRIT__0000000003", "a-__READ__0000000003", "c-__READ__0000000004"}) ==
          names{"a-__READ__0000000003"});
}

// --- uuids in names of nodes -----------------------------------------------------------------------------------------

TEST_CASE("the uuid that a name was made of is read back")
{
    const std::string uuid = "01234567-89ab-4cde-8f01-23456789abcd";
    for (const naming names : {naming::curator, naming::kazoo})
        for (const contender_kind kind : {contender_kind::mutex, contender_kind::writer, contender_kind::reader}) {
            const std::string its = name_rules().prefix(names, kind, uuid) + "0000000007";
            const auto found = uuid_of(its);
            REQUIRE(found);
            CHECK(std::string(found->data(), found->size()) == uuid);
            for (std::size_t i = 0; i <= uuid.size(); ++i) {
                auto given = uuid;
                if (i < uuid.size())
                    given[i] = given[i] == 'e' ? 'f' : 'e';
                const std::string name = name_rules().prefix(names, kind, given) + "0000000007";
                CHECK(has_uuid(name, *found) == (given == uuid));
                CHECK((uuid_part(name) == uuid_part(its)) == (given == uuid));
                CHECK_FALSE(has_uuid(name.substr(0, 30), *found));
            }
            if (kind == contender_kind::writer)
                CHECK(uuid_part(reader_name(its)) == uuid_part(its));
        }
    const auto marked = uuid_of(name_rules("own-", {}).prefix(naming::curator, contender_kind::mutex, uuid) + "0");
    REQUIRE(marked);
    CHECK(std::string(marked->data(), marked->size()) == uuid);
}

TEST_CASE("names of others may have none")
{
    for (const char* name :
         {"", "lock-0000000001", "_c_", "x-72057594037927936-0000000001", "_c_01234567-89ab-4cde-8f01-23456789abc",
          "_c_0123456789ab4cde8f0123456789abcd-lock-0000000001",
          "_c_01234567-89AB-4cde-8f01-23456789abcd-lock-0000000001",
          "0123456789ab4cde8f0123456789abc__lock__0000000001"})
        CHECK_MESSAGE(!uuid_of(name), name);
}

// --- node paths ------------------------------------------------------------------------------------------------------

TEST_CASE("that a server would take")
{
    for (const std::string path : {"/a", "/a/b/c", "/a b", "/...", "/a/.b",
                                   "/gr\xc3\xbc\xc3\x9f"
                                   "e",
                                   "/\xef\xa4\x80"}) {
        CAPTURE(path);
        CHECK(valid_path(path));
    }
    CHECK(valid_path("/" + std::string(4095, 'x')));
}

TEST_CASE("that a server would refuse, or that no lock can have")
{
    const std::vector<std::string> bad = {"",
                                          "/",
                                          "a",
                                          "a/b",
                                          "/a/",
                                          "//a",
                                          "/a//b",
                                          "/.",
                                          "/..",
                                          "/a/./b",
                                          "/a/..",
                                          std::string("/a\0b", 4),
                                          "/a\tb",
                                          "/a\x7f",
                                          "/\xc2\x80",
                                          "/\xed\xa0\x80" /* surrogate */,
                                          "/\xef\xbf\xbf",
                                          "/\xc3" /* cut off */,
                                          "/\x80",
                                          "/\xf0\x9f\x94\x92" /* two surrogates to a server */,
                                          "/\xc0\xaf" /* overlong */,
                                          "/\xf8\x88\x80\x80\x80",
                                          "/" + std::string(4096, 'x')};
    for (const std::string& path : bad) {
        CAPTURE(path);
        CHECK_FALSE(valid_path(path));
    }
}

TEST_CASE("that are the servers' own are no lock's, unless a chroot is before them")
{
    for (const char* path : {"/zookeeper", "/zookeeper/quota", "/zookeeper/a/b"}) {
        CAPTURE(path);
        CHECK(valid_path(path));
        CHECK(zklock::find_path_fault(path, ""));
        CHECK(zklock::find_path_fault(path, "/"));
        CHECK_FALSE(zklock::find_path_fault(path, "/app"));
        CHECK(zklock::find_path_fault(path, "/zookeeper"));
        CHECK(zklock::find_path_fault(path, "/zookeeper/quota"));
    }
    for (const char* path : {"/zookeepers", "/zookeepers/a", "/zoo", "/Zookeeper", "/a/zookeeper"}) {
        CAPTURE(path);
        CHECK_FALSE(zklock::find_path_fault(path, ""));
        CHECK_FALSE(zklock::find_path_fault(path, "/zookeepers"));
    }
    CHECK(zklock::find_path_fault("zookeeper", "/app"));
}

TEST_CASE("that are refused: the rule that is broken is named")
{
    const std::pair<std::string, std::string_view> all[] = {
        {"", "it is empty"},
        {"a/b", "it is relative: it does not begin with '/'"},
        {"/", "it is the root"},
        {"/a/", "it ends with '/'"},
        {"/a//", "it has an empty component: \"//\""},
        {"//a", "it has an empty component: \"//\""},
        {"/a/./b", "it has a component \".\" or \"..\""},
        {"/..", "it has a component \".\" or \"..\""},
        {"/a\nb", "it has a control character, or another one that ZooKeeper forbids"},
        {std::string("/a\0b", 4), "it has a control character, or another one that ZooKeeper forbids"},
        {"/\xef\xbf\xbf", "it has a control character, or another one that ZooKeeper forbids"},
        {"/a\xc3", "it is not UTF-8"},
        {"/" + std::string(4096, 'x'), "it is longer than 4096 bytes"},
        {"/zookeeper", "it is in /zookeeper, which is the servers' own"},
        {"/zookeeper/a", "it is in /zookeeper, which is the servers' own"}};
    for (const auto& [path, why] : all) {
        CAPTURE(path);
        CHECK(zklock::find_path_fault(path) == why);
    }
    CHECK(zklock::find_path_fault("/a", "/zookeeper/b") == "it is in /zookeeper, which is the servers' own");
    CHECK(zklock::find_path_fault("/zookeeper", "/b") == std::nullopt);
    CHECK(zklock::find_path_fault("/" + std::string(4095, 'x')) == std::nullopt);
}

TEST_CASE("come apart and go together")
{
    CHECK(parent_of("/a/b/c") == "/a/b");
    CHECK(parent_of("/a") == "");
    CHECK(name_of("/a/b") == "b");
    CHECK(child_of("/a", "b") == "/a/b");
}

TEST_CASE("a child is told from what stands beside it, above it, and further below")
{
    CHECK(is_child_of("/a/b/c", "/a/b"));
    CHECK(is_child_of("/a", ""));
    for (const auto* none : {"/a/b", "/a", "/", "", "/a/x/c", "/x/b/c", "/a/b/c/d", "/a/bb"})
        CHECK_FALSE_MESSAGE(is_child_of(none, "/a/b"), none);
}
