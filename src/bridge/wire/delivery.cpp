#include "bridge/wire/delivery.hpp"

namespace zklock::bridge {

namespace {

/// Each kind of reply has some of these.
template <class Reply> void give(answer& from, const store::unique_function<void(const Reply&)>& done)
{
    const bool ok = from.result == store::outcome::ok;
    Reply reply;
    reply.result = from.result;
    reply.sent = from.to->sent;
    reply.undone = from.undone;
    if constexpr (requires { reply.stat; })
        reply.stat = from.stat;
    if constexpr (requires { reply.path; })
        reply.path = from.text;
    if constexpr (requires { reply.data; })
        reply.data = from.text;
    if constexpr (requires { reply.names; })
        reply.names = &from.names;
    if constexpr (requires { reply.access; })
        reply.access = ok ? from.access.get() : nullptr;
    if constexpr (requires { reply.created; })
        if (const auto* results = from.to->results.get()) {
            if (ok) {
                reply.created = results->created;
                reply.set = results->set;
            }
            reply.failed = results->failed;
        }
    done(reply);
}

void give(answer&, std::monostate) {}

} // namespace

void answer::deliver()
{
    std::visit([this](const auto& done) { give(*this, done); }, to->done);
}

} // namespace zklock::bridge
