// The examples of single recipes, each run once by itself.
#include "example.hpp"
#include "support/expect_clean.hpp"

using namespace zklock::test;

namespace {

/// Nothing of the example is left but what it says that it leaves.
void plays(const std::string& name, const std::string& lines)
{
    example program(name);
    program.expect(0, lines);
    expect_clean(server(), {"/examples/" + name});
}

} // namespace

TEST_CASE("mutex")
{
    plays("mutex", "/examples/mutex is held, with token [0-9]+\n"
                   "a second acquire finds it busy\n"
                   "in the queue: 1\n"
                   "released\n");
}

TEST_CASE("mutex, where nobody answers: it says why")
{
    example program("mutex", {"127.0.0.1:1"});
    program.expect(1, "no lock: .*\nwaited [0-9.]+ s for /examples/mutex: .*cannot connect to 127\\.0\\.0\\.1:1.*\n");
}

TEST_CASE("re-entrant mutex")
{
    plays("reentrant_mutex", "account 1: -100, held 2 times\n"
                             "account 2: 100, held 2 times\n"
                             "another owner finds it busy\n"
                             "held 0 times\n");
}

TEST_CASE("shared mutex")
{
    plays("shared_mutex", "two readers at once\n"
                          "no writer beside them\n"
                          "a reader stays a reader\n"
                          "a writer, alone\n"
                          "a reader with the writer's token, and another reader\n");
}

TEST_CASE("shared mutex for owners")
{
    plays("owned_shared_mutex", "a writer: writes 1, reads 0\n"
                                "in the total: writes 1, reads 1\n"
                                "it has stopped writing: writes 0, reads 1\n"
                                "another owner reads, too\n"
                                "and cannot write as long as it reads\n");
}

TEST_CASE("semaphore")
{
    plays("semaphore", "of three permits we hold 2\n"
                       "two more are not to be had\n"
                       "one is given back, and two more are ours: 3 of three\n"
                       "in use, by anybody: 2\n");
}

TEST_CASE("multi-lock: transfers in opposite directions at once, by two programs")
{
    example one("multi_lock"), other("multi_lock");
    one.expect(0, "ann has -?[0-9]+, ben has [0-9]+\n");
    other.expect(0, "ann has -?[0-9]+, ben has [0-9]+\n");
    plays("multi_lock", "ann has 40, ben has 160\n"); // 100 less 20 in each of three runs
}

TEST_CASE("transaction")
{
    plays("transaction", "Ann has ordered: /examples-orders/order-[0-9]{10}\n"
                         "the lock is lost, and nothing was written for Ben\n"
                         "in stock: 9\n");
}

TEST_CASE("fencing a table by token")
{
    example program("fenced_table");
    program.expect(0, "the first: token ([0-9]+) has written\n"
                      "the second: token [0-9]+ has written\n"
                      "the first, late: token \\1 is refused\n");
}
