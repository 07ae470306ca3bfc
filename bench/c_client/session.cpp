#include "c_client/session.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace zklock::bench {

using namespace std::chrono_literals;

namespace {

void on_event(zhandle_t*, int type, int, const char* path, void* context)
{
    auto& s = *static_cast<session*>(context);
    if (type != ZOO_SESSION_EVENT && s.on_event)
        s.on_event(type, path);
}

/// Passes what the library answers to the function that it was given as context.
template <class Function, class Value> void deliver(int code, Value value, const void* context)
{
    const std::unique_ptr<const Function> done{static_cast<const Function*>(context)};
    if (code != ZCLOSING)
        (*done)(code, value); // whoever closes the session does not wait for it
}
void string_done(int code, const char* value, const void* context)
{
    deliver<answer>(code, value, context);
}
void nothing_done(int code, const void* context)
{
    deliver<answer>(code, static_cast<const char*>(nullptr), context);
}
void data_done(int code, const char*, int, const Stat*, const void* context)
{
    deliver<answer>(code, static_cast<const char*>(nullptr), context);
}
void strings_done(int code, const String_vector* names, const void* context)
{
    deliver<children_answer>(code, names, context);
}
void stat_done(int code, const Stat* stat, const void* context)
{
    deliver<node_answer>(code, stat, context);
}

/// Calls the library with a copy of the function as context, which belongs to it when the call succeeds.
template <class Function, class Call> void submit(Function done, const char* what, Call&& call)
{
    auto context = std::make_unique<Function>(std::move(done));
    check(call(context.get()), what);
    static_cast<void>(context.release());
}

} // namespace

void check(int code, const char* what)
{
    if (code != ZOK)
        throw std::runtime_error(std::string(what) + ": " + zerror(code));
}

session::session(loop& owner, const std::string& servers, std::chrono::milliseconds timeout) : loop_(owner)
{
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    handle_ = zookeeper_init2(servers.c_str(), &bench::on_event, static_cast<int>(timeout.count()), nullptr, this,
                              ZOO_NO_LOG_CLIENTENV, nullptr);
    if (!handle_)
        throw std::system_error(errno, std::generic_category(), "zookeeper_init");
    zoo_set_servers_resolution_delay(handle_, -1);
    loop_.sessions_.push_back(this);
    loop_.run_until([this] { return connected(); });
}

session::~session()
{
    std::erase(loop_.sessions_, this);
    zookeeper_close(handle_);
}

void session::create(const std::string& path, int flags, answer done)
{
    submit(std::move(done), "create", [&](const void* context) {
        return zoo_acreate(handle_, path.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, flags, &string_done, context);
    });
}

void session::remove(const std::string& path, answer done)
{
    submit(std::move(done), "delete",
           [&](const void* context) { return zoo_adelete(handle_, path.c_str(), -1, &nothing_done, context); });
}

void session::children(const std::string& path, children_answer done)
{
    submit(std::move(done), "get children",
           [&](const void* context) { return zoo_aget_children(handle_, path.c_str(), 0, &strings_done, context); });
}

void session::exists(const std::string& path, node_answer done)
{
    submit(std::move(done), "exists",
           [&](const void* context) { return zoo_aexists(handle_, path.c_str(), 0, &stat_done, context); });
}

void session::exists_and_watch(const std::string& path, node_answer done)
{
    submit(std::move(done), "exists", [&](const void* context) {
        return zoo_awexists(handle_, path.c_str(), &bench::on_event, this, &stat_done, context);
    });
}

void session::get_and_watch(const std::string& path, answer done)
{
    submit(std::move(done), "get", [&](const void* context) {
        return zoo_awget(handle_, path.c_str(), &bench::on_event, this, &data_done, context);
    });
}

loop::loop()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC))
{
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    if (epoll_ < 0 || timer_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, timer_, &wanted) != 0)
        throw std::system_error(errno, std::generic_category(), "epoll");
}

loop::~loop()
{
    ::close(timer_);
    ::close(epoll_);
}

void loop::call_at(steady_clock::time_point when, std::function<void()> f)
{
    at_time_ = std::move(f);
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(when.time_since_epoch()).count();
    itimerspec setting{};
    setting.it_value = {ns / 1'000'000'000, ns % 1'000'000'000};
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &setting, nullptr);
}

void loop::on_input(int fd, std::function<void()> f)
{
    at_input_ = std::move(f);
    epoll_event wanted{};
    wanted.data.ptr = &at_input_;
    wanted.events = EPOLLIN;
    if (::epoll_ctl(epoll_, at_input_ ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &wanted) != 0)
        throw std::system_error(errno, std::generic_category(), "epoll");
}

void loop::run_for(std::chrono::milliseconds time)
{
    update_all();
    const auto end = steady_clock::now() + time;
    for (auto now = steady_clock::now(); now < end; now = steady_clock::now())
        turn(std::min(patience, std::chrono::ceil<std::chrono::milliseconds>(end - now)));
}

void loop::update(session& s)
{
    int fd = -1, interest = 0;
    timeval within{};
    check(zookeeper_interest(s.handle_, &fd, &interest, &within), "the session's connection");
    if (fd < 0 || (fd == s.fd_ && interest == s.interest_))
        return;
    epoll_event wanted{};
    wanted.data.ptr = &s;
    wanted.events = (interest & ZOOKEEPER_READ ? EPOLLIN : 0U) | (interest & ZOOKEEPER_WRITE ? EPOLLOUT : 0U);
    if (::epoll_ctl(epoll_, fd == s.fd_ ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &wanted) != 0)
        throw std::system_error(errno, std::generic_category(), "epoll");
    s.fd_ = fd;
    s.interest_ = interest;
}

void loop::update_all()
{
    updated_ = steady_clock::now();
    for (auto* s : sessions_)
        update(*s);
}

void loop::process(session& s)
{
    constexpr int packets = 256; // then others have their turn
    int code = ZOK;
    for (int i = 0; i < packets && code == ZOK; ++i)
        code = zookeeper_process(s.handle_, s.interest_);
    if (code != ZNOTHING)
        check(code, "the session's connection");
    update(s);
}

void loop::turn(std::chrono::milliseconds patience)
{
    epoll_event ready[64];
    const int count = ::epoll_wait(epoll_, ready, 64, static_cast<int>(patience.count()));
    for (int i = 0; i < count; ++i) {
        if (ready[i].data.ptr == &at_input_) {
            at_input_();
            continue;
        }
        if (ready[i].data.ptr) {
            process(*static_cast<session*>(ready[i].data.ptr));
            continue;
        }
        std::uint64_t expirations = 0;
        if (::read(timer_, &expirations, sizeof expirations) == sizeof expirations && at_time_)
            std::exchange(at_time_, nullptr)();
    }
    // Pings may be due, or one session's completion may have made requests of another's.
    if (count == 0 || (sessions_.size() > 1 && steady_clock::now() - updated_ > 500ms))
        update_all();
}

void make_path(loop& turning, session& by, const std::string& path)
{
    for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
        bool done = false;
        by.create(path.substr(0, slash), 0, [&done](int code, const char*) {
            if (code != ZNODEEXISTS)
                check(code, "create");
            done = true;
        });
        turning.run_until([&done] { return done; });
        if (slash == std::string::npos)
            return;
    }
}

} // namespace zklock::bench
