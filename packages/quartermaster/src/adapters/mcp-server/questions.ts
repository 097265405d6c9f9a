import { randomUUID } from 'node:crypto'
import {
  type ClientCapabilities,
  type InputRequest,
  type InputResponseView,
  inputRequired,
  inputResponse,
} from '@modelcontextprotocol/server'
import {
  type Answer,
  AppError,
  type ModelQuestion,
  type Question,
  type QuestionKind,
  questionText,
} from '../../contracts/index.ts'

/** Questions as MCP asks them, by key. */
export function toInputRequests(
  questions: ReadonlyMap<string, Question>,
  era: { isModern: boolean },
): Record<string, InputRequest> {
  return Object.fromEntries([...questions].map(([key, question]) => [key, toInputRequest(question, era)]))
}

function toInputRequest(question: Question, { isModern }: { isModern: boolean }): InputRequest {
  if (question.kind === 'roots') return { method: 'roots/list', params: {} }
  if (question.kind === 'model') {
    const { kind: _kind, key: _key, ...params } = question
    return inputRequired.createMessage(params as never)
  }
  if (question.kind === 'url') {
    const { message, url, elicitationId } = question
    // Only clients before 2026-07-28 know pages by an id.
    const id = isModern ? {} : { elicitationId: elicitationId ?? randomUUID() }
    return inputRequired.elicitUrl({ message, url, ...id } as never)
  }
  const requestedSchema = (question.schema ?? { type: 'object', properties: {} }) as never
  return inputRequired.elicit({ message: question.message, requestedSchema })
}

/** The answers among a client's responses. What is no answer to its question is left out, and so asked for again. */
export function toAnswers(
  questions: ReadonlyMap<string, Question>,
  responses: Readonly<Record<string, unknown>>,
): Record<string, Answer> {
  const entries = [...questions].flatMap(([key, question]) => {
    const answer = toAnswer(responses, key, question)
    return answer ? [[key, answer] as const] : []
  })
  return Object.fromEntries(entries)
}

/** Answers to questions that were not asked yet: a client may know them from before. */
export function toEarlyAnswers(responses: Readonly<Record<string, unknown>>): Readonly<Record<string, Answer>> {
  const keys = Object.keys(responses)
  if (keys.length === 0) return NO_ANSWERS
  const entries = keys.flatMap(key => {
    const answer = toAnswer(responses, key)
    return answer ? [[key, answer] as const] : []
  })
  return Object.fromEntries(entries)
}

const NO_ANSWERS: Readonly<Record<string, Answer>> = Object.freeze({})

const KIND_OF_ANSWER = { person: 'elicit', url: 'elicit', model: 'sampling', roots: 'roots' } as const

function toAnswer(responses: Readonly<Record<string, unknown>>, key: string, question?: Question): Answer | undefined {
  const response = inputResponse(responses as never, key)
  if (response.kind === 'missing') return undefined
  if (question && response.kind !== KIND_OF_ANSWER[question.kind ?? 'person']) return refusalIn(response)
  if (response.kind === 'roots') return { action: 'accept', content: { roots: response.roots } }
  if (response.kind === 'sampling') return { action: 'accept', content: { ...response.result } }
  const { action, content } = response
  return content === undefined ? { action } : { action, content }
}

/** A no needs no other form than the one that persons say it in. */
function refusalIn(response: InputResponseView): Answer | undefined {
  return response.kind === 'elicit' && response.action !== 'accept' ? { action: response.action } : undefined
}

/** Throws `ANSWER_UNAVAILABLE` where the client cannot get an answer: it would leave the call waiting for ever. */
export function refuseUnanswerable(question: Question, client: ClientCapabilities): void {
  const isForTools = question.kind === 'model' && usesTools(question)
  if (canAnswer(question.kind ?? 'person', client) && (!isForTools || client.sampling?.tools)) return
  const { name, capabilities } = required(question)
  const message = `The client cannot answer this, because it does not declare ${name}: "${questionText(question)}"`
  throw new AppError('ANSWER_UNAVAILABLE', message, { details: { requiredCapabilities: capabilities } })
}

/** Whether a client can get answers to questions of this kind. */
export function canAnswer(kind: QuestionKind, { roots, sampling, elicitation }: ClientCapabilities): boolean {
  if (kind === 'roots') return roots !== undefined
  if (kind === 'model') return sampling !== undefined
  if (!elicitation) return false
  // A client that names modes has only those; one that names none has forms.
  return kind === 'url' ? 'url' in elicitation : 'form' in elicitation || !('url' in elicitation)
}

/** Not every model that is lent can be handed tools. */
function usesTools({ tools, toolChoice }: ModelQuestion): boolean {
  return tools !== undefined || toolChoice !== undefined
}

function required(question: Question): { name: string; capabilities: ClientCapabilities } {
  const { kind } = question
  if (kind === 'roots') return { name: 'roots', capabilities: { roots: {} } }
  if (kind === 'model' && usesTools(question))
    return { name: 'sampling.tools', capabilities: { sampling: { tools: {} } } }
  if (kind === 'model') return { name: 'sampling', capabilities: { sampling: {} } }
  if (kind === 'url') return { name: 'elicitation.url', capabilities: { elicitation: { url: {} } } }
  return { name: 'elicitation', capabilities: { elicitation: {} } }
}
