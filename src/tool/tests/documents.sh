# The manual and the completion know all subcommands and options that the program has; and what the manual says is well
# formed. Usage: bash documents.sh ZKLOCK FOLDER, with zklock.1 and completion.bash in the folder.
set -u
zklock=$1
folder=$2
failures=0
fail() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}

# complete_words WORD...: what the completion offers for the last of them.
complete_words() {
    COMP_WORDS=(zklock "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _zklock
    printf '%s\n' "${COMPREPLY[@]}"
}
# expect TEXT WORD...: that is among them.
expect() {
    local text=$1
    shift
    complete_words "$@" | grep -qxF -- "$text" || fail "completing 'zklock $*' does not offer $text"
}

manual=$(<"$folder/zklock.1")
source "$folder/completion.bash"
subcommands=$("$zklock" --help | sed -n '/^Subcommands:/,$p' | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')
[[ $(wc -w <<<"$subcommands") == 7 ]] || fail "seven subcommands expected, not: $subcommands"
for sub in $subcommands; do
    grep -Eq "^\.It Cm $sub( |\$)" <<<"$manual" || fail "the manual does not describe $sub"
    expect "$sub" ''
    for option in $("$zklock" "$sub" --help | grep -Eo '(^|[ ,])--?[a-zA-Z][a-z-]*' | tr -d ' ,' | sort -u); do
        case $option in
            --*)
                grep -qF -- "Fl Fl ${option#--}" <<<"$manual" || fail "the manual does not describe $option of $sub"
                expect "$option" "$sub" --
                ;;
            *) grep -Eq -- "^\.It Fl ${option#-} " <<<"$manual" || fail "the manual does not describe $option of $sub" ;;
        esac
    done
done
for status in 120 121 122 123 124 125 126 127; do
    grep -Eq "^\.It $status\$" <<<"$manual" || fail "the manual does not describe the status $status"
done

expect creator run --acl c
expect grep run /path gre
expect grep run -n -w 5 /path -- gre
[[ ! $(complete_words ls /path gre) ]] || fail "ls takes no command"

if type groff >/dev/null 2>&1; then
    warnings=$(groff -mdoc -Tutf8 -ww "$folder/zklock.1" 2>&1 >/dev/null)
    [[ ! $warnings ]] || fail "groff says: $warnings"
    groff -mdoc -Tutf8 "$folder/zklock.1" | grep -q 'locks in ZooKeeper from the command line' || fail "the manual has no name"
fi
exit $((failures > 0))
