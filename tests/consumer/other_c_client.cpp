// A program that is linked to ZooKeeper's threaded C client, before the library, and has a session in each. ZOOKEEPER
// is the server's address.
#include <zklock/client.hpp>
#include <zklock/mutex.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <mutex>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// As in its header, which only the library may include.
extern "C" {
void* zookeeper_init(const char* host, void (*watcher)(void*, int, int, const char*, void*), int timeout,
                     const void* id, void* context, int flags);
int zookeeper_close(void* handle);
int zoo_state(void* handle);
extern const int ZOO_CONNECTED_STATE;
}

namespace {

class other_session {
public:
    explicit other_session(const std::string& server)
        : handle_(zookeeper_init(server.c_str(), &on_event, 30'000, nullptr, this, 0))
    {
    }
    ~other_session()
    {
        if (handle_)
            zookeeper_close(handle_);
    }
    other_session(const other_session&) = delete;
    other_session& operator=(const other_session&) = delete;

    void wait_connected(std::chrono::seconds limit)
    {
        std::unique_lock lock(mutex_);
        told_.wait_for(lock, limit, [this] { return connected_; });
    }
    [[nodiscard]] bool is_connected() const { return handle_ && zoo_state(handle_) == ZOO_CONNECTED_STATE; }

private:
    static void on_event(void*, int, int state, const char*, void* context)
    {
        auto& self = *static_cast<other_session*>(context);
        const std::lock_guard lock(self.mutex_);
        self.connected_ = self.connected_ || state == ZOO_CONNECTED_STATE;
        self.told_.notify_one();
    }

    std::mutex mutex_;
    std::condition_variable told_;
    bool connected_ = false; // once
    void* handle_;
};

asio::awaitable<void> hold_often(std::string server, int times, int& held)
{
    zklock::client_options options;
    options.servers = server;
    zklock::client client{co_await asio::this_coro::executor, options};
    zklock::mutex mutex{client, "/locks/other_c_client"};
    for (int i = 0; i < times; ++i) {
        auto guard = co_await mutex.acquire(10s);
        if (!guard) {
            std::cerr << "not granted: " << guard.error().message() << '\n';
            break;
        }
        zklock::guard mine = std::move(guard).value();
        const auto released = co_await std::move(mine).release();
        if (!released) {
            std::cerr << "not released: " << released.error().message() << '\n';
            break;
        }
        ++held;
    }
    const auto closed = co_await client.close();
    if (!closed)
        std::cerr << "not closed: " << closed.error().message() << '\n';
}

} // namespace

int main()
{
    constexpr int times = 300;
    const char* const server = std::getenv("ZOOKEEPER");
    if (!server)
        return 2;
    other_session other{server};
    other.wait_connected(20s);

    int held = 0;
    asio::io_context context;
    asio::co_spawn(context, hold_often(server, times, held), [](std::exception_ptr e) {
        if (e)
            std::rethrow_exception(e);
    });
    context.run();
    std::cout << "held " << held << " of " << times << " times, the other session "
              << (other.is_connected() ? "is" : "is not") << " connected\n";
    return held == times && other.is_connected() ? 0 : 1;
}
