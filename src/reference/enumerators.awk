# Fails, naming them, if enumerators in Doxygen's XML are not documented.
/<enumvalue / { inside = 1; said = 0; name = "" }
inside && /<para>/ { said = 1 }
inside && /<name>/ && name == "" { name = $0; gsub(/.*<name>|<\/name>.*/, "", name) }
/<\/enumvalue>/ {
    inside = 0
    if (!said)
        silent[++count] = name
}
/<location / && count {
    file = $0
    gsub(/.* file="|".*/, "", file)
    for (i = 1; i <= count; i++)
        print file ": enumerator " silent[i] " is not documented" > "/dev/stderr"
    failed = 1
    count = 0
}
END { exit failed }
