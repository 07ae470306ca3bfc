#pragma once
#include "bridge/wire/c_client.hpp"
#include "bridge/wire/store_requests.hpp"
#include "bridge/wire/wire.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zklock::bridge {

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
    ACL_vector refer_to(const access_list& access)
    {
        entries_.resize(access.entries().size());
        put_entries(access, entries_.data());
        return {static_cast<std::int32_t>(entries_.size()), entries_.data()};
    }

private:
    std::vector<ACL> entries_;
};

/// The Stat of a node that does not exist: all zero.
[[nodiscard]] store::node_stat stat_of(const ::Stat*);

template <class Done, class Call> void store_requests::submit(answered_by whom, Done done, Call call)
{
    auto r = std::make_unique<request>();
    r->done = std::move(done);
    r->through_leader = whom == answered_by::leader;
    if (!may_send()) {
        answer_unsent(std::move(r));
        return;
    }
    turns_.run([&] {
        hold_back();
        hand_over(std::move(r), call);
        if (!inbox_.empty())
            deliver_later();
    });
}

/// Hands a request to the library, which takes it over when its call succeeds, and answers it otherwise.
template <class Call> void store_requests::hand_over(std::unique_ptr<request> r, Call call)
{
    wire_.run([&] {
        r->sender = this;
        const int code = handle_ ? call(*r) : ZCONNECTIONLOSS;
        if (code == ZOK) {
            ++unanswered_;
            (void)r.release(); // NOLINT: the library has it
        } else {
            reject(std::move(r), code);
        }
    });
}

template <class Fill> void store_requests::finish(int code, const void* context, Fill fill) noexcept
{
    std::unique_ptr<request> to(static_cast<request*>(const_cast<void*>(context)));
    store_requests& sender = *to->sender;
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
