import type { ConsentAsk, PersonQuestion } from '../../../contracts/index.ts'
import { withoutHidden } from '../../kernel/index.ts'
import type { ConsentAnswer } from './consent-desk.ts'

/** Whether a client may be asked at all: its answer is only its word. */
export function mayAskClient(asks: readonly ConsentAsk[]): boolean {
  return asks.every(({ weight }) => weight !== 'high')
}

/** What a person in front of a client is asked: everything at once, with the arguments as they are and nothing hidden in them. */
export function clientQuestion(tool: string, asks: readonly ConsentAsk[], input: unknown): PersonQuestion {
  const reasons = asks.map(({ operation, weight, reason }) => `${operation} (${weight}): ${reason}`)
  const shown = withoutHidden(JSON.stringify(input ?? {}, null, 2))
  const message = [`Allow "${tool}" this once?`, ...reasons, `Arguments: ${shown}`].join('\n')
  return { key: 'consent', message, schema: SCHEMA }
}

const SCHEMA = {
  type: 'object',
  properties: { allow: { type: 'boolean', title: 'Allow', description: 'Whether it may be done, this once.' } },
  required: ['allow'],
}

/** What an answer of a client says; nothing when it says nothing. */
export function clientAnswer(answer: {
  action: string
  content?: Readonly<Record<string, unknown>> | undefined
}): ConsentAnswer | undefined {
  if (answer.action === 'decline') return { decision: 'deny', lasting: 'once' }
  if (answer.action !== 'accept' || typeof answer.content?.allow !== 'boolean') return undefined
  return { decision: answer.content.allow ? 'allow' : 'deny', lasting: 'once' }
}
