#include "recipes/requests/node_operations.hpp"

#include "store/access_size.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::recipes {

using store::outcome;

namespace {

/// Enough for the words of any error.
constexpr std::size_t message_length = 128;

store::batch_write write_of(const transaction::operation& op)
{
    static_assert(static_cast<int>(transaction::operation::kind::create) == 0);
    using from = transaction::operation::kind;
    using to = store::batch_write::kind;
    store::batch_write w;
    w.what = op.what == from::create   ? to::create
             : op.what == from::set    ? to::set
             : op.what == from::remove ? to::remove
                                       : to::check;
    w.path = op.path;
    w.data = op.data;
    w.created = op.created;
    w.version = op.version;
    w.access = op.access ? &*op.access : nullptr;
    return w;
}

commit_result results_of(const transaction& t, const store::batch_reply& answer)
{
    using kind = transaction::operation::kind;
    commit_result all;
    auto created = answer.created.begin();
    auto set = answer.set.begin();
    for (const auto& op : t.operations()) {
        auto& result = all.results.emplace_back();
        if (op.what == kind::create)
            result.path = *created++;
        else if (op.what == kind::set)
            result.stat = *set++;
    }
    return all;
}

} // namespace

template <class... Values, class Send>
auto node_operations::begin(typename node_operation<Values...>::access access, std::optional<errc> why_not,
                            std::size_t bytes, done_function<Values...> d, Send send) -> handle
{
    const auto op = std::make_shared<node_operation<Values...>>(session_, access, bytes, std::move(d), std::move(send));
    if (why_not)
        op->fail(*why_not);
    else
        session_.requests().enter(op);
    return op;
}

/// A user who starts a write may not look how it has ended: gcc cannot warn of a result of `co_await` that nobody
/// takes. So the log has what has failed.
template <class... Values>
auto node_operations::logged(std::string_view what, std::string_view path, done_function<Values...> d) const
    -> done_function<Values...>
{
    if (!session_.log.on(log_level::debug))
        return d;
    return [&log = session_.log, line = std::string(what).append(path), d = std::move(d)](error_code ec, Values... v) {
        char why[message_length];
        if (ec)
            log(log_level::debug, line, " has failed: ", ec.message(why, sizeof why));
        d(ec, std::move(v)...);
    };
}

// --- single operations -----------------------------------------------------------------------------------------------

auto node_operations::create(const std::string& path, const std::string& data, node_kind kind,
                             const std::optional<access_list>& access, done_function<std::string> d) -> handle
{
    using op = node_operation<std::string>;
    const std::size_t bytes = data.size() + (access ? store::size_of(*access) : 0);
    auto why_not = check_to_create(path, kind, data.size() + size_of(access));
    if (!why_not)
        why_not = check(path, access);
    const auto send = [this, path, data, kind, access](op& self) {
        session_.store.create(path, data, kind, access ? &*access : nullptr,
                              self.answered([](op& o, const store::create_reply& answer) {
                                  o.end(answer.result, std::string(answer.path));
                              }));
    };
    return begin<std::string>(op::access::write, why_not, bytes, logged("create ", path, std::move(d)), send);
}

auto node_operations::get(const std::string& path, done_function<node_content> d) -> handle
{
    using op = node_operation<node_content>;
    const auto why_not = check_to_use(path);
    return begin<node_content>(op::access::read, why_not, 0, std::move(d), [this, path](op& self) {
        session_.store.get(path, false, self.answered([](op& o, const store::get_reply& answer) {
            node_content found;
            found.data = answer.data;
            found.stat = answer.stat;
            o.end(answer.result, std::move(found));
        }));
    });
}

auto node_operations::set(const std::string& path, const std::string& data, std::int32_t version,
                          done_function<node_stat> d) -> handle
{
    using op = node_operation<node_stat>;
    const auto why_not = check_to_use(path, data.size());
    const auto send = [this, path, data, version](op& self) {
        session_.store.set(path, data, version, self.answered([](op& o, const store::stat_reply& answer) {
            o.end(answer.result, answer.stat);
        }));
    };
    return begin<node_stat>(op::access::write, why_not, data.size(), logged("set ", path, std::move(d)), send);
}

auto node_operations::remove(const std::string& path, std::int32_t version, done_function<> d) -> handle
{
    using op = node_operation<>;
    const auto why_not = check_to_remove(path);
    const auto send = [this, path, version](op& self) {
        session_.store.remove(path, version,
                              self.answered([](op& o, const store::reply& answer) { o.end(answer.result); }));
    };
    return begin<>(op::access::write, why_not, 0, logged("remove ", path, std::move(d)), send);
}

auto node_operations::children(const std::string& path, done_function<std::vector<std::string>> d) -> handle
{
    using op = node_operation<std::vector<std::string>>;
    const auto why_not = check_to_use(path);
    return begin<std::vector<std::string>>(op::access::read, why_not, 0, std::move(d), [this, path](op& self) {
        session_.store.children(path, false,
                                self.answered(
                                    [](op& o, const store::children_reply& answer) {
                                        o.end(answer.result, answer.names ? *answer.names : std::vector<std::string>());
                                    },
                                    request_line::weight_of_list));
    });
}

auto node_operations::exists(const std::string& path, done_function<std::optional<node_stat>> d) -> handle
{
    using op = node_operation<std::optional<node_stat>>;
    const auto why_not = check_to_use(path);
    return begin<std::optional<node_stat>>(op::access::read, why_not, 0, std::move(d), [this, path](op& self) {
        session_.store.exists(path, false, self.answered([](op& o, const store::stat_reply& answer) {
            if (answer.result == outcome::no_node)
                o.end(error_code(), std::nullopt);
            else
                o.end(answer.result, answer.stat);
        }));
    });
}

auto node_operations::get_acl(const std::string& path, done_function<node_access> d) -> handle
{
    using op = node_operation<node_access>;
    const auto why_not = check_to_use(path);
    return begin<node_access>(op::access::read, why_not, 0, std::move(d), [this, path](op& self) {
        session_.store.get_acl(path, self.answered([](op& o, const store::access_reply& answer) {
            node_access found;
            if (answer.access)
                found.list = *answer.access;
            found.stat = answer.stat;
            o.end(answer.result, std::move(found));
        }));
    });
}

auto node_operations::set_acl(const std::string& path, const access_list& access, std::int32_t acl_version,
                              done_function<> d) -> handle
{
    using op = node_operation<>;
    const std::size_t bytes = store::size_of(access);
    auto why_not = check_to_use(path, bytes);
    if (!why_not)
        why_not = check(path, access);
    const auto send = [this, path, access, acl_version](op& self) {
        session_.store.set_acl(path, access, acl_version,
                               self.answered([](op& o, const store::reply& answer) { o.end(answer.result); }));
    };
    return begin<>(op::access::write, why_not, bytes, logged("set the access list of ", path, std::move(d)), send);
}

// --- transactions ----------------------------------------------------------------------------------------------------

/// Any version will do: others may have set a node's data, to ask its holder for something.
std::vector<transaction::operation> node_operations::claim::checks() const
{
    std::vector<transaction::operation> all;
    for (std::string& node : lock->nodes_of(given))
        all.push_back({transaction::operation::kind::check, std::move(node), {}, {}, any_version, {}});
    return all;
}

/// A transaction, from the call until its answer has come.
struct node_operations::commitment {
    transaction what;
    std::optional<claim> guard;
    std::vector<transaction::operation> checks; ///< of the lock's nodes, as it was sent
};

auto node_operations::logged(const commitment& c, done_function<commit_result> d) const -> done_function<commit_result>
{
    if (!session_.log.on(log_level::debug))
        return d;
    std::string line = "a transaction";
    if (c.guard)
        line.append(" guarded by ").append(c.guard->given.node);
    std::vector<std::string> operations;
    for (const auto& op : c.what.operations())
        operations.push_back(std::string(to_string(op.what)).append(" ").append(op.path).append(": "));
    return [&log = session_.log, line = std::move(line), operations = std::move(operations),
            d = std::move(d)](error_code ec, commit_result result) {
        char why[message_length];
        if (ec)
            log(log_level::debug, line,
                " has failed: ", result.failed ? std::string_view(operations[*result.failed]) : std::string_view(),
                ec.message(why, sizeof why));
        d(ec, std::move(result));
    };
}

auto node_operations::commit(transaction t, done_function<commit_result> d) -> handle
{
    return begin_commit(std::make_shared<commitment>(commitment{std::move(t), std::nullopt, {}}), std::move(d));
}

auto node_operations::commit(transaction t, claim c, done_function<commit_result> d) -> handle
{
    return begin_commit(std::make_shared<commitment>(commitment{std::move(t), std::move(c), {}}), std::move(d));
}

auto node_operations::begin_commit(std::shared_ptr<commitment> c, done_function<commit_result> d) -> handle
{
    using op = node_operation<commit_result>;
    std::size_t bytes = 0;
    if (c->guard && c->guard->lock->held(session_.scheduler.now())) // or it is refused when it would be sent
        for (const auto& check : c->guard->checks())                // there will not be more of them than now
            bytes += size_of(check);
    const auto why_not = check(c->what, bytes);
    bytes += size_of(c->what);
    return begin<commit_result>(op::access::write, why_not, bytes, logged(*c, std::move(d)),
                                [this, c](op& self) { send(c, self); });
}

/// The checks of the lock's nodes go first, so that nothing else can be the reason when the lock is lost.
void node_operations::send(const std::shared_ptr<commitment>& c, node_operation<commit_result>& self)
{
    if (c->guard) {
        session_.lease().notice_lapse(session_.scheduler.now());
        if (!c->guard->lock->held(session_.scheduler.now()))
            return self.fail(errc::lost);
        // It has another node meanwhile, or is about to.
        if (!c->guard->lock->stands_on(c->guard->given))
            return self.fail(errc::not_owner);
    }
    if (c->guard)
        c->checks = c->guard->checks();
    std::vector<store::batch_write> writes;
    writes.reserve(c->checks.size() + c->what.size());
    for (const auto* list : {&std::as_const(c->checks), &c->what.operations()})
        for (const auto& operation : *list)
            writes.push_back(write_of(operation));
    if (writes.empty())
        return self.end(error_code(), {});
    session_.store.batch(
        writes, self.answered([this, c](auto& o, const store::batch_reply& answer) { on_committed(*c, o, answer); }));
}

void node_operations::on_committed(const commitment& c, node_operation<commit_result>& self,
                                   const store::batch_reply& answer)
{
    if (answer.result == outcome::ok)
        return self.end(error_code(), results_of(c.what, answer));
    if (answer.failed >= c.checks.size()) {
        commit_result refused;
        if (answer.failed != store::batch_reply::no_write)
            refused.failed = answer.failed - c.checks.size();
        return self.end(make_error_code(node_error_of(answer.result)), std::move(refused));
    }
    if (answer.result != outcome::no_node)
        return self.end(answer.result, {});
    session_.on_node_event(store::event_kind::deleted, c.checks[answer.failed].path); // its guard hears of it first
    self.fail(errc::lost);
}

} // namespace zklock::recipes
