#include "order_json.hpp"

namespace demo {

boost::json::value as_json(const order_row& order)
{
    boost::json::object o{{"buyer", order.buyer},
                          {"server", order.server},
                          {"stock_read", order.stock_read},
                          {"waited_ms", order.waited_ms}};
    if (order.id) {
        o["order"] = order.id;
    }
    if (order.token) {
        o["token"] = *order.token;
    }
    if (order.session) {
        o["session"] = *order.session;
    }
    return o;
}

} // namespace demo
