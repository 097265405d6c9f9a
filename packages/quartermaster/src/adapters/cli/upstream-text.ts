import type { UpstreamState, UpstreamStatus } from '../../contracts/index.ts'
import { loginStep, withoutLoginStep } from '../../core/kernel/index.ts'
import { aheadInWords, inWords } from './duration.ts'
import { count, fields } from './layout.ts'
import type { Printer } from './printer.ts'
import { type Row, renderTable } from './table.ts'

const STATES = {
  up: { text: 'up', style: 'green' },
  idle: { text: 'idle', style: 'dim' },
  off: { text: 'off', style: 'dim' },
  starting: { text: 'starting', style: 'yellow' },
  recovering: { text: 'recovering', style: 'yellow' },
  needsLogin: { text: 'needs login', style: 'yellow' },
  keyRefused: { text: 'key refused', style: 'red' },
  down: { text: 'down', style: 'red' },
  elsewhere: { text: 'elsewhere', style: 'dim' },
} as const satisfies Record<UpstreamState, object>

/** Upstreams as a table: where each stands and what it brings. */
export function upstreamTable(statuses: readonly UpstreamStatus[], printer: Printer): string {
  const columns = [
    { title: 'Name' },
    { title: 'State' },
    { title: 'Era' },
    { title: 'Tools' },
    { title: 'Restarts' },
    { title: 'Latency' },
    { title: 'Last error', flexible: true },
  ]
  return renderTable({ columns, rows: statuses.map(status => row(status, printer)) }, printer)
}

function row(status: UpstreamStatus, { paint }: Printer): Row {
  const { text, style } = STATES[status.state]
  const cells = [
    status.name,
    { text, style: paint[style] },
    status.era ?? '',
    toolsText(status),
    String(status.restarts),
    status.latency ? `${rounded(status.latency.p50Ms)} ms` : '',
    troubleOf(status),
  ]
  return { cells, ...(nextStepOf(status) && { notes: [nextStepOf(status) ?? ''] }) }
}

function toolsText({ tools: { offered, held, rejected = 0 } }: UpstreamStatus): string {
  return `${offered}${held === 0 ? '' : `, ${held} held`}${rejected === 0 ? '' : `, ${rejected} rejected`}`
}

/** What went wrong, as far as it still matters to who looks. */
function troubleOf(status: UpstreamStatus): string {
  const { state, lastError } = status
  return state === 'up' || state === 'idle' ? (lastError?.message ?? '') : reasonOf(status)
}

/** Without the next step, which is shown by itself. */
function reasonOf(status: UpstreamStatus): string {
  return withoutLoginStep(status.reason, status.name)
}

function nextStepOf({ name, state, tools, hasSpoken }: UpstreamStatus): string | undefined {
  if (state === 'needsLogin') return loginStep(name)
  if (tools.held > 0) return `Look at what is held: quartermaster upstreams review ${name}`
  return state === 'down' && hasSpoken ? `What it said: quartermaster logs ${name}` : undefined
}

/** Everything that is known about one upstream. */
export function upstreamDetail(status: UpstreamStatus, { now, printer }: { now: number; printer: Printer }): string {
  const { server, latency, nextStartAt } = status
  const ago = (at: number) => `${inWords(Math.max(0, now - at))} ago`
  return fields(
    [
      ['Name', status.name],
      ['Reached by', `${status.transport}: ${status.target}`],
      ['State', `${STATES[status.state].text} for ${inWords(Math.max(0, now - status.since))}`],
      ['Reason', reasonOf(status)],
      ['Server', server && `${server.name} ${server.version}`],
      ['Era', status.era],
      ['Tools', toolsText(status)],
      ['Prompts', String(status.prompts)],
      ['Resources', String(status.resources)],
      ['Connections', String(status.connections)],
      ['Processes', status.pids.join(', ')],
      ['Restarts', String(status.restarts)],
      ['Next start', nextStartAt === undefined ? undefined : `in ${aheadInWords(Math.max(0, nextStartAt - now))}`],
      [
        'Latency',
        latency &&
          `half within ${rounded(latency.p50Ms)} ms, 99 % within ${rounded(latency.p99Ms)} ms (${count(latency.calls, 'call')})`,
      ],
      ['Last error', lastErrorText(status, ago)],
      ['Next', nextStepOf(status)],
    ],
    printer,
  )
}

/** Nothing where the reason says the same. */
function lastErrorText({ lastError, reason }: UpstreamStatus, ago: (at: number) => string): string | undefined {
  if (!lastError || lastError.message === reason) return undefined
  return `${lastError.message} (${ago(lastError.at)})`
}

/** One upstream in a sentence: `up, 12 tools`. */
export function upstreamSentence(status: UpstreamStatus): string {
  const { name, state, tools, reason } = status
  const held = tools.held === 0 ? '' : `, ${tools.held} held for review`
  if (state === 'up') return `it is up, with ${count(tools.offered, 'tool')}${held}`
  if (state === 'starting') return 'it is still starting (see how it is: quartermaster upstreams)'
  if (state === 'needsLogin') return `it needs a login (quartermaster login ${name})${held}`
  // It ends within a longer one.
  const tail = reason === '' ? '' : `: ${reason.replace(/\.+$/, '')}`
  return `it ${state === 'keyRefused' ? 'does not let us in' : `is ${STATES[state].text}`}${tail}${held}`
}

function rounded(ms: number): string {
  return ms < 10 ? String(Math.round(ms * 10) / 10) : String(Math.round(ms))
}
