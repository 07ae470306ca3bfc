// program: mutexes
// "Do I hold it?", asked from many threads, while others acquire, split and release.
#include "integration/semaphore_scene.hpp"
#include "integration/shared_scene.hpp"
#include "support/busy_threads.hpp"

#include <boost/asio/use_future.hpp>

#include <future>
#include <thread>

using namespace zklock::test;

TEST_CASE("while permits go from one handle to another, as many are held as before")
{
    asio::io_context io;
    auto work = asio::make_work_guard(io);
    client c(io, usual_options());
    const semaphore gate(c, new_path(), 3);
    std::thread running([&io] { io.run(); });
    permits held = semaphore(gate).permits_of(3).acquire(asio::use_future).get();
    std::atomic<long> fewer = 0;
    busy_threads asking(3, [&] { fewer += gate.permits_held() < 3; });
    for (std::size_t n = 0; n < scaled(3000); ++n)
        held = held.split(3, asio::use_future).get();
    asking.stop();
    CHECK(asking.rounds() > 0);
    CHECK(fewer == 0);
    std::move(held).release(asio::use_future).get();
    c.close(asio::use_future).get();
    work.reset();
    running.join();
    expect_clean(server());
}

TEST_CASE("many threads ask, while others acquire, split and release")
{
    constexpr std::size_t most = 4;
    asio::io_context io;
    auto work = asio::make_work_guard(io);
    client c(io, usual_options());
    const semaphore gate(c, new_path(), most);
    const mutex lock(c, new_path());
    std::vector<std::thread> running, acquiring;
    for (int i = 0; i < 2; ++i)
        running.emplace_back([&io] { io.run(); });
    std::atomic<int> wrong = 0, cycles = 0;
    busy_threads asking(8, [&] {
        wrong += gate.permits_held() > most;
        static_cast<void>(lock.is_held());
    });
    for (std::size_t i = 0; i < most; ++i)
        acquiring.emplace_back([&] {
            semaphore own_gate = gate; // an object each
            mutex own_lock = lock;
            for (std::size_t n = 0; n < scaled(50); ++n) {
                permits two = own_gate.permits_of(2).acquire(asio::use_future).get();
                wrong += two && own_gate.permits_held() < 2;
                permits part = two.split(1, asio::use_future).get();
                part = permits();
                guard held = own_lock.acquire(asio::use_future).get();
                wrong += held && !lock.is_held();
                std::move(held).release(asio::use_future).get();
                two.release(1, asio::use_future).get();
                ++cycles;
            }
        });
    for (auto& each : acquiring)
        each.join();
    asking.stop();
    CHECK(wrong == 0);
    CHECK(cycles == static_cast<int>(most * scaled(50)));
    CHECK(asking.rounds() > 0);
    CHECK(gate.permits_held() == 0);
    CHECK_FALSE(lock.is_held());
    c.close(asio::use_future).get();
    work.reset();
    for (auto& each : running)
        each.join();
    expect_clean(server());
}

namespace {

/// What is certain of a lock's holds. It is told before it ends, and after it has begun.
enum class certain : unsigned { nothing, writes, writes_and_reads, reads };

/// Lets other threads know what is certain, and find out whether it was so all the while that they asked.
class told_of_holds {
public:
    /// By one thread.
    void is(certain now) { turn_ = (turn_ / 4 + 1) * 4 + static_cast<unsigned>(now); }
    /// By any. `wrong(certain)` asks the lock; its answer counts if nothing was told meanwhile.
    template <class Wrong> [[nodiscard]] bool catches(Wrong wrong) const
    {
        const unsigned long before = turn_;
        const bool found = wrong(static_cast<certain>(before % 4));
        return found && turn_ == before;
    }

private:
    std::atomic<unsigned long> turn_ = 0;
};

} // namespace

TEST_CASE("many threads ask for owners, while these acquire several times over and release as often")
{
    asio::io_context io;
    auto work = asio::make_work_guard(io);
    client c(io, usual_options());
    const reentrant_mutex door(c, new_path());
    const owned_shared_mutex book(c, new_path());
    const lock_owner me, other;
    told_of_holds of_door, of_book;
    std::vector<std::thread> running;
    for (int i = 0; i < 2; ++i)
        running.emplace_back([&io] { io.run(); });
    std::atomic<long> wrong_of_door = 0, wrong_of_book = 0, never = 0;
    const auto is_wrong_of_door = [&](certain now) {
        const bool known = door.owned_by(me).is_held() && door.is_held() && door.hold_count(me) != 0;
        return now != certain::nothing && !known;
    };
    const auto is_wrong_of_book = [&](certain now) {
        const bool writes = book.owned_by(me).is_held() && book.is_held() && book.hold_count(me) != 0;
        const bool reads = book.shared(me).is_held() && book.is_held_shared() && book.hold_count_shared(me) != 0;
        const bool has_to_write = now == certain::writes || now == certain::writes_and_reads;
        const bool has_to_read = now == certain::writes_and_reads || now == certain::reads;
        return (has_to_write && !writes) || (has_to_read && !reads);
    };
    busy_threads asking(6, [&] {
        wrong_of_door += of_door.catches(is_wrong_of_door);
        wrong_of_book += of_book.catches(is_wrong_of_book);
        never += door.owned_by(other).is_held() + book.owned_by(other).is_held() + book.shared(other).is_held();
    });
    std::thread entering([&] {
        reentrant_mutex lock = door; // an object each
        for (std::size_t n = 0; n < scaled(100); ++n) {
            guard outer = lock.owned_by(me).acquire(asio::use_future).get();
            of_door.is(certain::writes);
            guard inner = lock.owned_by(me).acquire(asio::use_future).get();
            std::move(inner).release(asio::use_future).get();
            of_door.is(certain::nothing);
            lock.release(me, outer, asio::use_future).get();
            never += door.owned_by(me).is_held() + door.is_held();
        }
    });
    std::thread writing([&] {
        owned_shared_mutex lock = book;
        for (std::size_t n = 0; n < scaled(100); ++n) {
            guard writer = lock.owned_by(me).acquire(asio::use_future).get();
            of_book.is(certain::writes);
            guard reader = lock.shared(me).acquire(asio::use_future).get();
            of_book.is(certain::writes_and_reads);
            guard again = lock.owned_by(me).acquire(asio::use_future).get();
            lock.release(me, writer, asio::use_future).get();
            of_book.is(certain::reads); // also while it becomes a reader
            std::move(again).release(asio::use_future).get();
            never += book.owned_by(me).is_held() + book.is_held();
            of_book.is(certain::nothing);
            lock.release(me, reader, asio::use_future).get();
            never += book.shared(me).is_held() + book.is_held_shared();
        }
    });
    entering.join();
    writing.join();
    asking.stop();
    CHECK(wrong_of_door == 0);
    CHECK(wrong_of_book == 0);
    CHECK(never == 0);
    CHECK(asking.rounds() > 0);
    c.close(asio::use_future).get();
    work.reset();
    for (auto& each : running)
        each.join();
    expect_clean(server());
}
