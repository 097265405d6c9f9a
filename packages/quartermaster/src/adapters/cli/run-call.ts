import {
  type AgentControl,
  AppError,
  type CallAnswer,
  type Control,
  type ControlInput,
  type UrlQuestion,
} from '../../contracts/index.ts'
import { hintsAfter } from './call-hints.ts'
import type { CallOptions } from './call-options.ts'
import { askConsent, consentAsked } from './consent.ts'
import { defined } from './defined.ts'
import { EXIT } from './errors.ts'
import { askToOpen } from './open-page.ts'
import { printResult } from './print-result.ts'
import type { Session } from './session.ts'
import { tellWaiting } from './waiting-text.ts'

export interface WrittenCall {
  readonly tool: string
  readonly input: Record<string, unknown>
  readonly options: CallOptions
  /** Whether somebody is here who can be asked. */
  readonly mayAsk: boolean
}

/** By whom a call is made. */
export interface Calling {
  readonly control: AgentControl
  /** All that the owner can ask, where it is the owner who calls. */
  readonly owner: Control | undefined
}

/** Calls a tool as an agent would, asks what has to be asked, prints the answer, and says how the command ends. */
export async function runCall(
  session: Session,
  { control, owner }: Calling,
  { tool, input, options, mayAsk }: WrittenCall,
): Promise<number> {
  const request = {
    agent: options.agent,
    tool,
    input,
    ...defined({
      evenIfDisabled: options.evenIfDisabled,
      whenDisabled: options.whenDisabled,
      timeoutMs: options.timeout,
      idempotencyKey: options.idempotencyKey,
      // Nobody is here who could be asked, so somebody else may be, as for an agent.
      waits: mayAsk ? undefined : true,
    }),
  }
  const answer = await callWithConsent(session, control, request, mayAsk).catch(async error => {
    if (owner) session.hints = { ...session.hints, ...(await hintsAfter(session, owner, { ...request, error })) }
    throw error
  })
  if (answer.waiting) return await tellWaiting(session, { answer, waiting: answer.waiting, tool })
  await printResult(session, control, { answer, agent: options.agent, all: options.all === true })
  return answer.result.isError ? EXIT.no : EXIT.done
}

async function callWithConsent(
  session: Session,
  control: AgentControl,
  request: ControlInput<'call'>,
  mayAsk: boolean,
): Promise<CallAnswer> {
  const run = (input: ControlInput<'call'>) =>
    session.attend(`Calling ${request.tool}`, ({ aside, ...options }) => {
      const { tool } = request
      const openPage = (question: UrlQuestion, signal?: AbortSignal) =>
        aside(() => askToOpen(session, { tool, signal }, question))
      return control.call(input, mayAsk ? { ...options, openPage } : options)
    })
  try {
    return await run(request)
  } catch (error) {
    const asked = mayAsk ? consentAsked(error, request.tool) : undefined
    if (!asked) throw error
    if (!(await askConsent(session, request, asked))) {
      throw new AppError('CONSENT_DENIED', `You did not allow it, so "${request.tool}" was not run.`)
    }
    const operations = asked.operations.map(operation => operation.name)
    return await run({ ...request, consented: { operations, digest: asked.digest } })
  }
}
