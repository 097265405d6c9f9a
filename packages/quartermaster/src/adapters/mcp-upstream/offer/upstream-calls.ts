import type { PromptResult, ToolResult } from '../../../contracts/index.ts'
import {
  type CallContext,
  cancelSignalOf,
  markWaiting,
  type PassedContents,
  passedContents,
  passedPrompt,
  passedResult,
  pauseRun,
  type ReadingContext,
  type SuggestContext,
  type Suggested,
} from '../../../core/catalogue/index.ts'
import { type Clock, createInFlight, type MirroredParameter, mirroredParameters } from '../../../core/kernel/index.ts'
import { isRecord, type Params, parameterHeaders } from '../../mcp-wire/index.ts'
import type { Connection } from '../connection/connection.ts'
import type { RevokedAgents } from '../connection/connections.ts'
import { type RetryOptions, sendWithRetry } from '../connection/send-with-retry.ts'
import { notThereFor } from '../connection/upstream-errors.ts'
import { RPC, RpcError } from '../peer/channel.ts'
import type { AskOptions, Requester, Session } from '../peer/session.ts'
import type { OwnDefinitions, Wanted } from './own-definitions.ts'
import type { UpstreamSubscriptions } from './upstream-subscriptions.ts'

export interface ServedTool {
  readonly name: string
  readonly inputSchema: unknown
  /** Whether the tool is idempotent. */
  readonly mayRepeat: boolean
  readonly mutates: boolean
  /** The time limit set by the owner, if any. */
  readonly ownerTimeoutMs: number | undefined
  /** Whether it only runs as a task (MCP 2025-11-25, `execution.taskSupport`). */
  readonly needsTask: boolean
  /** Whether the server gets the operation's key, so that it can recognise a repeat. */
  readonly isKeyed: boolean
}

export interface Suggesting {
  readonly kind: 'prompt' | 'template'
  readonly name: string
}

/** Requests to an upstream on behalf of agents. */
export interface UpstreamCalls {
  call(tool: ServedTool): (input: unknown, context: CallContext) => Promise<ToolResult>
  prompt(name: string): (args: Readonly<Record<string, string>>, context: ReadingContext) => Promise<PromptResult>
  read(uri: string, template: string | undefined, context: ReadingContext): Promise<PassedContents>
  /** Suggests values for an argument of a prompt or a name in a template. */
  suggest(of: Suggesting, argument: string): (value: string, context: SuggestContext) => Promise<Suggested>
}

interface UpstreamCallsDeps {
  readonly upstream: string
  readonly clock: Clock
  readonly budgetMs: number
  readonly latencies: Latencies
  readonly revokedAgents: Pick<RevokedAgents, 'since'>
  /** The upstream that serves a request now; looked up again for each try. */
  serving(): Pick<Serving, 'connectionOf' | 'check'>
}

/**
 * Per agent and server: half of what an agent may have open altogether, so that calls waiting for a hanging server
 * leave room for others.
 */
export const MOST_OPEN_CALLS = 128

interface OutgoingRequest {
  readonly agent: string
  readonly facts: Pick<RetryOptions, 'what' | 'signal' | 'mayRepeat' | 'mutates' | 'hasAsked' | 'call'>
  readonly uses: readonly Pick<Wanted, 'kind' | 'name'>[]
  /**
   * Sends the request. Calls `refuseLost` before each send: it throws where the agent has lost the server meanwhile.
   */
  ask(session: Session, refuseLost: () => void): Promise<Params>
}

const READS = { mayRepeat: true, mutates: false, call: undefined }

export function createUpstreamCalls(deps: UpstreamCallsDeps): UpstreamCalls {
  const { upstream, clock, budgetMs, latencies, revokedAgents, serving } = deps
  const places = createInFlight({ most: MOST_OPEN_CALLS, what: `requests to "${upstream}" under way` })

  async function sendFor(passing: OutgoingRequest): Promise<Params> {
    const { agent, facts, ask } = passing
    const leave = enter(agent, facts.call)
    try {
      const isLost = revokedAgents.since(agent, upstream)
      const refuseLost = () => {
        if (isLost()) throw notThereFor(agent, upstream)
      }
      const connection = () => {
        refuseLost()
        return serving().connectionOf(agent)
      }
      return await sendWithRetry({ upstream, clock, budgetMs, connection, ...facts }, session => {
        const begin = () => {
          refuseLost()
          return ask(session, refuseLost)
        }
        // By the upstream that the session belongs to.
        const checking = checkAll(serving().check, session, passing)
        return checking ? checking.then(begin) : begin()
      })
    } finally {
      leave()
    }
  }

  function enter(agent: string, call: CallContext | undefined): () => void {
    try {
      return places.enter(agent)
    } catch (error) {
      if (call) markWaiting(call, 'It was not sent, so nothing was done.')
      throw error
    }
  }

  return {
    call({ name, inputSchema, mayRepeat, mutates, ownerTimeoutMs, needsTask, isKeyed }) {
      const what = `the tool "${name}"`
      const uses: OutgoingRequest['uses'] = [{ kind: 'tool', name }]
      let mirrored: readonly MirroredParameter[] | undefined
      return async (input, context) => {
        mirrored ??= mirroredParameters(inputSchema)
        const headers = mirrored.length > 0 ? parameterHeaders(mirrored, input) : undefined
        const signal = cancelSignalOf(context)
        let isAsked = false
        const requester = requesterOf(context, () => {
          isAsked = true
        })
        const options = {
          signal,
          requester,
          trace: context.trace,
          idempotencyKey: isKeyed ? context.idempotencyKey : undefined,
          onProgress: context.progress,
          headers,
          ownerTimeoutMs: ownerTimeoutMs,
          asTask: needsTask,
        }
        const params = { name, arguments: input }
        const startedAt = performance.now()
        const result = await sendFor({
          agent: context.caller.name,
          facts: { what, signal, mayRepeat, mutates, hasAsked: () => isAsked, call: context },
          uses,
          ask: (session, refuseLost) => callWithAddresses({ session, params, options, refuseLost }),
        })
        latencies.add(performance.now() - startedAt)
        return passedResult(result)
      }
    },
    prompt: name => async (args, context) => {
      const result = await sendFor({
        agent: context.caller.name,
        facts: { what: `the prompt "${name}"`, signal: context.signal, ...READS },
        uses: [{ kind: 'prompt', name }],
        ask: session => session.ask('prompts/get', { name, arguments: args }, optionsOf(context)),
      })
      return passedPrompt(result)
    },
    async read(uri, template, context) {
      const resource = { kind: 'resource', name: uri } as const
      const result = await sendFor({
        agent: context.caller.name,
        facts: { what: `the resource "${uri}"`, signal: context.signal, ...READS },
        // A held-back resource is not available through a template either.
        uses: template === undefined ? [resource] : [{ kind: 'template', name: template }, resource],
        ask: session => session.ask('resources/read', { uri }, optionsOf(context)),
      })
      return passedContents(result)
    },
    suggest: (of, argument) => async (value, context) => {
      const { caller, signal, arguments: others } = context
      const params = {
        ref: refTo(of),
        argument: { name: argument, value },
        ...(Object.keys(others).length > 0 ? { context: { arguments: others } } : {}),
      }
      const options = { signal, requester: silentRequester(callerOf(context)) }
      const result = await sendFor({
        agent: caller.name,
        facts: { what: 'a suggestion', signal, ...READS },
        uses: [of],
        ask: session => session.ask('completion/complete', params, options),
      })
      return suggestedIn(result)
    },
  }
}

function checkAll(
  check: Serving['check'],
  session: Session,
  passing: Pick<OutgoingRequest, 'uses' | 'facts'>,
  from = 0,
): Promise<void> | undefined {
  const used = passing.uses[from]
  if (!used) return undefined
  const checking = check(session, { kind: used.kind, name: used.name, signal: passing.facts.signal })
  const others = () => checkAll(check, session, passing, from + 1)
  return checking ? checking.then(others) : others()
}

function refTo({ kind, name }: Suggesting): Params {
  return kind === 'prompt' ? { type: 'ref/prompt', name } : { type: 'ref/resource', uri: name }
}

function optionsOf(context: CallContext | ReadingContext): AskOptions {
  return { signal: context.signal, requester: requesterOf(context) }
}

function requesterOf(context: CallContext | ReadingContext, onAsked = () => {}): Requester {
  return {
    caller: callerOf(context),
    canAnswer: {
      form: context.canAnswer('person'),
      url: context.canAnswer('url'),
      model: context.canAnswer('model'),
      roots: context.canAnswer('roots'),
    },
    ask(question, signal) {
      // Roots are answered without a person.
      if (question.kind !== 'roots') onAsked()
      return context.ask(question, { signal })
    },
    pauseRun: () => pauseRun(context),
    log: (level, message) => context.log[level](message),
  }
}

/** Two clients of one agent are two callers: each may have its own person, and a question is for one of them. */
function callerOf({ caller, client }: Pick<CallContext, 'caller' | 'client'>): string {
  return `${caller.name} ${client}`
}

/** No person is asked while an argument is being typed. */
function silentRequester(caller: string): Requester {
  const canAnswer = { form: false, url: false, model: false, roots: false }
  return { caller, canAnswer, ask: async () => ({ action: 'decline' }), log() {} }
}

/** How often a server may send a person to addresses during one call. */
export const MOST_ADDRESS_ROUNDS = 5

interface AddressedCall {
  readonly session: Session
  readonly params: Params
  readonly options: AskOptions
  refuseLost(): void
}

/** Before 2026-07-28 a server refuses a call until a person has visited the addresses that it names. */
function callWithAddresses(call: AddressedCall, visits = 0): Promise<Params> {
  const { session, params, options, refuseLost } = call
  return session.ask('tools/call', params, options).catch(async error => {
    const asked = addressesIn(error)
    if (asked.length === 0 || visits >= MOST_ADDRESS_ROUNDS) throw error
    const { requester } = options
    // The server may know of the visit only in this session.
    if (!(await session.holdOpen(() => areConfirmed(requester, asked)))) throw error
    refuseLost()
    return callWithAddresses(call, visits + 1)
  })
}

async function areConfirmed(requester: Requester, asked: readonly Address[]): Promise<boolean> {
  for (const { url, message, elicitationId } of asked) {
    const { action } = await requester.ask({ kind: 'url', url, message, elicitationId })
    if (action !== 'accept') return false
  }
  return true
}

interface Address {
  readonly url: string
  readonly message: string
  readonly elicitationId: string | undefined
}

function addressesIn(error: unknown): Address[] {
  if (!(error instanceof RpcError) || error.code !== RPC.urlElicitationRequired || !isRecord(error.data)) return []
  const { elicitations } = error.data
  return (Array.isArray(elicitations) ? elicitations : []).flatMap(one => {
    const { url, message, elicitationId } = isRecord(one) ? one : {}
    if (typeof url !== 'string') return []
    const text = typeof message === 'string' && message !== '' ? message : 'Open this address.'
    return [{ url, message: text, elicitationId: typeof elicitationId === 'string' ? elicitationId : undefined }]
  })
}

/** Adds no total that the server did not give. */
function suggestedIn({ completion }: Params): Suggested {
  const { values, total, hasMore } = isRecord(completion) ? completion : {}
  return {
    values: (Array.isArray(values) ? values : []).filter(value => typeof value === 'string'),
    ...(Number.isInteger(total) && Number(total) >= 0 ? { total: Number(total) } : {}),
    ...(typeof hasMore === 'boolean' ? { hasMore } : {}),
  }
}

export interface Latencies {
  add(ms: number): void
  summary(): { calls: number; p50Ms: number; p99Ms: number } | undefined
}

/** Enough for a p99, and a few kilobytes. */
const KEPT = 512

export function createLatencies(): Latencies {
  const last = new Float64Array(KEPT)
  let calls = 0
  return {
    add(ms) {
      last[calls++ % KEPT] = ms
    },
    summary() {
      if (calls === 0) return undefined
      const sorted = last.slice(0, Math.min(calls, KEPT)).sort()
      const at = (part: number) => round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0)
      return { calls, p50Ms: at(0.5), p99Ms: at(0.99) }
    },
  }
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100
}

export interface Serving {
  connectionOf(agent: string): Connection
  /** Throws for definitions that a connection shows differently than accepted. */
  readonly check: OwnDefinitions['check']
  readonly subscriptions: UpstreamSubscriptions
}

/** The upstream that serves requests: definitions outlive the connections that they were made with. */
export interface Service {
  serving(): Serving
  /** From now on another upstream serves requests and subscribers. */
  handOver(to: () => Serving): void
}

export function createService(own: Serving): Service {
  let serving = () => own
  return {
    serving: () => serving(),
    handOver(to) {
      serving = to
      own.subscriptions.handOver(to().subscriptions)
    },
  }
}
