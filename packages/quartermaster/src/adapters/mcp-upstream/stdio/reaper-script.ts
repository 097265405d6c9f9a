/**
 * What the reaper does, for any POSIX shell. Its arguments are the name of the marking variable and the mark of this run
 * without the child. It hears of process groups on its input (`add 123`, `drop 123`) and ends with `done`; when the input
 * ends without that, the gateway has died, and everything that carries the mark is killed. Where processes do not show
 * their environment the groups have to do.
 *
 * It looks twice with a second between, for a child that was just about to start. What multiplies is killed again and
 * again; what cannot be killed is given up after half a minute.
 */
export const REAPER_SCRIPT = `
trap '' HUP INT QUIT TERM
name=$1
run=$2
groups=
while read -r word id; do
  case $word in
    add) groups="$groups $id" ;;
    drop)
      kept=
      for group in $groups; do [ "$group" = "$id" ] || kept="$kept $group"; done
      groups=$kept ;;
    done) exit 0 ;;
  esac
done
for group in $groups; do kill -9 "-$group" 2>/dev/null; done
[ -r /proc/self/environ ] || exit 0
pattern="^$name=$(printf %s "$run" | sed 's/[.]/[.]/g')[.][0-9][0-9]*\\$"
marked() {
  for file in $(grep -lsF "$name=$run." /proc/[0-9]*/environ 2>/dev/null); do
    tr '\\0' '\\n' 2>/dev/null <"$file" | grep -q "$pattern" || continue
    id=\${file#/proc/}
    echo "\${id%/environ}"
  done
}
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
