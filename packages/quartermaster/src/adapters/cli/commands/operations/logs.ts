import { type Command, InvalidArgumentError, Option } from 'commander'
import type { AuditLine, Control, UpstreamLogLine } from '../../../../contracts/index.ts'
import { addExamples, type Register } from '../../command.ts'
import { CompletingArgument, CompletingOption } from '../../completion/command-line.ts'
import { EXIT, UsageError } from '../../errors.ts'
import {
  cursorOption,
  defined,
  limitOption,
  nextPage,
  organisationOption,
  type Within,
  wholeNumber,
} from '../../options.ts'
import { escapeLine, toJsonText } from '../../output/escape.ts'
import { renderTable } from '../../output/layout.ts'
import { parseDuration } from '../../output/units.ts'
import type { Session } from '../../session.ts'

interface LogsOptions extends Within {
  agent?: string
  tool?: string
  since?: Since
  limit: number
  cursor?: string
  lines?: number
  follow?: boolean
}

/** A time, or how long ago. */
type Since = { readonly at: number } | { readonly msAgo: number }

export const registerLogs: Register = (program, act) => {
  const logs = program
    .command('logs')
    .description('Show the audit: who called what, and how it ended, newest first. With NAME: what that upstream said.')
    .addArgument(
      new CompletingArgument('[NAME]', 'an upstream: its standard error, its log and what happened to it', 'upstream'),
    )
    .addOption(new CompletingOption('--agent <NAME>', 'only what this agent did', 'agent'))
    .addOption(new CompletingOption('--tool <NAME>', 'only calls of this tool', 'tool'))
    .addOption(new Option('--since <TIME>', 'from then on: 2h for two hours ago, or a date').argParser(toSince))
    .addOption(limitOption())
    .addOption(cursorOption())
    .addOption(organisationOption())
    .addOption(
      new Option('--lines <NUMBER>', 'of an upstream: the last so many (default: 100)').argParser(
        wholeNumber(1, MOST_LINES),
      ),
    )
    .option('--follow', 'of an upstream: go on with what it says, until Ctrl-C; with --json an object per line')
    .action((name: string | undefined, options: LogsOptions, command: Command) =>
      act(session => {
        refuseMixture(name, command)
        return name === undefined ? showLogs(session, options) : upstreamLogs(session, { ...options, name })
      }),
    )
  addExamples(logs, [
    ['quartermaster logs', 'the last fifty calls'],
    ['quartermaster logs --agent default --since 2h', 'what one agent did in the last two hours'],
    ['quartermaster logs github --follow', 'what an upstream says, as it says it'],
    ['quartermaster logs --json | jq \'.lines[] | select(.decision == "refused")\'', 'what was refused, for a program'],
  ])
}

const OF_UPSTREAMS = ['lines', 'follow']
const OF_THE_AUDIT = ['agent', 'tool', 'since', 'limit', 'cursor', 'organisation']

/** The two kinds of logs have options of their own, and one that is ignored would mislead. */
function refuseMixture(name: string | undefined, command: Command): void {
  const wrong = (name === undefined ? OF_UPSTREAMS : OF_THE_AUDIT).find(
    key => command.getOptionValueSource(key) === 'cli',
  )
  if (wrong === undefined) return
  throw new UsageError(
    name === undefined
      ? `--${wrong} needs the name of an upstream.`
      : `--${wrong} is about the audit, not about an upstream.`,
  )
}

function toSince(text: string): Since {
  const parsed = parseDuration(text)
  if ('ms' in parsed) return { msAgo: parsed.ms }
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at)) throw new InvalidArgumentError('Write how long ago, such as 30m or 2h, or a date: 2026-07-28.')
  return { at: Math.max(0, at) }
}

async function showLogs(session: Session, { since, ...options }: LogsOptions): Promise<number> {
  const { agent, tool, limit, cursor, organisation } = options
  const from = since && startOf(since, session.host.clock.now())
  const filter = defined({ organisation, agent, tool, limit, cursor, since: from })
  const page = await session.connect(control => session.attend('Looking', options => control.audit(filter, options)))
  if (session.json) await session.printJson(page)
  else if (page.lines.length === 0) await session.notices.write('Nothing was called.\n')
  else {
    await session.out.write(linesText(page.lines, session))
    await session.notices.write(nextPage(page.nextCursor))
  }
  return EXIT.done
}

function startOf(since: Since, now: number): number {
  return 'at' in since ? since.at : Math.max(0, Math.round(now - since.msAgo))
}

function linesText(lines: readonly AuditLine[], { out }: Session): string {
  const columns = [
    { title: 'Time' },
    { title: 'Agent' },
    { title: 'Tool' },
    { title: 'Outcome' },
    { title: 'Took' },
    { title: 'Operation' },
    { title: 'Note', flexible: true },
  ]
  const rows = lines.map(line => ({
    cells: [
      new Date(line.at).toISOString(),
      line.callerName,
      line.tool,
      { text: OUTCOMES[line.outcome].text, style: out.paint[OUTCOMES[line.outcome].style] },
      `${Math.round(line.durationMs)} ms`,
      line.operationId,
      noteText(line),
    ],
  }))
  return renderTable({ columns, rows }, out)
}

/** A line about consent says whose word it is. */
function noteText({ code, consent }: AuditLine): string {
  const whose = consent ? `${[...consent.operations, 'by'].join(' ')} ${consent.by}` : ''
  if (code === null) return whose
  return whose === '' ? code : `${code}: ${whose}`
}

const OUTCOMES = {
  succeeded: { text: 'succeeded', style: 'green' },
  failed: { text: 'failed', style: 'red' },
  unknown: { text: 'unknown', style: 'yellow' },
  notRun: { text: 'not run', style: 'dim' },
} as const satisfies Record<AuditLine['outcome'], object>

interface LogsOf {
  readonly name: string
  readonly lines?: number
  readonly follow?: boolean
}

const USUAL_LINES = 100
/** More lines are not kept of any upstream, so following with this limit misses nothing. */
const MOST_LINES = 10_000
const LOOK_EVERY_MS = 500

/** Shows what an upstream said and what was said about it, and goes on with it where that is asked for. */
async function upstreamLogs(session: Session, { name, lines = USUAL_LINES, follow = false }: LogsOf): Promise<number> {
  session.hints = { upstream: name }
  return session.connect(async control => {
    const read = (limit: number) =>
      session.untilAborted(control.upstreamLogs({ name, limit }, { signal: session.host.signal }))
    const first = await read(follow ? MOST_LINES : lines)
    if (session.json && !follow) await session.printJson(first)
    else await print(session, first.slice(-lines))
    if (follow) await followLines(session, first, () => read(MOST_LINES))
    else if (first.length === 0 && !session.json) await session.notices.write(silence(session))
    return EXIT.done
  })
}

/** The process that runs the server keeps its lines, and a command without `up` runs none for long. */
function silence({ from }: Session): string {
  return from === 'up'
    ? 'It has said nothing.\n'
    : 'Nothing was recorded: lines are kept while "quartermaster up" runs.\n'
}

type Read = () => ReturnType<Control['upstreamLogs']>

/** Until Ctrl-C, which is how this ends and no failure. */
async function followLines(session: Session, shown: readonly UpstreamLogLine[], read: Read): Promise<void> {
  const { host } = session
  for (let place = endOf(shown); !host.signal.aborted; ) {
    await pause(host)
    const all = await read().catch(error => {
      if (host.signal.aborted) return undefined
      throw error
    })
    if (!all) return
    await print(session, after(all, place))
    place = all.length > 0 ? endOf(all) : place
  }
}

function pause({ clock, signal }: Session['host']): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.after(LOOK_EVERY_MS, end)
    signal.addEventListener('abort', end)
  })
}

/** Where the shown lines end: the time of the last, and how many have that time. */
interface End {
  readonly at: number
  readonly count: number
}

function endOf(lines: readonly UpstreamLogLine[]): End {
  const at = lines.at(-1)?.at ?? Number.NEGATIVE_INFINITY
  return { at, count: lines.filter(line => line.at === at).length }
}

function after(lines: readonly UpstreamLogLine[], end: End): UpstreamLogLine[] {
  const atEnd = lines.filter(line => line.at === end.at)
  return [...atEnd.slice(end.count), ...lines.filter(line => line.at > end.at)]
}

async function print({ out, json }: Session, lines: readonly UpstreamLogLine[]): Promise<void> {
  const text = lines.map(line => (json ? toJsonText(line, { pretty: false }) : lineText(line)))
  if (text.length > 0) await out.write(`${text.join('\n')}\n`)
}

function lineText({ at, from, text }: UpstreamLogLine): string {
  return `${new Date(at).toISOString()} ${from.padEnd(7)} ${escapeLine(text)}`
}
