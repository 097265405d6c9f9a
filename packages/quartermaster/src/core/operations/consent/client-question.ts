import type { ConsentAsk, PersonQuestion } from '../../../contracts/index.ts'
import { escapeLine, toVisibleJson } from '../../kernel/index.ts'
import type { ConsentAnswer } from './consent-desk.ts'

/** Whether a client may be asked at all: its answer is only its word. */
export function mayAskClient(asks: readonly ConsentAsk[]): boolean {
  return asks.every(({ weight }) => weight !== 'high')
}

/**
 * What a person in front of a client is asked: everything at once, and shown as exactly as at a terminal. What others wrote
 * stands on one line each, so that none of it can be taken for a part of the question. The resource is left out: the answer
 * counts for these arguments alone, and a client need not know where on this machine they lead.
 */
export function clientQuestion({ operationId, tool, asks, input }: AskedCall): PersonQuestion {
  const message = [
    `Allow "${escapeLine(tool)}" this once?`,
    ...asks.map(askText),
    'Arguments, exactly (· is a space, escapes are characters that cannot be seen):',
    toVisibleJson(input ?? {}, '  '),
  ].join('\n')
  return { key: 'consent', message, schema: SCHEMA, shownFirst: true, consentFor: operationId }
}

/** A call, and what a person is asked about it. */
interface AskedCall {
  readonly operationId: string
  readonly tool: string
  readonly asks: readonly ConsentAsk[]
  readonly input: unknown
}

function askText({ operation, weight, reason }: ConsentAsk): string {
  return `${escapeLine(operation)} (${weight}): ${escapeLine(reason)}`
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
