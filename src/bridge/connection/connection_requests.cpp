// What the recipes ask of the servers, handed to the wire.
#include "bridge/connection/connection.hpp"

#include <utility>

namespace zklock::bridge {

template <class Done, class Call> void connection::submit(answered_by whom, Done done, Call call)
{
    auto r = std::make_unique<request>();
    r->done = std::move(done);
    r->through_leader = whom == answered_by::leader;
    if (!may_send()) {
        answer_unsent(std::move(r));
        return;
    }
    requests_.add();
    turns_->run([&] {
        hold_back();
        call(wire_, std::move(r));
        if (!inbox_.empty())
            deliver_later();
    });
}

void connection::create(std::string_view path, std::string_view data, zklock::store::node_kind kind,
                        const access_list* access, create_done done)
{
    submit(answered_by::leader, std::move(done), [&](wire& to, std::unique_ptr<request> r) {
        to.create(std::move(r), path, data, kind, access);
    });
}

void connection::remove(std::string_view path, std::int32_t version, reply_done done)
{
    submit(answered_by::leader, std::move(done), [&](wire& to, std::unique_ptr<request> r) {
        to.remove(std::move(r), path, version);
    });
}

void connection::set(std::string_view path, std::string_view data, std::int32_t version, stat_done done)
{
    submit(answered_by::leader, std::move(done), [&](wire& to, std::unique_ptr<request> r) {
        to.set(std::move(r), path, data, version);
    });
}

void connection::batch(std::span<const zklock::store::batch_write> writes, batch_done done)
{
    submit(answered_by::leader, std::move(done), [&](wire& to, std::unique_ptr<request> r) {
        to.batch(std::move(r), writes);
    });
}

void connection::exists(std::string_view path, bool watch, stat_done done)
{
    submit(answered_by::any_server, std::move(done), [&](wire& to, std::unique_ptr<request> r) {
        to.exists(std::move(r), path, watch);
    });
}

void connection::get(std::string_view path, bool watch, get_done done)
{
    submit(answered_by::any_server, std::move(done), [&](wire& to, std::unique_ptr<request> r) {
        to.get(std::move(r), path, watch);
    });
}

void connection::children(std::string_view path, bool watch, children_done done)
{
    submit(answered_by::any_server, std::move(done), [&](wire& to, std::unique_ptr<request> r) {
        to.children(std::move(r), path, watch);
    });
}

void connection::get_acl(std::string_view path, access_done done)
{
    submit(answered_by::any_server, std::move(done), [&](wire& to, std::unique_ptr<request> r) {
        to.get_acl(std::move(r), path);
    });
}

void connection::set_acl(std::string_view path, const access_list& access, std::int32_t acl_version, reply_done done)
{
    submit(answered_by::leader, std::move(done), [&](wire& to, std::unique_ptr<request> r) {
        to.set_acl(std::move(r), path, access, acl_version);
    });
}

void connection::unwatch(std::string_view path, reply_done done)
{
    submit(answered_by::any_server, std::move(done), [&](wire& to, std::unique_ptr<request> r) {
        to.unwatch(std::move(r), path);
    });
}

void connection::sync(std::string_view path, reply_done done)
{
    submit(answered_by::leader, std::move(done), [&](wire& to, std::unique_ptr<request> r) {
        to.sync(std::move(r), path);
    });
}

} // namespace zklock::bridge
