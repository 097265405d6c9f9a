import type { Control, UpstreamState, UpstreamStatus } from '../../../../contracts/index.ts'
import { loginCommand, neededLogin, sentence, withoutLoginStep } from '../../../../core/kernel/index.ts'
import { count, fields, type Row, renderTable } from '../../output/layout.ts'
import { escapeLine } from '../../output/terminal.ts'
import { agoText, aheadInWords, inWords } from '../../output/units.ts'
import type { Session } from '../../session.ts'

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

/** Upstreams as a table: the state of each and what it brings. */
export function upstreamTable(statuses: readonly UpstreamStatus[], { out, from }: Session): string {
  const rows = statuses.map((status): Row => {
    const { text, style } = STATES[status.state]
    const cells = [
      status.name,
      { text, style: out.paint[style] },
      status.era ?? '',
      [toolsText(status), othersText(status)].filter(Boolean).join(', '),
      String(status.restarts),
      status.latency ? `${rounded(status.latency.p50Ms)} ms` : '',
      errorText(status),
    ]
    const notes = [
      fetchingNote(status),
      unlistedText(status),
      cutText(status),
      leftOutText(status),
      nextStepOf(status, from),
      clashText(status),
    ]
    return { cells, notes: notes.filter(note => note !== undefined) }
  })
  const columns = ['Name', 'State', 'Era', 'Tools', 'Restarts', 'Latency', { wraps: 'Last error' }]
  return renderTable(columns, rows, out)
}

function fetchingNote({ state, reason, isFetching }: UpstreamStatus): string | undefined {
  return state === 'starting' && isFetching ? reason : undefined
}

function unlistedText({ name, unlisted = [] }: UpstreamStatus): string | undefined {
  if (unlisted.length === 0) return undefined
  return `It does not list its ${unlisted.join(' and ')}, and none of them is used until it does: quartermaster logs ${name}`
}

function cutText({ isCut }: UpstreamStatus): string | undefined {
  return isCut ? 'It lists more than is used: quartermaster doctor' : undefined
}

function leftOutText({ name, leftOut }: UpstreamStatus): string | undefined {
  if (!leftOut) return undefined
  const are = leftOut.count === 1 ? 'definition of it is' : 'definitions of it are'
  return `${leftOut.count} ${are} left out, and why: quartermaster upstreams show ${name}`
}

function clashText({ name, clashes = [] }: UpstreamStatus): string | undefined {
  if (clashes.length === 0) return undefined
  return `${count(clashes.length, 'name')} of it ${clashes.length === 1 ? 'is' : 'are'} taken: quartermaster upstreams show ${name}`
}

function toolsText({ tools: { offered, held, rejected = 0 }, warned = 0 }: UpstreamStatus): string {
  const parts = [
    String(offered),
    held === 0 ? '' : `${held} held`,
    rejected === 0 ? '' : `${rejected} rejected`,
    warned === 0 ? '' : count(warned, 'warning'),
  ]
  return parts.filter(part => part !== '').join(', ')
}

function othersText({ othersHeld = 0 }: UpstreamStatus): string {
  return othersHeld === 0 ? '' : `${count(othersHeld, 'other')} held`
}

/** The last error of a server that works now, and otherwise the reason of its state. */
function errorText(status: UpstreamStatus): string {
  const { state, lastError } = status
  const isFine = state === 'up' || state === 'idle' || state === 'starting'
  return isFine ? (lastError?.message ?? '') : reasonOf(status)
}

/** Without the next step, which is shown separately. */
function reasonOf(status: UpstreamStatus): string {
  return withoutLoginStep(status.reason, status.name)
}

function nextStepOf(status: UpstreamStatus, from: Session['from']): string | undefined {
  const { name, state, reason, tools, othersHeld = 0, warned = 0, hasSpoken, unseen, isFetching = false } = status
  if (state === 'needsLogin') return neededLogin({ name, reason })
  // An `up` goes on starting the server; a command does not.
  if (unseen !== undefined && (state !== 'starting' || from === 'process')) {
    const isReasonShown = state === 'starting' ? isFetching : state !== 'idle'
    return `Not seen yet. ${isReasonShown ? '' : `${reason} `}${unseen}`
  }
  if (tools.held + othersHeld > 0) return `Look at what is held: quartermaster upstreams review ${name}`
  if (warned > 0) return `Look at what was found in it: quartermaster upstreams review ${name}`
  return state === 'down' && hasSpoken ? `See what it said: quartermaster logs ${name}` : undefined
}

/** A server that was never connected, why, and what to do. */
interface Unconnected {
  readonly name: string
  readonly reason: string
  readonly fix: string
}

export function unconnectedText(servers: readonly Unconnected[]): string {
  return servers
    .map(({ name, reason, fix }) => `"${name}" has not been seen yet: ${sentence(reason)} ${fix}`)
    .map(line => `${escapeLine(line)}\n`)
    .join('')
}

export function unconnectedAmong(statuses: readonly UpstreamStatus[]): Unconnected[] {
  return statuses.flatMap(status =>
    status.unseen === undefined ? [] : [{ name: status.name, reason: reasonOf(status), fix: status.unseen }],
  )
}

/**
 * A notice about servers that were never connected, for a command that lists what they have; without an `up` none is connected
 * later. A command that shows one capability passes its name.
 */
export async function unconnectedNotice(
  { from }: Session,
  control: Pick<Control, 'upstreams'>,
  only?: string,
): Promise<string> {
  if (from !== 'process') return ''
  // The command has its answer already, and `upstreams` reports what is wrong here.
  const statuses = await control.upstreams({}).catch(() => [])
  const isMeant = ({ name, state }: UpstreamStatus) => state !== 'up' && (only === undefined || name === only)
  return unconnectedText(unconnectedAmong(statuses.filter(isMeant)))
}

/** Everything that is known about one upstream. */
export function upstreamDetail(status: UpstreamStatus, { out, from, host }: Session): string {
  const now = host.clock.now()
  const { server, latency, nextStartAt, othersHeld } = status
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
      [
        'Held',
        othersHeld === undefined ? undefined : `${othersHeld} beside its tools: instructions, prompts or resources`,
      ],
      ['Connections', String(status.connections)],
      ['Processes', status.pids.join(', ')],
      ['Restarts', String(status.restarts)],
      ['Next start', nextStartAt === undefined ? undefined : `in ${aheadInWords(Math.max(0, nextStartAt - now))}`],
      [
        'Latency',
        latency &&
          `half within ${rounded(latency.p50Ms)} ms, 99 % within ${rounded(latency.p99Ms)} ms (${count(latency.calls, 'call')})`,
      ],
      ['Not asked', unaskedText(status, now)],
      ['Last error', lastErrorText(status, now)],
      ['Not listed', unlistedText(status)],
      ['Not all', cutText(status)],
      ...leftOutRows(status),
      ...failingRows(status),
      ...clashRows(status),
      ['Next', nextStepOf(status, from)],
    ],
    out,
  )
}

function unaskedText({ unasked }: UpstreamStatus, now: number): string | undefined {
  if (!unasked) return undefined
  const questions = `${count(unasked.questions, 'question')}, the last ${agoText(unasked.lastAt, now)}`
  const next = 'Each agent has its own now, and its clients share it: give each client an agent of its own.'
  const why = 'several clients had calls under way, or had cancelled some shortly before'
  return `${questions}: ${why}. ${next}`
}

type Field = [string, string]

/** Definitions that cannot be used. */
function leftOutRows({ leftOut }: UpstreamStatus): Field[] {
  if (!leftOut) return []
  const { count: all, first } = leftOut
  const shown = first.map(({ reason }): Field => ['Left out', reason])
  return all > first.length ? [...shown, ['Left out', `${all - first.length} more; see: quartermaster doctor`]] : shown
}

const MOST_CLASHES = 5

/** Definitions whose names are taken. */
function clashRows({ clashes = [] }: UpstreamStatus): Field[] {
  const shown = clashes.slice(0, MOST_CLASHES).map((text): Field => ['Not offered', text])
  const more = clashes.length - shown.length
  return more > 0 ? [...shown, ['Not offered', `${more} more; see: quartermaster doctor`]] : shown
}

/** Agents for which it does not work, except the one that the last error is about. */
function failingRows({ failing = [], lastError }: UpstreamStatus): Field[] {
  return failing
    .map(({ agent, reason }): Field => [`For "${agent}"`, reason])
    .filter(([agent, reason]) => lastError?.message !== `${agent}: ${reason}`)
}

function lastErrorText({ lastError, reason }: UpstreamStatus, now: number): string | undefined {
  if (!lastError || lastError.message === reason) return undefined
  return `${lastError.message} (${agoText(lastError.at, now)})`
}

/** The session that a state was read in: who answered, and whether Ctrl-C ended the wait for it. */
export type StateSource = Pick<Session, 'from' | 'host'>

/** One upstream in a sentence: `it is up, with 12 tools`. */
export function upstreamSentence(status: UpstreamStatus, source: StateSource): string {
  const { name, state, reason, tools, isCut, unlisted = [] } = status
  const held = heldText(status)
  const more = isCut ? ', and lists more than is used (quartermaster doctor)' : ''
  if (state === 'up' && unlisted.length > 0)
    return `it is up, and does not list its ${unlisted.join(' and ')} (quartermaster logs ${name})${held}`
  if (state === 'up') return `it is up, with ${count(tools.offered, 'tool')}${held}${more}`
  if (state === 'starting') return startingSentence(status, source)
  if (state === 'needsLogin') return `it needs a login (${loginCommand(neededLogin(status))})${held}`
  const why = reason === '' ? '' : `: ${reason.replace(/\.+$/, '')}`
  return `it ${state === 'keyRefused' ? 'does not let us in' : `is ${STATES[state].text}`}${why}${held}`
}

function heldText({ name, tools, othersHeld = 0, warned = 0 }: UpstreamStatus): string {
  const amount = tools.held + othersHeld
  const what = othersHeld === 0 ? String(amount) : count(amount, 'definition')
  const held = amount === 0 ? '' : `, ${what} held for review`
  const warnings = warned === 0 ? '' : `, ${count(warned, 'warning')}`
  return held + warnings === '' ? '' : `${held}${warnings} (quartermaster upstreams review ${name})`
}

function startingSentence({ isFetching }: UpstreamStatus, { from, host }: StateSource): string {
  if (from === 'process') {
    const why = host.signal.aborted ? 'it was left before it was ready' : 'it did not get ready in time'
    return `${why}; it is started again by quartermaster up`
  }
  const what = isFetching ? ', and may be downloading what it runs' : ''
  return `it is still starting${what} (see how it is: quartermaster upstreams)`
}

function rounded(ms: number): string {
  return ms < 10 ? String(Math.round(ms * 10) / 10) : String(Math.round(ms))
}

/** Servers start at the same time, so waiting for all takes no longer than for the slowest. */
const FIRST_STATES_MS = 8_000
const POLL_MS = 100
/** A start that follows a download takes less than this, or fails. */
const AFTER_FETCHING_MS = 5_000

/**
 * The states of servers that were just started, by name, after `forMs`. In a command without `up`, leaving ends a running
 * download and may spoil its cache, so that is waited for as well, until it ends or Ctrl-C.
 */
export async function firstStates(
  session: Session,
  control: Pick<Control, 'upstreams'>,
  names: readonly string[],
  forMs = FIRST_STATES_MS,
): Promise<ReadonlyMap<string, UpstreamStatus>> {
  const { host, from } = session
  const seen = new Map<string, UpstreamStatus>()
  if (names.length === 0) return seen
  const until = host.clock.now() + forMs
  const fetchedAt = new Map<string, number>()
  const isFetched = ({ name }: UpstreamStatus) =>
    host.clock.now() - (fetchedAt.get(name) ?? Number.NEGATIVE_INFINITY) < AFTER_FETCHING_MS
  const label = names.length === 1 ? `Waiting for ${names[0]}` : 'Waiting for the servers'
  const wait = session.attend(label, async ({ onProgress = () => {} }) => {
    for (let shown = ''; ; ) {
      for (const status of await control.upstreams({})) if (names.includes(status.name)) seen.set(status.name, status)
      const starting = [...seen.values()].filter(({ state }) => state === 'starting')
      for (const { name, isFetching } of starting) if (isFetching) fetchedAt.set(name, host.clock.now())
      const isLate = host.clock.now() >= until
      const awaited = isLate ? starting.filter(one => from === 'process' && isFetched(one)) : starting
      if (awaited.length === 0 || host.signal.aborted) return
      const list = awaited.map(({ name }) => name).join(', ')
      if (isLate && list !== shown) {
        shown = list
        const message = `ready; ${list} may be downloading what it runs, and Ctrl-C leaves it`
        onProgress({ progress: names.length - awaited.length, total: names.length, message })
      }
      await new Promise<void>(resolve => host.clock.after(POLL_MS, resolve))
    }
  })
  // After Ctrl-C the servers are added all the same, and the report says so.
  await wait.catch(error => {
    if (!host.signal.aborted) throw error
  })
  return seen
}
