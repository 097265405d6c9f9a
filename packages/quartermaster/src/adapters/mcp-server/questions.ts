import { type ClientCapabilities, type InputRequest, inputRequired, inputResponse } from '@modelcontextprotocol/server'
import { type Answer, AppError, type Question, questionText } from '../../contracts/index.ts'

/** Questions as MCP asks them, by key. */
export function toInputRequests(questions: ReadonlyMap<string, Question>): Record<string, InputRequest> {
  return Object.fromEntries([...questions].map(([key, question]) => [key, toInputRequest(question)]))
}

function toInputRequest(question: Question): InputRequest {
  if (question.kind === 'roots') return { method: 'roots/list', params: {} }
  if (question.kind === 'model') {
    const { kind: _kind, key: _key, ...params } = question
    return inputRequired.createMessage(params as never)
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
export function toEarlyAnswers(responses: Readonly<Record<string, unknown>>): Record<string, Answer> {
  const entries = Object.keys(responses).flatMap(key => {
    const answer = toAnswer(responses, key)
    return answer ? [[key, answer] as const] : []
  })
  return Object.fromEntries(entries)
}

const KIND_OF_ANSWER = { elicit: 'person', sampling: 'model', roots: 'roots' } as const

function toAnswer(responses: Readonly<Record<string, unknown>>, key: string, question?: Question): Answer | undefined {
  const response = inputResponse(responses as never, key)
  if (response.kind === 'missing') return undefined
  if (question && KIND_OF_ANSWER[response.kind] !== (question.kind ?? 'person')) return undefined
  if (response.kind === 'roots') return { action: 'accept', content: { roots: response.roots } }
  if (response.kind === 'sampling') return { action: 'accept', content: { ...response.result } }
  const { action, content } = response
  return content === undefined ? { action } : { action, content }
}

/** Throws `ANSWER_UNAVAILABLE` where the client cannot get an answer: it would leave the call waiting for ever. */
export function refuseUnanswerable(question: Question, client: ClientCapabilities): void {
  const required = requiredCapability(question)
  const [name] = Object.keys(required) as [keyof ClientCapabilities]
  const declared = client[name] as Record<string, unknown> | undefined
  // A client that names modes has only those; one that names none has forms.
  const hasForms = name !== 'elicitation' || !declared || 'form' in declared || !('url' in declared)
  if (declared && hasForms) return
  throw new AppError('ANSWER_UNAVAILABLE', `The client cannot answer this: "${questionText(question)}"`, {
    details: { requiredCapabilities: required },
  })
}

function requiredCapability(question: Question): ClientCapabilities {
  if (question.kind === 'roots') return { roots: {} }
  return question.kind === 'model' ? { sampling: {} } : { elicitation: {} }
}
