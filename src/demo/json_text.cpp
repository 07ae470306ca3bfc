#include "json_text.hpp"

#include <boost/json/serialize.hpp>
#include <boost/nowide/utf/convert.hpp>

#include <utility>

namespace demo {

namespace json = boost::json;

namespace {

// String by string: of the whole text, an incomplete sequence at the end of a string would take the quote with it.
void make_utf8(json::value& v)
{
    if (json::string* text = v.if_string()) {
        *text = boost::nowide::utf::convert_string<char>(text->data(), text->data() + text->size());
    } else if (json::array* all = v.if_array()) {
        for (json::value& element : *all) {
            make_utf8(element);
        }
    } else if (json::object* members = v.if_object()) {
        for (auto& member : *members) {
            make_utf8(member.value());
        }
    }
}

} // namespace

std::string json_text(json::value v)
{
    make_utf8(v);
    return json::serialize(v);
}

} // namespace demo
