# What Doxygen reads of the headers: specializations of other libraries' templates become empty lines, for it does not
# know the namespaces that those are in.
s/^template <> struct \(boost\|fmt\|std\)::.*{};$//
/^template <>$/{
    :next
    /{};$/!{
        N
        b next
    }
    s/[^\n]*//g
}
