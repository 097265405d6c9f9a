import { type ChildProcess, spawn } from 'node:child_process'
import type { Clock } from '../../core/kernel/index.ts'
import { wait } from './child.ts'
import { MARK } from './marked-processes.ts'

interface ReaperOptions {
  /** The mark of this run's children, without the child. */
  readonly run: string
  readonly clock: Clock
  /** Called once if no reaper can be started. */
  onMissing(error: Error): void
}

/** A process that outlives us and ends what we started, should we end without doing it ourselves. */
interface Reaper {
  /** Starts it unless it runs. To be called before a child is started. */
  ensure(): void
  /** A process group that is ours from now on. */
  add(group: number): void
  /** A group of which nothing is left. */
  drop(group: number): void
  /** All processes that are ours from now on, whatever their groups, with their starts: `123:45 678:90`. */
  know(processes: string): void
  pid(): number | undefined
  /** Sends it home: there is nothing left to do. */
  close(): Promise<void>
}

/** A reaper that dies younger is restarted only with the next child: something kills it, or there is no shell. */
const GROWN_UP_MS = 1_000
/** It only has to end. One that was stopped by a signal, or gets no processor, must not keep us. */
const HOME_MS = 2_000

export function createReaper({ run, clock, onMissing }: ReaperOptions): Reaper {
  const groups = new Set<number>()
  let known = ''
  let current: ChildProcess | undefined
  let isMissing = process.platform === 'win32'
  let isClosed = false

  function ensure(): void {
    if (current || isMissing || isClosed) return
    const begun = clock.now()
    const reaper = launch(run)
    current = reaper
    reaper.once('error', error => {
      isMissing = true
      current = undefined
      onMissing(error)
    })
    reaper.once('exit', () => {
      if (current !== reaper) return
      current = undefined
      if (groups.size > 0 && clock.now() - begun >= GROWN_UP_MS) ensure()
    })
    for (const group of groups) tell(`add ${group}`)
    tell(`know ${known}`)
  }

  function tell(line: string): void {
    current?.stdin?.write(`${line}\n`)
  }

  return {
    ensure,
    add(group) {
      groups.add(group)
      tell(`add ${group}`)
    },
    drop(group) {
      if (groups.delete(group)) tell(`drop ${group}`)
    },
    know(processes) {
      known = processes
      tell(`know ${known}`)
    },
    pid: () => current?.pid,
    async close() {
      isClosed = true
      const reaper = current
      if (!reaper) return
      const ended = new Promise<void>(resolve => {
        reaper.once('exit', () => resolve())
      })
      // It did not keep us alive so far; now it is waited for.
      reaper.ref()
      reaper.stdin?.end('done\n')
      await wait(HOME_MS, ended)
      if (reaper.exitCode === null && reaper.signalCode === null) reaper.kill('SIGKILL')
      await ended
    },
  }
}

/** In a session of its own, so that no Ctrl-C reaches it; with nothing of ours open but the pipe. */
function launch(run: string): ChildProcess {
  const reaper = spawn('sh', ['-c', REAPER_SCRIPT, 'quartermaster-reaper', MARK, run], {
    cwd: '/',
    // A process that ends us by descent must leave it alone: it ends what we have started.
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', [MARK]: 'none' },
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  reaper.unref()
  // It is told of groups as a courtesy; when it is gone, its exit says so.
  reaper.stdin?.on('error', () => {})
  // A pipe is a socket, which the types do not know. It must not keep us alive.
  if (reaper.stdin && 'unref' in reaper.stdin && typeof reaper.stdin.unref === 'function') reaper.stdin.unref()
  return reaper
}

/**
 * What the reaper does, for any POSIX shell. Its arguments are the name of the marking variable and the mark of this run
 * without the child. It hears of process groups on its input (`add 123`, `drop 123`), and of all processes that are known,
 * with their start (`know 123:45 678:90`), and ends with `done`. When the input ends without that, the gateway has died:
 * the groups are killed, what is known and all that descends from it, and everything that carries the mark. Where
 * processes are not shown as files the groups have to do.
 *
 * Descent is read before anything is killed: afterwards it cannot be known. A process with the mark of another gateway is left
 * alone. A process is killed by its number only if it has the start that goes with it and belongs to this user.
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
