#pragma once
#include "bridge/wire.hpp"

#include <mutex>

#include <zookeeper/zookeeper.h>

namespace zklock::bridge {

/// Stands around every call into the library: it has global state without locks, and its log callback has no context.
class wire::library_call {
public:
    explicit library_call(wire& caller) : lock_(mutex) { current = &caller; }
    ~library_call() { current = nullptr; }
    library_call(const library_call&) = delete;
    library_call& operator=(const library_call&) = delete;

    static inline wire* current = nullptr; // guarded by the mutex

private:
    static inline std::mutex mutex;
    std::lock_guard<std::mutex> lock_;
};

/// The access list that every node of the client gets.
[[nodiscard]] const ACL_vector& access_list(acl access);

/// The Stat of a node that does not exist: all zero.
[[nodiscard]] store::node_stat stat_of(const struct Stat*);

/// What the library calls. None of them calls it back, nor anybody else: they fill the inbox. The library is written in
/// C, so no exception may leave them: where there is no memory for what came, the connection is cut, and what has come
/// of the request is unknown. The answer itself has room in the inbox since the request was sent.
struct callbacks {
    static void on_event(zhandle_t*, int type, int state, const char* path, void* context) noexcept;
    static void on_log(const char* message) noexcept;
    static void on_void(int code, const void* context) noexcept;
    static void on_string(int code, const char* value, const void* context) noexcept;
    static void on_create(int code, const char* path, const struct Stat* stat, const void* context) noexcept;
    static void on_data(int code, const char* data, int size, const struct Stat* stat, const void* context) noexcept;
    static void on_stat(int code, const struct Stat* stat, const void* context) noexcept;
    static void on_batch(int code, const void* context) noexcept;
    static void on_children(int code, const struct String_vector* names, const struct Stat* stat,
                            const void* context) noexcept;
    static void finish(answer, int code, const void* context);
    template <class Fill> static void finish_with(Fill fill, int code, const void* context);
};

} // namespace zklock::bridge
