#pragma once
#include "driver/driver.hpp"

#include <zookeeper/zookeeper.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zklock::bench {

/// What a request is answered with.
using answer = std::function<void(int code, const char* text)>;
using children_answer = std::function<void(int code, const String_vector* names)>;
using node_answer = std::function<void(int code, const Stat* stat)>;

class loop;

/// A session of the plain C client; the loop handles everything that comes. A constructor returns when it is connected.
class session {
public:
    session(loop& owner, const std::string& servers,
            std::chrono::milliseconds timeout = std::chrono::milliseconds{30'000});
    ~session();
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    [[nodiscard]] zhandle_t* handle() const { return handle_; }
    [[nodiscard]] bool connected() const { return zoo_state(handle_) == ZOO_CONNECTED_STATE; }

    // Thin covers of the library's calls. They throw when a request cannot be made.
    void create(const std::string& path, int flags, answer done);
    void remove(const std::string& path, answer done);
    void children(const std::string& path, children_answer done);
    void exists(const std::string& path, node_answer done);
    void exists_and_watch(const std::string& path, node_answer done);
    void get_and_watch(const std::string& path, answer done);

    std::function<void(int type, const char* path)> on_event; ///< of nodes only

private:
    friend class loop;
    loop& loop_;
    zhandle_t* handle_ = nullptr;
    int fd_ = -1;
    int interest_ = 0;
};

/// Waits for and processes the sockets of all sessions, on the calling thread. As bare as it can be.
class loop {
public:
    loop();
    ~loop();
    loop(const loop&) = delete;
    loop& operator=(const loop&) = delete;

    /// Turns until `done()`, which is asked after each turn. Throws when a session is lost.
    template <class F> void run_until(F&& done)
    {
        update_all();
        while (!done())
            turn(patience);
    }
    void run_for(std::chrono::milliseconds time);

    /// Calls f at that time, or as soon after as the loop turns. One at a time.
    void call_at(steady_clock::time_point when, std::function<void()> f);

    /// Calls f whenever that descriptor can be read; without f, no more. There may be one.
    void on_input(int fd, std::function<void()> f);

    /// The requests of one session went out elsewhere than in a completion: looks whether more has to be sent.
    void update(session& s);

private:
    friend class session;
    static constexpr std::chrono::milliseconds patience{100};
    void turn(std::chrono::milliseconds patience);
    void update_all();
    void process(session& s);

    int epoll_;
    int timer_;
    std::function<void()> at_time_, at_input_;
    std::vector<session*> sessions_;
    steady_clock::time_point updated_{};
};

/// Throws unless the code is ZOK.
void check(int code, const char* what);

/// Creates the path and all above it, persistent.
void make_path(loop& turning, session& by, const std::string& path);

} // namespace zklock::bench
