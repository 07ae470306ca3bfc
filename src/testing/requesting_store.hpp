#pragma once
#include "store/store.hpp"
#include "testing/request.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace zklock::testing {

/// Whom the answer to a request is told: nobody, of a ping.
using callback = std::variant<std::monostate, store::node_store::reply_done, store::node_store::create_done,
                              store::node_store::stat_done, store::node_store::batch_done, store::node_store::get_done,
                              store::node_store::children_done, store::node_store::access_done>;

/// A store that makes a request of whatever it is asked. Whoever derives from it submits them. `Interface` is the
/// store's, and a `Meanwhile` lives during each call.
template <class Interface, class Meanwhile> class requesting_store : public Interface {
    using store_type = store::node_store;
    using kind = transaction::kind;

public:
    void create(std::string_view path, std::string_view data, store::node_kind node, const access_list* access,
                store_type::create_done done) final
    {
        write(kind::create, path, done, [&](transaction& t) {
            t.data = data;
            t.node = node;
            t.access = shared(access);
        });
    }
    void remove(std::string_view path, std::int32_t version, store_type::reply_done done) final
    {
        write(kind::remove, path, done, [&](transaction& t) { t.version = version; });
    }
    void set(std::string_view path, std::string_view data, std::int32_t version, store_type::stat_done done) final
    {
        write(kind::set_data, path, done, [&](transaction& t) {
            t.data = data;
            t.version = version;
        });
    }
    void batch(std::span<const store::batch_write> writes, store_type::batch_done done) final
    {
        static constexpr kind kinds[] = {kind::create, kind::set_data, kind::remove, kind::check_version};
        write(kind::batch, {}, done, [&](transaction& t) {
            for (const auto& each : writes) {
                auto& part = t.parts.emplace_back();
                part.what = kinds[static_cast<int>(each.what)];
                part.path = each.path;
                part.data = each.data;
                part.node = each.created;
                part.version = each.version;
                part.access = shared(each.access);
            }
        });
    }
    void exists(std::string_view path, bool watch, store_type::stat_done done) final
    {
        read(operation::exists, path, watch, done);
    }
    void get(std::string_view path, bool watch, store_type::get_done done) final
    {
        read(operation::get, path, watch, done);
    }
    void children(std::string_view path, bool watch, store_type::children_done done) final
    {
        read(operation::children, path, watch, done);
    }
    void get_acl(std::string_view path, store_type::access_done done) final
    {
        read(operation::get_acl, path, false, done);
    }
    void set_acl(std::string_view path, const access_list& access, std::int32_t acl_version,
                 store_type::reply_done done) final
    {
        write(kind::set_access, path, done, [&](transaction& t) {
            t.access = shared(&access);
            t.version = acl_version;
        });
    }
    void unwatch(std::string_view path, store_type::reply_done done) final
    {
        read(operation::unwatch, path, false, done);
    }
    void sync(std::string_view path, store_type::reply_done done) final { read(operation::sync, path, false, done); }

private:
    virtual void submit(request, callback) = 0;

    template <class Done, class Fill> void write(kind what, std::string_view path, Done& done, Fill fill)
    {
        [[maybe_unused]] const Meanwhile here{};
        request r;
        r.what = operation::write;
        r.write.what = what;
        r.write.path = path;
        fill(r.write);
        submit(std::move(r), std::move(done));
    }
    template <class Done> void read(operation what, std::string_view path, bool watch, Done& done)
    {
        [[maybe_unused]] const Meanwhile here{};
        request r;
        r.what = what;
        r.path = path;
        r.watch = watch;
        submit(std::move(r), std::move(done));
    }
    static shared_access shared(const access_list* access)
    {
        return access ? std::make_shared<const access_list>(*access) : nullptr;
    }
};

/// Has `tell` run what calls somebody back with an answer. `how` is what all replies have in common.
template <class Tell> void call_back(const callback& whom, const store::reply& how, const answer& a, Tell tell)
{
    using done = store::node_store;
    struct calls {
        const store::reply& how;
        const answer& a;
        std::span<const std::string_view> created;

        void operator()(std::monostate) const {}
        void operator()(const done::reply_done& f) const { f(how); }
        void operator()(const done::create_done& f) const { f({how, a.path, a.stat}); }
        void operator()(const done::stat_done& f) const { f({how, a.stat}); }
        void operator()(const done::batch_done& f) const { f({how, created, a.set, a.failed}); }
        void operator()(const done::get_done& f) const { f({how, a.data, a.stat}); }
        void operator()(const done::children_done& f) const { f({how, &a.names, a.stat}); }
        void operator()(const done::access_done& f) const { f({how, a.access.get(), a.stat}); }
    };
    std::vector<std::string_view> created;
    if (std::holds_alternative<done::batch_done>(whom))
        created.assign(a.names.begin(), a.names.end());
    if (!std::holds_alternative<std::monostate>(whom))
        tell([&] { std::visit(calls{how, a, created}, whom); });
}

} // namespace zklock::testing
