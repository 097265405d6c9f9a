import { type DependencyState, ERRORS } from '../../contracts/index.ts'
import type { Emitter } from '../../core/kernel/index.ts'
import {
  createCounter,
  createHistogram,
  createProcessMetrics,
  createReading,
  type Instrument,
  type Sample,
} from './instruments.ts'

/** Figures that are read only when scraped, because other parts count them anyway. */
export interface MetricsSources {
  /** The capability of a tool, if the tool exists. */
  capabilityOf(tool: string): string | undefined
  running(): number
  /** Waiting operations by what they wait for; nothing when that cannot be read soon. */
  waiting(): Promise<WaitingOperations | undefined>
  /** A2A agents elsewhere by whether they can be reached; nothing when that cannot be read soon. */
  externalPeers(): Promise<ExternalPeerCounts | undefined>
  front(): { sessions: number; streams: number; requests: number }
  generation(): number
  tools(): { active: number; disabled: number }
  dependencies(): Iterable<{ readonly name: string; readonly state: DependencyState }>
  store(): StoreReadings
}

export interface WaitingOperations {
  readonly approval: number
  readonly retry: number
}

interface ExternalPeerCounts {
  readonly reached: number
  readonly unreached: number
}

export interface StoreReadings {
  readonly commits: number
  readonly refused: number
  readonly groups: number
  readonly busyMs: number
  readonly reads: number
  readonly errors: number
  readonly waiting: number
  readonly restarts: number
}

export interface MetricsDeps {
  readonly emitter: Emitter
  readonly sources: MetricsSources
}

export interface Metrics {
  /** The text format of Prometheus. */
  text(): Promise<string>
  /** A request over HTTP was answered. */
  request(request: { route: string; method: string; status: number; durationMs: number }): void
  stop(): void
}

export function createMetrics({ emitter, sources }: MetricsDeps): Metrics {
  const process = createProcessMetrics()
  const http = httpInstruments()
  const asked = askedInstruments(sources)
  const instruments = [
    ...callInstruments(emitter, sources),
    ...http.instruments,
    ...changeInstruments(emitter),
    ...stateInstruments(sources),
    ...asked.map(({ instrument }) => instrument),
    ...storeInstruments(sources.store),
    ...process.instruments,
  ]
  return {
    async text() {
      await Promise.all(asked.map(({ look }) => look()))
      return expose(instruments)
    },
    request: http.count,
    stop: process.stop,
  }
}

/** From a tool that adds two numbers to one that waits for a person. */
const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

function callInstruments(emitter: Emitter, { capabilityOf }: MetricsSources): Instrument[] {
  const total = createCounter({
    name: 'quartermaster_calls_total',
    help: 'Calls that have ended, by capability, outcome and error code.',
    labels: ['capability', 'outcome', 'code'],
  })
  const duration = createHistogram({
    name: 'quartermaster_call_duration_seconds',
    help: 'How long calls took, waiting included.',
    labels: ['capability'],
    buckets: SECONDS,
  })
  emitter.on('call.settled', ({ tool, outcome, code, durationMs }) => {
    // A caller may name tools that do not exist, and these must not become labels.
    const capability = capabilityOf(tool) ?? 'none'
    total.add([capability, outcome, code === undefined || Object.hasOwn(ERRORS, code) ? (code ?? '') : 'other'])
    duration.observe([capability], durationMs / 1e3)
  })
  return [total, duration]
}

function httpInstruments() {
  const total = createCounter({
    name: 'quartermaster_http_requests_total',
    help: 'Requests over HTTP, by route, method and class of status.',
    labels: ['route', 'method', 'status'],
  })
  const duration = createHistogram({
    name: 'quartermaster_http_request_duration_seconds',
    help: 'How long requests took until their answer began.',
    labels: ['route'],
    buckets: SECONDS,
  })
  const refused = createCounter({
    name: 'quartermaster_tokens_refused_total',
    help: 'Requests without a token that is good for them, by route.',
    labels: ['route'],
  })
  const count: Metrics['request'] = ({ route, method, status, durationMs }) => {
    if (status === 401) refused.add([route])
    total.add([route, METHODS.has(method) ? method : 'other', `${Math.floor(status / 100)}xx`])
    duration.observe([route], durationMs / 1e3)
  }
  return { instruments: [total, duration, refused], count }
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

function changeInstruments(emitter: Emitter): Instrument[] {
  const reloads = createCounter({ name: 'quartermaster_reloads_total', help: 'Generations since the start.' })
  const rejected = createCounter({
    name: 'quartermaster_definitions_rejected_total',
    help: 'Problems with definitions that were new when they were found.',
  })
  const changes = createCounter({
    name: 'quartermaster_dependency_changes_total',
    help: 'Times a dependency came to a state.',
    labels: ['dependency', 'state'],
  })
  emitter.on('generation.swapped', () => reloads.add())
  emitter.on('definitions.rejected', ({ problems }) => rejected.add([], problems.length))
  emitter.on('dependency.changed', ({ name, to }) => changes.add([name, to]))
  return [reloads, rejected, changes]
}

const STATES = ['up', 'recovering', 'down', 'unknown', 'optedOut'] as const satisfies readonly DependencyState[]

function stateInstruments({ running, front, generation, tools, dependencies }: MetricsSources): Instrument[] {
  const reading = (name: string, help: string, read: () => number) =>
    createReading({ name: `quartermaster_${name}`, help }, read)
  const dependency = { name: 'quartermaster_dependency_state', help: 'Whether a dependency is in a state, 1 or 0.' }
  return [
    reading('calls_running', 'Calls under way.', running),
    reading('sessions', 'Sessions of MCP clients from before 2026-07-28.', () => front().sessions),
    reading('streams', 'Streams that are open to MCP clients.', () => front().streams),
    reading('requests_in_flight', 'Requests of MCP clients under way, open streams included.', () => front().requests),
    reading('generation', 'The number of the current generation.', generation),
    createReading({ name: 'quartermaster_tools', help: 'Tools that are defined, by state.', labels: ['state'] }, () =>
      Object.entries(tools()).map(([state, count]) => [[state], count] as const),
    ),
    createReading({ ...dependency, labels: ['dependency', 'state'] }, () =>
      [...dependencies()].flatMap(({ name, state }) =>
        STATES.map(one => [[name, one], one === state ? 1 : 0] as const),
      ),
    ),
  ]
}

/** Read from the store, which also knows those from before the start. */
function askedInstruments({ waiting, externalPeers }: MetricsSources) {
  const operations = { name: 'quartermaster_operations_waiting', help: 'Operations that wait, by what for.' }
  const peers = { name: 'quartermaster_external_peers', help: 'External peers, by whether they can be reached.' }
  return [
    createAsked({ ...operations, labels: ['for'] }, waiting),
    createAsked({ ...peers, labels: ['state'] }, externalPeers),
  ]
}

function createAsked(described: Parameters<typeof createReading>[0], ask: () => Promise<object | undefined>) {
  let found: object | undefined
  const read = () => Object.entries(found ?? {}).map(([what, count]) => [[what], Number(count)] as const)
  return {
    instrument: createReading(described, read),
    async look() {
      // A store that does not answer has metrics of its own, and no number is better than an old one.
      found = await ask().catch(() => undefined)
    },
  }
}

function storeInstruments(store: () => StoreReadings): Instrument[] {
  const counter = (name: string, help: string, read: (readings: StoreReadings) => number) =>
    createReading({ name: `quartermaster_store_${name}_total`, help }, () => read(store()), 'counter')
  return [
    counter('commits', 'Commits that were answered.', ({ commits }) => commits),
    counter('commits_refused', 'Commits whose guard did not hold.', ({ refused }) => refused),
    counter('syncs', 'Transactions, each with one sync of the disk; commits share them.', ({ groups }) => groups),
    counter('commit_seconds', 'Time spent committing: with commits, the latency.', ({ busyMs }) => busyMs / 1e3),
    counter('reads', 'Reads that were answered.', ({ reads }) => reads),
    counter('errors', 'Requests to the store that ended in an error.', ({ errors }) => errors),
    counter('restarts', 'Threads of the store that died and were replaced.', ({ restarts }) => restarts),
    createReading(
      { name: 'quartermaster_store_waiting', help: 'Requests to the store without an answer.' },
      () => store().waiting,
    ),
  ]
}

/** The text format of Prometheus, version 0.0.4. */
function expose(instruments: Iterable<Instrument>): string {
  return [...instruments].map(familyOf).join('')
}

function familyOf(instrument: Instrument): string {
  const { name, help, type } = instrument
  const samples = [...instrument.samples()].map(sample => lineOf(name, sample))
  return [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`, ...samples, ''].join('\n')
}

function lineOf(name: string, { suffix, labels, value }: Sample): string {
  const list = labels.map(([label, text]) => `${label}="${escapeLabel(text)}"`).join(',')
  return `${name}${suffix ?? ''}${list === '' ? '' : `{${list}}`} ${numberOf(value)}`
}

function numberOf(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"')
}
