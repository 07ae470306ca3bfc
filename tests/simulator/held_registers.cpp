#include "held_registers.hpp"

#include "zklock/errc.hpp"

#include <algorithm>

namespace zklock::simulator {

std::string held_register(unsigned path) { return "/held/" + std::string(1, static_cast<char>('a' + path)); }

held_registers::held_registers(stage& s) : stage_(s)
{
    if (!s.the_plan.set.registers) return;
    make("/held");
    for (unsigned p = 0; p < s.the_plan.set.paths; ++p) make(held_register(p));
    s.ensemble.on_written.push_back([this](const transaction& t, const znode_tree::effect& e) {
        if (t.what != transaction::kind::set_data || e.result != store::outcome::ok) return;
        const auto found = writes_.find(t.data);
        if (found != writes_.end() && found->second.sent) executed(*found->second.of, t.data, t.zxid);
    });
}

void held_registers::make(const std::string& path)
{
    transaction t;
    t.path = path;
    stage_.ensemble.administrate(std::move(t));
}

void held_registers::say(const turn& t, const std::string& what)
{
    if (stage_.world.log.on()) stage_.world.log.line(stage_.world.time.now(), "user", t.who.tag + ' ' + what);
}

void held_registers::violate(const turn& t, const std::string& what)
{
    stage_.world.violate(t.who.tag + " on " + path_of(t.who.path) + ": " + what);
}

void held_registers::granted(holder h)
{
    if (!stage_.the_plan.set.registers || !h.believes() || h.excused()) return;
    auto& t = turns_.emplace_back();
    t.who = std::move(h);
    auto& turns = of_path_[t.who.path];
    t.number = turns.size();
    turns.push_back(&t);
    const auto& known = known_[t.who.path];
    t.must_see = t.who.shares() ? known.of_writers : std::max(known.of_writers, known.of_readers);
    const auto hold = std::chrono::duration_cast<std::chrono::microseconds>(t.who.hold);
    const auto after = [this, &t](std::chrono::microseconds delay, void (held_registers::*what)(turn&)) {
        (void)t.who.where->where.call_at(t.who.where->where.now() + delay, [this, &t, what] { (this->*what)(t); });
    };
    const auto choice = t.who.choice / 4'096;
    read(t);
    if (choice % 3 == 0) after(hold / 2, &held_registers::read);
    if (t.who.shares()) return;
    switch (choice / 3 % 8) {
    case 0: write(t); break;                                // and has the answer before it releases, most often
    case 1: after(hold / 2, &held_registers::write); break;
    case 2: after(hold, &held_registers::write); break;     // and releases at once
    default: break;                                         // it only reads
    }
}

bool held_registers::may_act(const turn& t) const
{
    const auto& c = *t.who.where;
    return c.session && !c.closing && t.who.believes() && !t.who.excused();
}

void held_registers::read(turn& t)
{
    if (!may_act(t)) return;
    auto& c = *t.who.where;
    say(t, "reads");
    const auto told = [this, &t, &c](boost::system::error_code ec, const node_content& n) {
        if (!stage_.may_tell(c)) return;
        say(t, "has read " + (ec ? ec.message() : n.data + ", of " + std::to_string(n.stat.mzxid)));
        if (ec) return;
        if (n.stat.mzxid < t.must_see && !t.who.excused() && !stage_.ensemble.answers_from_the_past())
            violate(t, "holds the lock, and does not see what holders before it have seen");
        learn(t, n.stat.mzxid);
    };
    stage_.call(c, [&](recipes::session&) { c.operations->get(held_register(t.who.path), told); });
}

void held_registers::write(turn& t)
{
    if (!may_act(t) || t.who.shares()) return;
    auto& c = *t.who.where;
    const auto data = t.who.tag + '#' + std::to_string(writes_.size());
    writes_.emplace(data, write_under_way{&t});
    t.wrote = true;
    c.store.on_set = [this](const std::string& what) { sent(what); };
    say(t, "writes " + data);
    const auto told = [this, &t, &c, data](boost::system::error_code ec, const node_stat& stat) {
        if (!stage_.may_tell(c)) return;
        say(t, data + " ends: " + (ec ? ec.message() : std::string("done")));
        if (!ec) learn(t, stat.mzxid);
        else if (ec != make_error_code(errc::outcome_unknown)) t.wrote = false;
    };
    stage_.call(c, [&](recipes::session&) { c.operations->set(held_register(t.who.path), data, any_version, told); });
}

void held_registers::sent(const std::string& data)
{
    const auto found = writes_.find(data);
    if (found == writes_.end()) return;
    const auto& who = found->second.of->who;
    found->second.sent = who.believes() && !who.shares();
}

void held_registers::let_go(std::string_view uuid)
{
    for (const auto& t : turns_)
        if (t.wrote && uuid_in(t.who.node) == uuid) violate(t, "is let go by a certificate, though its holder wrote");
}

/// Whoever hears of something under the lock may tell it to whom it likes: the next holder can know of it.
void held_registers::learn(const turn& t, zxid seen)
{
    if (!t.who.believes() || t.who.excused()) return;
    auto& known = known_[t.who.path];
    auto& of_its_kind = t.who.shares() ? known.of_readers : known.of_writers;
    of_its_kind = std::max(of_its_kind, seen);
}

void held_registers::executed(const turn& t, const std::string& data, zxid when)
{
    if (t.who.excused()) return;
    const auto& turns = of_path_[t.who.path];
    for (auto later = t.number + 1; later < turns.size(); ++later) {
        // What one client sends comes in its order: it may give the lock to the next of its own before the answer.
        if (turns[later]->who.where != t.who.where)
            return violate(t, data + " is written after " + turns[later]->who.tag + " had the lock");
    }
    learn(t, when);
}

} // namespace zklock::simulator
