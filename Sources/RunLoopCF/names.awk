# From the preprocessed headers of include/CoreFoundation, the list of CF's names and what they are labels of:
#   CF_FUNCTION(CFRunLoopRun, RLRunLoopRun)
#   CF_DATA(kCFRunLoopDefaultMode, kRLRunLoopDefaultMode)
# Only names that the library has (the file given as -v exported=…, from nm) are listed, so a header may come before the
# functions it declares.
BEGIN {
    while ((getline line < exported) > 0)
        has[line] = 1
    RS = ";"
}
{
    gsub(/[ \t\n]+/, " ")
    if (!match($0, /__asm__\( ?"k?RL[A-Za-z0-9]+" ?\)/))
        next
    label = substr($0, RSTART, RLENGTH)
    gsub(/__asm__|[^A-Za-z0-9]/, "", label)
    if (!(label in has))
        next
    declaration = substr($0, 1, RSTART - 1)
    kind = declaration ~ /\(/ ? "FUNCTION" : "DATA"
    sub(/ ?\(.*/, "", declaration)
    sub(/ +$/, "", declaration)
    match(declaration, /[A-Za-z0-9_]+$/)
    printf "CF_%s(%s, %s)\n", kind, substr(declaration, RSTART), label
}
