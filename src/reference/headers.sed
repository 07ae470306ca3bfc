# What Doxygen reads of the headers: specializations of other libraries' templates become empty lines, for it does not
# know the namespaces that those are in. And each header is said to be documented, or Doxygen would not look at its
# macros and at functions that are in no class.
s/^#pragma once$/\/** @file *\//
s/^template <> struct \(boost\|fmt\|std\)::.*{};$//
/^template <>$/{
    :next
    /{};$/!{
        N
        b next
    }
    s/[^\n]*//g
}
/^template <zklock::detail::named/,/^};$/s/.*//
