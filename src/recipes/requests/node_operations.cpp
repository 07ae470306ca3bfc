#include "recipes/requests/node_operations.hpp"

#include "recipes/session/option_faults.hpp"
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
    return {op.what, op.path, op.data, op.created, op.version, op.access ? &*op.access : nullptr};
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

/// What the user calls is told the end; `send` makes the request.
template <class... Values, class Send>
auto node_operations::begin(bool writes, std::optional<errc> why_not, std::size_t bytes, done_function<Values...> d,
                            Send send) -> handle
{
    auto op = std::make_shared<node_operation<Values...>>(session_, writes, bytes, std::move(d), std::move(send));
    return session_.requests().begin(std::move(op), why_not);
}

template <class... Values, class Send>
auto node_operations::read(const std::string& path, done_function<Values...> d, Send send) -> handle
{
    return begin(false, why_not_sent(session_, path, fault_to_use(path), 0), 0, std::move(d), std::move(send));
}

/// A user who starts a write may not look how it has ended: gcc cannot warn of a result of `co_await` that nobody
/// takes. So the log has what has failed.
template <class... Values, class Send>
auto node_operations::write(std::string_view what, const std::string& path, std::optional<errc> why_not,
                            std::size_t bytes, done_function<Values...> d, Send send) -> handle
{
    if (session_.log.on(log_level::debug))
        d = [&log = session_.log, line = std::string(what).append(path), d = std::move(d)](error_code ec, Values... v) {
            char why[message_length];
            if (ec)
                log(log_level::debug, line, " has failed: ", ec.message(why, sizeof why));
            d(ec, std::move(v)...);
        };
    return begin(true, why_not, bytes, std::move(d), std::move(send));
}

// --- single operations -----------------------------------------------------------------------------------------------

auto node_operations::create(const std::string& path, const std::string& data, node_kind kind,
                             const std::optional<access_list>& access, done_function<std::string> d) -> handle
{
    const std::size_t bytes = data.size() + (access ? store::size_of(*access) : 0);
    auto why_not = why_not_sent(session_, path, fault_to_create(path, kind), data.size() + size_of(access));
    if (!why_not)
        why_not = check(path, access);
    const auto send = [this, path, data, kind, access](auto& self) {
        const auto path_of = [&](const store::create_reply& answer) { // the operation keeps what is referred to
            log_refusal(session_, path, access, answer.result);
            return std::string(answer.path);
        };
        session_.store.create(path, data, kind, access ? &*access : nullptr, self.ends_with(path_of));
    };
    return write("create ", path, why_not, bytes, std::move(d), send);
}

auto node_operations::get(const std::string& path, done_function<node_content> d) -> handle
{
    return read(path, std::move(d), [this, path](auto& self) {
        session_.store.get(path, false, self.ends_with([](const store::get_reply& answer) {
            node_content found;
            found.data = answer.data;
            found.stat = answer.stat;
            return found;
        }));
    });
}

auto node_operations::set(const std::string& path, const std::string& data, std::int32_t version,
                          done_function<node_stat> d) -> handle
{
    const auto send = [this, path, data, version](auto& self) {
        session_.store.set(path, data, version, self.ends_with(&store::stat_reply::stat));
    };
    return write("set ", path, why_not_sent(session_, path, fault_to_use(path), data.size()), data.size(), std::move(d),
                 send);
}

auto node_operations::remove(const std::string& path, std::int32_t version, done_function<> d) -> handle
{
    const auto send = [this, path, version](auto& self) { session_.store.remove(path, version, self.ends_with()); };
    return write("remove ", path, why_not_sent(session_, path, queue::find_node_path_fault(path), 0), 0, std::move(d),
                 send);
}

auto node_operations::children(const std::string& path, done_function<std::vector<std::string>> d) -> handle
{
    return read(path, std::move(d), [this, path](auto& self) {
        const auto take = [&self](const store::children_reply& answer) {
            self.end(answer.result, answer.names ? *answer.names : std::vector<std::string>());
        };
        session_.store.children(path, false, self.answered(take, request_line::weight_of_list));
    });
}

auto node_operations::exists(const std::string& path, done_function<std::optional<node_stat>> d) -> handle
{
    return read(path, std::move(d), [this, path](auto& self) {
        session_.store.exists(path, false, self.answered([&self](const store::stat_reply& answer) {
            if (answer.result == outcome::no_node)
                self.end(error_code(), std::nullopt);
            else
                self.end(answer.result, answer.stat);
        }));
    });
}

auto node_operations::get_acl(const std::string& path, done_function<node_access> d) -> handle
{
    return read(path, std::move(d), [this, path](auto& self) {
        session_.store.get_acl(path, self.ends_with([](const store::access_reply& answer) {
            node_access found;
            if (answer.access)
                found.list = *answer.access;
            found.stat = answer.stat;
            return found;
        }));
    });
}

auto node_operations::set_acl(const std::string& path, const access_list& access, std::int32_t acl_version,
                              done_function<> d) -> handle
{
    const std::size_t bytes = store::size_of(access);
    auto why_not = why_not_sent(session_, path, fault_to_use(path), bytes);
    if (!why_not)
        why_not = check(path, access);
    const auto send = [this, path, access, acl_version](auto& self) {
        session_.store.set_acl(path, access, acl_version, self.answered([&](const store::reply& answer) {
            log_refusal(session_, path, access, answer.result);
            self.end(answer.result);
        }));
    };
    return write("set the access list of ", path, why_not, bytes, std::move(d), send);
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

/// Has the log told which operation has failed, and which the servers refuse for what it may not do, or for its list.
auto node_operations::logged(const std::shared_ptr<commitment>& c, done_function<commit_result> d) const
    -> done_function<commit_result>
{
    if (!session_.log.on(log_level::error))
        return d;
    return [&s = session_, c, d = std::move(d)](error_code ec, commit_result result) {
        const auto* const op = result.failed ? &c->what.operations()[*result.failed] : nullptr;
        const std::string which = op ? std::string(to_string(op->what)) + ' ' + op->path : std::string();
        char why[message_length];
        if (ec)
            s.log(log_level::debug, "a transaction", c->guard ? " guarded by " + c->guard->given.node : std::string(),
                  " has failed: ", which, op ? ": " : "", ec.message(why, sizeof why));
        if (op && ec == errc::invalid_option)
            log_refusal(s, op->path, op->access, outcome::invalid_acl);
        else if (ec == errc::access_denied)
            s.log(log_level::warning, "access denied by the servers: ", which, op ? ", in " : "", "a transaction");
        d(ec, std::move(result));
    };
}

auto node_operations::commit(transaction t, std::optional<claim> guard, done_function<commit_result> d) -> handle
{
    const auto c = std::make_shared<commitment>(commitment{std::move(t), std::move(guard), {}});
    std::size_t bytes = 0;
    if (c->guard && c->guard->lock->held(session_.scheduler.now())) // or it is refused when it would be sent
        for (const auto& check : c->guard->checks())                // there will not be more of them than now
            bytes += size_of(check);
    const auto why_not = check(c->what, bytes);
    bytes += size_of(c->what);
    return begin(true, why_not, bytes, logged(c, std::move(d)), [this, c](auto& self) { send(c, self); });
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
        writes, self.answered([this, c, &self](const store::batch_reply& answer) { on_committed(*c, self, answer); }));
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
