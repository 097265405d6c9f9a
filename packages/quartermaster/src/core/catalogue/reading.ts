import type { Answer, Caller, Question, QuestionKind } from '../../contracts/index.ts'
import type { Log } from '../kernel/index.ts'
import type { AskOptions } from './tool.ts'

/** All that filling in a prompt or reading a resource is told beside what was asked for. */
export interface ReadingContext<Config = unknown> {
  readonly caller: Caller
  /** Which of the caller's clients asks: the same text for the same one, and otherwise without a meaning. */
  readonly client: string
  /** The capability's configuration for this agent. */
  readonly config: Config
  /** Aborts when the caller goes away or the time is over. Pass it on to whatever you wait for. */
  readonly signal: AbortSignal
  /** When it ends at the latest, as epoch milliseconds. */
  readonly deadline: number
  /** Asks whoever wants it. Throws `ANSWER_UNAVAILABLE` where nobody can answer. */
  ask(question: Question, options?: AskOptions): Promise<Answer>
  /** Whether questions of this kind can be answered at all; otherwise `ask` throws. */
  canAnswer(kind: QuestionKind): boolean
  readonly log: Log
}

/** What is known while someone is still typing. */
export interface SuggestContext<Config = unknown>
  extends Pick<ReadingContext<Config>, 'caller' | 'client' | 'config' | 'signal'> {
  /** What the other arguments are so far. */
  readonly arguments: Readonly<Record<string, string>>
}

/** What may stand there, the best first: all of it, or some, with how many there are and whether there are more. */
export type Suggested =
  | readonly string[]
  | {
      readonly values: readonly string[]
      readonly total?: number | undefined
      readonly hasMore?: boolean | undefined
    }

/** What may stand where `value` is being typed. */
export type Suggest<Config = unknown> = (
  value: string,
  context: SuggestContext<Config>,
) => Suggested | Promise<Suggested>
