import type { Control, UpstreamState, UpstreamStatus } from '../../../../contracts/index.ts'
import { commandOf, neededLogin, sentence, withoutLoginStep } from '../../../../core/kernel/index.ts'
import { escapeLine } from '../../output/escape.ts'
import { count, fields, type Row, renderTable } from '../../output/layout.ts'
import type { Printer } from '../../output/printer.ts'
import { aheadInWords, inWords } from '../../output/units.ts'
import type { Attending, Session } from '../../session.ts'

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

/** How it is shown, and who has answered. */
export interface Shown {
  readonly printer: Printer
  readonly from: Session['from']
}

/** Upstreams as a table: where each stands and what it brings. */
export function upstreamTable(statuses: readonly UpstreamStatus[], { printer, from }: Shown): string {
  const columns = [
    { title: 'Name' },
    { title: 'State' },
    { title: 'Era' },
    { title: 'Tools' },
    { title: 'Restarts' },
    { title: 'Latency' },
    { title: 'Last error', flexible: true },
  ]
  return renderTable({ columns, rows: statuses.map(status => row(status, { printer, from })) }, printer)
}

function row(status: UpstreamStatus, { printer: { paint }, from }: Shown): Row {
  const { text, style } = STATES[status.state]
  const cells = [
    status.name,
    { text, style: paint[style] },
    status.era ?? '',
    [toolsText(status), othersText(status)].filter(Boolean).join(', '),
    String(status.restarts),
    status.latency ? `${rounded(status.latency.p50Ms)} ms` : '',
    troubleOf(status),
  ]
  const notes = [
    fetchingNote(status),
    unlistedText(status),
    cutText(status),
    leftOutText(status),
    nextStepOf(status, from),
    clashStep(status),
  ].filter(note => note !== undefined)
  return notes.length === 0 ? { cells } : { cells, notes }
}

/** Others say no more than that it starts. */
function fetchingNote({ state, reason, isFetching }: UpstreamStatus): string | undefined {
  return state === 'starting' && isFetching ? reason : undefined
}

function unlistedText({ name, unlisted = [] }: UpstreamStatus): string | undefined {
  if (unlisted.length === 0) return undefined
  return `It does not list its ${unlisted.join(' and ')}, and none of them is used until it does: quartermaster logs ${name}`
}

/** What lies beyond the limit was not read; the problems say how much of it is used. */
function cutText({ isCut }: UpstreamStatus): string | undefined {
  return isCut ? 'It lists more than is used: quartermaster doctor' : undefined
}

function leftOutText({ name, leftOut }: UpstreamStatus): string | undefined {
  if (!leftOut) return undefined
  const are = leftOut.count === 1 ? 'definition of it is' : 'definitions of it are'
  return `${leftOut.count} ${are} left out, and why: quartermaster upstreams show ${name}`
}

function clashStep({ name, clashes = [] }: UpstreamStatus): string | undefined {
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

/** What went wrong, as far as it still matters to who looks. */
function troubleOf(status: UpstreamStatus): string {
  const { state, lastError } = status
  const isFine = state === 'up' || state === 'idle' || state === 'starting'
  return isFine ? (lastError?.message ?? '') : reasonOf(status)
}

/** Without the next step, which is shown by itself. */
function reasonOf(status: UpstreamStatus): string {
  return withoutLoginStep(status.reason, status.name)
}

function nextStepOf(status: UpstreamStatus, from: Session['from']): string | undefined {
  const { name, state, reason, tools, othersHeld = 0, warned = 0, hasSpoken, unseen } = status
  if (state === 'needsLogin') return neededLogin({ name, reason })
  // Where an `up` keeps a server that starts, it waits for it.
  if (unseen !== undefined && (state !== 'starting' || from === 'process'))
    return `Not seen yet. ${isReasonTold(status) ? '' : `${reason} `}${unseen}`
  if (tools.held + othersHeld > 0) return `Look at what is held: quartermaster upstreams review ${name}`
  if (warned > 0) return `Look at what was found in it: quartermaster upstreams review ${name}`
  return state === 'down' && hasSpoken ? `See what it said: quartermaster logs ${name}` : undefined
}

/** Whether why it is not there stands beside its state, or in a note of its own. */
function isReasonTold({ state, isFetching = false }: UpstreamStatus): boolean {
  return state === 'starting' ? isFetching : state !== 'idle'
}

/** The servers that were never connected, each in a line with the reason and what to do. */
export function unseenText(unseen: readonly { name: string; reason: string; fix: string }[]): string {
  const line = ({ name, reason, fix }: (typeof unseen)[number]) =>
    `"${name}" has not been seen yet: ${sentence(reason)} ${fix}`
  return unseen.map(one => `${escapeLine(line(one))}\n`).join('')
}

export function unseenAmong(statuses: readonly UpstreamStatus[]): { name: string; reason: string; fix: string }[] {
  return statuses.flatMap(status =>
    status.unseen === undefined ? [] : [{ name: status.name, reason: reasonOf(status), fix: status.unseen }],
  )
}

/** Everything that is known about one upstream. */
export function upstreamDetail(status: UpstreamStatus, { now, printer, from }: Shown & { now: number }): string {
  const { server, latency, nextStartAt, othersHeld } = status
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
      ['Not asked', unaskedText(status, ago)],
      ['Last error', lastErrorText(status, ago)],
      ['Not listed', unlistedText(status)],
      ['Not all', cutText(status)],
      ...leftOutRows(status),
      ...failingRows(status),
      ...clashRows(status),
      ['Next', nextStepOf(status, from)],
    ],
    printer,
  )
}

function unaskedText({ unasked }: UpstreamStatus, ago: (at: number) => string): string | undefined {
  if (!unasked) return undefined
  const questions = `${count(unasked.questions, 'question')}, the last ${ago(unasked.lastAt)}`
  const next = 'Each agent has its own now, and its clients share it: give each client an agent of its own.'
  const why = 'several clients had calls under way, or had cancelled some shortly before'
  return `${questions}: ${why}. ${next}`
}

/** What is not there because its definition cannot be used. */
function leftOutRows({ leftOut }: UpstreamStatus): [string, string][] {
  if (!leftOut) return []
  const { count: all, first } = leftOut
  const shown = first.map(({ reason }): [string, string] => ['Left out', reason])
  return all > first.length ? [...shown, ['Left out', `${all - first.length} more; see: quartermaster doctor`]] : shown
}

const MOST_CLASHES = 5

/** What is not there for its name. One reason may concern everything that a server has. */
function clashRows({ clashes = [] }: UpstreamStatus): [string, string][] {
  const shown = clashes.slice(0, MOST_CLASHES).map((text): [string, string] => ['Not offered', text])
  const more = clashes.length - shown.length
  return more > 0 ? [...shown, ['Not offered', `${more} more; see: quartermaster doctor`]] : shown
}

/** Agents for which it does not work; not the one of which the last error tells. */
function failingRows({ failing = [], lastError }: UpstreamStatus): [string, string][] {
  return failing
    .map(({ agent, reason }): [string, string] => [`For "${agent}"`, reason])
    .filter(([whose, reason]) => lastError?.message !== `${whose}: ${reason}`)
}

/** Nothing where the reason says the same. */
function lastErrorText({ lastError, reason }: UpstreamStatus, ago: (at: number) => string): string | undefined {
  if (!lastError || lastError.message === reason) return undefined
  return `${lastError.message} (${ago(lastError.at)})`
}

/** Who was asked how it is, and whether the person has left before it was known. */
export interface Asked {
  readonly from: Session['from']
  readonly hasLeft: boolean
}

export function askedBy({ from, host }: Pick<Session, 'from' | 'host'>): Asked {
  return { from, hasLeft: host.signal.aborted }
}

/** One upstream in a sentence: `up, 12 tools`. Who has met it in this very process leaves nothing that starts. */
export function upstreamSentence(status: UpstreamStatus, asked: Asked = { from: 'up', hasLeft: false }): string {
  const { name, state, reason, tools, isCut, unlisted = [] } = status
  const held = reviewText(status)
  const more = isCut ? ', and lists more than is used (quartermaster doctor)' : ''
  if (state === 'up' && unlisted.length > 0)
    return `it is up, and does not list its ${unlisted.join(' and ')} (quartermaster logs ${name})${held}`
  if (state === 'up') return `it is up, with ${count(tools.offered, 'tool')}${held}${more}`
  if (state === 'starting') return startingSentence(status, asked)
  if (state === 'needsLogin') return `it needs a login (${commandOf(neededLogin(status))})${held}`
  // It ends within a longer one.
  const tail = reason === '' ? '' : `: ${reason.replace(/\.+$/, '')}`
  return `it ${state === 'keyRefused' ? 'does not let us in' : `is ${STATES[state].text}`}${tail}${held}`
}

/** A person who adds a server should know before its tools are used, and not only once they look for a cause. */
function reviewText({ name, tools, othersHeld = 0, warned = 0 }: UpstreamStatus): string {
  const amount = tools.held + othersHeld
  const what = othersHeld === 0 ? String(amount) : count(amount, 'definition')
  const held = amount === 0 ? '' : `, ${what} held for review`
  const told = warned === 0 ? '' : `, ${count(warned, 'warning')}`
  return held + told === '' ? '' : `${held}${told} (quartermaster upstreams review ${name})`
}

function startingSentence({ isFetching }: UpstreamStatus, { from, hasLeft }: Asked): string {
  if (from === 'process') {
    const why = hasLeft ? 'it was left before it was ready' : 'it did not get ready in time'
    return `${why}; it is started again by quartermaster up`
  }
  const what = isFetching ? ', and may be downloading what it runs' : ''
  return `it is still starting${what} (see how it is: quartermaster upstreams)`
}

function rounded(ms: number): string {
  return ms < 10 ? String(Math.round(ms * 10) / 10) : String(Math.round(ms))
}

/**
 * A notice about servers that were never connected, where no `up` goes on with them: a command lists
 * nothing of theirs. Where a command shows one capability, only about that one.
 */
export async function leftUnseenText(
  { from }: Session,
  control: Pick<Control, 'upstreams'>,
  only?: string,
): Promise<string> {
  if (from !== 'process') return ''
  // The question was answered already, and `upstreams` says what is wrong here.
  const statuses = await control.upstreams({}).catch(() => [])
  const isLeft = ({ name, state }: UpstreamStatus) => state !== 'up' && (only === undefined || name === only)
  return unseenText(unseenAmong(statuses.filter(isLeft)))
}

/** Servers start at the same time, so waiting for all takes no longer than for the slowest. */
const FIRST_LOOK_MS = 8_000
const LOOK_EVERY_MS = 100
/** What was being downloaded is there in a moment, or never. */
const AFTER_FETCHING_MS = 5_000

interface FirstLook {
  /** Whether their first moments are over, so that only what is being downloaded is waited for. */
  readonly isLate?: boolean
}

/**
 * How servers that were just added are after their first moments, by name. Where no `up` goes on with it, leaving ends what is
 * being downloaded, and may spoil its cache: that is waited for until it is there, is given up, or Ctrl-C says so.
 */
export async function firstStates(
  session: Session,
  control: Pick<Control, 'upstreams'>,
  names: readonly string[],
  { isLate = false }: FirstLook = {},
): Promise<ReadonlyMap<string, UpstreamStatus>> {
  const seen = new Map<string, UpstreamStatus>()
  if (names.length === 0) return seen
  const label = names.length === 1 ? `Waiting for ${names[0]}` : 'Waiting for the servers'
  const look = async () => {
    for (const status of await control.upstreams({})) if (names.includes(status.name)) seen.set(status.name, status)
    return [...seen.values()].filter(({ state }) => state === 'starting')
  }
  const forMs = isLate ? 0 : FIRST_LOOK_MS
  try {
    await session.attend(label, on => watch(session, { look, tell: told(names.length, on), forMs }))
  } catch (error) {
    // After Ctrl-C the servers are added all the same, and the report says so.
    if (!session.host.signal.aborted) throw error
  }
  return seen
}

type Starting = readonly UpstreamStatus[]

interface Watching {
  look(): Promise<Starting>
  tell(starting: Starting): void
  /** How long their first moments are. */
  readonly forMs: number
}

async function watch({ host, from }: Session, { look, tell, forMs }: Watching): Promise<void> {
  const until = host.clock.now() + forMs
  const fetchedAt = new Map<string, number>()
  const isAwaited = ({ name }: UpstreamStatus) =>
    host.clock.now() - (fetchedAt.get(name) ?? Number.NEGATIVE_INFINITY) < AFTER_FETCHING_MS
  for (;;) {
    const starting = await look()
    const isLate = host.clock.now() >= until
    for (const { name, isFetching } of starting) if (isFetching) fetchedAt.set(name, host.clock.now())
    const awaited = isLate ? starting.filter(one => from === 'process' && isAwaited(one)) : starting
    if (awaited.length === 0 || host.signal.aborted) return
    if (isLate) tell(awaited)
    await new Promise<void>(resolve => host.clock.after(LOOK_EVERY_MS, resolve))
  }
}

/** Says once for each that comes what is still waited for. */
function told(all: number, { onProgress }: Attending): (starting: Starting) => void {
  let last = ''
  return starting => {
    const names = starting.map(({ name }) => name).join(', ')
    if (names === last) return
    last = names
    const message = `ready; ${names} may be downloading what it runs, and Ctrl-C leaves it`
    onProgress?.({ progress: all - starting.length, total: all, message })
  }
}
