import type { PromptResult, ToolResult } from '../../../contracts/index.ts'
import {
  type CallContext,
  cancelSignalOf,
  holdBack,
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
import type { Dismissals } from '../dismissals.ts'
import { notThereFor } from '../errors.ts'
import { RPC, RpcError } from '../session/rpc-error.ts'
import type { AskOptions, Behind, Session } from '../session/session.ts'
import { type PassageOptions, pass } from '../supervision/passage.ts'
import type { Latencies } from './latencies.ts'
import type { Wanted } from './own-definitions.ts'
import type { Serving } from './service.ts'

/** A tool as its server knows it. */
export interface ServedTool {
  /** The server's own name. */
  readonly name: string
  readonly inputSchema: unknown
  /** Whether calling it twice is the same as once. */
  readonly mayRepeat: boolean
  /** Whether calling it may change something. */
  readonly mutates: boolean
  /** How long its owner has said that a call may take, where that was said. */
  readonly givenMs: number | undefined
  /** Whether it only runs as a task (MCP 2025-11-25, `execution.taskSupport`). */
  readonly needsTask: boolean
  /** Whether the server is told which operation it is, so that it can tell a repeat. */
  readonly isKeyed: boolean
}

/** A prompt or a template, by the server's own name. */
export interface Suggesting {
  readonly kind: 'prompt' | 'template'
  readonly name: string
}

/** What can be asked of an upstream on an agent's behalf. */
export interface UpstreamCalls {
  call(tool: ServedTool): (input: unknown, context: CallContext) => Promise<ToolResult>
  prompt(name: string): (args: Readonly<Record<string, string>>, context: ReadingContext) => Promise<PromptResult>
  /** By itself, or by the template that its address is of. */
  read(uri: string, template: string | undefined, context: ReadingContext): Promise<PassedContents>
  /** What may stand for an argument of a prompt or a name of a template. */
  suggest(of: Suggesting, argument: string): (value: string, context: SuggestContext) => Promise<Suggested>
}

export interface UpstreamCallsDeps {
  readonly upstream: string
  readonly clock: Clock
  readonly budgetMs: number
  readonly latencies: Latencies
  readonly dismissals: Pick<Dismissals, 'since'>
  /** Who serves a request now. Asked anew for each try. */
  serving(): Pick<Serving, 'connectionOf' | 'check'>
}

/**
 * Of one agent to one server: half of what an agent may have under way altogether, so that what waits for a server that
 * hangs leaves room for calls of the others.
 */
export const MOST_UNDER_WAY = 128

/** A request of an agent. */
interface Passing {
  readonly agent: string
  readonly facts: Pick<PassageOptions, 'what' | 'signal' | 'mayRepeat' | 'mutates' | 'hasAsked' | 'call'>
  /** What of the server's has to be as it was accepted. */
  readonly uses: readonly Pick<Wanted, 'kind' | 'name'>[]
  /** Sends it once it may be sent. Throws with `refuseLost` where the agent has lost the server since it began. */
  ask(session: Session, refuseLost: () => void): Promise<Params>
}

const READS = { mayRepeat: true, mutates: false, call: undefined }

export function createUpstreamCalls(deps: UpstreamCallsDeps): UpstreamCalls {
  const { upstream, clock, budgetMs, latencies, dismissals, serving } = deps
  const places = createInFlight({ most: MOST_UNDER_WAY, what: `requests to "${upstream}" under way` })

  async function passFor(passing: Passing): Promise<Params> {
    const { agent, facts, ask } = passing
    const leave = enter(agent, facts.call)
    try {
      const isLost = dismissals.since(agent, upstream)
      const refuseLost = () => {
        if (isLost()) throw notThereFor(agent, upstream)
      }
      const connection = () => {
        refuseLost()
        return serving().connectionOf(agent)
      }
      return await pass({ upstream, clock, budgetMs, connection, ...facts }, session => {
        const begin = () => {
          refuseLost()
          return ask(session, refuseLost)
        }
        // By who serves it when the session was just taken: that is whose session it is.
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
      if (call) holdBack(call, 'It was not sent, so nothing was done.')
      throw error
    }
  }

  return {
    call({ name, inputSchema, mayRepeat, mutates, givenMs, needsTask, isKeyed }) {
      const what = `the tool "${name}"`
      const uses: Passing['uses'] = [{ kind: 'tool', name }]
      let mirrored: readonly MirroredParameter[] | undefined
      return async (input, context) => {
        mirrored ??= mirroredParameters(inputSchema)
        const headers = mirrored.length > 0 ? parameterHeaders(mirrored, input) : undefined
        const signal = cancelSignalOf(context)
        let isAsked = false
        const behind = behindOf(context, () => {
          isAsked = true
        })
        const options = {
          signal,
          behind,
          trace: context.trace,
          idempotencyKey: isKeyed ? context.idempotencyKey : undefined,
          onProgress: context.progress,
          headers,
          givenMs,
          asTask: needsTask,
        }
        const params = { name, arguments: input }
        const startedAt = performance.now()
        const result = await passFor({
          agent: context.caller.name,
          facts: { what, signal, mayRepeat, mutates, hasAsked: () => isAsked, call: context },
          uses,
          ask: (session, refuseLost) => callUntilVisited({ session, params, options, refuseLost }),
        })
        latencies.add(performance.now() - startedAt)
        return passedResult(result)
      }
    },
    prompt: name => async (args, context) => {
      const result = await passFor({
        agent: context.caller.name,
        facts: { what: `the prompt "${name}"`, signal: context.signal, ...READS },
        uses: [{ kind: 'prompt', name }],
        ask: session => session.ask('prompts/get', { name, arguments: args }, optionsOf(context)),
      })
      return passedPrompt(result)
    },
    async read(uri, template, context) {
      const resource = { kind: 'resource', name: uri } as const
      const result = await passFor({
        agent: context.caller.name,
        facts: { what: `the resource "${uri}"`, signal: context.signal, ...READS },
        // What is held back is not to be had by a template either.
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
      const options = { signal, behind: silent(callerOf(context)) }
      const result = await passFor({
        agent: caller.name,
        facts: { what: 'a suggestion', signal, ...READS },
        uses: [of],
        ask: session => session.ask('completion/complete', params, options),
      })
      return suggestedIn(result)
    },
  }
}

/** One after the other. Nothing has to be waited for where all is as it should be. */
function checkAll(
  check: Serving['check'],
  session: Session,
  passing: Pick<Passing, 'uses' | 'facts'>,
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
  return { signal: context.signal, behind: behindOf(context) }
}

function behindOf(context: CallContext | ReadingContext, onAsked = () => {}): Behind {
  return {
    caller: callerOf(context),
    canAnswer: {
      form: context.canAnswer('person'),
      url: context.canAnswer('url'),
      model: context.canAnswer('model'),
      roots: context.canAnswer('roots'),
    },
    ask(question, signal) {
      // Folders are asked for in passing.
      if (question.kind !== 'roots') onAsked()
      return context.ask(question, { signal })
    },
    pauseRun: () => pauseRun(context),
    log: (level, message) => context.log[level](message),
  }
}

/** Two clients of one agent are two callers: each may have a person of its own, and the other's question is not for them. */
function callerOf({ caller, client }: Pick<CallContext, 'caller' | 'client'>): string {
  return `${caller.name} ${client}`
}

/** Nobody is asked while someone types. */
function silent(caller: string): Behind {
  const canAnswer = { form: false, url: false, model: false, roots: false }
  return { caller, canAnswer, ask: async () => ({ action: 'decline' }), log() {} }
}

/** How often a server may send a person somewhere before it does what it was called for. */
export const MOST_VISITS = 5

interface VisitedCall {
  readonly session: Session
  readonly params: Params
  readonly options: AskOptions
  /** Throws where the agent has lost the server since it began. */
  refuseLost(): void
}

/** Before 2026-07-28 a server refuses a call until a person has visited the addresses it names. */
function callUntilVisited(call: VisitedCall, visits = 0): Promise<Params> {
  const { session, params, options, refuseLost } = call
  return session.ask('tools/call', params, options).catch(async error => {
    const asked = addressesIn(error)
    if (asked.length === 0 || visits >= MOST_VISITS) throw error
    const { behind } = options
    // What the server knows of the visit it may know in this session alone.
    if (!(await session.hold(() => areVisited(behind, asked)))) throw error
    refuseLost()
    return callUntilVisited(call, visits + 1)
  })
}

async function areVisited(behind: Behind, asked: readonly Address[]): Promise<boolean> {
  for (const { url, message, elicitationId } of asked) {
    const { action } = await behind.ask({ kind: 'url', url, message, elicitationId })
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

/** What a server does not say of how many there are is not said for it. */
function suggestedIn({ completion }: Params): Suggested {
  const { values, total, hasMore } = isRecord(completion) ? completion : {}
  return {
    values: (Array.isArray(values) ? values : []).filter(value => typeof value === 'string'),
    ...(Number.isInteger(total) && Number(total) >= 0 ? { total: Number(total) } : {}),
    ...(typeof hasMore === 'boolean' ? { hasMore } : {}),
  }
}
