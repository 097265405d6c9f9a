import { type Command, InvalidArgumentError, Option } from 'commander'
import type { AuditLine, Control, UpstreamLogLine } from '../../../../contracts/index.ts'
import { command, printAnswer } from '../../command.ts'
import { CompletingOption } from '../../completion/command-line.ts'
import { EXIT, UsageError } from '../../errors.ts'
import {
  agentOption,
  cursorOption,
  defined,
  limitOption,
  nextPage,
  organisationOption,
  wholeNumber,
} from '../../options.ts'
import { renderTable } from '../../output/layout.ts'
import { escapeLine, toJsonText } from '../../output/terminal.ts'
import { isoTime, parseDuration } from '../../output/units.ts'
import type { Session } from '../../session.ts'

interface AuditFilter {
  agent?: string
  tool?: string
  /** A time, or how long ago. */
  since?: { readonly at: number } | { readonly msAgo: number }
  limit: number
  cursor?: string
  organisation?: string
}

const USUAL_LINES = 100
/** No upstream keeps more lines, so following with this limit misses nothing. */
const MOST_LINES = 10_000
const POLL_MS = 500

export const registerLogs = command<AuditFilter & { name?: string; lines?: number; follow?: boolean }>({
  name: 'logs',
  description: 'Show the audit: who called what, and how it ended, newest first. With NAME: the log of that upstream.',
  arguments: [['[NAME]', 'an upstream: its standard error, its log and what happened to it', 'name', 'upstream']],
  options: [
    agentOption('only what this agent did'),
    new CompletingOption('--tool <NAME>', 'only calls of this tool', 'tool'),
    new Option('--since <TIME>', 'from then on: 2h for two hours ago, or a date').argParser(toSince),
    limitOption().default(50),
    cursorOption(),
    organisationOption(),
    new Option('--lines <NUMBER>', `of an upstream: the last so many (default: ${USUAL_LINES})`).argParser(
      wholeNumber(1, MOST_LINES),
    ),
    new Option('--follow', 'of an upstream: go on with what it writes, until Ctrl-C; with --json an object per line'),
  ],
  examples: [
    ['quartermaster logs', 'the last fifty calls'],
    ['quartermaster logs --agent default --since 2h', 'what one agent did in the last two hours'],
    ['quartermaster logs github --follow', 'what an upstream writes, as it writes it'],
    ['quartermaster logs --json | jq \'.lines[] | select(.decision == "refused")\'', 'what was refused, for a program'],
  ],
  run(session, { name, lines = USUAL_LINES, follow = false, ...filter }, command) {
    refuseMixture(name, command)
    return name === undefined ? showAudit(session, filter) : showUpstreamLog(session, name, { lines, follow })
  },
})

/** The two kinds of logs have options of their own, and an option that is ignored would mislead. */
function refuseMixture(name: string | undefined, command: Command): void {
  const others =
    name === undefined ? ['lines', 'follow'] : ['agent', 'tool', 'since', 'limit', 'cursor', 'organisation']
  const wrong = others.find(key => command.getOptionValueSource(key) === 'cli')
  if (wrong === undefined) return
  throw new UsageError(
    name === undefined
      ? `--${wrong} needs the name of an upstream.`
      : `--${wrong} is about the audit, not about an upstream.`,
  )
}

function toSince(text: string): AuditFilter['since'] {
  const parsed = parseDuration(text)
  if ('ms' in parsed) return { msAgo: parsed.ms }
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at)) throw new InvalidArgumentError('Write how long ago, such as 30m or 2h, or a date: 2026-07-28.')
  return { at }
}

async function showAudit(session: Session, { since, ...filter }: AuditFilter): Promise<number> {
  const from = since && ('at' in since ? since.at : Math.round(session.host.clock.now() - since.msAgo))
  const input = defined({ ...filter, since: from && Math.max(0, from) })
  const page = await session.connect(control => session.attend('Looking', options => control.audit(input, options)))
  if (page.lines.length === 0) return printAnswer(session, page, { notice: 'Nothing was called.\n' })
  return printAnswer(session, page, { text: linesText(page.lines, session), notice: nextPage(page.nextCursor) })
}

const OUTCOMES = {
  succeeded: { text: 'succeeded', style: 'green' },
  failed: { text: 'failed', style: 'red' },
  unknown: { text: 'unknown', style: 'yellow' },
  notRun: { text: 'not run', style: 'dim' },
} as const satisfies Record<AuditLine['outcome'], object>

function linesText(lines: readonly AuditLine[], { out }: Session): string {
  const rows = lines.map(line => {
    const { text, style } = OUTCOMES[line.outcome]
    return [
      isoTime(line.at),
      line.callerName,
      line.tool,
      { text, style: out.paint[style] },
      `${Math.round(line.durationMs)} ms`,
      line.operationId,
      noteText(line),
    ]
  })
  return renderTable(['Time', 'Agent', 'Tool', 'Outcome', 'Took', 'Operation', { wraps: 'Note' }], rows, out)
}

/** A line about consent says who gave it. */
function noteText({ code, consent }: AuditLine): string {
  const decision = consent ? `${consent.operations.join(' ')} by ${consent.by}` : ''
  return [code ?? '', decision].filter(text => text !== '').join(': ')
}

/** Shows the log of an upstream, and further lines as they come where that is asked for. */
async function showUpstreamLog(
  session: Session,
  name: string,
  { lines, follow }: { lines: number; follow: boolean },
): Promise<number> {
  session.hints = { upstream: name }
  const { host, json, notices } = session
  return session.connect(async control => {
    const read = (limit: number) => session.untilAborted(control.upstreamLogs({ name, limit }, { signal: host.signal }))
    const first = await read(follow ? MOST_LINES : lines)
    if (json && !follow) await session.printJson(first)
    else await printLines(session, first.slice(-lines))
    if (follow) await followLines(session, first, () => read(MOST_LINES))
    else if (first.length === 0 && !json)
      await notices.write(
        session.from === 'up'
          ? 'It has said nothing.\n'
          : 'Nothing was recorded: lines are kept while "quartermaster up" runs.\n',
      )
    return EXIT.done
  })
}

/** Until Ctrl-C, which is the ordinary end and no failure. */
async function followLines(
  session: Session,
  first: readonly UpstreamLogLine[],
  read: () => ReturnType<Control['upstreamLogs']>,
): Promise<void> {
  const { host } = session
  for (let end = endOf(first); !host.signal.aborted; ) {
    await pause(host)
    const all = await read().catch(error => {
      if (host.signal.aborted) return undefined
      throw error
    })
    if (!all) return
    await printLines(session, linesAfter(all, end))
    end = all.length > 0 ? endOf(all) : end
  }
}

function pause({ clock, signal }: Session['host']): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.after(POLL_MS, end)
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

function linesAfter(lines: readonly UpstreamLogLine[], end: End): UpstreamLogLine[] {
  const atEnd = lines.filter(line => line.at === end.at)
  return [...atEnd.slice(end.count), ...lines.filter(line => line.at > end.at)]
}

async function printLines({ out, json }: Session, lines: readonly UpstreamLogLine[]): Promise<void> {
  const text = ({ at, from, text }: UpstreamLogLine) => `${isoTime(at)} ${from.padEnd(7)} ${escapeLine(text)}`
  const all = lines.map(line => (json ? toJsonText(line, { pretty: false }) : text(line)))
  if (all.length > 0) await out.write(`${all.join('\n')}\n`)
}
