#include "held_registers.hpp"

namespace zklock::simulator {

std::string held_register(unsigned path)
{
    return "/held/" + std::string(1, static_cast<char>('a' + path));
}

held_registers::held_registers(stage& s) : stage_(s)
{
    if (!s.the_plan.set.registers)
        return;
    make("/held");
    for (unsigned p = 0; p < s.the_plan.set.paths; ++p)
        make(held_register(p));
    s.ensemble.on_written.push_back([this](const transaction& t, const znode_tree::effect& e) {
        if (t.what != transaction::kind::set_data || e.result != store::outcome::ok)
            return;
        const auto found = writes_.find(t.data);
        if (found != writes_.end() && found->second.sent)
            executed(*found->second.of, t.data, t.zxid);
    });
}

void held_registers::make(const std::string& path)
{
    stage_.ensemble.administrate({.what = transaction::kind::create, .path = path});
}

void held_registers::say(const hold& h, const std::string& what)
{
    if (stage_.world.log.on())
        stage_.world.log.line(stage_.world.time.now(), "user", h.who.tag + ' ' + what);
}

void held_registers::violate(const hold& h, const std::string& what)
{
    stage_.world.violate(h.who.tag + " on " + path_of(h.who.path) + ": " + what);
}

void held_registers::granted(holder who)
{
    if (!stage_.the_plan.set.registers || !who.believes() || who.excused())
        return;
    auto& h = holds_.emplace_back();
    h.who = std::move(who);
    auto& holds = of_path_[h.who.path];
    h.number = holds.size();
    holds.push_back(&h);
    const auto& known = known_[h.who.path];
    h.must_see = h.who.shares() ? known.of_writers : std::max(known.of_writers, known.of_readers);
    const auto until_release = std::chrono::duration_cast<std::chrono::microseconds>(h.who.hold);
    const auto after = [this, &h](std::chrono::microseconds delay, void (held_registers::*what)(hold&)) {
        (void)h.who.where->where.call_at(h.who.where->where.now() + delay, [this, &h, what] { (this->*what)(h); });
    };
    const auto choice = h.who.choice / 4'096;
    read(h);
    if (choice % 3 == 0)
        after(until_release / 2, &held_registers::read);
    if (h.who.shares())
        return;
    switch (choice / 3 % 8) {
    case 0: write(h); break; // and has the answer before it releases, most often
    case 1: after(until_release / 2, &held_registers::write); break;
    case 2: after(until_release, &held_registers::write); break; // and releases at once
    default: break;                                              // it only reads
    }
}

bool held_registers::may_act(const hold& h) const
{
    const auto& c = *h.who.where;
    return c.session && !c.closing && h.who.believes() && !h.who.excused();
}

void held_registers::read(hold& h)
{
    if (!may_act(h))
        return;
    auto& c = *h.who.where;
    say(h, "reads");
    const auto told = [this, &h, &c](boost::system::error_code ec, const node_content& n) {
        if (!stage_.may_tell(c))
            return;
        say(h, "has read " + (ec ? ec.message() : n.data + ", of " + std::to_string(n.stat.mzxid)));
        if (ec)
            return;
        if (n.stat.mzxid < h.must_see && !h.before_set_back && !h.who.excused() &&
            !stage_.ensemble.answers_from_the_past())
            violate(h, "holds the lock, and does not see what holders before it have seen");
        learn(h, n.stat.mzxid);
    };
    stage_.call(c, [&](recipes::session&) { recipes::nodes::get(*c.session, held_register(h.who.path), told); });
}

void held_registers::write(hold& h)
{
    if (!may_act(h) || h.who.shares())
        return;
    auto& c = *h.who.where;
    const auto data = h.who.tag + '#' + std::to_string(writes_.size());
    writes_.emplace(data, write_under_way{&h});
    h.wrote = true;
    c.store.on_set = [this](const std::string& what) { sent(what); };
    say(h, "writes " + data);
    const auto told = [this, &h, &c, data](boost::system::error_code ec, const node_stat& stat) {
        if (!stage_.may_tell(c))
            return;
        say(h, data + " ends: " + (ec ? ec.message() : std::string("done")));
        if (!ec)
            learn(h, stat.mzxid);
        else if (ec != make_error_code(errc::outcome_unknown))
            h.wrote = false;
    };
    stage_.call(c, [&](recipes::session&) {
        recipes::nodes::set(*c.session, held_register(h.who.path), data, any_version, told);
    });
}

void held_registers::sent(const std::string& data)
{
    const auto found = writes_.find(data);
    if (found == writes_.end())
        return;
    const auto& who = found->second.of->who;
    found->second.sent = who.believes() && !who.shares();
}

void held_registers::set_back()
{
    known_.clear();
    of_path_.clear();
    for (auto& h : holds_)
        h.before_set_back = true;
}

void held_registers::let_go(std::string_view uuid)
{
    for (const auto& h : holds_)
        if (h.wrote && uuid_in(h.who.node) == uuid)
            violate(h, "is let go by a certificate, though its holder wrote");
}

/// Whoever hears of something under the lock may tell it to whom it likes: the next holder can know of it.
void held_registers::learn(const hold& h, zxid seen)
{
    if (!h.who.believes() || h.who.excused() || h.before_set_back)
        return;
    auto& known = known_[h.who.path];
    auto& of_its_kind = h.who.shares() ? known.of_readers : known.of_writers;
    of_its_kind = std::max(of_its_kind, seen);
}

void held_registers::executed(const hold& h, const std::string& data, zxid when)
{
    if (h.who.excused() || h.before_set_back)
        return;
    const auto& holds = of_path_[h.who.path];
    for (auto later = h.number + 1; later < holds.size(); ++later) {
        // What one client sends comes in its order: it may give the lock to the next of its own before the answer.
        if (holds[later]->who.where != h.who.where)
            return violate(h, data + " is written after " + holds[later]->who.tag + " had the lock");
    }
    learn(h, when);
}

} // namespace zklock::simulator
