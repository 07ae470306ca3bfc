#include "recipes/requests/node_operations.hpp"

#include "recipes/session/option_faults.hpp"
#include "recipes/session/request_for.hpp"

#include <string_view>
#include <utility>

namespace zklock::recipes {

using queue::path_fault;
using store::outcome;

namespace {

/// What a request has besides paths, data and access lists, and at most: headers, lengths, numbers.
constexpr std::size_t frame_of_a_request = 64;
constexpr std::size_t frame_of_an_operation = 64;

errc too_long(session& s, std::size_t bytes)
{
    s.log(log_level::error, "a request of ", static_cast<std::int64_t>(bytes), " bytes is refused: the servers take ",
          static_cast<std::int64_t>(store::largest_request), ", unless their jute.maxbuffer says otherwise");
    return errc::invalid_option;
}

/// A number follows a sequential node's path, and its last component may be empty.
path_fault fault_to_create(const std::string& path, node_kind kind)
{
    return queue::find_node_path_fault(store::is_sequential(kind) ? path + '0' : path);
}

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

path_fault fault_to_use(const std::string& path)
{
    return path == "/" ? std::nullopt : queue::find_node_path_fault(path);
}

std::optional<errc> why_not_sent(session& s, const std::string& path, path_fault fault, std::size_t bytes)
{
    if (s.over())
        return s.over();
    const std::size_t all = s.options.chroot.size() + path.size() + bytes + frame_of_a_request + frame_of_an_operation;
    if (all > store::largest_request)
        return too_long(s, all);
    return fault ? std::optional(report_path_fault(s, path, *fault)) : std::nullopt;
}

namespace nodes {
namespace {

std::optional<errc> check(session& s, const std::string& path, const std::optional<access_list>& access)
{
    const auto fault = find_fault(access, s.options);
    return fault ? std::optional(report_fault(s, path, *fault)) : std::nullopt;
}

std::size_t size_of(session& s, const std::optional<access_list>& access)
{
    return store::size_of(access ? *access : s.options.access);
}

std::size_t size_of(session& s, const transaction::operation& op)
{
    const std::size_t access = op.what == transaction::operation::kind::create ? size_of(s, op.access) : 0;
    return s.options.chroot.size() + op.path.size() + op.data.size() + access + frame_of_an_operation;
}

std::size_t size_of(session& s, const transaction& t)
{
    std::size_t bytes = 0;
    for (const auto& op : t.operations())
        bytes += size_of(s, op);
    return bytes;
}

path_fault fault_of(const transaction::operation& op)
{
    using kind = transaction::operation::kind;
    if (op.what == kind::create)
        return fault_to_create(op.path, op.created);
    return op.what == kind::remove ? queue::find_node_path_fault(op.path) : fault_to_use(op.path);
}

std::optional<errc> check(session& s, const transaction& t, std::size_t bytes)
{
    if (s.over())
        return s.over();
    if (bytes + frame_of_a_request > store::largest_request)
        return too_long(s, bytes + frame_of_a_request);
    for (const auto& op : t.operations()) {
        if (const auto fault = fault_of(op))
            return report_path_fault(s, op.path, *fault);
        if (const auto why = check(s, op.path, op.access))
            return why;
        // The C client cannot ask for a container among other operations.
        if (op.what == transaction::operation::kind::create && op.created == node_kind::container)
            return report_fault(
                s, op.path,
                {"the node's kind", "node_kind::container", "another one: the C client creates none in a transaction"});
        bytes += size_of(s, op);
        if (bytes + frame_of_a_request > store::largest_request)
            return too_long(s, bytes + frame_of_a_request);
    }
    return std::nullopt;
}

/// One operation of a user's own on the nodes: one request to the servers.
template <class... Values> class node_operation final : public request_for<Values...> {
public:
    using typename request_for<Values...>::done_function;
    using sender = std::function<void(node_operation&)>;

    /// A write is not repeated, unless it is certain that it was not done. `bytes`: the length of what it writes.
    node_operation(session& own, bool writes, std::size_t bytes, done_function d, sender s)
        : request_for<Values...>(own, writes ? if_lost::unknown : if_lost::asked_again, std::move(d), bytes),
          writes_(writes), send_(std::move(s))
    {
        if (writes_)
            this->writes();
    }

    // --- for the sender ----------------------------------------------------------------------------------------------

    /// Wraps what takes the answer.
    template <class F> [[nodiscard]] auto answered(F f, std::size_t weight = 1)
    {
        const auto take = [this, f = std::move(f)](const auto& answer) {
            if (writes_ && answer.result == store::outcome::ok)
                this->session_.wrote(answer);
            f(answer);
        };
        return request_for<Values...>::answered(take, weight);
    }
    /// Takes the answer, which ends it; with what `value` makes of the answer, if that is a value.
    template <class... F> [[nodiscard]] auto ends_with(F... value)
    {
        return answered(
            [this, value...](const auto& answer) { this->end(answer.result, std::invoke(value, answer)...); });
    }

    using request_for<Values...>::end;
    /// Ends it by an answer of the server's.
    void end(store::outcome result, Values... values)
    {
        if (result == store::outcome::ok)
            end(error_code(), std::move(values)...);
        else
            this->fail(node_error_of(result));
    }

private:
    void send() override { send_(*this); }
    [[nodiscard]] bool reads() const noexcept override { return !writes_; }

    const bool writes_;
    const sender send_;
};

/// What the user calls is told the end; `send` makes the request.
template <class... Values, class Send>
handle begin(session& s, bool writes, std::optional<errc> why_not, std::size_t bytes, done_function<Values...> d,
             Send send)
{
    auto op = std::make_shared<node_operation<Values...>>(s, writes, bytes, std::move(d), std::move(send));
    return s.requests().begin(std::move(op), why_not);
}

template <class... Values, class Send>
handle read(session& s, const std::string& path, done_function<Values...> d, Send send)
{
    return begin(s, false, why_not_sent(s, path, fault_to_use(path), 0), 0, std::move(d), std::move(send));
}

/// A user who starts a write may not look how it has ended: gcc cannot warn of a result of `co_await` that nobody
/// takes. So the log has what has failed.
template <class... Values, class Send>
handle write(session& s, std::string_view what, const std::string& path, std::optional<errc> why_not, std::size_t bytes,
             done_function<Values...> d, Send send)
{
    if (s.log.on(log_level::debug))
        d = [&log = s.log, line = std::string(what).append(path), d = std::move(d)](error_code ec, Values... v) {
            char why[message_length];
            if (ec)
                log(log_level::debug, line, " has failed: ", ec.message(why, sizeof why));
            d(ec, std::move(v)...);
        };
    return begin(s, true, why_not, bytes, std::move(d), std::move(send));
}

} // namespace

// --- single operations -----------------------------------------------------------------------------------------------

handle create(session& s, const std::string& path, const std::string& data, node_kind kind,
              const std::optional<access_list>& access, done_function<std::string> d)
{
    const std::size_t bytes = data.size() + (access ? store::size_of(*access) : 0);
    auto why_not = why_not_sent(s, path, fault_to_create(path, kind), data.size() + size_of(s, access));
    if (!why_not)
        why_not = check(s, path, access);
    const auto send = [&s, path, data, kind, access](auto& self) {
        const auto path_of = [&](const store::create_reply& answer) { // the operation keeps what is referred to
            log_refusal(s, path, access, answer.result);
            return std::string(answer.path);
        };
        s.store.create(path, data, kind, access ? &*access : nullptr, self.ends_with(path_of));
    };
    return write(s, "create ", path, why_not, bytes, std::move(d), send);
}

handle get(session& s, const std::string& path, done_function<node_content> d)
{
    return read(s, path, std::move(d), [&s, path](auto& self) {
        s.store.get(path, false, self.ends_with([](const store::get_reply& answer) {
            node_content found;
            found.data = answer.data;
            found.stat = answer.stat;
            return found;
        }));
    });
}

handle set(session& s, const std::string& path, const std::string& data, std::int32_t version,
           done_function<node_stat> d)
{
    const auto send = [&s, path, data, version](auto& self) {
        s.store.set(path, data, version, self.ends_with(&store::stat_reply::stat));
    };
    return write(s, "set ", path, why_not_sent(s, path, fault_to_use(path), data.size()), data.size(), std::move(d),
                 send);
}

handle remove(session& s, const std::string& path, std::int32_t version, done_function<> d)
{
    const auto send = [&s, path, version](auto& self) { s.store.remove(path, version, self.ends_with()); };
    return write(s, "remove ", path, why_not_sent(s, path, queue::find_node_path_fault(path), 0), 0, std::move(d),
                 send);
}

handle children(session& s, const std::string& path, done_function<std::vector<std::string>> d)
{
    return read(s, path, std::move(d), [&s, path](auto& self) {
        const auto take = [&self](const store::children_reply& answer) { self.end(answer.result, *answer.names); };
        s.store.children(path, false, self.answered(take, request_line::weight_of_list));
    });
}

handle exists(session& s, const std::string& path, done_function<std::optional<node_stat>> d)
{
    return read(s, path, std::move(d), [&s, path](auto& self) {
        s.store.exists(path, false, self.answered([&self](const store::stat_reply& answer) {
            if (answer.result == outcome::no_node)
                self.end(error_code(), std::nullopt);
            else
                self.end(answer.result, answer.stat);
        }));
    });
}

handle get_acl(session& s, const std::string& path, done_function<node_access> d)
{
    return read(s, path, std::move(d), [&s, path](auto& self) {
        s.store.get_acl(path, self.ends_with([](const store::access_reply& answer) {
            node_access found;
            if (answer.access)
                found.list = *answer.access;
            found.stat = answer.stat;
            return found;
        }));
    });
}

handle set_acl(session& s, const std::string& path, const access_list& access, std::int32_t acl_version,
               done_function<> d)
{
    const std::size_t bytes = store::size_of(access);
    auto why_not = why_not_sent(s, path, fault_to_use(path), bytes);
    if (!why_not)
        why_not = check(s, path, access);
    const auto send = [&s, path, access, acl_version](auto& self) {
        s.store.set_acl(path, access, acl_version, self.answered([&](const store::reply& answer) {
            log_refusal(s, path, access, answer.result);
            self.end(answer.result);
        }));
    };
    return write(s, "set the access list of ", path, why_not, bytes, std::move(d), send);
}

// --- transactions ----------------------------------------------------------------------------------------------------

/// Any version will do: others may have set a node's data, to ask its holder for something.
std::vector<transaction::operation> claim::checks() const
{
    std::vector<transaction::operation> all;
    for (std::string& node : lock->nodes_of(given))
        all.push_back({transaction::operation::kind::check, std::move(node), {}, {}, any_version, {}});
    return all;
}

namespace {

/// A transaction, from the call until its answer has come.
struct commitment {
    transaction what;
    std::optional<claim> guard;
    std::vector<transaction::operation> checks; ///< of the lock's nodes, as it was sent
};

/// Has the log told which operation has failed, and which the servers refuse for what it may not do, or for its list.
done_function<commit_result> logged(session& s, const std::shared_ptr<commitment>& c, done_function<commit_result> d)
{
    if (!s.log.on(log_level::error))
        return d;
    return [&s, c, d = std::move(d)](error_code ec, commit_result result) {
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

void on_committed(session& s, const commitment& c, node_operation<commit_result>& self,
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
    s.found_gone(c.checks[answer.failed].path); // its guard hears of it first
    self.fail(errc::lost);
}

/// The checks of the lock's nodes go first, so that nothing else can be the reason when the lock is lost.
void send(session& s, const std::shared_ptr<commitment>& c, node_operation<commit_result>& self)
{
    if (c->guard) {
        s.lease().notice_lapse(s.scheduler.now());
        if (!c->guard->lock->held(s.scheduler.now()))
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
    s.store.batch(
        writes, self.answered([&s, c, &self](const store::batch_reply& answer) { on_committed(s, *c, self, answer); }));
}

} // namespace

handle commit(session& s, transaction t, std::optional<claim> guard, done_function<commit_result> d)
{
    const auto c = std::make_shared<commitment>(commitment{std::move(t), std::move(guard), {}});
    std::size_t bytes = 0;
    if (c->guard && c->guard->lock->held(s.scheduler.now())) // or it is refused when it would be sent
        for (const auto& check : c->guard->checks())         // there will not be more of them than now
            bytes += size_of(s, check);
    const auto why_not = check(s, c->what, bytes);
    bytes += size_of(s, c->what);
    return begin(s, true, why_not, bytes, logged(s, c, std::move(d)), [&s, c](auto& self) { send(s, c, self); });
}

} // namespace nodes
} // namespace zklock::recipes
