#pragma once
#include "bridge/wire/c_client.hpp"
#include "bridge/wire/wire_requests.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::bridge {

class wire;

/// Puts a list's entries at `to` as the library takes them, and returns their end. They refer to the list's texts.
inline ACL* put_entries(const access_list& access, ACL* to) noexcept
{
    for (const access_entry& entry : access.entries()) {
        auto* const scheme = const_cast<char*>(entry.scheme.c_str()); // the library only reads what it is given
        auto* const id = const_cast<char*>(entry.id.c_str());
        *to++ = {static_cast<std::int32_t>(entry.allowed), {scheme, id}};
    }
    return to;
}

/// Whether the library would take its texts as they are: it takes them to end at the first NUL. (The client's own list
/// has been looked at with the other options.)
[[nodiscard]] inline bool is_text(const access_list& access) noexcept
{
    return std::ranges::none_of(access.entries(), [](const access_entry& entry) {
        return entry.scheme.find('\0') != std::string::npos || entry.id.find('\0') != std::string::npos;
    });
}

/// An access list as the library takes it, and room for the next.
class library_access {
public:
    /// It refers to the list's texts.
    const ACL_vector& refer_to(const access_list& access)
    {
        entries_.resize(access.entries().size());
        put_entries(access, entries_.data());
        vector_ = {static_cast<std::int32_t>(entries_.size()), entries_.data()};
        return vector_;
    }
    [[nodiscard]] const ACL_vector& get() const noexcept { return vector_; }

private:
    std::vector<ACL> entries_;
    ACL_vector vector_{};
};

struct wire_requests::access_lists {
    library_access clients; ///< that of the options, which every node gets that is not given one of its own
    library_access other;   ///< of the request that is being made
};

/// The Stat of a node that does not exist: all zero.
[[nodiscard]] store::node_stat stat_of(const struct Stat*);

/// What the library calls. None of them calls it back, nor anybody else: they fill the inbox.
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
    static void on_access(int code, struct ACL_vector* access, struct Stat* stat, const void* context) noexcept;
    static void on_session_event(wire&, zhandle_t*, int state);
    static void on_node_event(wire&, int type, const char* path);
    /// Finishes an answer, into which `fill` puts what came with it.
    template <class Fill> static void finish(Fill fill, int code, const void* context) noexcept;
};

template <class Fill> void callbacks::finish(Fill fill, int code, const void* context) noexcept
{
    std::unique_ptr<request> to(static_cast<request*>(const_cast<void*>(context)));
    wire_requests& sender = *to->sender;
    --sender.unanswered_;
    if (sender.inbox_.discards()) {
        sender.inbox_.keep_discarded(std::move(to));
        return;
    }
    sender.inbox_.fill([&] {
        answer a;
        if (code == ZOK)
            fill(a);
        a.to = std::move(to);
        sender.accept(std::move(a), code);
    });
}

} // namespace zklock::bridge
