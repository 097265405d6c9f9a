import {
  type Answer,
  issueText,
  ModelQuestion,
  PersonQuestion,
  type Question,
  type QuestionKind,
  UrlQuestion,
} from '../../../contracts/index.ts'
import { fewIssues } from '../../../core/kernel/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import { RPC, RpcError } from './rpc-error.ts'
import type { Answerable } from './session.ts'

/** A question of which no more is known than whom it is for. */
export type Asked = Pick<Question, 'kind'>

/** Whom a server asks: that is said without looking at what it asks. Nothing when it is no question that we know. */
export function kindAsked(method: string, { mode }: Params): QuestionKind | undefined {
  if (method === 'roots/list') return 'roots'
  if (method === 'sampling/createMessage') return 'model'
  if (method !== 'elicitation/create') return undefined
  return mode === 'url' ? 'url' : 'person'
}

/** Whether a call may not go on before the server has its answer. Folders are asked for in passing. */
export function isWaitedFor(method: string, params: Params): boolean {
  const kind = kindAsked(method, params)
  return kind !== undefined && kind !== 'roots'
}

/**
 * What a server asks, as a question of ours; nothing when it is none that we know. Throws an `RpcError` that says what is wrong
 * with one that nobody could be asked.
 */
export function toQuestion(method: string, params: Params, key?: string): Question | undefined {
  const filed = key !== undefined && KEY.test(key) ? { key } : {}
  if (method === 'roots/list') return { kind: 'roots', ...filed }
  if (method === 'sampling/createMessage') return toModelQuestion(params, filed)
  return method === 'elicitation/create' ? toPersonQuestion(params, filed) : undefined
}

const KEY = /^[\w.-]{1,64}$/

function toPersonQuestion(params: Params, filed: { key?: string }): Question {
  const { mode, message, url, elicitationId, requestedSchema } = params
  if (mode !== 'url')
    return checked(PersonQuestion, {
      message,
      ...(isRecord(requestedSchema) ? { schema: requestedSchema } : {}),
      ...filed,
    })
  const known = typeof elicitationId === 'string' ? { elicitationId } : {}
  return checked(UrlQuestion, { kind: 'url', message, url, ...known, ...filed })
}

function toModelQuestion(params: Params, filed: { key?: string }): Question {
  const { _meta, key: _key, ...asked } = params
  return checked(ModelQuestion, { ...asked, kind: 'model', ...filed })
}

type QuestionSchema = typeof PersonQuestion | typeof UrlQuestion | typeof ModelQuestion

function checked(schema: QuestionSchema, question: Params): Question {
  const parsed = schema.safeParse(question)
  if (parsed.success) return parsed.data
  const wrong = fewIssues(parsed.error.issues).map(issueText).join(' ')
  throw new RpcError({ code: RPC.invalidParams, message: `This cannot be asked. ${wrong}` })
}

/** Whether whoever is behind a request can be asked this. */
export function isAnswerable(question: Asked, can: Answerable): boolean {
  if (question.kind === 'roots') return can.roots
  if (question.kind === 'model') return can.model
  return question.kind === 'url' ? can.url : can.form
}

/** An answer in the words of the protocol. Throws an `RpcError` where it has none for a refusal. */
export function toResponse(question: Asked, { action, content }: Answer): Params {
  if (question.kind === 'roots' || question.kind === 'model') {
    if (action === 'accept' && content) return content
    throw new RpcError({ code: REJECTED, message: REFUSALS[question.kind] })
  }
  return content === undefined ? { action } : { action, content }
}

/** As the specification's examples number a refusal to sample. */
const REJECTED = -1

/**
 * Not an empty list: some servers take that for a ban on every folder, and one that asks when it starts would remember it.
 * After an error they go by their own settings.
 */
const REFUSALS = {
  roots: 'Nobody can say now which folders there are. What you were started with holds.',
  model: 'The request for the language model was refused.',
}

/** What is answered when nobody can be asked. */
export function declined(question: Asked): Params {
  return toResponse(question, { action: 'decline' })
}
