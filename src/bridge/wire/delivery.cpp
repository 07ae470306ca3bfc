#include "bridge/wire/delivery.hpp"

#include <utility>

namespace zklock::bridge {

namespace {

struct give {
    answer& from;

    template <class Reply> Reply make() const
    {
        Reply reply;
        reply.result = from.result;
        reply.sent = from.to->sent;
        reply.undone = from.undone;
        return reply;
    }
    void operator()(std::monostate) const {}
    void operator()(const store::node_store::reply_done& done) const { done(make<store::reply>()); }
    void operator()(const store::node_store::create_done& done) const
    {
        auto reply = make<store::create_reply>();
        reply.path = from.text;
        reply.stat = from.stat;
        done(reply);
    }
    void operator()(const store::node_store::stat_done& done) const
    {
        auto reply = make<store::stat_reply>();
        reply.stat = from.stat;
        done(reply);
    }
    void operator()(const store::node_store::batch_done& done) const
    {
        auto reply = make<store::batch_reply>();
        if (const auto* results = from.to->results.get()) {
            if (from.result == store::outcome::ok) {
                reply.created = results->created;
                reply.set = results->set;
            }
            reply.failed = results->failed;
        }
        done(reply);
    }
    void operator()(const store::node_store::get_done& done) const
    {
        auto reply = make<store::get_reply>();
        reply.data = from.text;
        reply.stat = from.stat;
        done(reply);
    }
    void operator()(const store::node_store::children_done& done) const
    {
        auto reply = make<store::children_reply>();
        if (from.result == store::outcome::ok)
            reply.names = &from.names;
        reply.stat = from.stat;
        done(reply);
    }
    void operator()(const store::node_store::access_done& done) const
    {
        auto reply = make<store::access_reply>();
        if (from.result == store::outcome::ok)
            reply.access = from.access.get();
        reply.stat = from.stat;
        done(reply);
    }
};

} // namespace

void answer::deliver()
{
    std::visit(give{*this}, to->done);
}

} // namespace zklock::bridge
