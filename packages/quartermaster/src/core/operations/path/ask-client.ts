import {
  type Answer,
  AppError,
  issueText,
  type PersonQuestion,
  Question,
  type QuestionKind,
  questionText,
} from '../../../contracts/index.ts'
import type { AskOptions, SchemaCompiler } from '../../catalogue/index.ts'
import { type CancelSignal, fewIssues, unlessCancelled } from '../../kernel/index.ts'
import type { CallRequest } from './call-request.ts'
import type { Deadline } from './deadline.ts'

interface AskParts {
  readonly request: Pick<CallRequest, 'session' | 'ask'>
  /** Who asks, for messages: the tool. */
  readonly subject: string
  readonly signal: AbortSignal
  readonly compiler: SchemaCompiler
}

/** Whether a client or host can answer questions of this kind. */
export function canAnswer(
  { session, ask, canAnswer: can }: Pick<CallRequest, 'session' | 'ask' | 'canAnswer'>,
  kind: QuestionKind,
): boolean {
  return ask ? (can?.(kind) ?? true) : session.callbacks?.ask !== undefined
}

interface Asking extends Omit<AskParts, 'signal'> {
  readonly deadline: Deadline
}

/** Asks for as long as there is time and the answer is wanted. Waiting for a person is not running: that time stands still. */
export function askWhileWanted(question: Question, asking: Asking, options: AskOptions = {}): Promise<Answer> {
  const asked = askInTime(question, asking, options)
  // Nothing handles the end of a withdrawn question.
  asked.catch(() => {})
  return asked
}

async function askInTime(question: Question, { deadline, ...parts }: Asking, { signal }: AskOptions): Promise<Answer> {
  const over = new AbortController()
  // Not its `AbortSignal`: that one warns of a leak where many questions are asked at a time.
  const leave = [deadline.cancelSignal(), ...(signal ? [signal] : [])].map(one => abortWith(one, over))
  const resume = deadline.pauseRun()
  try {
    over.signal.throwIfAborted()
    const asked = askFitting(question, { ...parts, signal: over.signal })
    return await deadline.race(unlessCancelled(asked, over.signal))
  } catch (error) {
    // Withdraws the question where it was asked.
    over.abort(error)
    throw error
  } finally {
    resume()
    for (const end of leave) end()
  }
}

function abortWith(signal: CancelSignal, controller: AbortController): () => void {
  const abort = () => controller.abort(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  return () => signal.removeEventListener('abort', abort)
}

/** How often a question is put when its answers do not fit. */
const MOST_TRIES = 3

/** Asks, and asks again when what comes back is not what the question wants. */
async function askFitting(written: Question, parts: AskParts): Promise<Answer> {
  const question = parseQuestion(written, parts.subject)
  const validate = answerValidator(question, parts.compiler)
  let asked = question
  for (let tries = 1; ; tries++) {
    const answer = await askPerson(asked, parts)
    const wrong = validate(answer)
    if (wrong === undefined) return answer
    if (tries === MOST_TRIES) {
      const message = `"${parts.subject}" asked ${MOST_TRIES} times and got no answer that fits. ${wrong}`
      throw new AppError('ANSWER_UNAVAILABLE', message)
    }
    asked = {
      ...(question as PersonQuestion),
      message: `${questionText(question)} (The last answer did not fit: ${wrong})`,
    }
  }
}

function parseQuestion(written: Question, subject: string): Question {
  const parsed = Question.safeParse(written)
  if (parsed.success) return parsed.data
  const lines = fewIssues(parsed.error.issues).map(issueText).join(' ')
  throw new AppError('DEFINITION_INVALID', `What "${subject}" asks is no question. ${lines}`)
}

/** What is wrong with an answer, if anything. Only a person's accepted answer has a shape to keep to. */
function answerValidator(question: Question, compiler: SchemaCompiler): (answer: Answer) => string | undefined {
  const schema = 'schema' in question && question.kind !== 'model' ? question.schema : undefined
  if (schema === undefined) return () => undefined
  const check = compiler.compile(schema)
  return ({ action, content = {} }) => {
    if (action !== 'accept') return undefined
    const checked = check(content)
    return checked.ok ? undefined : checked.issues.map(issueText).join(' ')
  }
}

async function askPerson(question: Question, { request, subject, signal }: AskParts): Promise<Answer> {
  if (request.ask) return request.ask(question, signal)
  const callback = request.session.callbacks?.ask
  if (callback) return callback(question, { tool: subject, signal })
  const message = `"${subject}" has a question, and no person is there to answer it: "${questionText(question)}"`
  throw new AppError('ANSWER_UNAVAILABLE', message)
}
