# length.sh DOCUMENT WORDS: fails if the document has more words than that.
words=$(LC_ALL=C.UTF-8 wc -w <"$1") || exit 1
[ "$words" -le "$2" ] && exit
echo "$1 has $words words; it may have $2" >&2
exit 1
