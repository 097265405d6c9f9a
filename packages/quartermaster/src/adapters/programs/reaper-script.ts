/**
 * What the reaper does, for any POSIX shell. Its arguments are the name of the marking variable and the mark of this run
 * without the child. It hears of process groups on its input (`add 123`, `drop 123`), and of all processes that are known,
 * with their start (`know 123:45 678:90`), and ends with `done`. When the input ends without that, the gateway has died:
 * the groups are killed, what is known and all that descends from it, and everything that carries the mark. Where
 * processes are not shown as files the groups have to do.
 *
 * Who descends from whom is found out before anything is killed: afterwards nobody can tell. Whoever is marked as another
 * gateway's is left alone. A process is killed by its number only if it has the start that goes with it and belongs to this user.
 *
 * It looks twice for the mark with a second between, for a child that was just about to start. What multiplies is killed
 * again and again; what cannot be killed is given up after half a minute.
 */
export const REAPER_SCRIPT = `
trap '' HUP INT QUIT TERM
name=$1
run=$2
groups=
known=
while read -r word rest; do
  case $word in
    add) groups="$groups $rest" ;;
    drop)
      kept=
      for group in $groups; do [ "$group" = "$rest" ] || kept="$kept $group"; done
      groups=$kept ;;
    know) known=$rest ;;
    done) exit 0 ;;
  esac
done
table=$(cat /proc/[0-9]*/stat 2>/dev/null |
  sed -n 's/^\\([0-9]*\\) (.*) . \\([0-9]*\\) \\([0-9-]* \\)\\{17\\}\\([0-9]*\\) .*/\\1:\\4:\\2/p')
others() {
  tr '\\0' '\\n' 2>/dev/null <"/proc/$1/environ" | grep "^$name=" | grep -qv "^$name=\${run%.*}[.]"
}
marked() {
  for file in $(grep -lsF "$name=$run." /proc/[0-9]*/environ 2>/dev/null); do
    tr '\\0' '\\n' 2>/dev/null <"$file" | grep -q "$pattern" || continue
    id=\${file#/proc/}
    echo "\${id%/environ}"
  done
}
pattern="^$name=$(printf %s "$run" | sed 's/[.]/[.]/g')[.][0-9][0-9]*\\$"
for id in $(marked); do
  read -r line <"/proc/$id/stat" || continue
  set -- \${line##*) }
  known="$known $id:\${20}"
done
kin=' '
size=0
while [ $size -lt \${#kin} ]; do
  size=\${#kin}
  for entry in $table; do
    one=\${entry%:*}
    case "$kin| $known " in
      *" $one "*"|"*) ;;
      *"|"*" $one "*) kin="$kin$one " ;;
      *" \${entry##*:}:"*"|"*) others "\${one%:*}" || kin="$kin$one " ;;
    esac
  done
done
for group in $groups; do kill -9 "-$group" 2>/dev/null; done
for one in $kin; do
  id=\${one%:*}
  read -r line <"/proc/$id/stat" || continue
  set -- \${line##*) }
  [ "\${20}" = "\${one#*:}" ] && [ -O "/proc/$id" ] && kill -9 "$id" 2>/dev/null
done
[ -r /proc/self/environ ] || exit 0
looks=0
clean=0
while [ $clean -lt 2 ] && [ $looks -lt 50 ]; do
  looks=$((looks + 1))
  found=$(marked)
  if [ -n "$found" ]; then
    clean=0
    kill -9 $found 2>/dev/null
    [ $looks -lt 20 ] || sleep 1
  else
    clean=$((clean + 1))
    [ $clean -ge 2 ] || sleep 1
  fi
done
`
